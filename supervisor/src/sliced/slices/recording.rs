//! The slice that is being recorded: its log, and what is in it.

use syscall_replay::{Delivered, LogWriter};

use crate::base::Failure;
use crate::run_memory::{ClaimedSlot, StepNames};
use crate::sliced::boundaries::Amount;

/// A slice that has been forked and whose end isn't known yet.
pub struct Recording {
    /// Its number.
    pub number: u64,
    pub(super) slot: ClaimedSlot,
    pub(super) log_len: usize,
    pub(super) records: u32,
    /// Of these, written inside the app.
    inside: u32,
    /// Length and records, before the last record.
    before: (usize, u32),
    /// Bytes of the record of the call at its end.
    pub(super) last_call_len: usize,
}

impl Recording {
    /// A slice without records, in the process `pid`.
    pub fn new(number: u64, pid: i32, slot: ClaimedSlot) -> Self {
        slot.set_runner(pid);
        Self { number, slot, log_len: 0, records: 0, inside: 0, before: (0, 0), last_call_len: 0 }
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
        Amount { stopped: self.records - self.inside, inside: self.inside, bytes: self.log_len }
    }

    /// Lets `write` append to the log.
    pub fn log<T>(&mut self, write: impl FnOnce(&mut LogWriter<'_>) -> T) -> T {
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
        self.last_call_len = self.log_len - self.before.0;
        (self.log_len, self.records) = self.before;
    }
}
