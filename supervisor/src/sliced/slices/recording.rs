//! The slice that is being recorded: its log, what is in it, and whether it has had enough.
//!
//! Invariant: `last_call` is there exactly while the last record is about a call, and nothing that would be recorded has come after it.

use std::ops::Range;

use syscall_replay::{CallExit as Recorded, Delivered, LogFull, LogReader, LogWriter, Point, Turn, TurnEnd};
use tracee::{Stopped, TraceError};

use super::identity::{Context, Identity};
use crate::base::Failure;
use crate::command::CallLimit;
use crate::run_memory::{ClaimedSlot, StepNames};
use crate::sliced::boundaries::{Amount, SliceState, most_bytes, replaces_registers};

/// A call that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCall {
    /// Its number.
    pub number: u64,
    /// See [`bubble::behind::MadeCall::room`].
    pub room: u64,
}

/// A slice that has been forked and whose end isn't known yet.
pub struct Recording {
    /// Its number.
    pub(super) number: u64,
    pub(super) slot: ClaimedSlot,
    pub(super) log_len: usize,
    pub(super) records: u32,
    /// Of these, written inside the app.
    inside: u32,
    /// Of these, about threads: nothing that the app has done.
    pub(super) about_threads: u32,
    /// Length and records, before the last record.
    before: (usize, u32),
    /// Bytes of the record of the call at its end.
    pub(super) last_call_len: usize,
    /// The call that the last record is about.
    last_call: Option<LastCall>,
    /// Others store to the app's memory: it isn't the same for long.
    has_company: bool,
    /// `-spsysrecs`.
    limit: CallLimit,
    /// Its time is over.
    is_due: bool,
    /// The thread that has the turn is to give it up where it is.
    turn_is_due: bool,
}

