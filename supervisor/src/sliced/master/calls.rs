//! System calls of the master: what is recorded of them, and which end a slice.

use bubble::shared::SharedContents;
use machine::Gpr;
use syscall_replay::effects::View;
use syscall_replay::table::{self, Class, Special};
use syscall_replay::{Exit as Recorded, LogWriter, Pending, Recorder, Unrecorded, is_error, is_restart};
use tracee::{Parent, Stop, Stopped};

use super::call::Call;
use super::check_calls::Before;
use super::master::Master;
use crate::app::{Key, is_kept_for_the_ended, is_reshaped, is_shared_with_children, others_attach, written_by_others};
use crate::base::{Failure, processor};
use crate::report::Boundary;
use crate::sliced::boundaries::{
    Cut, Next, OTHER_NUMBERS, Plan, SECOND_THREAD, SHARED_PROCESS, SliceState, TRAP_FLAG, Then, call_end, decide,
    entry_registers, give_up, numbers_children_anew, replaces_registers, returned_to, shares_all, traps_itself,
};
use crate::sliced::instructions::{Wish, clock};
use crate::sliced::memory::{lingering, written};
use crate::sliced::slices::Recording;
use crate::takeover::access;

impl Master {
    pub(in crate::sliced) fn entry(
        &mut self,
        mut stopped: Stopped,
        number: u64,
        args: [u64; 6],
        slice: &Recording,
    ) -> Result<Next, Failure> {
        if self.interrupt_sent {
            self.rewind(number);
            return Ok(Next::Resume(self.await_interrupt(stopped)?, 0));
        }
        if processor::matters_to(number) {
            self.processor.give_back();
        }
        self.interrupted = None;
        self.is_rewound = false;
        self.last_recorded = None;
        let entered = self.recorder.enter(number, args, &stopped);
        self.in_process.before(&stopped, number, &args);
        if self.in_process.recorded > 0 {
            self.own_memory.opens_unseen();
        }
        self.random.before_call(&mut stopped, number, &args);
        if entered.class != Class::Replay {
            self.file_writes.mappings_change();
        }
        let mut file_write = None;
        let state = SliceState { recorded: slice.amount(), limit: self.call_limit, is_due: self.is_due };
        let class = match entered.class {
            Class::Replay if self.has_company => Class::Boundary,
            Class::Replay if self.shares_memory && table::writes_elsewhere(number, &args) => Class::Boundary,
            Class::Repeat if self.shares_memory && is_reshaped(self.pid, number, &args, &self.unstable) => {
                Class::Boundary
            }
            Class::Replay if self.unstable.is_written(self.pid, number, &args) => {
                let has_relatives = self.children > 0 || self.parent == Parent::Other;
                file_write = (!has_relatives).then(|| self.file_writes.begin(self.pid, number, &args)).flatten();
                if file_write.is_some() { Class::Replay } else { Class::Boundary }
            }
            Class::Replay if self.own_memory.is_written(self.pid, number, &args) => Class::Boundary,
            class => class,
        };
        let (class, then) = match self.unstable.lock(self.pid, number, &args) {
            // The slices before have the file mapped, and the next one must not.
            true => {
                self.shares_memory = true;
                (Class::Boundary, Then::LoneFork)
            }
            false => (class, Then::Fork),
        };
        let file = written::by_path(&stopped, self.pid, number, &args);
        if let Some(file) = file {
            self.own_memory.opens(file);
        }
        let (class, then) = match file.filter(|file| self.files.holds(*file) || is_kept_for_the_ended(*file)) {
            Some(file) => (Class::Boundary, Then::Write { file, number, args }),
            None => (class, then),
        };
        let class = match Wish::set_by(number, &args) {
            // The master's setting is ours, the app's is only kept.
            Some(wish) => Class::Refuse { result: wish.err().unwrap_or(0) },
            None => class,
        };
        let class = match self.limits.answer(&mut stopped, number, args) {
            Some(result) => Class::Refuse { result },
            None => class,
        };
        let file_write = file_write.filter(|_| class == Class::Replay);
        let plan = decide::plan(class, state);
        let shared = match plan {
            Plan::Record(_) | Plan::GiveUp => SharedContents::default(),
            Plan::Cut(..) | Plan::StartProcess | Plan::Exec | Plan::Exit => self.shared_contents(&stopped),
        };
        if numbers_children_anew(number, &args, self.pid) {
            return Ok(give_up(stopped, number, args, OTHER_NUMBERS));
        }
        if plan == Plan::StartProcess {
            // The new process runs without us, or has slices of its own.
            self.random.traps.lift(&mut stopped);
        }
        match plan {
            Plan::GiveUp => return Ok(give_up(stopped, number, args, SECOND_THREAD)),
            Plan::StartProcess if shares_all(number, &args, &stopped) => {
                return Ok(give_up(stopped, number, args, SHARED_PROCESS));
            }
            Plan::StartProcess if !self.clock_open => {
                // The new process runs natively and by itself, so it must be able to read the clock.
                self.clock_open = true;
                self.interrupt_sent = false;
                self.rewind(entered.pending.number);
                return Ok(Next::Resume(clock::open_at_entry(stopped, self.clock_wish)?, 0));
            }
            Plan::Exit => {
                let registers = entry_registers(&stopped.registers()?, entered.pending.number);
                let end = Some(call_end(&registers, shared));
                return Ok(Next::Cut(stopped, Cut { kind: Boundary::Exit, end, then: Then::Nothing }));
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
        let compared = self.checks_calls && class == Class::Replay;
        let memory = compared.then(|| Before::read(&stopped));
        let end = match (then, &entry) {
            (Then::Write { .. }, Some(entry)) => Some(call_end(entry, shared)),
            _ => None,
        };
        self.call = Some(Call { pending: entered.pending, plan, file_write, memory, entry, shared, then });
        match end {
            Some(_) => Ok(Next::Cut(stopped, Cut { kind: Boundary::Syscall, end, then })),
            None => Ok(Next::Resume(stopped, 0)),
        }
    }

    pub(in crate::sliced) fn exit(
        &mut self,
        mut stopped: Stopped,
        result: i64,
        slice: &mut Recording,
    ) -> Result<Next, Failure> {
        let Some(call) = self.call.take() else { return Ok(Next::Resume(stopped, 0)) };
        let mut result = result as u64;
        if result == -i64::from(libc::ETXTBSY) as u64 {
            let are_there = lingering::are_there();
            // Those that were there in the call may be gone: the second time it would be another's program.
            if are_there || !std::mem::replace(&mut self.tries_again, true) {
                let mut again = stopped.registers()?;
                again.rewind_syscall();
                stopped.set_registers(&again)?;
                self.rewind(call.pending.number);
                return Ok(if are_there { Next::Wait(stopped) } else { Next::Resume(stopped, 0) });
            }
        }
        self.tries_again = false;
        if let Plan::Record(Some(refusal)) | Plan::Cut(_, Some(refusal)) = call.plan {
            result = refusal as u64;
            let mut registers = stopped.registers()?;
            registers.set(Gpr::Rax, result);
            stopped.set_registers(&registers)?;
        }
        let returns_from_handler = is_signal_return(&call.pending);
        // rax is then the app's own, whatever it says.
        if is_restart(result) && !returns_from_handler {
            slice.log(|log| self.recorder.exit(call.pending, result, &stopped, log, &mut self.files));
            self.interrupted = Some(call.pending.number);
            return Ok(Next::Resume(stopped, 0));
        }
        if returns_from_handler && traps_itself(&stopped)? {
            let stop = Stop::SyscallExit { result: result as i64 };
            return Ok(Next::GiveUp(stopped, stop, Failure::Unsupported(TRAP_FLAG.to_owned())));
        }
        let Self { pid, file_writes, unstable, .. } = self;
        let views = call.file_write.as_ref().map(|write| file_writes.end(write, result, &stopped, *pid, unstable));
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
        self.made(&mut stopped, &call.pending, result)?;
        let kind = match call.plan {
            Plan::Record(_) if self.is_due => Boundary::Timeout,
            Plan::Record(_) if returns_from_handler => match returned_to(&stopped, call.entry.as_ref())? {
                Some((to, xstate)) if slice.log(|log| log.signal_return(&to, &xstate).is_ok()) => {
                    return Ok(Next::Resume(stopped, 0));
                }
                _ => Boundary::Signal,
            },
            Plan::Record(_) => {
                match slice.log(|log| self.record(&call.pending, result, &stopped, views.as_ref(), log)) {
                    Recorded::Recorded | Recorded::Restarts => {
                        let number = call.pending.number;
                        self.last_recorded = (!replaces_registers(number)).then_some(number);
                        return Ok(Next::Resume(stopped, 0));
                    }
                    Recorded::Boundary(Unrecorded::Class) => Boundary::Syscall,
                    Recorded::Boundary(_) => Boundary::Log,
                }
            }
            Plan::Cut(kind, _) => kind,
            Plan::StartProcess => {
                self.children += u64::from(!is_error(result));
                // It has the app's files.
                self.file_writes.clear();
                self.has_company |= self.shares_memory && is_shared_with_children(self.pid);
                Boundary::Process
            }
            Plan::Exec | Plan::Exit | Plan::GiveUp => Boundary::Syscall,
        };
        // A call that could have been recorded, had the slice not been over.
        if self.verify_calls && matches!(kind, Boundary::Timeout | Boundary::Records) {
            if !returns_from_handler {
                slice.log_last_call(|log| self.record(&call.pending, result, &stopped, views.as_ref(), log));
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
        Ok(Next::Cut(stopped, Cut { kind, end, then: call.then }))
    }

    /// Records a call that is over. `views`: if it has written a file that is mapped, what shows of that, as far as it is known.
    fn record(
        &mut self,
        call: &Pending,
        result: u64,
        stopped: &Stopped,
        views: Option<&Option<Vec<View>>>,
        log: &mut LogWriter<'_>,
    ) -> Recorded {
        match views {
            None => self.recorder.exit(*call, result, stopped, log, &mut self.files),
            Some(Some(views)) => Recorder::file_written(call, result, views, log),
            Some(None) => Recorded::Boundary(Unrecorded::Class),
        }
    }

    /// A stop between the entry of a call before which the last slice has ended ([`Then::Write`]) and its exit.
    pub(in crate::sliced) fn exit_alone(&mut self, mut stopped: Stopped, stop: Stop) -> Result<Next, Failure> {
        let Stop::SyscallExit { result } = stop else { return Ok(Next::Resume(stopped, 0)) };
        let Some(call) = self.call.take() else { return Ok(Next::Resume(stopped, 0)) };
        if is_restart(result as u64) {
            let why =
                "a signal came while the app waited for a file that it had mapped before to be opened for writing";
            return Ok(Next::GiveUp(stopped, stop, Failure::Unsupported(why.to_owned())));
        }
        self.made(&mut stopped, &call.pending, result as u64)?;
        Ok(Next::Cut(stopped, Cut { kind: Boundary::Syscall, end: None, then: Then::Fork }))
    }

    /// A call was made with this result.
    fn made(&mut self, stopped: &mut Stopped, call: &Pending, result: u64) -> Result<(), Failure> {
        let (number, args) = (call.number, &call.args);
        if !is_error(result) {
            self.clock_wish.tell(number, args, stopped);
            self.note_effects(call, result);
        }
        self.in_process.after(stopped, self.prepared.gate, (number, args), result)?;
        if !is_error(result) {
            if number as i64 == libc::SYS_mmap {
                self.huge_pages.after_mmap(stopped, self.prepared.gate, args, result)?;
            }
            self.random.after_call(stopped, number, args, result)?;
        }
        Ok(())
    }

    /// Whether it is in the call by which a handler returns.
    pub(in crate::sliced) fn returns_from_handler(&self) -> bool {
        self.call.as_ref().is_some_and(|call| is_signal_return(&call.pending))
    }

    /// Whether it is in a call before which the last slice has ended.
    pub(in crate::sliced) fn is_alone(&self) -> bool {
        matches!(self.call, Some(Call { then: Then::Write { .. }, .. }))
    }

    /// No slice is left that may look at a file to which the app is about to get write access: its mappings show what is written from now on.
    pub(in crate::sliced) fn is_to_write(&mut self, file: Key) {
        self.files.let_go(file);
        self.shares_memory |= self.unstable.add_file(self.pid, file.1);
    }

    /// What the app sees in memory that other processes may write.
    fn shared_contents(&self, stopped: &Stopped) -> SharedContents {
        if !self.shares_memory {
            return SharedContents::default();
        }
        match written_by_others(self.pid, self.has_company, |map| self.file_writes.opened(map).is_some()).as_slice() {
            [] => SharedContents::default(),
            ranges => sigmatch::shared_contents(ranges, stopped),
        }
    }

    /// What later forks need to know of a call that has succeeded.
    fn note_effects(&mut self, pending: &Pending, result: u64) {
        match pending.number as i64 {
            libc::SYS_brk => self.prepared.brk = result,
            libc::SYS_mmap => {
                let kind = pending.args[3] as i32 & libc::MAP_TYPE;
                self.shares_memory |= kind == libc::MAP_SHARED || kind == libc::MAP_SHARED_VALIDATE;
                let is_file = pending.args[3] as i32 & libc::MAP_ANONYMOUS == 0;
                let fd = pending.args[4];
                if is_file && (self.files.may_change(fd as i32) || self.unstable.is_locked(self.pid, fd)) {
                    self.unstable.add(self.pid, result);
                    self.shares_memory = true;
                }
            }
            libc::SYS_shmat => {
                self.shares_memory = true;
                self.has_company |= others_attach(pending.args[0]);
            }
            libc::SYS_prctl => {
                if let Some(Ok(wish)) = Wish::set_by(pending.number, &pending.args) {
                    self.clock_wish = wish;
                }
            }
            number if access::changes_with(number as u64) => self.see_identity(),
            _ => {}
        }
    }
}

fn is_signal_return(call: &Pending) -> bool {
    call.rule.class == Class::Special(Special::SignalReturn)
}
