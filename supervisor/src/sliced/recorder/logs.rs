//! Slices' logs in the master: the recorder writes its records to where the slice will read them.
//!
//! The part of the run memory that is a slot's log is mapped when the master's recorder first writes for a slice in that slot, and stays, so
//! that the pages are there when the slot is used again: to make them costs more than to write to them. Where a log can't be mapped, or is
//! longer than its part, records go to the recorder's own memory and are copied.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;

use bubble::map::{LOG_PART, LOGS, Region, file};
use tracee::{Remote, Stopped};

use super::install::{map_shared, reserve};
use crate::base::Failure;
use crate::sliced::recorder::code::{MOST_BYTES, MOST_RECORD};

/// What the recorder may write for a slice, and where.
pub struct Room<'a> {
    /// Records.
    pub records: u32,
    /// Bytes of the slice's log, of which those before are written.
    pub bytes: Range<u64>,
    /// The run memory.
    pub run: &'a File,
    /// Which slot's.
    pub slot: usize,
    /// Index of the thread that goes on.
    pub thread: u64,
}

/// Which logs are mapped, and where records go.
#[derive(Default)]
pub struct Logs {
    mapped: BTreeSet<usize>,
    /// The kernel, or the app's rights, didn't allow it.
    is_impossible: bool,
    /// Addresses to which the recorder writes, as long as it is armed.
    to: Option<Range<u64>>,
}

impl Logs {
    /// Where the recorder may write the records of a slice: the next one's address, and that from which on none begins. `None`: not to a log.
    ///
    /// # Errors
    /// If the master was killed.
    pub fn place(
        &mut self,
        stopped: &mut Stopped,
        gadget: u64,
        room: &Room<'_>,
    ) -> Result<Option<Range<u64>>, Failure> {
        self.to = None;
        let start = LOGS.start + room.slot as u64 * LOG_PART;
        let last = room.bytes.end.min(LOG_PART - MOST_BYTES - MOST_RECORD);
        if self.is_impossible || room.bytes.start + MOST_RECORD > last {
            return Ok(None);
        }
        if !self.mapped.contains(&room.slot) {
            let part = Region { start, size: LOG_PART };
            let mut remote = Remote::new(stopped, gadget)?;
            if !map_shared(&mut remote, part, room.run, file::records_at(room.slot))? {
                reserve(&mut remote, part)?;
                self.is_impossible = true;
                return Ok(None);
            }
            self.mapped.insert(room.slot);
        }
        self.to = Some(start + room.bytes.start..start + last);
        Ok(self.to.clone())
    }

    /// Bytes of the records that were written since then, if they went to a log. `next`: where the next one would go.
    pub fn written(&self, next: u64) -> Option<usize> {
        let to = self.to.as_ref()?;
        Some(next.clamp(to.start, to.end + MOST_BYTES) as usize - to.start as usize)
    }
}
