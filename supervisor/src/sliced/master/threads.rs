//! What the master's process knows of its threads.

use syscall_replay::threads::LastingCalls;
use tracee::{Stopped, TraceError};

use super::process::Process;
use super::thread::Thread;
use crate::base::Failure;
use crate::sliced::recorder::Holder;
use crate::sliced::slices::Recording;

impl Process {
    /// Whether there are several.
    pub fn has_threads(&self) -> bool {
        self.threads > 1
    }

    /// Threads that it has started.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// A thread was born. Gives its index.
    pub fn thread_begins(&mut self) -> u64 {
        self.threads += 1;
        self.started += 1;
        self.started
    }

    /// The thread, which stands here, has the turn, and goes on.
    ///
    /// # Errors
    /// If it was killed.
    pub fn gives_turn(&self, thread: &mut Thread, stopped: &mut Stopped) -> Result<(), TraceError> {
        thread.identity.goes_on();
        // Another one may have set it otherwise.
        thread.throttle.status().forget_dispositions();
        self.random.set_for(stopped, &mut thread.breakpoints)
    }

    /// The thread is about to go on without a signal: in the care of the recorder inside it, if that can have it. What is recorded is the slice's.
    ///
    /// # Errors
    /// If it was killed.
    pub fn goes_on(
        &mut self,
        thread: &mut Thread,
        slice: Option<&Recording>,
        stopped: &mut Stopped,
    ) -> Result<(), Failure> {
        if let Some(slice) = slice {
            self.arm(thread, slice, stopped)?;
        }
        if self.in_process.is_armed() {
            return self.raised.note_armed(thread);
        }
        if thread.is_in_call() { Ok(()) } else { self.raised.note(thread, stopped, self.prepared.gadget) }
    }

    /// An instruction of the thread has raised `signal` for us: sets again what the kernel has changed for that.
    ///
    /// # Errors
    /// If it was killed, or has no memory for a call.
    pub(super) fn takes_back_raised(
        &self,
        thread: &Thread,
        stopped: &mut Stopped,
        signal: i32,
    ) -> Result<(), TraceError> {
        self.raised.setting(thread, signal).put_back(stopped, self.prepared.gadget)
    }

    /// Whether this thread is in the care of the recorder inside the process, and passes the turn on there, or may.
    pub fn passes_turn_on(&self, tid: i32) -> bool {
        self.in_process.passes_turn_on(tid)
    }

    /// Whether those that are do.
    pub fn are_turns_passed_on(&self) -> bool {
        self.in_process.are_turns_passed_on()
    }

    /// Those that are.
    pub fn in_care(&self) -> Vec<i32> {
        self.in_process.in_care().to_vec()
    }

    /// How often they have passed the turn on among themselves, and whether one waits for it.
    pub fn turns_in_care(&self) -> (u64, bool) {
        self.in_process.turns()
    }

    /// Whether the thread that goes on next may pass the turn on by itself: all that want it can come into the recorder's care.
    pub fn lets_turns_be_passed_on(&mut self, can: bool) {
        self.can_pass_turns_on = can;
    }

    /// Who of them has the turn.
    pub fn holder(&self) -> Option<Holder> {
        self.in_process.holder()
    }

    /// All of them are stopped, and none has the turn.
    ///
    /// # Errors
    /// If the slice has no memory for the records.
    pub fn takes_all_back(&mut self, slice: Option<&mut Recording>) -> Result<(), Failure> {
        self.in_process.take_all_back(slice)
    }

    /// A thread that stands at the end of a call, without the turn, comes into the care of the recorder, if that can have it.
    ///
    /// # Errors
    /// If it was killed.
    pub fn takes_in(&mut self, thread: &mut Thread, stopped: &mut Stopped) -> Result<bool, Failure> {
        let Some(number) = thread.call_number() else { return Ok(false) };
        if !thread.may_come_in() || !self.in_process.may_adopt(stopped)? {
            return Ok(false);
        }
        self.gives_turn(thread, stopped)?;
        let is_in = self.in_process.adopt(stopped, self.prepared.gadget, thread.identity.index(), number)?;
        if is_in {
            self.raised.note_armed(thread)?;
        }
        Ok(is_in)
    }

    /// A thread has ended.
    pub fn thread_ends(&mut self) {
        self.threads -= 1;
    }

    /// Calls that have lasted.
    pub fn lasting(&self) -> &LastingCalls {
        &self.lasting
    }

    /// The call that has started thread `tid` is recorded.
    pub(super) fn records_birth(&mut self, tid: i32) {
        self.born = Some(tid);
    }

    /// A thread was started: the thread at hand isn't the only one.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn starts_thread(&mut self, stopped: &mut Stopped) -> Result<(), Failure> {
        self.in_process.ends_dispatch(stopped, self.prepared.gadget).map(drop)
    }

    /// Which thread was started by the call that was recorded last, once.
    pub fn take_born(&mut self) -> Option<i32> {
        self.born.take()
    }
}
