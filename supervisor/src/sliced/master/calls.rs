//! System calls of the master: what is recorded of them, and which end a slice.

use bubble::end::SharedContents;
use machine::Gpr;
use syscall_replay::effects::{Range, View};
use syscall_replay::table::{self, Class, Special};
use syscall_replay::threads::CloneArgs;
use syscall_replay::{CallExit as Recorded, LogWriter, PendingCall, Recorder, Unrecorded, is_error, is_restart};
use tracee::{Stop, Stopped};

use super::check_calls::Before;
use super::interrupts::await_interrupt;
use super::process::Process;
use super::thread::{Again, LeftWords, OpenCall, Thread, has_given};
use crate::app::maps_code;
use crate::base::{Failure, processor, status_line};
use crate::report::Boundary;
use crate::sliced::boundaries::{
    Cut, Next, OTHER_NUMBERS, Plan, SHARED_PROCESS, TRAP_FLAG, Then, behind_call, call_end, decide, entry_registers,
    give_up, numbers_children_anew, replaces_registers, returned_to, shares_all, traps_itself,
};
use crate::sliced::memory::{Treatment, busy_programs};
use crate::sliced::slices::{LastCall, Recording};

/// A call is about to be made.
pub(super) fn entry(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
    number: u64,
    args: [u64; 6],
) -> Result<Next, Failure> {
    if thread.awaits_interrupt() {
        thread.rewinds(number, Again::default());
        return Ok(Next::Resume(await_interrupt(thread, stopped)?, 0));
    }
    if processor::matters_to(number) {
        thread.processor.give_back();
    }
    status_line::gives_way(process.pid(), number, &args);
    let again = thread.begins_call(number);
    process.raised.before_call(number, &args);
    slice.leaves_call();
    let entered = thread.recorder.enter(number, args, &stopped);
    process.in_process.before(&stopped, number, &args);
    if process.in_process.recorded() > 0 {
        process.memory.opens_unseen();
    }
    if process.in_process.is_in_the_way_of(number) {
        thread.is_interrupted();
        thread.rewinds(number, again);
        return Ok(Next::Resume(process.in_process.stand_aside(stopped, process.prepared.gadget)?, 0));
    }
    process.random.before_call(&mut stopped, number, &args);
    let has_relatives = process.has_relatives();
    let Treatment { class, then, file_write, brings_news } =
        process.memory.class_of(&stopped, number, &args, entered.class, has_relatives);
    // The master's own setting is ours, the app's is only kept.
    let answer = process.limits.answer(&mut stopped, number, args).or(thread.tsc.answer(number, &args));
    let class = answer.map_or(class, |result| Class::Refuse { result });
    let file_write = file_write.filter(|_| class == Class::Replay);
    let brings_news = brings_news && class == Class::Replay;
    let plan = match decide::plan(class, slice.state()) {
        Plan::Exit if process.has_threads() && number as i64 == libc::SYS_exit => Plan::EndThread,
        plan => plan,
    };
    let shared = match plan {
        Plan::Record(_) | Plan::StartThread | Plan::EndThread => SharedContents::default(),
        Plan::Cut(..) | Plan::StartProcess | Plan::Exec | Plan::Exit => process.memory.shared_contents(&stopped),
    };
    if numbers_children_anew(number, &args, process.pid()) {
        return Ok(give_up(stopped, number, args, OTHER_NUMBERS));
    }
    if plan == Plan::StartProcess {
        // The new process runs without us, or has slices of its own.
        process.random.lift(&mut stopped);
    }
    match plan {
        Plan::StartProcess if shares_all(number, &args, &stopped) => {
            return Ok(give_up(stopped, number, args, SHARED_PROCESS));
        }
        Plan::StartProcess if !thread.tsc.is_open() => {
            // The new process runs natively and by itself, so it must be able to read the clock.
            thread.is_interrupted();
            thread.rewinds(entered.pending.number, again);
            return Ok(Next::Resume(thread.tsc.open_at_entry(stopped)?, 0));
        }
        Plan::Exit => {
            let registers = entry_registers(&stopped.registers()?, entered.pending.number);
            let end = Some(call_end(&registers, shared));
            return Ok(Next::Cut(stopped, Cut::new(Boundary::Exit, end, Then::Nothing)));
        }
        Plan::Record(Some(_)) | Plan::Cut(_, Some(_)) => {
            let mut registers = stopped.registers()?;
            registers.set_syscall_number(-1);
            stopped.set_registers(&registers)?;
        }
        _ => {}
    }
    let entry = match plan {
        Plan::Record(_) if !replaces_registers(entered.pending.number) && !table::may_kill(number, &args) => None,
        _ => Some(entry_registers(&stopped.registers()?, entered.pending.number)),
    };
    // The kernel writes for the calls of other threads meanwhile.
    let compared = process.checks_calls && class == Class::Replay && !process.has_threads();
    let memory = compared.then(|| Before::read(&stopped));
    let end = match (then, &entry) {
        (Then::Write { .. }, Some(entry)) => Some(call_end(entry, shared)),
        _ => None,
    };
    if brings_news && plan == Plan::Record(None) && !process.has_threads() {
        process.memory.common().begins_call(&entered.pending.writable(&stopped));
    }
    let left_words = (plan == Plan::EndThread).then(|| LeftWords::of(&stopped, thread.identity.cleared()));
    thread.enters(OpenCall {
        pending: entered.pending,
        plan,
        file_write,
        brings_news,
        memory,
        entry,
        shared,
        then,
        left_words,
        again,
        part: None,
    });
    if process.has_threads() {
        let is_ours = !process.was_running();
        thread.may_wait(&mut stopped, is_ours, |number, args| process.lasting().expects(number, args))?;
    }
    if plan == Plan::EndThread && thread.tid() == process.pid() {
        let stopped = thread.leaves_words_behind(stopped)?;
        return Ok(Next::Ends(stopped));
    }
    match end {
        Some(_) => Ok(Next::Cut(stopped, Cut::new(Boundary::Syscall, end, then))),
        None => Ok(Next::Resume(stopped, 0)),
    }
}