impl Recording {
    /// A slice without records, in the process `pid`.
    pub fn new(number: u64, pid: i32, slot: ClaimedSlot, limit: CallLimit) -> Self {
        slot.set_process(pid);
        Self {
            number,
            slot,
            log_len: 0,
            records: 0,
            inside: 0,
            about_threads: 0,
            before: (0, 0),
            last_call_len: 0,
            last_call: None,
            has_company: false,
            limit,
            is_due: false,
            turn_is_due: false,
        }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where its log is.
    pub fn slot(&self) -> &ClaimedSlot {
        &self.slot
    }

    /// Its process is taken over by these.
    pub fn is_taken_over_by(&mut self, steps: StepNames) {
        self.slot.steps = steps;
    }

    /// What was recorded so far.
    pub fn amount(&self) -> Amount {
        let stopped = self.records - self.inside - self.about_threads;
        Amount { stopped, inside: self.inside, bytes: self.log_len }
    }

    /// Whether nothing that the app has done is recorded yet.
    pub fn is_fresh(&self) -> bool {
        self.records == self.about_threads
    }

    /// What matters for the decision whether it ends.
    pub fn state(&self) -> SliceState {
        SliceState { recorded: self.amount(), limit: self.limit, is_due: self.is_due }
    }

    /// Whether its time is over.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Its time is over, or begins anew.
    pub fn set_due(&mut self, is_due: bool) {
        self.is_due = is_due;
    }

    /// Whether it ends, or a turn does, where the thread that has the turn is.
    pub fn is_to_stop(&self) -> bool {
        self.is_due || self.turn_is_due
    }

    /// The thread that has the turn is to give it up where it is. Tells whether it was to do so before.
    pub fn set_turn_due(&mut self, is_due: bool) -> bool {
        std::mem::replace(&mut self.turn_is_due, is_due)
    }

    /// Calls that may still be recorded inside the app.
    pub fn left(&self) -> u32 {
        self.amount().left(self.limit)
    }

    /// Bytes of the log that may still be written inside the app.
    pub fn bytes_left(&self) -> Range<u64> {
        self.log_len as u64..most_bytes(self.limit) as u64
    }

    /// Whether it is to end where the time stamp counter is read, see [`Amount::is_enough_for_readings`].
    pub fn is_enough_for_readings(&self) -> bool {
        self.amount().is_enough_for_readings(self.limit)
    }

    /// Whether the last record is about a call, and the thread that stands here has executed nothing since: the kernel's note of a call is gone after the first
    /// instruction that is interrupted.
    ///
    /// # Errors
    /// If the thread was killed.
    pub fn is_behind_call(&self, stopped: &Stopped) -> Result<bool, TraceError> {
        Ok(self.last_call.is_some() && stopped.registers()?.syscall_number() >= 0)
    }

    /// That call, once.
    pub fn take_call(&mut self) -> Option<LastCall> {
        self.last_call.take()
    }

    /// The master has left what the last record is about.
    pub fn leaves_call(&mut self) {
        self.last_call = None;
    }

    /// Whether others store to the app's memory: then its end can't be proved by that.
    pub fn has_company(&mut self, has_company: bool) {
        self.has_company = has_company;
    }

    /// Lets `write` append the record of the call, behind which the master stands.
    pub fn log_call(&mut self, call: LastCall, write: impl FnOnce(&mut LogWriter<'_>) -> Recorded) -> Recorded {
        let recorded = self.log(write);
        if !matches!(recorded, Recorded::Boundary(_)) {
            self.last_call = (!replaces_registers(call.number)).then_some(call);
        }
        recorded
    }

    /// Lets `write` append another record to the log.
    pub fn log<T>(&mut self, write: impl FnOnce(&mut LogWriter<'_>) -> T) -> T {
        self.last_call = None;
        self.before = (self.log_len, self.records);
        let mut log = LogWriter::resume(self.slot.log(), self.log_len, self.records);
        let result = write(&mut log);
        (self.log_len, self.records) = (log.len(), log.records());
        result
    }

    /// Appends the start of a handler behind the last record, which is about a call. False if there is no room.
    pub fn log_delivery(&mut self, delivered: &Delivered<'_>) -> bool {
        let before = self.before;
        let is_logged = self.log(|log| log.delivery(before.0, delivered)).is_ok();
        if !is_logged {
            self.before = before;
        }
        is_logged
    }

    /// Appends a place at which a signal comes, or a turn ends. False if there is no room.
    pub fn log_point(&mut self, point: &Point<'_>) -> bool {
        self.log(|log| log.point(point)).is_ok()
    }

    /// Takes the last record back, a point at which nothing was recorded.
    pub fn take_point_back(&mut self) {
        (self.log_len, self.records) = self.before;
    }

    /// Whether the last record is a point: what takes place there isn't recorded yet.
    pub fn ends_with_point(&mut self) -> bool {
        let (at, log_len) = (self.before.0, self.log_len);
        LogReader::new(&self.slot.log()[at..log_len]).is_at_point()
    }

    /// Lets the log tell of a thread, in this state: at its start, or behind the call that has started it.
    ///
    /// # Errors
    /// If there is no room.
    pub fn log_thread(&mut self, identity: &Identity, context: &Context) -> Result<(), LogFull> {
        let call = self.before.0;
        self.about_threads += 1;
        self.log(|log| identity.told(context, |thread| log.thread(Some(call), thread)))
    }

    /// Lets the log tell that another thread goes on.
    ///
    /// # Errors
    /// If there is no room.
    pub fn log_turn(&mut self, turn: &Turn) -> Result<(), LogFull> {
        if self.is_fresh() && turn.end == TurnEnd::Ready {
            self.slot.thread_gives_way();
        }
        let call = (!matches!(turn.end, TurnEnd::InCall(_))).then_some(self.before.0);
        self.about_threads += 1;
        self.log(|log| log.turn(call, turn))
    }

    /// Appends records that were written inside the app. There must be room, see [`Amount::left`].
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn append(&mut self, bytes: &[u8], records: u32) -> Result<(), Failure> {
        if records == 0 {
            // The last record is still the last.
            return Ok(());
        }
        self.slot.write_log(self.log_len, bytes)?;
        self.extend(bytes.len(), records);
        Ok(())
    }

    /// As many records were written to the log inside the app.
    pub fn extend(&mut self, bytes: usize, records: u32) {
        if records == 0 {
            // The last record is still the last.
            return;
        }
        self.last_call = None;
        self.log_len += bytes;
        self.records += records;
        self.inside += records;
        self.before = (self.log_len, self.records);
    }

    /// Bytes of log that are left.
    pub fn room(&mut self) -> usize {
        self.slot.log().len() - self.log_len
    }

    /// Lets `write` note the call at the slice's end, of which nothing is replayed: for verification only.
    pub fn log_last_call<T>(&mut self, write: impl FnOnce(&mut LogWriter<'_>) -> T) -> T {
        let mut log = LogWriter::resume(self.slot.log(), self.log_len, self.records);
        let result = write(&mut log);
        self.last_call_len = log.len() - self.log_len;
        result
    }

    /// Takes the last record back: the slice is to end at what it was about.
    pub fn take_back(&mut self) {
        self.last_call_len = if self.has_company { 0 } else { self.log_len - self.before.0 };
        (self.log_len, self.records) = self.before;
    }
}
