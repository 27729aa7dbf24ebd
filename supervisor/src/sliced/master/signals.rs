//! Signals of the master: which end a slice, and which only look like signals.

use bubble::end::{Fatal, SharedContents};
use machine::{Gpr, SignalOrigin};
use syscall_replay::is_restart;
use tracee::{Stop, Stopped};

use super::block_ends::{Cutting, cut_behind, end_at_last_call, string_end};
use super::deliveries::{
    deliver_at_point, deliver_behind_call, is_behind_recorded_call, point_here, records_broken_off_call,
};
use super::instructions::{ClockReading, clock_reading, random_result};
use super::process::Process;
use super::thread::{Awaited, Thread};
use crate::app::{Delivery, Dispositions, delivery, is_synchronous};
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{
    Cut, Next, Reached, TRAP_FLAG, Then, behind_call, call_end, cut_at_block, cut_at_fault, cut_here, entry_registers,
    traps_itself,
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
    if stopped.hits_breakpoint(&info)? {
        process.takes_back_raised(thread, &mut stopped, info.si_signo)?;
        return match thread.has_come(&stopped)? {
            true => comes_to_awaited(process, thread, slice, stopped),
            false => random_result(process, thread, slice, stopped),
        };
    }
    if process.random.has_hit(&mut stopped, &info)? {
        process.takes_back_raised(thread, &mut stopped, info.si_signo)?;
        return random_result(process, thread, slice, stopped);
    }
    if info.si_signo == libc::SIGTRAP && info.si_code == libc::TRAP_TRACE && traps_itself(&stopped)? {
        return Ok(Next::GiveUp(stopped, Stop::Signal(info), Failure::Unsupported(TRAP_FLAG.to_owned())));
    }
    if let Some(next) = clock_reading(process, thread, slice, &mut stopped, &info)? {
        process.takes_back_raised(thread, &mut stopped, info.si_signo)?;
        return match next {
            ClockReading::Recorded => Ok(Next::Resume(stopped, 0)),
            // The instruction will be executed, and trap, again: as the first of the next slice.
            ClockReading::NoRoom(why) => cut_at_block(stopped, why),
        };
    }
    let signal = info.si_signo;
    let what = match process.raised.kills(thread, &info) {
        true => Delivery::Death,
        false => delivery(signal, dispositions(thread, signal)?),
    };
    if what == Delivery::Pass {
        return Ok(Next::Resume(stopped, signal));
    }
    // Its handler may be set for once.
    process.raised.forget();
    if must_wait(process, thread, slice, &mut stopped, &info)? {
        return Ok(Next::Resume(stopped, 0));
    }
    if what == Delivery::Handler
        && (is_behind_recorded_call(thread, slice, &stopped, &info)?
            || records_broken_off_call(process, thread, slice, &stopped, &info)?)
    {
        return deliver_behind_call(process, thread, slice, stopped, &info);
    }
    at_signal(process, thread, slice, stopped, &info, what)
}

/// The app gets a signal, in the midst of its code or instead of a call that was broken off.
fn at_signal(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    info: &libc::siginfo_t,
    what: Delivery,
) -> Result<Next, Failure> {
    if what == Delivery::Handler
        && let Some(point) = point_here(process, thread, slice, &stopped, info)?
    {
        return deliver_at_point(process, thread, slice, stopped, info, point);
    }
    Ok(ended_by(boundary(thread, slice, stopped, info, what)?, info))
}

/// The master has come to where something takes place that has waited.
fn comes_to_awaited(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
) -> Result<Next, Failure> {
    match thread.waits_no_more(&mut stopped)? {
        Some(Awaited::Signal(info)) => {
            stopped.set_signal_info(&info)?;
            let what = delivery(info.si_signo, dispositions(thread, info.si_signo)?);
            at_signal(process, thread, slice, stopped, &info, what)
        }
        Some(Awaited::Cut(reached)) if slice.is_to_stop() => {
            let cutting = cut_behind(process, thread, stopped, reached)?;
            after_cutting(process, thread, slice, cutting)
        }
        _ => Ok(Next::Resume(stopped, 0)),
    }
}

/// What comes after the attempt to end a slice behind a block.
pub(super) fn after_cutting(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    cutting: Cutting,
) -> Result<Next, Failure> {
    let (stopped, info, branch) = match cutting {
        Cutting::Next(next) => return Ok(next),
        Cutting::Raised { stopped, info, branch } => (stopped, info, branch),
    };
    match signal(process, thread, slice, stopped, info)? {
        // It was made for the master, as a call of the vsyscall page.
        Next::Resume(stopped, 0) => Ok(Next::AskAgain(stopped)),
        Next::Resume(mut stopped, signal) => {
            thread.lets_wait(&mut stopped, branch, Awaited::Cut(Reached::Branch))?;
            Ok(Next::Resume(stopped, signal))
        }
        next => Ok(next),
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
        let waited = thread.drops_awaited(stopped)?;
        process.send_again(waited);
        return Ok(false);
    }
    if thread.is_to_call_again() {
        return Ok(false);
    }
    // It comes before the first instruction behind a call.
    if !thread.awaits() && slice.is_behind_call(stopped)? {
        return Ok(false);
    }
    let end = string_end(stopped)?;
    let waited = match end {
        Some(address) => thread.lets_wait(stopped, address, Awaited::Signal(*info))?,
        None => thread.drops_awaited(stopped)?,
    };
    process.send_again(waited);
    if end.is_some() {
        thread.throttle.lets_get_on();
    }
    Ok(end.is_some())
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
        Some(call)
            if call.is_so(registers.get(Gpr::Rax)) || call.is_about_to_be_made_again(registers.get(Gpr::Rax)) =>
        {
            let mut entry = entry_registers(&registers, call.number);
            if !is_restart(registers.get(Gpr::Rax)) {
                // It stands at the instruction once more.
                entry.rip += SYSCALL_BYTES;
            }
            let end = Some(call_end(&entry, SharedContents::default()));
            let behind = behind_call(&entry, -i64::from(libc::EINTR) as u64, 0);
            return Ok(Next::Cut(stopped, Cut { kind, end, then, behind }));
        }
        _ => {}
    }
    match end_at_last_call(slice, &stopped)? {
        Some((end, behind)) => Ok(Next::Cut(stopped, Cut { kind, end: Some(end), then, behind })),
        None if by_instruction => cut_at_fault(stopped, kind, then),
        None => cut_here(stopped, kind, then),
    }
}

/// The slice's end, if it is one at a signal that ends the app, tells of that.
fn ended_by(next: Next, info: &libc::siginfo_t) -> Next {
    let Next::Cut(stopped, mut cut) = next else { return next };
    if let (Then::Death { signal, .. }, Some(end)) = (cut.then, &mut cut.end) {
        end.fatal = Fatal { signal: signal.into(), origin: SignalOrigin::of(info) };
    }
    Next::Cut(stopped, cut)
}

/// Length of the `syscall` instruction.
const SYSCALL_BYTES: u64 = 2;

/// What is set for the signal at hand.
fn dispositions(thread: &Thread, signal: i32) -> Result<Dispositions, Failure> {
    let unknown = || Failure::Unsupported("/proc/PID/status doesn't tell the app's signal handlers".into());
    thread.throttle.status().dispositions(signal).ok_or_else(unknown)
}
