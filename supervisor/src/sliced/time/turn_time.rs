//! For how long a thread has had the turn.
//!
//! One alarm tells, by the wall clock, that it is to be looked: whether a call has lasted, and, by the process's CPU clock, whether the turn has. It is set only while others want
//! the turn.

use std::time::Duration;

use crate::base::Failure;
use crate::events::{Alarm, Purpose};
use crate::sliced::boundaries::{cpu_clock, reading};

/// CPU time after which a thread gives up its turn, if others want it.
const QUANTUM: Duration = Duration::from_millis(100);
/// So much longer a thread may have the turn until it comes to a call, where it is given up without the end of a slice.
const UNTIL_CALL: Duration = Duration::from_millis(5);
/// After so long a call isn't a short one any more: others have the turn until it is over.
const SHORT_CALL: Duration = Duration::from_micros(200);

/// For how long a thread has had the turn.
pub(in crate::sliced) struct TurnTime {
    alarm: Alarm,
    /// The process's CPU clock, once it has several threads.
    clock: Option<libc::clockid_t>,
    /// The slice length, if that is shorter than [`QUANTUM`].
    quantum: Duration,
    /// CPU time of the process when the turn began.
    since: Duration,
    /// What the alarm will ring for.
    rings_for: Option<RingsFor>,
    /// The turn is to be given up as soon as that can be.
    is_over: bool,
    /// Stops of whoever had the turn.
    stops: u64,
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
    /// The turn is to end behind the next call.
    IsOver,
    /// The slice is to end where the thread is.
    EndsSlice,
}

impl TurnTime {
    /// With slices of this length.
    pub(in crate::sliced) fn new(slice: Duration) -> Self {
        Self {
            alarm: Alarm::default(),
            clock: None,
            quantum: slice.min(QUANTUM),
            since: Duration::ZERO,
            rings_for: None,
            is_over: false,
            stops: 0,
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
            self.begins();
        }
        Ok(())
    }

    /// A turn begins.
    pub(in crate::sliced) fn begins(&mut self) {
        self.since = self.now();
        self.is_over = false;
    }

    /// Whoever has the turn has come to a stop.
    pub(in crate::sliced) fn counts_stop(&mut self) {
        self.stops += 1;
    }

    /// Whether the turn is to be given up as soon as that can be.
    pub(in crate::sliced) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether it is given up where a slice ends anyway: it need not be a whole one.
    pub(in crate::sliced) fn is_nearly_over(&self) -> bool {
        self.is_over || self.used() * 2 >= self.quantum
    }

    /// Others want the turn: sets the alarm.
    pub(in crate::sliced) fn watch(&mut self, is_in: TurnIsIn) {
        match (self.rings_for, is_in) {
            (Some(RingsFor::Call(_)), _) => {}
            (_, TurnIsIn::ShortCall) => self.set(RingsFor::Call(self.stops), SHORT_CALL),
            (Some(RingsFor::Quantum), _) => {}
            (None, _) => self.set(RingsFor::Quantum, self.quantum.saturating_sub(self.used())),
        }
    }

    /// The alarm has rung, and others want the turn.
    pub(in crate::sliced) fn rings(&mut self, is_in: TurnIsIn) -> Rang {
        let used = self.used();
        let rang = self.rang(is_in, used);
        if matches!(rang, Rang::IsOver | Rang::EndsSlice) {
            self.is_over = true;
            self.set(RingsFor::Quantum, UNTIL_CALL);
        }
        rang
    }

    fn rang(&mut self, is_in: TurnIsIn, used: Duration) -> Rang {
        let has_lasted = self.rings_for.take() == Some(RingsFor::Call(self.stops));
        match is_in {
            TurnIsIn::ShortCall if has_lasted => Rang::CallLasts,
            TurnIsIn::Code if used >= self.quantum + UNTIL_CALL => Rang::EndsSlice,
            _ if used >= self.quantum => Rang::IsOver,
            _ => Rang::Nothing,
        }
    }

    fn now(&self) -> Duration {
        self.clock.and_then(reading).unwrap_or_default()
    }

    fn used(&self) -> Duration {
        self.now().saturating_sub(self.since)
    }

    fn set(&mut self, what: RingsFor, time: Duration) {
        self.alarm.set(time.max(SHORT_CALL));
        self.rings_for = Some(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_lasts_if_nothing_has_happened_since() {
        let mut turn = TurnTime::new(Duration::from_secs(1));
        turn.watch(TurnIsIn::ShortCall);
        turn.counts_stop();
        assert_eq!(turn.rang(TurnIsIn::ShortCall, Duration::ZERO), Rang::Nothing, "another call");
        turn.watch(TurnIsIn::ShortCall);
        turn.watch(TurnIsIn::Code);
        assert_eq!(turn.rang(TurnIsIn::ShortCall, Duration::ZERO), Rang::CallLasts);
    }

    #[test]
    fn a_turn_ends_at_a_call_if_one_comes() {
        let mut turn = TurnTime::new(Duration::from_secs(1));
        assert_eq!(turn.rang(TurnIsIn::Code, QUANTUM - UNTIL_CALL), Rang::Nothing);
        assert_eq!(turn.rang(TurnIsIn::Code, QUANTUM), Rang::IsOver);
        assert_eq!(turn.rang(TurnIsIn::OtherCall, QUANTUM + UNTIL_CALL), Rang::IsOver);
        assert_eq!(turn.rang(TurnIsIn::Code, QUANTUM + UNTIL_CALL), Rang::EndsSlice);
        let mut short = TurnTime::new(Duration::from_millis(5));
        assert_eq!(short.rang(TurnIsIn::Code, Duration::from_millis(10)), Rang::EndsSlice);
    }
}
