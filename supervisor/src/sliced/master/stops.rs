//! What each stop is: the one place that tells the master's stops apart.

use bubble::behind::Behind;
use machine::{Gpr, PAGE};
use syscall_replay::is_restart;
use tracee::{Remote, Stop, Stopped};

use super::calls::{entry, exit, exit_for_good};
use super::interrupts::arrive;
use super::process::Process;
use super::signals::signal;
use super::thread::Thread;
use crate::app::unmap_bubble;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, FOREIGN_CALL, Next, Then, call_end};
use crate::sliced::slices::Recording;

/// Looks at a stop while a slice is recorded.
///
/// # Errors
/// If the master was killed, or the kernel refuses something.
pub fn handle(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    stop: Stop,
) -> Result<Next, Failure> {
    match stop {
        Stop::SyscallEntry { number, args } => entry(process, thread, slice, stopped, number, args),
        Stop::ForeignSyscall => {
            Ok(Next::GiveUp(stopped, Stop::ForeignSyscall, Failure::Unsupported(FOREIGN_CALL.to_owned())))
        }
        Stop::SyscallExit { result } => exit(process, thread, slice, stopped, result),
        Stop::Signal(info) => signal(process, thread, slice, stopped, info),
        Stop::Exec => exec(process, thread, stopped),
        Stop::Interrupted => arrive(process, thread, slice, stopped),
        Stop::Group(_) => Ok(Next::Stay(stopped)),
        Stop::HandlerEntered | Stop::Started { .. } | Stop::Other(_) => Ok(Next::Resume(stopped, 0)),
    }
}

fn exec(process: &mut Process, thread: &mut Thread, stopped: Stopped) -> Result<Next, Failure> {
    let call = thread.leaves_call();
    let stopped = stopped.finish_exec()?;
    process.memory.new_image();
    process.in_process.new_image();
    let end = call.as_ref().and_then(|call| Some(call_end(&call.entry?, call.shared)));
    let behind = call.map_or_else(Behind::default, |call| Behind::exec(call.pending.number));
    Ok(Next::Cut(stopped, Cut { kind: Boundary::Exec, end, then: Then::Image, behind }))
}

/// What becomes of a master that is to be let go for good.
pub enum Leave {
    /// It goes on to its next stop, with that signal: from here it can't be let go without a trace.
    Resume(Stopped, i32),
    /// It was stopped by a stopping signal and stays so.
    Stay(Stopped),
    /// Nothing of ours is in it.
    Part(Stopped),
}

/// Looks at a stop after a failure.
///
/// # Errors
/// If the master was killed.
pub fn leave(process: &mut Process, thread: &mut Thread, mut stopped: Stopped, stop: Stop) -> Result<Leave, Failure> {
    let is_trapped = match &stop {
        Stop::Signal(info) => process.random.has_hit(&mut stopped, info)? || stopped.hits_breakpoint(info)?,
        Stop::Interrupted if process.random.is_behind(stopped.registers()?.rip()) => {
            return Ok(Leave::Resume(stopped, 0));
        }
        _ => false,
    };
    process.clear_breakpoints(thread, &mut stopped)?;
    Ok(match stop {
        Stop::Signal(info) if is_trapped => {
            process.takes_back_raised(thread, &mut stopped, info.si_signo)?;
            Leave::Resume(stopped, 0)
        }
        Stop::SyscallEntry { .. } => {
            // It stands before the call's instruction now.
            let mut stopped = thread.tsc.open_at_entry(stopped)?;
            clear_memory(process, &mut stopped)?;
            Leave::Part(stopped)
        }
        Stop::Signal(info) => match thread.tsc.read(&mut stopped, &info, process.in_process.counter())? {
            Some(_) => {
                process.takes_back_raised(thread, &mut stopped, info.si_signo)?;
                Leave::Resume(stopped, 0)
            }
            None => Leave::Resume(stopped, info.si_signo),
        },
        Stop::Group(_) => Leave::Stay(stopped),
        Stop::Exec => {
            let mut stopped = stopped.finish_exec()?;
            thread.tsc.open(&mut stopped, process.gadget())?;
            process.limits.give_back(process.pid());
            Leave::Part(stopped)
        }
        Stop::ForeignSyscall => Leave::Resume(stopped, 0),
        Stop::SyscallExit { result } if !thread.has_made_call(&mut stopped, result)? => {
            let_go(process, thread, stopped)?
        }
        // The kernel makes the call again by itself; the next stop will do.
        Stop::SyscallExit { result } if is_restart(result as u64) => Leave::Resume(stopped, 0),
        Stop::Interrupted if is_restart(stopped.registers()?.get(Gpr::Rax)) => Leave::Resume(stopped, 0),
        // Slices that executed the file as their program were still there in the call, and are gone: it is made again.
        Stop::SyscallExit { result } if result == -i64::from(libc::ETXTBSY) && thread.leaves_call().is_some() => {
            let mut again = stopped.registers()?;
            again.rewind_syscall();
            stopped.set_registers(&again)?;
            let_go(process, thread, stopped)?
        }
        Stop::SyscallExit { result } => {
            exit_for_good(thread, &mut stopped, result)?;
            let_go(process, thread, stopped)?
        }
        Stop::Interrupted | Stop::HandlerEntered | Stop::Started { .. } | Stop::Other(_) => {
            let_go(process, thread, stopped)?
        }
    })
}

fn let_go(process: &mut Process, thread: &mut Thread, mut stopped: Stopped) -> Result<Leave, Failure> {
    thread.tsc.open(&mut stopped, process.gadget())?;
    clear_memory(process, &mut stopped)?;
    Ok(Leave::Part(stopped))
}

/// Nothing of ours is left in its memory, be it never executed: pages with patches become the files' again, and the bubble is unmapped.
fn clear_memory(process: &mut Process, stopped: &mut Stopped) -> Result<(), Failure> {
    let gadget = process.gadget();
    if process.in_process.is_set_up() {
        process.in_process.tear_down(stopped, gadget)?;
    }
    for page in process.file_pages() {
        let args = [page, PAGE, libc::MADV_DONTNEED as u64, 0, 0, 0];
        Remote::new(stopped, gadget)?.call(libc::SYS_madvise, args)?;
    }
    process.give_back(stopped)?;
    unmap_bubble(stopped, process.gadget())?;
    process.limits.give_back(process.pid());
    Ok(())
}
