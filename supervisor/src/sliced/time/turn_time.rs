//! For how long a thread has had the turn.
//!
//! One alarm tells, by the wall clock, that it is to be looked: whether a call has lasted, and, by the process's CPU clock, whether the turn has. It is set only while others want
//! the turn.
//!
//! It is shorter if one of those may be waited for ([`super::TurnQueue`]), but not where what ends it is dear: after a slice's end each page that the app writes to is
//! copied once.
//!
//! A thread that spins until another one has done something had better not have it for the whole quantum. So one that has had it for a while is looked at twice, one after the other: if it is
//! still at the same place, with the same registers but one, which counts, its turn ends there.

use std::time::Duration;

use machine::{Gpr, Registers};

use crate::base::Failure;
use crate::events::{Alarm, Purpose};
use crate::sliced::boundaries::{cpu_clock, reading};

/// CPU time after which a thread gives up its turn, if others want it.
const QUANTUM: Duration = Duration::from_millis(100);
/// The same, at least, if one of them may be waited for by others.
const URGENT_QUANTUM: Duration = Duration::from_millis(20);
/// At least so many times what the app spends on copying pages after a slice has begun.
const COPYING: u32 = 8;
/// So much longer a thread may have the turn until it comes to a call, where it is given up without a point.
const UNTIL_CALL: Duration = Duration::from_millis(5);
/// After so long a call isn't a short one any more: others have the turn until it is over.
const SHORT_CALL: Duration = Duration::from_micros(200);

/// CPU time after which it is looked whether a thread spins.
const FIRST_LOOK: Duration = Duration::from_millis(3);
/// And once more.
const SECOND_LOOK: Duration = Duration::from_micros(3300);
/// Bytes of code that a loop has at most in which a thread spins.
const LOOP: u64 = 64;

/// Whether it is looked if a thread spins.
enum Look {
    /// Not yet.
    Not,
    /// It was found like this.
    Once(Box<Registers>),
    /// That is known.
    Done,
}

/// For how long a thread has had the turn.
pub(in crate::sliced) struct TurnTime {
    alarm: Alarm,
    /// The process's CPU clock, once it has several threads.
    clock: Option<libc::clockid_t>,
    /// The slice length, if that is shorter than [`QUANTUM`].
    most: Duration,
    /// The same if one of those that want the turn may be waited for by others.
    urgent: Duration,
    /// Whether that is so.
    is_urgent: bool,
    /// CPU time of the process when the turn began.
    since: Duration,
    /// What the alarm will ring for.
    rings_for: Option<RingsFor>,
    /// The alarm will ring later than it is to be looked at a turn that begins now.
    rings_late: bool,
    /// The turn is to be given up as soon as that can be.
    is_over: bool,
    look: Look,
    /// The next interrupt is for that.
    is_to_look: bool,
    /// Stops of whoever had the turn.
    stops: u64,
    /// How many others wanted it when it began.
    others: usize,
    /// How often threads in the recorder's care had passed the turn on when it was looked last.
    passed_on: Option<u64>,
}

/// What the alarm is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RingsFor {
    /// That a call has lasted, which began at this stop.
    Call(u64),
    /// That the quantum may be over.
    Quantum,
}

/// Where the thread that has the turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sliced) enum TurnIsIn {
    /// Code of its own.
    Code,
    /// A call that others may have the turn in, if it lasts.
    ShortCall,
    /// Another call.
    OtherCall,
}

/// What follows from the alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sliced) enum Rang {
    /// Nothing yet.
    Nothing,
    /// The call has lasted.
    CallLasts,
    /// It is to be interrupted, for [`TurnTime::looks_at`].
    Looks,
    /// The turn is to end behind the next call.
    IsOver,
    /// The turn is to end where the thread is.
    EndsTurn,
}

impl TurnTime {
    /// With slices of this length.
    pub(in crate::sliced) fn new(slice: Duration) -> Self {
        Self {
            alarm: Alarm::default(),
            clock: None,
            most: slice.min(QUANTUM),
            urgent: slice.min(URGENT_QUANTUM),
            is_urgent: false,
            since: Duration::ZERO,
            rings_for: None,
            rings_late: false,
            is_over: false,
            look: Look::Not,
            is_to_look: false,
            stops: 0,
            others: 0,
            passed_on: None,
        }
    }

    /// Process `pid` has several threads from now on.
    ///
    /// # Errors
    /// If it is gone or the kernel has no timers left.
    pub(in crate::sliced) fn start(&mut self, pid: i32) -> Result<(), Failure> {
        if self.clock.is_none() {
            self.clock = Some(cpu_clock(pid)?);
            self.alarm = Alarm::new(libc::CLOCK_MONOTONIC, Purpose::Turn, pid)?;
            self.begins(0);
        }
        Ok(())
    }

