//! A slot of the run memory: what the control process tells a slice, and what the slice answers.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use bubble::adoption::Adoption;
use bubble::departure::Places;
use bubble::end::End;
use bubble::map::file;
use bubble::region::Progress;
use bubble::shared::{NO_PROCESS, SliceStats, Slot, held, state};
use bubble::values::{HEAD, MOST_VALUES, values_at};

use super::step_names::StepNames;
use super::view::View;
use crate::base::{Doing, Failure};

/// A slot that belongs to one slice (or to the serial process), and the view of its log.
pub struct ClaimedSlot {
    pub(super) index: usize,
    pub(super) slot: NonNull<Slot>,
    pub(super) log: View,
    /// The run memory.
    pub(super) file: Rc<File>,
    /// What its process was taken over by.
    pub steps: StepNames,
}

impl ClaimedSlot {
    /// Its number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The run memory, which its log is a part of.
    pub fn run_memory(&self) -> &File {
        &self.file
    }

    pub(super) fn slot(&self) -> &Slot {
        // SAFETY: the slot is mapped for as long as it is claimed. The fields that a slice may write meanwhile are
        // atomic, or read (below) only after its state says that it has written them for the last time.
        unsafe { self.slot.as_ref() }
    }

    /// One of [`state`].
    pub fn state(&self) -> u32 {
        self.slot().state.load(Acquire)
    }

    /// The log, to be written until the release.
    pub fn log(&mut self) -> &mut [u8] {
        // SAFETY: the view is this slot's own and borrowed exclusively; the slice doesn't write there and reads
        // only after the release.
        unsafe { std::slice::from_raw_parts_mut(self.log.start.as_ptr(), self.log.len) }
    }

