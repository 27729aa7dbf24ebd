//! Ends of slices: by the state as it is, or at a system call.

use bubble::shared::{End, EndKind, EndStands, STACK_WORDS, SharedContents};
use machine::{Gpr, PAGE, Registers, XState};
use syscall_replay::{is_error, returns_to};
use tracee::{Stopped, TraceError, UserRegisters};

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
    Ok(Next::Cut(stopped, Cut { kind, end: Some(Box::new(end)), then }))
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

/// What the call at a slice's end has mapped, if that was an `mmap`.
pub(in crate::sliced) fn mapped_at_end(stopped: &Stopped, end: Option<&End>) -> Result<[u64; 2], TraceError> {
    let is_map = |end: &&End| end.kind == EndKind::Syscall && end.registers.get(Gpr::Rax) as i64 == libc::SYS_mmap;
    let Some(end) = end.filter(is_map) else { return Ok([0; 2]) };
    let start = stopped.registers()?.app().get(Gpr::Rax);
    let len = end.registers.get(Gpr::Rsi).next_multiple_of(PAGE);
    Ok(if is_error(start) { [0; 2] } else { [start, start + len] })
}