    /// A turn begins, while so many others want it.
    pub(in crate::sliced) fn begins(&mut self, others: usize) {
        (self.since, self.others) = (self.now(), others);
        (self.is_over, self.look, self.is_to_look) = (false, Look::Not, false);
    }

    /// A slice has begun. `copying`: what the app has spent on that since the last did.
    pub(in crate::sliced) fn slice_begins(&mut self, copying: Duration) {
        self.urgent = URGENT_QUANTUM.max(copying * COPYING).min(self.most);
    }

    /// The thread was interrupted here. Whether it spins, so that its turn is to end.
    pub(in crate::sliced) fn looks_at(&mut self, registers: impl FnOnce() -> Option<Registers>) -> bool {
        if !std::mem::take(&mut self.is_to_look) {
            return false;
        }
        let Some(now) = registers() else { return false };
        match std::mem::replace(&mut self.look, Look::Done) {
            Look::Not => {
                self.look = Look::Once(Box::new(now));
                false
            }
            Look::Once(before) => {
                self.is_over |= spins(&before, &now);
                self.is_over
            }
            Look::Done => false,
        }
    }

    /// Threads in the recorder's care pass the turn on among themselves: it is looked now and then whether one has it for long.
    pub(in crate::sliced) fn watch_care(&mut self) {
        if self.rings_for.is_none() {
            self.set(RingsFor::Quantum, self.urgent);
        }
    }

    /// The alarm has rung while they do. Whether they are to be stopped: as often as that they have passed it on, and whether one waits for it.
    pub(in crate::sliced) fn rings_in_care(&mut self, (times, is_wanted): (u64, bool)) -> bool {
        self.rings_for = None;
        self.passed_on.replace(times) == Some(times) && is_wanted
    }

    /// They are taken back, after so many turns of theirs.
    pub(in crate::sliced) fn care_ends(&mut self, times: u64, others: usize) {
        if times > 0 {
            self.begins(others);
        }
        self.passed_on = None;
    }

    /// Others want the turn, who were in the recorder's care until now: it may have lasted for long enough there.
    pub(in crate::sliced) fn is_wanted_after_care(&mut self, is_urgent: bool) {
        self.is_urgent = is_urgent;
        self.is_over |= self.used() >= self.quantum();
    }

    /// Whoever has the turn has come to a stop.
    pub(in crate::sliced) fn counts_stop(&mut self) {
        self.stops += 1;
    }

    /// How many others wanted the turn when it began.
    pub(in crate::sliced) fn others(&self) -> usize {
        self.others
    }

    /// Whether the turn is to be given up as soon as that can be.
    pub(in crate::sliced) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether it is given up where a slice ends anyway: it need not be a whole one.
    pub(in crate::sliced) fn is_nearly_over(&self) -> bool {
        self.is_over || self.used() * 2 >= self.quantum()
    }

    /// Others want the turn, and one of them may be waited for: sets the alarm.
    pub(in crate::sliced) fn watch(&mut self, is_in: TurnIsIn, is_urgent: bool) {
        let becomes_urgent = is_urgent && !self.is_urgent;
        self.is_urgent = is_urgent;
        match (self.rings_for, is_in) {
            (Some(RingsFor::Call(_)), _) => {}
            (_, TurnIsIn::ShortCall) => self.set(RingsFor::Call(self.stops), SHORT_CALL),
            // To set it anew costs a system call for each of many short turns.
            (Some(RingsFor::Quantum), _)
                if !becomes_urgent && (!self.rings_late || matches!(self.look, Look::Done)) => {}
            _ => self.set(RingsFor::Quantum, self.next_look().saturating_sub(self.used())),
        }
    }

    /// The alarm has rung, and others want the turn.
    pub(in crate::sliced) fn rings(&mut self, is_in: TurnIsIn, is_urgent: bool) -> Rang {
        self.is_urgent = is_urgent;
        let used = self.used();
        let rang = self.rang(is_in, used);
        self.is_to_look = rang == Rang::Looks;
        if matches!(rang, Rang::IsOver | Rang::EndsTurn) {
            self.is_over = true;
            self.set(RingsFor::Quantum, UNTIL_CALL);
        }
        rang
    }

    fn rang(&mut self, is_in: TurnIsIn, used: Duration) -> Rang {
        let has_lasted = self.rings_for.take() == Some(RingsFor::Call(self.stops));
        match is_in {
            TurnIsIn::ShortCall if has_lasted => Rang::CallLasts,
            TurnIsIn::Code if used >= self.quantum() + UNTIL_CALL => Rang::EndsTurn,
            _ if used >= self.quantum() => Rang::IsOver,
            TurnIsIn::Code if !matches!(self.look, Look::Done) && used >= self.next_look() => Rang::Looks,
            _ => Rang::Nothing,
        }
    }

