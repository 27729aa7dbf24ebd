//! A thread that hasn't the turn, or loses it, and its beginning and end.

use machine::{Here, Memory};
use syscall_replay::table::{Class, Special};
use syscall_replay::threads::{CloneArgs, Length};
use syscall_replay::{CallExit, Recorder, TurnEnd, WaitingCall};
use tracee::{Stopped, TraceError, send_again};

use super::call::OpenCall;
use super::owners;
use super::thread::{At, Thread};
use super::throttle::Throttle;
use crate::app::{Delivery, delivery, registered};
use crate::sliced::boundaries::entry_registers;
use crate::sliced::recorder::passes_turn_on;
use crate::sliced::slices::{Context, Identity, Recording};

impl Thread {
    /// The thread that stands at its birth: the call at hand starts it.
    ///
    /// # Errors
    /// If it was killed.
    pub fn starts(&mut self, child: &Stopped, index: u64, pid: i32) -> Result<Self, TraceError> {
        let cleared = self
            .call()
            .and_then(|call| CloneArgs::of(call.pending.number, &call.pending.args, child).map(|args| args.cleared()));
        let identity = self.identity.child(index, child.pid(), cleared.unwrap_or(0));
        let mut thread = Self::with(identity, self.tsc.clone(), Throttle::of_thread(pid, child.pid()));
        thread.context = Some(Context::here(child)?);
        Ok(thread)
    }

    /// A thread that this one's process had before it was attached to: who has started it isn't known, so that all are this one's.
    ///
    /// # Errors
    /// If it was killed.
    pub fn has_started(&mut self, other: &mut Stopped, index: u64, gadget: u64) -> Result<Self, TraceError> {
        let [cleared, ..] = registered(other, gadget)?;
        let mut identity = self.identity.child(index, other.pid(), cleared);
        identity.goes_on();
        let mut tsc = self.tsc.clone();
        tsc.see(other, gadget)?;
        let throttle = Throttle::of_thread(self.throttle.pid(), other.pid());
        let mut thread = Self::with(identity, tsc, throttle);
        thread.context = Some(Context::here(other)?);
        Ok(thread)
    }

    /// It executes a program, and so becomes the first thread of process `pid`, and the only one.
    pub fn becomes_first(&mut self, pid: i32) {
        self.identity = Identity::first(pid);
        self.processor.is_renamed(pid);
        self.throttle.is_renamed(pid);
    }

    /// It stands at the entry of the call by which it ends, and stays there. What the kernel would do at its end is done.
    ///
    /// # Errors
    /// If it was killed.
    pub(in crate::sliced::master) fn leaves_words_behind(&mut self, stopped: Stopped) -> Result<Stopped, TraceError> {
        match self.call().and_then(|call| call.left_words.clone()) {
            Some(words) => words.leave(stopped),
            None => Ok(stopped),
        }
    }

    /// It stands at a border of a call, in which others may have the turn.
    ///
    /// # Errors
    /// If it was killed.
    pub fn may_lose_turn_in_call(&mut self, stopped: &Stopped) -> Result<(), TraceError> {
        if let Some(call) = self.waiting_call() {
            let registers = entry_registers(&stopped.registers()?, call.number);
            self.context = Some(Context::in_call(stopped, registers, call)?);
        }
        Ok(())
    }

    /// The call in which it is has lasted: others may have the turn.
    pub fn lasts(&mut self) {
        self.is_left_in_call = true;
    }

    /// The call in which it is, as the log tells of it.
    pub fn waiting_call(&self) -> Option<WaitingCall> {
        self.call().map(|call| call.pending.waiting())
    }

    /// The signal that the call in which it is sends to another thread of its process, or may send to one: to whom, and which.
    pub fn signals_by_call(&self) -> Option<(i32, i32)> {
        let call = self.call().filter(|_| !self.is_left_in_call)?;
        let (process, args) = (self.throttle.pid(), call.pending.args);
        let (to, signal) = match call.pending.number as i64 {
            libc::SYS_kill if args[0] as i32 == process => (process, args[1] as i32),
            libc::SYS_tkill => (args[0] as i32, args[1] as i32),
            libc::SYS_tgkill if args[0] as i32 == process => (args[1] as i32, args[2] as i32),
            _ => return None,
        };
        // 0 only asks whether the receiver is there.
        ((1..=64).contains(&signal) && to != self.tid()).then_some((to, signal))
    }

    /// Whether that signal ends the process, as far as its handlers are known.
    pub fn is_deadly(&self, signal: i32) -> bool {
        let dispositions = self.throttle.status().dispositions(signal);
        dispositions.is_some_and(|dispositions| delivery(signal, dispositions) == Delivery::Death)
    }

