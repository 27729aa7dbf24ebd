//! The master's process: what all of its threads share.
//!
//! Between two stops it runs natively. Where a thread stands is [`Thread`]'s; what is recorded is [`Recording`]'s.

use syscall_replay::PendingCall;
use syscall_replay::effects::View;
use syscall_replay::threads::LastingCalls;
use tracee::{BREAKPOINTS, Mode, Parent, Stopped, TraceError};

use super::raised::RaisedActions;
use super::thread::Thread;
use crate::app::{Borrowed, OwnLimits, Prepared, gadget_of};
use crate::base::{Failure, status_line};
use crate::command::Settings;
use crate::events::{Passing, Taken};
use crate::follow::InheritedState;
use crate::sliced::instructions::RandomInstructions;
use crate::sliced::memory::{InheritedMemory, ProcessMemory};
use crate::sliced::recorder::{InProcess, Room};
use crate::sliced::slices::Recording;
use crate::takeover::access;

/// The master's process.
pub struct Process {
    pid: i32,
    /// Whose child it is.
    parent: Parent,
    /// Syscall gadget and program break.
    pub(super) prepared: Prepared,
    /// What it is to be given back, if it was running by itself.
    borrowed: Option<Borrowed>,
    /// It has executed nothing of its program yet.
    is_new_image: bool,
    /// Slices may open the control process's descriptors by their names, see [`access`].
    is_by_name: bool,
    /// Processes that it has started.
    children: u64,
    /// Its memory, and the files behind it.
    pub(super) memory: ProcessMemory,
    /// Resource limits that it has set for itself.
    pub(super) limits: OwnLimits,
    /// It asks `cpuid` where slices do.
    is_asked_for_cpuid: bool,
    /// Where it executes `rdrand` and the like.
    pub(super) random: RandomInstructions,
    /// What it has set for the signals that its instructions raise for us.
    pub(super) raised: RaisedActions,
    /// Records its calls without stops.
    pub(super) in_process: InProcess,
    /// Threads of its that are there.
    pub(super) threads: u32,
    /// Threads that it has started: the next one's index is one more.
    pub(super) started: u64,
    /// Threads in the recorder's care may pass the turn on by themselves.
    pub(super) can_pass_turns_on: bool,
    /// Its calls that have lasted although most of their kind are short.
    pub(super) lasting: LastingCalls,
    /// The thread that the call which was recorded last has started.
    pub(super) born: Option<i32>,
    /// Passes on to it what superpin is sent.
    passing: Passing,
    /// `-spverify`: calls at the ends of slices are noted, too.
    pub(super) verify_calls: bool,
    /// `-check-calls`.
    pub(super) checks_calls: bool,
}

/// What it is.
impl Process {
    /// A process before its first instruction.
    pub fn new(pid: i32, parent: Parent, settings: &Settings) -> Self {
        Self {
            pid,
            parent,
            prepared: Prepared { gadget: 0, brk: 0 },
            borrowed: None,
            is_new_image: false,
            is_by_name: true,
            children: 0,
            memory: ProcessMemory::new(pid, settings.huge_pages, settings.follow && !settings.check_calls),
            limits: OwnLimits::default(),
            is_asked_for_cpuid: false,
            random: RandomInstructions::new(),
            raised: RaisedActions::default(),
            in_process: InProcess::new(pid, settings.record_in_process && !settings.check_calls),
            threads: 1,
            started: 0,
            can_pass_turns_on: false,
            lasting: LastingCalls::new(),
            born: None,
            passing: Passing::new(pid),
            verify_calls: settings.verify_calls,
            checks_calls: settings.check_calls,
        }
    }

    /// It is a copy of a process that is followed.
    ///
    /// # Errors
    /// If it was killed.
    pub fn inherit(&mut self, stopped: &mut Stopped, inherited: InheritedState) -> Result<(), Failure> {
        self.prepared = inherited.prepared(stopped)?;
        let InheritedState { shares_memory: is_shared, company, mutable_files, kept, .. } = inherited;
        let memory = InheritedMemory { is_shared, company, mutable_files, kept };
        self.memory.inherit(stopped, self.prepared.gadget, memory)?;
        self.limits = inherited.limits;
        self.in_process.inherit(inherited.file_pages.clone());
        self.see_identity();
        Ok(self.random.inherit(stopped, inherited.file_pages)?)
    }

    /// It was running by itself, and is to be given back what was borrowed from it.
    ///
    /// # Errors
    /// If it was killed.
    pub fn attach(&mut self, stopped: &mut Stopped, prepared: Prepared, borrowed: Borrowed) -> Result<(), Failure> {
        (self.prepared, self.borrowed) = (prepared, Some(borrowed));
        self.see_identity();
        self.memory.attach(stopped, prepared.gadget)?;
        Ok(self.random.new_image(stopped)?)
    }

