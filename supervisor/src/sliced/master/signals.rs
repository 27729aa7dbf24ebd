//! Signals of the master: which end a slice, and which only look like signals.

use bubble::shared::SharedContents;
use tracee::{Stop, Stopped, is_breakpoint};

use super::deliveries::{deliver_behind_call, is_behind_recorded_call, records_broken_off_call};
use super::instructions::{ClockReading, clock_reading, random_result};
use super::interrupts::{end_at_last_call, point};
use super::process::Process;
use super::thread::Thread;
use crate::app::{Delivery, Dispositions, delivery, is_synchronous};
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{
    Cut, CutPoint, Next, TRAP_FLAG, Then, call_end, cut_here, entry_registers, traps_itself,
};
use crate::sliced::slices::Recording;

/// The master has stopped for a signal.
pub(super) fn signal(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
    info: libc::siginfo_t,
) -> Result<Next, Failure> {
    if is_breakpoint(&info) {
        return match thread.is_behind_string(&stopped)? {
            true => behind_string(thread, slice, stopped),
            false => random_result(process, slice, stopped),
        };
    }
    if process.random.has_hit(&mut stopped, &info)? {
        return random_result(process, slice, stopped);
    }
    if info.si_signo == libc::SIGTRAP && info.si_code == libc::TRAP_TRACE && traps_itself(&stopped)? {
        return Ok(Next::GiveUp(stopped, Stop::Signal(info), Failure::Unsupported(TRAP_FLAG.to_owned())));
    }
    if let Some(next) = clock_reading(process, thread, slice, &mut stopped, &info)? {
        return match next {
            ClockReading::Recorded => Ok(Next::Resume(stopped, 0)),
            // The instruction will be executed, and trap, again: as the first of the next slice.
            ClockReading::NoRoom(why) => cut_here(stopped, why, Then::Fork),
        };
    }
    let signal = info.si_signo;
    let what = delivery(signal, dispositions(thread, signal)?);
    if what == Delivery::Pass {
        return Ok(Next::Resume(stopped, signal));
    }
    if must_wait(process, thread, slice, &mut stopped, &info)? {
        return Ok(Next::Resume(stopped, 0));
    }
    if what == Delivery::Handler
        && (is_behind_recorded_call(thread, slice, &stopped, &info)?
            || records_broken_off_call(process, thread, slice, &stopped, &info)?)
    {
        return deliver_behind_call(process, thread, slice, stopped, signal);
    }
    boundary(thread, slice, stopped, &info, what)
}

/// The repeated string instruction is behind us: what was waiting for that takes place now.
fn behind_string(thread: &mut Thread, slice: &mut Recording, mut stopped: Stopped) -> Result<Next, Failure> {
    match thread.leaves_string(&mut stopped)? {
        Some(info) => {
            stopped.set_signal_info(&info)?;
            let what = delivery(info.si_signo, dispositions(thread, info.si_signo)?);
            boundary(thread, slice, stopped, &info, what)
        }
        None if slice.is_due() => cut_here(stopped, Boundary::Timeout, Then::Fork),
        None => Ok(Next::Resume(stopped, 0)),
    }
}

/// A signal that came in the middle of a repeated string instruction is deferred to its end, unless the instruction itself
/// raised it.
fn must_wait(
    process: &mut Process,
    thread: &mut Thread,
    slice: &Recording,
    stopped: &mut Stopped,
    info: &libc::siginfo_t,
) -> Result<bool, Failure> {
    if is_synchronous(info.si_signo, info.si_code) {
        let waited = thread.leaves_string(stopped)?;
        process.send_again(waited);
        return Ok(false);
    }
    if thread.is_to_call_again() {
        return Ok(false);
    }
    // It comes before the first instruction behind a call.
    if slice.is_behind_call() && !thread.awaits_string() && stopped.registers()?.syscall_number() >= 0 {
        return Ok(false);
    }
    let CutPoint::At(address) = point(stopped)? else { return Ok(false) };
    let waited = thread.finishes_string(stopped, address, Some(*info))?;
    process.send_again(waited);
    Ok(true)
}

/// The slice ends where the signal is delivered: at the call that it interrupted, or before the instruction at hand.
fn boundary(
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    info: &libc::siginfo_t,
    what: Delivery,
) -> Result<Next, Failure> {
    let signal = info.si_signo;
    // A trap, unlike a fault, comes after its instruction.
    let by_instruction = is_synchronous(signal, info.si_code) && signal != libc::SIGTRAP;
    let (kind, then) = match what {
        Delivery::Pass => return Ok(Next::Resume(stopped, signal)),
        Delivery::Handler => {
            if !is_synchronous(signal, info.si_code) {
                thread.throttle.expect();
            }
            thread.throttle.status().forget_dispositions();
            (Boundary::Signal, Then::Handler(signal))
        }
        Delivery::Death => (Boundary::Exit, Then::Death { signal, by_instruction }),
    };
    let registers = stopped.registers()?;
    match thread.gives_call_up() {
        Some(call) if call.is_so(registers.get(machine::Gpr::Rax)) => {
            let mut entry = entry_registers(&registers, call.number);
            if call.is_rewound {
                entry.rip += SYSCALL_BYTES;
            }
            let end = Some(call_end(&entry, SharedContents::default()));
            return Ok(Next::Cut(stopped, Cut { kind, end, then }));
        }
        _ => {}
    }
    match end_at_last_call(slice, &stopped)? {
        Some(end) => Ok(Next::Cut(stopped, Cut { kind, end: Some(end), then })),
        None => cut_here(stopped, kind, then),
    }
}

/// Length of the `syscall` instruction.
const SYSCALL_BYTES: u64 = 2;

/// What is set for the signal at hand.
fn dispositions(thread: &Thread, signal: i32) -> Result<Dispositions, Failure> {
    let unknown = || Failure::Unsupported("/proc/PID/status doesn't tell the app's signal handlers".into());
    thread.throttle.status().dispositions(signal).ok_or_else(unknown)
}
