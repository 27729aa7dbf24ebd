//! The machine code of analysis routines, with what is known of a call's arguments folded in.

use bubble::map::WINDOW_0;
use bubble::switches::{Off, Optimisation};
use isa::Instruction;
use isa::routine::{ARGUMENTS, Inlined, inline, inline_with_result};

use crate::abi::{ThreadState, is_unconditional, taken};
use crate::trace::{AnalysisCall, Arg, Form, Point};

/// Bytes of a routine that are looked at.
const ROUTINE_BYTES: usize = 256;

/// The call's routine with its constant arguments folded in, if it is small enough. The address of the local state, which isn't constant without [`Optimisation::Rip`], is an argument
/// at run time then if it is needed in a register.
pub fn routine_of(call: &AnalysisCall, instruction: &Instruction, block_len: usize, off: Off) -> Option<Inlined> {
    if call.form != Form::Words || call.args.len() >= ARGUMENTS {
        // What it finds elsewhere than in registers isn't known.
        return None;
    }
    let known = known_arguments(call, instruction, block_len);
    read(known, off, |known| inline(routine_code(call.routine), call.routine as u64, known))
}

/// The same for a test, whose result is wanted.
pub fn test_of(test: &AnalysisCall, instruction: &Instruction, off: Off) -> Option<Inlined> {
    if test.args.len() >= ARGUMENTS {
        return None;
    }
    let known = known_arguments(test, instruction, 1);
    read(known, off, |known| inline_with_result(routine_code(test.routine), test.routine as u64, known))
}

fn read(
    mut known: [Option<u64>; ARGUMENTS],
    off: Off,
    inline: impl Fn(&[Option<u64>; ARGUMENTS]) -> Option<Inlined>,
) -> Option<Inlined> {
    let is_free = |routine: &Inlined| !routine.makes_address_in(&(WINDOW_0.start..WINDOW_0.end()));
    let routine = inline(&known)?;
    if off.leaves(Optimisation::Rip) || is_free(&routine) {
        return Some(routine);
    }
    known[0] = None;
    inline(&known).filter(is_free)
}

fn known_arguments(call: &AnalysisCall, instruction: &Instruction, block_len: usize) -> [Option<u64>; ARGUMENTS] {
    let mut known = [None; ARGUMENTS];
    known[0] = Some(call.local);
    for (slot, arg) in known[1..].iter_mut().zip(&call.args) {
        *slot = constant(*arg, call.point, instruction, block_len);
    }
    known
}

/// An argument's value, if that is known when the call is translated.
pub fn constant(arg: Arg, point: Point, instruction: &Instruction, block_len: usize) -> Option<u64> {
    match arg {
        Arg::Const(value) => Some(value),
        Arg::BlockInstructions => Some(block_len as u64),
        Arg::InstructionPointer => Some(instruction.pc().0),
        Arg::BranchTaken => taken(point, instruction),
        Arg::TakesEffect => is_unconditional(instruction).then_some(1),
        Arg::BranchTarget => instruction.kind().target().map(|target| target.0),
        Arg::Register(_) | Arg::MemoryAddress(_) | Arg::Flags | Arg::SegmentBase(_) => None,
        Arg::Vector { .. } | Arg::Mask(_) | Arg::ElementAddress { .. } | Arg::ElementSize { .. } => None,
        // That of the first thread: what names it names the thread's own.
        Arg::KeptAt(n) => Some(ThreadState::kept_address(n.into())),
        Arg::FirstRepetition | Arg::Kept(_) | Arg::Thread => None,
    }
}

/// The machine code of a routine of the image.
pub(super) fn routine_code(routine: usize) -> &'static [u8] {
    // SAFETY: the routine is a function of the image; its text goes on for at least this long, since the runtime's own code is
    // linked into the same section.
    unsafe { std::slice::from_raw_parts(routine as *const u8, ROUTINE_BYTES) }
}