    /// Copies much to the log at once. By the file, not by the view: the kernel then neither clears the pages nor maps them.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn write_log(&mut self, at: usize, bytes: &[u8]) -> Result<(), Failure> {
        assert!(at + bytes.len() <= self.log.len, "the log's end");
        let at = file::records_at(self.index) + at as u64;
        self.file.write_all_at(bytes, at).doing("write a slice's log")
    }

    /// Publishes log and end: the slice may run. `last_call_len` bytes behind the log are the record of the call at its end.
    pub fn publish(&mut self, end: &End, log_len: usize, last_call_len: usize, records: u32) {
        // SAFETY: until the state below is stored this side owns the field; the slice doesn't look at it.
        unsafe { (&raw mut (*self.slot.as_ptr()).end).write(end.clone()) };
        self.slot().log_len.store(log_len as u64, Relaxed);
        self.slot().last_call_len.store(last_call_len as u64, Relaxed);
        self.slot().records.store(records, Relaxed);
        self.slot().state.store(state::RELEASED, Release);
        wake(&self.slot().state);
    }

    /// CPU time that the slice may use; zero: as much as it likes. To be told before the end is published.
    pub fn set_cpu_bound(&self, bound: Duration) {
        self.slot().cpu_bound_ns.store(u64::try_from(bound.as_nanos()).unwrap_or(0), Relaxed);
    }

    /// Slot `index` has the slice that starts where this one ends. To be told before the end is published.
    pub fn set_successor(&self, index: usize) {
        self.slot().successor.store(index as u32, Relaxed);
    }

    /// The thread with which the slice begins executes nothing before another one goes on.
    pub fn thread_gives_way(&self) {
        self.slot().gives_way.store(1, Relaxed);
    }

    /// Whether it makes sense to begin the slice again.
    pub fn may_be_tried_again(&self) -> bool {
        self.slot().is_final.load(Relaxed) == 0
    }

    /// The process that runs the slice; `None` while a new one is being made.
    pub fn process(&self) -> Option<i32> {
        process(self.slot().process.load(Acquire))
    }

    /// Tells which process runs it.
    pub fn set_process(&self, pid: i32) {
        self.slot().process.store(pid as u32, Release);
    }

    /// Process `pid` has ended. Whether it was the one that ran the slice, and nobody else has acted on its end.
    pub fn take_process(&self, pid: i32) -> bool {
        self.slot().process.compare_exchange(pid as u32, 0, AcqRel, Relaxed).is_ok()
    }

    /// The process that keeps the slice's first state, if there is one.
    pub fn checkpoint(&self) -> Option<i32> {
        process(self.slot().checkpoint.load(Acquire))
    }

    /// There is no such process any more: whoever waits for it or looks for it must know.
    pub fn lose_checkpoint(&self) {
        self.slot().checkpoint.store(NO_PROCESS, Release);
        wake(&self.slot().checkpoint);
    }

    /// How often the slice was begun again.
    pub fn attempts(&self) -> u32 {
        self.slot().attempt.load(Relaxed)
    }

    /// Has the slice begun again from its first state, as one in state `state` (its process has ended).
    pub fn begin_again(&self, state: u32) {
        self.slot().process.store(0, Relaxed);
        self.slot().result_len.store(0, Relaxed);
        self.slot().report_len.store(0, Relaxed);
        self.slot().end_recurs.store(0, Relaxed);
        self.slot().stopped.store(0, Relaxed);
        self.slot().state.store(state, Release);
        self.slot().attempt.fetch_add(1, Release);
        wake(&self.slot().attempt);
    }

    /// What the process is to do that runs the slice next, one of [`bubble::region::pass`], and how far the run has come before it.
    pub fn set_pass(&self, pass: u32, begins: &Progress) {
        // SAFETY: no process runs the slice, or it hasn't begun; the word below publishes it.
        unsafe { (&raw mut (*self.slot.as_ptr()).begins).write(*begins) };
        self.slot().pass.store(pass, Release);
    }

    /// What its process does.
    pub fn pass(&self) -> u32 {
        self.slot().pass.load(Relaxed)
    }

    /// Whether the tool has looked its last in it. Valid once it has finished.
    pub fn has_stopped(&self) -> bool {
        self.slot().stopped.load(Relaxed) != 0
    }

    /// How far the run has come behind it. Valid once it has finished.
    pub fn ends(&self) -> Progress {
        self.slot().ends
    }

    /// Where the slice ends. Valid once it was published.
    pub fn end(&self) -> &End {
        &self.slot().end
    }

    /// Whether the complete state there recurs.
    pub fn end_recurs(&self) -> bool {
        self.slot().end_recurs.load(Acquire) != 0
    }

    /// Where the app's code goes on in the process that it has started, if it is in the image's code.
    pub fn child_at(&self) -> Option<u64> {
        Some(self.slot().child_at.load(Acquire)).filter(|&address| address != 0)
    }

    /// Whether a serial run holds signals back, one of [`held`], and what the app blocks.
    pub fn held(&self) -> (u32, u64) {
        (self.slot().held.load(Acquire), self.slot().held_mask.load(Relaxed))
    }

    /// It doesn't any more.
    pub fn let_in(&self) {
        self.slot().held.store(held::NOT, Release);
    }

    /// Has the app that runs serially leave the image, see [`bubble::departure`].
    pub fn ask_to_depart(&self) {
        self.slot().departs.store(1, Release);
    }

    /// Whether it is about to.
    pub fn departs(&self) -> bool {
        self.slot().departs.load(Acquire) != 0
    }

    /// Places of its runtime. `None` before that has told them.
    pub fn places(&self) -> Option<&Places> {
        let places = &self.slot().places;
        (places.window.load(Acquire) != 0).then_some(places)
    }

    /// Where further threads come into its runtime. `None` before that has told it.
    pub fn adoption(&self) -> Option<&Adoption> {
        let adoption = &self.slot().adoption;
        (adoption.stacks.load(Acquire) != 0).then_some(adoption)
    }

    /// Signals that have arrived in a serial run, and how many of them have reached the app's code.
    pub fn signals(&self) -> [u32; 2] {
        [&self.slot().arrived, &self.slot().delivered].map(|count| count.load(Acquire))
    }

    /// What the tool has counted by itself until here, encoded. Valid once it has finished.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn values(&self) -> Result<Vec<u8>, Failure> {
        let (at, mut len) = (values_at(self.index), [0; HEAD as usize]);
        let read = |bytes: &mut [u8], at| self.file.read_exact_at(bytes, at).doing("read what the tool has counted");
        read(&mut len, at)?;
        let mut bytes = vec![0; u64::from_le_bytes(len).min(MOST_VALUES) as usize];
        read(&mut bytes, at + HEAD)?;
        Ok(bytes)
    }

    /// What it had counted before. To be told before its process begins.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn set_values(&self, values: &[u8]) -> Result<(), Failure> {
        let bytes = [&(values.len() as u64).to_le_bytes(), values].concat();
        self.file.write_all_at(&bytes, values_at(self.index)).doing("write what the tool has counted")
    }

    /// Bytes of the encoded result.
    pub fn result_len(&self) -> u64 {
        self.slot().result_len.load(Relaxed)
    }

    /// The failure report, empty if there is none.
    pub fn report(&self) -> String {
        let len = self.slot().report_len.load(Acquire) as usize;
        let bytes = &self.slot().report[..len.min(self.slot().report.len())];
        crate::base::named(&String::from_utf8_lossy(bytes))
    }

    /// The slice's counters, complete once it has finished.
    pub fn stats(&self) -> SliceStats {
        self.slot().stats
    }
}

pub(super) fn process(pid: u32) -> Option<i32> {
    (pid != 0 && pid != NO_PROCESS).then_some(pid as i32)
}

fn wake(word: &AtomicU32) {
    // SAFETY: the futex word is mapped. Waking never fails in a way that matters.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}