/// A call was made.
pub(super) fn exit(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
    result: i64,
) -> Result<Next, Failure> {
    if !thread.has_made_call(&mut stopped, result)? {
        return Ok(Next::Resume(stopped, 0));
    }
    let Some(call) = thread.leaves_call() else { return Ok(Next::Resume(stopped, 0)) };
    process.memory.common().comes_back();
    let mut result = result as u64;
    if result == -i64::from(libc::ETXTBSY) as u64 {
        let are_there = busy_programs::are_there();
        // Those that were there in the call may be gone: the second time it would be another's program.
        if are_there || !call.again.is_second {
            let mut before = stopped.registers()?;
            before.rewind_syscall();
            stopped.set_registers(&before)?;
            let is_second = call.again.is_second || !are_there;
            thread.rewinds(call.pending.number, Again { is_second, ..call.again });
            return Ok(if are_there { Next::Wait(stopped) } else { Next::Resume(stopped, 0) });
        }
    }
    if let Some(answer) = answered(&call, &mut stopped)? {
        result = answer;
    }
    let returns_from_handler = call.is_signal_return();
    // rax is then the app's own, whatever it says.
    if is_restart(result) && !returns_from_handler {
        slice.log(|log| thread.recorder.exit(call.pending, result, &stopped, log, process.memory.files()));
        thread.is_broken_off(call.pending.number, call.is_recorded_alone());
        return Ok(Next::Resume(stopped, 0));
    }
    if returns_from_handler && traps_itself(&stopped)? {
        let stop = Stop::SyscallExit { result: result as i64 };
        return Ok(Next::GiveUp(stopped, stop, Failure::Unsupported(TRAP_FLAG.to_owned())));
    }
    let views = call.file_write.as_ref().map(|write| process.memory.written(write, result, &stopped));
    let is_known = |address: u64| match &views {
        None => false,
        // It isn't recorded at all.
        Some(None) => true,
        Some(Some(views)) => views.iter().any(|view| address.wrapping_sub(view.address) < view.bytes.len() as u64),
    };
    if let Some(before) = &call.memory
        && let Err(error) = before.compare(&stopped, &call.pending, result, is_known)
    {
        return Ok(Next::GiveUp(stopped, Stop::SyscallExit { result: result as i64 }, error));
    }
    made(process, thread, &mut stopped, &call.pending, result)?;
    if call.pending.rule.class == Class::Special(Special::StartThread) && !is_error(result) {
        process.starts_thread(&mut stopped)?;
        if process.is_asked_for_cpuid() {
            // It was given its own back for the new thread.
            thread.processor.keep();
        }
    }
    if call.plan == Plan::StartThread && !slice.is_due() {
        return records_start(process, slice, stopped, &call, result);
    }
    has_given(process.pid(), call.pending.number, &call.pending.args, &stopped);
    let kind = match call.plan {
        Plan::Record(_) if slice.is_due() => Boundary::Timeout,
        Plan::Record(_) if returns_from_handler => match returned_to(&stopped, call.entry.as_ref())? {
            Some((to, xstate)) if slice.log(|log| log.signal_return(&to, &xstate).is_ok()) => {
                return Ok(Next::Resume(stopped, 0));
            }
            _ => Boundary::Signal,
        },
        Plan::Record(_) => {
            let news = match call.brings_news {
                true => Some(process.take_news(&mut stopped)?),
                false => None,
            };
            let shown = match &news {
                Some(news) => Shown::Besides(news.as_deref()),
                None => Shown::of(views.as_ref()),
            };
            let made = &call.pending;
            slice.has_company(process.memory.has_other_writers());
            let last = LastCall { number: made.number, room: made.room() };
            match slice.log_call(last, |log| record(process, &mut thread.recorder, made, result, &stopped, shown, log))
            {
                Recorded::Recorded | Recorded::Restarts => return Ok(Next::Resume(stopped, 0)),
                Recorded::Boundary(Unrecorded::Class) => Boundary::Syscall,
                Recorded::Boundary(_) => Boundary::Log,
            }
        }
        Plan::Cut(kind, _) => {
            if kind == Boundary::Syscall {
                process.ask_break(&mut stopped)?;
            }
            kind
        }
        Plan::StartProcess => {
            process.starts_process(&mut stopped, !is_error(result))?;
            // A child of vfork may have moved it.
            process.ask_break(&mut stopped)?;
            Boundary::Process
        }
        Plan::StartThread => Boundary::Timeout,
        Plan::Exec | Plan::Exit | Plan::EndThread => Boundary::Syscall,
    };
    // A call that could have been recorded, had the slice not been over.
    if process.verify_calls
        && matches!(kind, Boundary::Timeout | Boundary::Records)
        && !process.memory.has_other_writers()
    {
        if !returns_from_handler {
            let recorder = &mut thread.recorder;
            slice.log_last_call(|log| {
                record(process, recorder, &call.pending, result, &stopped, Shown::of(views.as_ref()), log)
            });
        } else if let Some((to, xstate)) = returned_to(&stopped, call.entry.as_ref())? {
            // Without room the end isn't verified.
            let _ = slice.log_last_call(|log| log.signal_return(&to, &xstate));
        }
    }
    let entry = match call.entry {
        Some(entry) => entry,
        None => entry_registers(&stopped.registers()?, call.pending.number),
    };
    let end = Some(call_end(&entry, call.shared));
    let behind = behind_call(&entry, result, call.pending.room());
    Ok(Next::Cut(stopped, Cut { kind, end, then: call.then, behind }))
}