    /// Whether it was: then it goes on if the control process is killed.
    pub fn was_running(&self) -> bool {
        self.borrowed.is_some()
    }

    /// A thread of it is about to be let go: it is given back what was borrowed from it, if it was running by itself.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn give_back(&mut self, stopped: &mut Stopped) -> Result<(), Failure> {
        if let Some(borrowed) = self.borrowed.as_mut() {
            borrowed.give_back(stopped, self.prepared.gadget)?;
            self.prepared.gadget = gadget_of(stopped)?;
        }
        Ok(())
    }

    /// A program was loaded, and has executed nothing yet.
    ///
    /// # Errors
    /// If it was killed.
    pub fn new_image(&mut self, stopped: &mut Stopped, prepared: Prepared) -> Result<(), Failure> {
        self.random.new_image(stopped)?;
        self.prepared = prepared;
        self.borrowed = None;
        (self.threads, self.started, self.born) = (1, 0, None);
        self.is_new_image = true;
        self.see_identity();
        Ok(())
    }

    /// Process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it is our child, whose end is reported to us.
    pub fn is_our_child(&self) -> bool {
        self.parent == Parent::Tracer
    }

    /// A `syscall` instruction of its.
    pub fn gadget(&self) -> u64 {
        self.prepared.gadget
    }

    /// Its program break.
    pub fn brk(&self) -> u64 {
        self.prepared.brk
    }

    /// Whether slices may open the control process's descriptors by their names, see [`access`].
    pub fn is_by_name(&self) -> bool {
        self.is_by_name
    }

    /// Whether each of its calls is seen: the recorder inside it isn't at work.
    pub fn is_seen(&self) -> bool {
        !self.in_process.is_armed()
    }

    /// Processes that it has started.
    pub fn children(&self) -> u64 {
        self.children
    }

    /// Whether other processes may have its files: those that it has started, or by which it was.
    pub(super) fn has_relatives(&self) -> bool {
        self.children > 0 || self.parent == Parent::Other
    }

    /// Whether others are known to have stored to its memory what slices don't have yet.
    pub(super) fn lacks_news(&mut self) -> bool {
        self.memory.has_other_writers() && self.memory.common().has_news()
    }

    /// At the end of a call that is recorded: what others have stored, see `CommonMemory::take_news`.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn take_news(&mut self, stopped: &mut Stopped) -> Result<Option<Vec<View>>, TraceError> {
        self.memory.common().take_news(stopped, self.prepared.gadget)
    }

    /// Its memory.
    pub fn memory(&mut self) -> &mut ProcessMemory {
        &mut self.memory
    }

    /// Whether it asks `cpuid` where slices do.
    pub(super) fn is_asked_for_cpuid(&self) -> bool {
        self.is_asked_for_cpuid
    }

    /// How it goes on.
    pub fn mode(&self) -> Mode {
        self.in_process.mode()
    }

    /// Calls that were recorded in it without stops.
    pub fn recorded_inside(&self) -> u64 {
        self.in_process.recorded()
    }

    /// Whether there was no memory for the record of a call that was made; once.
    pub fn take_lost_record(&mut self) -> bool {
        self.in_process.take_lost_record()
    }

    /// Pages of files that hold bytes of ours, or once did: slices put back the file's.
    pub fn file_pages(&self) -> Vec<u64> {
        [self.in_process.pages(), self.random.pages()].concat()
    }

    /// What a copy of it needs to know.
    pub fn inherited(&self, name: &str) -> InheritedState {
        InheritedState {
            gadget: self.prepared.gadget,
            shares_memory: self.memory.is_shared(),
            company: self.memory.inherited(),
            mutable_files: self.memory.mutable_files().clone(),
            kept: self.memory.kept(),
            limits: self.limits.clone(),
            file_pages: self.file_pages(),
            at: None,
            name: name.to_owned(),
        }
    }

    /// Looks at what it may do as its user, where it sees its files.
    fn see_identity(&mut self) {
        self.is_by_name = access::is_by_name(self.pid);
        self.memory.files().set_reachable(self.is_by_name);
    }

    /// What later forks need to know of a call that has succeeded.
    pub(super) fn after_call(&mut self, call: &PendingCall, result: u64) {
        self.memory.after_call(call.number, &call.args, result);
        match call.number as i64 {
            libc::SYS_brk => self.prepared.brk = result,
            number if access::changes_with(number as u64) => self.see_identity(),
            _ => {}
        }
    }

    /// Something may have moved its break that isn't known to: it is asked where that is.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn ask_break(&mut self, stopped: &mut Stopped) -> Result<(), TraceError> {
        self.prepared = Prepared::of(stopped, self.prepared.gadget)?;
        Ok(())
    }

    /// It has made a call that starts a process. `is_there`: and has got one.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn starts_process(&mut self, stopped: &mut Stopped, is_there: bool) -> Result<(), TraceError> {
        self.children += u64::from(is_there);
        self.memory.starts_process(stopped, self.prepared.gadget)
    }
}

