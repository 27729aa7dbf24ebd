//! Instructions whose results are recorded, and calls of the vsyscall page: made for the master, at the stop before them.

use machine::{Gpr, Memory};
use syscall_replay::{CallExit as Recorded, Recorder, table};
use tracee::{Remote, Stopped};

use super::process::Process;
use super::thread::Thread;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Next, Then, cut_at_block, cut_here};
use crate::sliced::instructions::{random, vsyscall};
use crate::sliced::slices::Recording;

/// More than such a call's record needs.
const ROOM: usize = 4096;

/// What has become of a reading.
pub(super) enum ClockReading {
    /// It was made, and is recorded.
    Recorded,
    /// It will be made in the next slice.
    NoRoom(Boundary),
}

/// The master is about to execute an instruction like `rdrand`, perhaps.
pub(super) fn random_result(
    process: &mut Process,
    thread: &Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
) -> Result<Next, Failure> {
    let before = stopped.registers()?;
    process.random.lift(&mut stopped);
    pass_breakpoint(&mut stopped)?;
    if vsyscall::stands_before_call(&stopped)? {
        return call_of_page(process, thread, slice, stopped);
    }
    let (mut stopped, record) = random::execute(stopped)?;
    process.random.set(&mut stopped);
    let Some(record) = record else { return Ok(Next::Resume(stopped, 0)) };
    process.takes_back_raised(thread, &mut stopped, libc::SIGTRAP)?;
    if slice.log(|log| log.random(record)).is_ok() {
        return Ok(Next::Resume(stopped, 0));
    }
    stopped.set_registers(&before)?;
    allow_breakpoint_again(&mut stopped)?;
    cut_at_block(stopped, Boundary::Log)
}

/// If this signal is a trapped reading of the time stamp counter, or `cpuid`: what has become of it.
pub(super) fn clock_reading(
    process: &mut Process,
    thread: &Thread,
    slice: &mut Recording,
    stopped: &mut Stopped,
    info: &libc::siginfo_t,
) -> Result<Option<ClockReading>, Failure> {
    let before = stopped.registers()?;
    let Some((instruction, record)) = thread.tsc.read(stopped, info, process.in_process.counter())? else {
        return Ok(None);
    };
    slice.leaves_call();
    process.in_process.was_read(instruction, record.pc);
    let is_enough = slice.is_enough_for_readings();
    if !is_enough && slice.log(|log| log.nondeterministic(record)).is_ok() {
        return Ok(Some(ClockReading::Recorded));
    }
    stopped.set_registers(&before)?;
    Ok(Some(ClockReading::NoRoom(if is_enough { Boundary::Records } else { Boundary::Log })))
}

/// The master stands before a call through a register, perhaps of the page. There are no breakpoint instructions in its code.
fn call_of_page(
    process: &mut Process,
    thread: &Thread,
    slice: &mut Recording,
    stopped: Stopped,
) -> Result<Next, Failure> {
    let pid = process.pid();
    if slice.room() < ROOM {
        let mut stopped = stopped;
        allow_breakpoint_again(&mut stopped)?;
        return cut_here(stopped, Boundary::Log, Then::Fork);
    }
    let mut stopped = stopped.step()?;
    process.takes_back_raised(thread, &mut stopped, libc::SIGTRAP)?;
    process.random.set(&mut stopped);
    slice.leaves_call();
    let mut registers = stopped.registers()?;
    let mut app = registers.app();
    let Some(number) = table::vsyscall(app.rip) else { return Ok(Next::Resume(stopped, 0)) };
    let args = app.syscall_args();
    let back = stopped.read_u64(app.rsp()).map_err(|source| tracee::TraceError::Memory { pid, source })?;
    let mut recorder = Recorder::new();
    let entered = recorder.enter(number as u64, args, &stopped);
    let result = Remote::new(&mut stopped, process.gadget())?.call(number, args)?;
    if result < 0 {
        // The kernel raises a signal instead.
        return Ok(Next::Resume(stopped, 0));
    }
    let files = process.memory.files();
    match slice.log(|log| recorder.exit(entered.pending, result as u64, &stopped, log, files)) {
        Recorded::Recorded => {}
        _ => return Err(Failure::Unsupported("a call of the vsyscall page could not be recorded".into())),
    }
    app.set(Gpr::Rax, result as u64);
    app.set(Gpr::Rsp, app.rsp() + 8);
    app.rip = back;
    registers.set_app(&app);
    stopped.set_registers(&registers)?;
    Ok(Next::Resume(stopped, 0))
}

/// The instruction at hand will be executed, or executed again, as the first of the next slice: there the breakpoint must stop it again.
pub(super) fn allow_breakpoint_again(stopped: &mut Stopped) -> Result<(), Failure> {
    set_resume_flag(stopped, false)
}

/// The instruction at hand is executed now. Its breakpoint may have been allowed again since it was hit: an interrupt comes before the trap that is on its way.
fn pass_breakpoint(stopped: &mut Stopped) -> Result<(), Failure> {
    set_resume_flag(stopped, true)
}

fn set_resume_flag(stopped: &mut Stopped, is_set: bool) -> Result<(), Failure> {
    let mut registers = stopped.registers()?;
    let mut app = registers.app();
    app.rflags = app.rflags & !machine::flags::RF | if is_set { machine::flags::RF } else { 0 };
    registers.set_app(&app);
    Ok(stopped.set_registers(&registers)?)
}