/// The app is let go behind a call, whose result this is: it gets what it would get in a slice.
pub(super) fn exit_for_good(thread: &mut Thread, stopped: &mut Stopped, result: i64) -> Result<(), Failure> {
    let Some(call) = thread.leaves_call() else { return Ok(()) };
    let result = answered(&call, stopped)?.unwrap_or(result as u64);
    if !is_error(result) {
        thread.tsc.after_call(call.pending.number, &call.pending.args, stopped);
    }
    Ok(())
}

/// The result of a call that was answered in place of the kernel, which it then has.
fn answered(call: &OpenCall, stopped: &mut Stopped) -> Result<Option<u64>, Failure> {
    let (Plan::Record(Some(answer)) | Plan::Cut(_, Some(answer))) = call.plan else { return Ok(None) };
    let mut registers = stopped.registers()?;
    registers.set(Gpr::Rax, answer as u64);
    stopped.set_registers(&registers)?;
    Ok(Some(answer as u64))
}

/// A call that starts a thread was made, with this result.
fn records_start(
    process: &mut Process,
    slice: &mut Recording,
    stopped: Stopped,
    call: &OpenCall,
    result: u64,
) -> Result<Next, Failure> {
    let PendingCall { number, args, .. } = &call.pending;
    let words = CloneArgs::of(*number, args, &stopped).filter(|_| !is_error(result));
    let written: Vec<Range> =
        words.iter().flat_map(CloneArgs::written).map(|address| Range { address, len: 4 }).collect();
    match slice.log(|log| Recorder::thread_changed(&call.pending, result, &stopped, &written, log)) {
        Recorded::Recorded | Recorded::Restarts => {}
        Recorded::Boundary(_) => {
            let entry = entry_registers(&stopped.registers()?, *number);
            let behind = behind_call(&entry, result, call.pending.room());
            let end = Some(call_end(&entry, SharedContents::default()));
            return Ok(Next::Cut(stopped, Cut { kind: Boundary::Log, end, then: Then::Fork, behind }));
        }
    }
    if !is_error(result) {
        process.records_birth(result as i32);
    }
    Ok(Next::Resume(stopped, 0))
}