/// Signals that it is sent.
impl Process {
    /// Passes on a signal that was taken here, see [`Passing::pass`].
    pub fn pass(&mut self, info: &libc::siginfo_t, taken: Taken) {
        self.passing.pass(info, taken);
    }

    /// It has stopped for a signal, see [`Passing::arrives`].
    ///
    /// # Errors
    /// If it was killed.
    pub fn arrives(&mut self, stopped: &mut Stopped, info: &mut libc::siginfo_t) -> Result<(), TraceError> {
        self.passing.arrives(stopped, info)
    }

    /// Sends a signal once more that has waited.
    pub(super) fn send_again(&mut self, waited: Option<libc::siginfo_t>) {
        if let Some(info) = waited {
            self.passing.send(&info);
        }
    }
}

/// Forks of it, and its own going on.
impl Process {
    /// Whether it is to ask `cpuid` where slices do. `is_young`: its program is.
    pub fn asks_cpuid(&self, is_young: bool) -> bool {
        self.is_new_image || self.is_asked_for_cpuid && is_young
    }

    /// It is about to be forked for a slice: no bytes of ours are in its code.
    pub fn ready_to_fork(&mut self, stopped: &mut Stopped) {
        self.random.lift(stopped);
    }

    /// Forks it, and makes it what it was before [`Process::ready_to_fork`].
    ///
    /// # Errors
    /// If it was killed, or memory or processes are short.
    pub fn fork(&mut self, stopped: &mut Stopped) -> Result<Stopped, TraceError> {
        if self.memory.has_other_writers() {
            self.memory.common().before_fork();
        }
        let forked = stopped.fork(self.prepared.gadget, self.parent);
        if !forked.as_ref().is_err_and(TraceError::is_gone) {
            self.random.set(stopped);
        }
        let (copy, forker) = forked?;
        self.memory.common().is_forked(forker);
        Ok(copy)
    }

    /// Gives a fork memory of its own in place of what it shares with the process.
    ///
    /// # Errors
    /// If one of them was killed, or the fork has no memory for that.
    pub fn make_private(&mut self, stopped: &mut Stopped, copy: &mut Stopped) -> Result<(), Failure> {
        self.memory.make_private(stopped, copy, self.prepared.gadget, self.is_by_name)
    }

    /// A slice has begun with a fork of it. Whether that is the first one of a program.
    pub fn forked(&mut self, asks_cpuid: bool) -> bool {
        self.is_asked_for_cpuid = asks_cpuid;
        std::mem::take(&mut self.is_new_image)
    }

    /// Hands it over to the recorder inside it, if it is to go on without a signal and all is as usual. What is recorded is the slice's.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn arm(&mut self, thread: &mut Thread, slice: &Recording, stopped: &mut Stopped) -> Result<(), Failure> {
        if self.in_process.is_worth_while() && !thread.is_in_call() {
            thread.throttle.ends_if_free(stopped)?;
        }
        if slice.is_due() || !thread.is_free() || !self.memory.may_record_inside() {
            return Ok(());
        }
        let slot = slice.slot();
        let room = Room {
            records: slice.left(),
            bytes: slice.bytes_left(),
            run: slot.run_memory(),
            slot: slot.index(),
            thread: thread.identity.index(),
        };
        let terms = self.terms();
        self.in_process.arm(stopped, self.prepared.gadget, &room, terms)?;
        if self.in_process.is_armed() {
            // What it writes to a terminal isn't seen.
            status_line::erase();
        }
        Ok(())
    }

    /// It is about to be let go for good: no breakpoint of ours is left. A signal that has waited for one comes now.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn clear_breakpoints(&mut self, thread: &mut Thread, stopped: &mut Stopped) -> Result<(), TraceError> {
        self.random.lift(stopped);
        let waited = thread.drops_awaited(stopped)?;
        self.send_again(waited);
        (0..BREAKPOINTS).try_for_each(|n| stopped.clear_breakpoint(n))
    }
}