    /// Whether it can wait where it stands, which is between two instructions.
    pub fn may_give_way(&self) -> bool {
        matches!(self.at, At::Outside) && self.awaited.is_none() && !self.interrupt_sent
    }

    /// Whether the call in which it is starts a thread.
    pub fn starts_thread(&self) -> bool {
        self.call().is_some_and(|call| call.pending.rule.class == Class::Special(Special::StartThread))
    }

    /// It loses its turn in the call in which it is. Gives how the log tells of that.
    pub fn loses_turn_in_call(&mut self) -> Option<TurnEnd> {
        let (pid, tid) = (self.throttle.pid(), self.tid());
        let At::InCall(call) = &mut self.at else { return None };
        self.is_left_in_call = true;
        call.outlives_slice();
        let mut waiting = call.pending.waiting();
        waiting.owned = owners::written_at_once(pid, tid, &waiting, &Here::of(pid));
        Some(TurnEnd::InCall(waiting))
    }

    /// An interrupt was sent, which comes as soon as it goes on.
    pub(in crate::sliced) fn is_interrupted_soon(&mut self) {
        self.interrupt_sent = true;
    }

    /// It leaves the care of the recorder, in which it has made calls of its own.
    pub(in crate::sliced) fn comes_out(&mut self) {
        (self.at, self.is_left_in_call, self.interrupt_sent) = (At::Outside, false, false);
        self.identity.goes_on();
    }

    /// Whether the recorder may have it, which stands at the end of a call without the turn: of one in which the recorder passes the turn on itself.
    pub fn may_come_in(&self) -> bool {
        let is_one = |call: &OpenCall| {
            call.is_recorded_alone() && !call.again.is_second && passes_turn_on(call.pending.number, &call.pending.args)
        };
        let is_undisturbed = self.awaited.is_none() && !self.interrupt_sent && self.sent_again.is_none();
        self.call().is_some_and(is_one) && is_undisturbed && !self.throttle.is_on() && !self.tsc.faults()
    }

    /// A signal at which it has stopped is sent to it once more: it comes before it executes anything.
    pub(in crate::sliced::master) fn sends_again(&mut self, info: &libc::siginfo_t) {
        send_again(self.throttle.pid(), self.tid(), info);
        self.sent_again = Some(*info);
    }

    /// It has stopped for a signal. If that is one that was sent once more, `info` becomes what it was told before.
    ///
    /// # Errors
    /// If it was killed.
    pub fn arrives_again(&mut self, stopped: &mut Stopped, info: &mut libc::siginfo_t) -> Result<(), TraceError> {
        match self.sent_again.take_if(|sent| sent.si_signo == info.si_signo) {
            // Without room the kernel tells nothing of a signal but its number.
            Some(sent) if [libc::SI_QUEUE, libc::SI_TKILL, libc::SI_USER].contains(&info.si_code) => {
                *info = sent;
                stopped.set_signal_info(info)
            }
            _ => Ok(()),
        }
    }

    /// It has lost its turn in the call in which it is: others may have it, and slices begin and end, before that is over.
    pub fn is_left_in_call(&self) -> bool {
        self.is_left_in_call
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where it stands while it hasn't the turn.
    pub fn context(&self) -> Option<&Context> {
        self.context.as_deref()
    }

    /// It loses its turn where it stands, between two instructions.
    ///
    /// # Errors
    /// If it was killed.
    pub fn loses_turn_here(&mut self, stopped: &Stopped) -> Result<&Context, TraceError> {
        Ok(self.context.insert(Context::here(stopped)?))
    }

    /// Whether it may have to wait in the call in which it is, and for how long as a rule: [`Length::Instant`] if it isn't in one that others may have the turn in.
    pub fn length_of_call(&self) -> Length {
        self.call().map_or(Length::Instant, OpenCall::length)
    }

    /// The kernel's number of it.
    pub fn tid(&self) -> i32 {
        self.identity.tid()
    }

    /// It has ended by the call in which it was, and is gone: records that. `memory`: that of the process. `None`: it has not ended by a call of its own.
    pub(in crate::sliced) fn logs_end(&mut self, slice: &mut Recording, memory: &dyn Memory) -> Option<CallExit> {
        let words = self.call()?.left_words.as_ref()?.ranges();
        let call = self.leaves_call()?;
        Some(slice.log(|log| Recorder::thread_changed(&call.pending, 0, memory, &words, log)))
    }
}
