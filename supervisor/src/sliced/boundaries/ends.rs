//! Ends of slices: by the state as it is, or at a system call.

use bubble::behind::{Behind, MadeCall};
use bubble::end::{End, EndKind, EndStands, Fatal, STACK_WORDS, SharedContents};
use machine::{Gpr, Registers, XState};
use syscall_replay::returns_to;
use tracee::{Stopped, UserRegisters};

use super::next::{Cut, Next, Then};
use crate::base::Failure;
use crate::report::Boundary;

/// The end of a slice before the instruction at hand, wherever that stands.
pub(in crate::sliced) fn cut_here(stopped: Stopped, kind: Boundary, then: Then) -> Result<Next, Failure> {
    cut(stopped, kind, then, EndStands::Anywhere)
}

/// The end of a slice before the instruction at hand, which has raised a signal.
pub(in crate::sliced) fn cut_at_fault(stopped: Stopped, kind: Boundary, then: Then) -> Result<Next, Failure> {
    cut(stopped, kind, then, EndStands::Faults)
}

/// The end of a slice before the instruction at hand, which starts a block.
pub(in crate::sliced) fn cut_at_block(stopped: Stopped, kind: Boundary) -> Result<Next, Failure> {
    cut(stopped, kind, Then::Fork, EndStands::First)
}

fn cut(stopped: Stopped, kind: Boundary, then: Then, stands: EndStands) -> Result<Next, Failure> {
    let mut end = sigmatch::capture(EndKind::Signature, &stopped.registers()?.app(), &*stopped.xstate()?, &stopped);
    end.goes_on = (then == Then::Fork).into();
    end.stands = stands;
    Ok(Next::Cut(stopped, Cut::new(kind, Some(Box::new(end)), then)))
}

/// The state to which a signal handler, whose `rt_sigreturn` was entered with these registers, has returned. `None` if its frame
/// was bad.
pub(in crate::sliced) fn returned_to(
    stopped: &Stopped,
    entry: Option<&Registers>,
) -> Result<Option<(Registers, Box<XState>)>, Failure> {
    let registers = stopped.registers()?.app();
    let returned = entry.is_some_and(|entry| returns_to(entry.rsp(), stopped, &registers));
    Ok(if returned { Some((registers, stopped.xstate()?)) } else { None })
}

/// Whether a call changes registers besides those that every call changes: the state at its entry can't be told from
/// the state after it.
pub(in crate::sliced) fn replaces_registers(number: u64) -> bool {
    [libc::SYS_arch_prctl, libc::SYS_rt_sigreturn].contains(&(number as i64))
}

/// The end of a slice at a system call. It is found by its place behind the last record; registers, and memory that other
/// processes may write, serve as a check.
pub(in crate::sliced) fn call_end(registers: &Registers, shared: SharedContents) -> Box<End> {
    let (stack, xstate) = ([0; STACK_WORDS], XState::initial());
    Box::new(End {
        kind: EndKind::Syscall,
        stack_words: 0,
        goes_on: 0,
        stands: EndStands::Anywhere,
        frame: [0; 2],
        fatal: Fatal::default(),
        shared,
        registers: *registers,
        stack,
        xstate: (&xstate).into(),
    })
}

/// Registers at a call's entry, seen from its entry or exit: only rax can have changed.
pub(in crate::sliced) fn entry_registers(registers: &UserRegisters, number: u64) -> Registers {
    let mut app = registers.app();
    app.set(Gpr::Rax, number);
    app
}

/// The master is behind the call that was entered with these registers. `room`: see [`MadeCall::room`].
pub(in crate::sliced) fn behind_call(entry: &Registers, result: u64, room: u64) -> Behind {
    let (number, args) = (entry.get(Gpr::Rax), entry.syscall_args());
    Behind::call(MadeCall { number, args, pc: entry.rip.wrapping_sub(SYSCALL_BYTES), result, room })
}

/// Length of the `syscall` instruction.
const SYSCALL_BYTES: u64 = 2;