/// What shows in the app's memory of a call that is over, besides what the table says.
enum Shown<'a> {
    Nothing,
    /// It has written a file that is mapped: what shows of that, as far as it is known.
    Instead(Option<&'a [View]>),
    /// Others have stored to memory meanwhile: what, as far as it is known.
    Besides(Option<&'a [View]>),
}

impl<'a> Shown<'a> {
    fn of(file_write: Option<&'a Option<Vec<View>>>) -> Self {
        file_write.map_or(Self::Nothing, |views| Self::Instead(views.as_deref()))
    }
}

/// Records a call that is over.
fn record(
    process: &mut Process,
    recorder: &mut Recorder,
    call: &PendingCall,
    result: u64,
    stopped: &Stopped,
    shown: Shown<'_>,
    log: &mut LogWriter<'_>,
) -> Recorded {
    match shown {
        Shown::Nothing | Shown::Besides(Some([])) => recorder.exit(*call, result, stopped, log, process.memory.files()),
        Shown::Instead(Some(views)) => Recorder::file_written(call, result, views, log),
        Shown::Besides(Some(news)) => Recorder::exit_with_news(call, result, stopped, news, log),
        Shown::Instead(None) | Shown::Besides(None) => Recorded::Boundary(Unrecorded::Class),
    }
}

/// A stop between the entry of a call before which the last slice has ended ([`Then::Write`]) and its exit.
pub(in crate::sliced) fn exit_alone(
    process: &mut Process,
    thread: &mut Thread,
    mut stopped: Stopped,
    stop: Stop,
) -> Result<Next, Failure> {
    let Stop::SyscallExit { result } = stop else { return Ok(Next::Resume(stopped, 0)) };
    let Some(call) = thread.leaves_call() else { return Ok(Next::Resume(stopped, 0)) };
    if is_restart(result as u64) {
        let why = "a signal came while the app waited for a file that it had mapped before to be opened for writing";
        return Ok(Next::GiveUp(stopped, stop, Failure::Unsupported(why.to_owned())));
    }
    made(process, thread, &mut stopped, &call.pending, result as u64)?;
    let entry = entry_registers(&stopped.registers()?, call.pending.number);
    let behind = behind_call(&entry, result as u64, call.pending.room());
    Ok(Next::Cut(stopped, Cut { kind: Boundary::Syscall, end: None, then: Then::Fork, behind }))
}

/// A call was made with this result.
fn made(
    process: &mut Process,
    thread: &mut Thread,
    stopped: &mut Stopped,
    call: &PendingCall,
    result: u64,
) -> Result<(), Failure> {
    let (number, args, gadget) = (call.number, &call.args, process.gadget());
    if !is_error(result) {
        thread.tsc.after_call(number, args, stopped);
        process.after_call(call, result);
        if number as i64 == libc::SYS_set_tid_address {
            thread.identity.clears(args[0]);
        }
    }
    process.in_process.after(stopped, gadget, (number, args), result)?;
    if !is_error(result) {
        if number as i64 == libc::SYS_mmap {
            process.memory.advise(stopped, gadget, args, result)?;
            if maps_code(args) {
                process.memory.files().code_is_mapped(*args, result);
            }
        }
        process.random.after_call(stopped, number, args, result)?;
    }
    Ok(())
}