    /// How long the turn is when something is to be looked at.
    fn next_look(&self) -> Duration {
        let next = match self.look {
            Look::Not => FIRST_LOOK,
            Look::Once(_) => SECOND_LOOK,
            Look::Done => self.quantum(),
        };
        next.min(self.quantum())
    }

    /// CPU time after which the turn is given up.
    fn quantum(&self) -> Duration {
        if self.is_urgent { self.urgent } else { self.most }
    }

    fn now(&self) -> Duration {
        self.clock.and_then(reading).unwrap_or_default()
    }

    /// CPU time of the process since the turn began.
    pub(in crate::sliced) fn used(&self) -> Duration {
        self.now().saturating_sub(self.since)
    }

    fn set(&mut self, what: RingsFor, time: Duration) {
        self.alarm.set(time.max(SHORT_CALL));
        self.rings_late = time > FIRST_LOOK;
        self.rings_for = Some(what);
    }
}

/// Whether a thread goes round in a short loop that does nothing but count.
fn spins(before: &Registers, now: &Registers) -> bool {
    let changed = Gpr::ALL.into_iter().filter(|&register| before.get(register) != now.get(register)).count();
    before.rip.abs_diff(now.rip) < LOOP && changed <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_counts_spins() {
        let at = |rip, rax, rbx| {
            let mut registers = Registers { rip, ..Registers::default() };
            registers.set(Gpr::Rax, rax);
            registers.set(Gpr::Rbx, rbx);
            Some(registers)
        };
        let turn = |first, second| {
            let mut turn = TurnTime::new(Duration::from_secs(1));
            assert_eq!(turn.rings(TurnIsIn::Code, false), Rang::Nothing);
            assert!(!turn.looks_at(|| unreachable!("nobody is to look")));
            assert_eq!(turn.rang(TurnIsIn::OtherCall, SECOND_LOOK), Rang::Nothing);
            for (time, seen) in [(FIRST_LOOK, first), (SECOND_LOOK, second)] {
                assert_eq!(turn.rang(TurnIsIn::Code, time), Rang::Looks);
                turn.is_to_look = true;
                turn.looks_at(|| seen);
            }
            assert_eq!(turn.rang(TurnIsIn::Code, SECOND_LOOK), Rang::Nothing, "it is known");
            turn.is_over()
        };
        assert!(turn(at(100, 1, 2), at(110, 9, 2)));
        assert!(!turn(at(100, 1, 2), at(110, 9, 3)));
        assert!(!turn(at(100, 1, 2), at(300, 1, 2)));
    }

    #[test]
    fn a_call_lasts_if_nothing_has_happened_since() {
        let mut turn = TurnTime::new(Duration::from_secs(1));
        turn.watch(TurnIsIn::ShortCall, false);
        turn.counts_stop();
        assert_eq!(turn.rang(TurnIsIn::ShortCall, Duration::ZERO), Rang::Nothing, "another call");
        turn.watch(TurnIsIn::ShortCall, false);
        turn.watch(TurnIsIn::Code, false);
        assert_eq!(turn.rang(TurnIsIn::ShortCall, Duration::ZERO), Rang::CallLasts);
    }

    #[test]
    fn a_turn_ends_at_a_call_if_one_comes() {
        let mut turn = TurnTime::new(Duration::from_secs(1));
        turn.look = Look::Done;
        assert_eq!(turn.rang(TurnIsIn::Code, QUANTUM - UNTIL_CALL), Rang::Nothing);
        assert_eq!(turn.rang(TurnIsIn::Code, QUANTUM), Rang::IsOver);
        assert_eq!(turn.rang(TurnIsIn::OtherCall, QUANTUM + UNTIL_CALL), Rang::IsOver);
        assert_eq!(turn.rang(TurnIsIn::Code, QUANTUM + UNTIL_CALL), Rang::EndsTurn);
        turn.is_urgent = true;
        turn.slice_begins(URGENT_QUANTUM / COPYING * 2);
        assert_eq!(turn.rang(TurnIsIn::Code, URGENT_QUANTUM + UNTIL_CALL), Rang::Nothing, "too dear");
        turn.slice_begins(Duration::ZERO);
        assert_eq!(turn.rang(TurnIsIn::Code, URGENT_QUANTUM), Rang::IsOver);
        assert_eq!(turn.rang(TurnIsIn::Code, URGENT_QUANTUM + UNTIL_CALL), Rang::EndsTurn);
        let mut short = TurnTime::new(Duration::from_millis(5));
        assert_eq!(short.rang(TurnIsIn::Code, Duration::from_millis(10)), Rang::EndsTurn);
    }
}
