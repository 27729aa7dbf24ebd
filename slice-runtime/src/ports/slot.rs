//! This process's slot in the run memory, from the slice's side. The protocol is drawn in [`bubble::shared`].
//!
//! Everything here works with any signal mask, without a libc heap and on either TLS: plain loads, stores and three system calls (futex, write-free exit).

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bubble::adoption::Adoption;
use bubble::departure::Places;
use bubble::end::End;
use bubble::map::{CONTROL, RECORDS};
use bubble::region::{Progress, pass};
use bubble::shared::{MAX_SLOTS, NO_PROCESS, NO_SLOT, REPORT_BYTES, RunHeader, SliceStats, Slot, slot_at, state};
use bubble::values::{HEAD, MOST_VALUES, VALUES};

use super::kernel::{cpu_time, processor};
use super::requests;
use super::tool::RunningTool;

/// What a process that failed exits with. The control process reads the slot, not this.
const FAILED_STATUS: i32 = 125;

/// Index of the slot that this process owns, for whoever has to report a failure from anywhere (panics).
static OWN: AtomicU32 = AtomicU32::new(u32::MAX);

/// The slot that this process owns.
#[derive(Clone, Copy)]
pub struct OwnSlot {
    slot: *mut Slot,
}

impl OwnSlot {
    /// Takes slot `index`.
    ///
    /// # Safety
    /// This is a taken-over process: CONTROL, RECORDS and RESULT are mapped, and no other process owns the slot.
    pub unsafe fn take(index: u32) -> Self {
        assert!((index as usize) < MAX_SLOTS, "slot {index} does not exist");
        OWN.store(index, Ordering::Relaxed);
        Self::at(index)
    }

    /// The slot that [`Self::take`] took, if it was called.
    pub fn current() -> Option<Self> {
        let index = OWN.load(Ordering::Relaxed);
        (index != u32::MAX).then(|| Self::at(index))
    }

    fn at(index: u32) -> Self {
        Self { slot: (CONTROL.start as usize + slot_at(index as usize)) as *mut Slot }
    }

    /// Its number.
    pub fn index(&self) -> usize {
        OWN.load(Ordering::Relaxed) as usize
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: `take` was promised that the slot is mapped; the field is atomic.
        unsafe { &(*self.slot).state }
    }

    /// Sleeps until the slice's end is known: the log and [`Self::end`] are then complete.
    pub fn wait_released(&self) {
        while self.state().load(Ordering::Acquire) < state::RELEASED {
            futex(self.state(), libc::FUTEX_WAIT, state::BOOTING);
        }
    }

    /// The slice's log. Valid once the slot was released.
    pub fn log(&self) -> &'static [u8] {
        // SAFETY: RECORDS is mapped and nobody writes it after the release; the control process never states
        // more than the region holds, and the minimum is taken in case it does.
        unsafe {
            let len = (*self.slot).log_len.load(Ordering::Relaxed).min(RECORDS.size);
            std::slice::from_raw_parts(RECORDS.start as *const u8, len as usize)
        }
    }

    /// The record of the system call at the slice's end, empty if there is none. Valid once the slot was released.
    pub fn last_call(&self) -> &'static [u8] {
        // SAFETY: as in `log`; both lengths are limited to what RECORDS holds.
        unsafe {
            let log = (*self.slot).log_len.load(Ordering::Relaxed).min(RECORDS.size);
            let len = (*self.slot).last_call_len.load(Ordering::Relaxed).min(RECORDS.size - log);
            std::slice::from_raw_parts((RECORDS.start + log) as *const u8, len as usize)
        }
    }

    /// Records in the log.
    pub fn records(&self) -> u32 {
        // SAFETY: see `state`.
        unsafe { (*self.slot).records.load(Ordering::Relaxed) }
    }

    /// Where the slice ends. Valid once the slot was released.
    pub fn end(&self) -> &'static End {
        // SAFETY: the control process writes it before the release only, as valid values of its types.
        unsafe { &(*self.slot).end }
    }

    /// CPU time that the slice may use; zero: as much as it likes.
    pub fn cpu_bound(&self) -> Duration {
        // SAFETY: see `state`.
        Duration::from_nanos(unsafe { (*self.slot).cpu_bound_ns.load(Ordering::Relaxed) })
    }

    /// Which of the programs that the app is, one after the other, is executed here.
    pub fn program(&self) -> u32 {
        // SAFETY: see `state`.
        unsafe { (*self.slot).program.load(Ordering::Relaxed) }
    }

    /// What is wrong will be so again if the slice is begun again.
    pub fn give_up(&self) {
        // SAFETY: see `state`.
        unsafe { (*self.slot).is_final.store(1, Ordering::Relaxed) };
    }

    fn checkpoint_word(&self) -> &AtomicU32 {
        // SAFETY: see `state`.
        unsafe { &(*self.slot).checkpoint }
    }

    /// Publishes the process that keeps this slice's first state, or that there is none.
    pub fn set_checkpoint(&self, pid: Option<i32>) {
        let word = self.checkpoint_word();
        word.store(pid.map_or(NO_PROCESS, |pid| pid as u32), Ordering::Release);
        futex(word, libc::FUTEX_WAKE, i32::MAX as u32);
    }

    /// Slot of the slice that starts where this one ends. Valid once the slot was released.
    pub fn successor(&self) -> Option<u32> {
        // SAFETY: see `state`.
        Some(unsafe { (*self.slot).successor.load(Ordering::Relaxed) }).filter(|index| *index != NO_SLOT)
    }

    /// The process that keeps the first state of the slice in slot `index`: waits until that is decided.
    pub fn checkpoint_of(&self, index: u32) -> Option<i32> {
        assert!((index as usize) < MAX_SLOTS, "slot {index} does not exist");
        let slot = Self::at(index);
        let word = slot.checkpoint_word();
        loop {
            match word.load(Ordering::Acquire) {
                0 => futex(word, libc::FUTEX_WAIT, 0),
                NO_PROCESS => return None,
                pid => return Some(pid as i32),
            }
        }
    }

    /// What this process is to do, one of [`bubble::region::pass`].
    pub fn pass(&self) -> u32 {
        // SAFETY: see `state`.
        unsafe { (*self.slot).pass.load(Ordering::Acquire) }
    }

    /// How far the run has come where the slice begins.
    pub fn begins(&self) -> Progress {
        // SAFETY: the control process writes it before this process is made, or begun again.
        unsafe { (*self.slot).begins }
    }

    /// What the tool has counted before, encoded.
    pub fn values_before(&self) -> &'static [u8] {
        // SAFETY: RESULT is mapped, and nobody writes there before this process does, when it is over.
        unsafe {
            let len = (*(VALUES.start as *const u64)).min(MOST_VALUES);
            std::slice::from_raw_parts((VALUES.start + HEAD) as *const u8, len as usize)
        }
    }

    /// Leaves there what it has counted since, with that.
    fn leave_values(&self, tool: &dyn RunningTool) -> Result<(), String> {
        // SAFETY: RESULT is mapped for this process alone, and no other reference to this part exists any more.
        let out = unsafe { std::slice::from_raw_parts_mut((VALUES.start + HEAD) as *mut u8, MOST_VALUES as usize) };
        let len = tool.counted(out)?;
        // SAFETY: as above.
        unsafe { (VALUES.start as *mut u64).write(len as u64) };
        Ok(())
    }

    /// How often this slice was begun again.
    pub fn attempt(&self) -> u32 {
        // SAFETY: see `state`.
        unsafe { (*self.slot).attempt.load(Ordering::Acquire) }
    }

    /// Sleeps until the slice is to be begun again, after attempt number `last`.
    pub fn wait_for_attempt_after(&self, last: u32) -> u32 {
        loop {
            match self.attempt() {
                // SAFETY: see `state`.
                same if same == last => futex(unsafe { &(*self.slot).attempt }, libc::FUTEX_WAIT, last),
                next => return next,
            }
        }
    }

    /// Whether it is known that the slice in slot `index`, the one after this, came to input by itself. To be asked before this slice's
    /// result is handed in: until then that slot isn't given back.
    pub fn comes_to_input(&self, index: u32) -> bool {
        assert!((index as usize) < MAX_SLOTS, "slot {index} does not exist");
        // SAFETY: CONTROL is mapped; see above.
        unsafe { Slot::comes_to_input(Self::at(index).slot) }
    }

    fn process(&self) -> &AtomicU32 {
        // SAFETY: see `state`.
        unsafe { &(*self.slot).process }
    }

    /// Tells which process runs the slice, unless that is known.
    pub fn enter_process(&self, pid: i32) {
        let _ = self.process().compare_exchange(0, pid as u32, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// That process doesn't run the slice any more. Whether it was still known to do so: the control process takes it out, too,
    /// and only one of the two acts on that.
    pub fn take_process(&self, pid: i32) -> bool {
        self.process().compare_exchange(pid as u32, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// A signal has arrived.
    pub fn signal_arrived(&self) {
        // SAFETY: see `state`.
        unsafe { (*self.slot).arrived.fetch_add(1, Ordering::Release) };
    }

    /// A signal that had arrived is about to be delivered, or forgotten.
    pub fn signal_delivered(&self) {
        // SAFETY: see `state`.
        unsafe { (*self.slot).delivered.fetch_add(1, Ordering::Release) };
    }

    /// Tells where the app's code goes on in the process that is about to be started.
    pub fn set_child_at(&self, address: u64) {
        // SAFETY: see `state`.
        unsafe { (*self.slot).child_at.store(address, Ordering::Release) };
    }

    /// Whether the app is to leave the image.
    pub fn departs(&self) -> bool {
        // SAFETY: see `state`.
        unsafe { (*self.slot).departs.load(Ordering::Acquire) != 0 }
    }

    /// It is.
    pub fn set_departs(&self) {
        // SAFETY: see `state`.
        unsafe { (*self.slot).departs.store(1, Ordering::Release) };
    }

    /// Places of the runtime's code, to be told to the control process.
    pub fn places(&self) -> &Places {
        // SAFETY: see `state`; the fields are atomic.
        unsafe { &(*self.slot).places }
    }

    /// Where further threads come in, to be told to the control process.
    pub fn adoption(&self) -> &Adoption {
        // SAFETY: see `state`; the fields are atomic.
        unsafe { &(*self.slot).adoption }
    }

    /// Whether signals are held back, one of [`bubble::shared::held`].
    pub fn held(&self) -> &AtomicU32 {
        // SAFETY: see `state`.
        unsafe { &(*self.slot).held }
    }

    /// What the app blocks then.
    pub fn held_mask(&self) -> &AtomicU64 {
        // SAFETY: see `state`.
        unsafe { &(*self.slot).held_mask }
    }

    /// Hands in the tool's result and the slice's counters: from now on the slot is FINISHED.
    ///
    /// # Errors
    /// If the tool could not encode its result.
    pub fn publish(&self, tool: &dyn RunningTool, mut stats: SliceStats) -> Result<(), String> {
        let len = requests::encoded(tool)?;
        // SAFETY: see `state`.
        unsafe { (*self.slot).stopped.store(requests::ends_all().into(), Ordering::Relaxed) };
        // SAFETY: this is a taken-over process.
        if unsafe { header() }.region.has_values() && matches!(self.pass(), pass::COUNTS | pass::ONLY) {
            self.leave_values(tool)?;
        }
        (stats.cpu_ns, stats.processors[1]) = (cpu_time().as_nanos() as u64, processor());
        // SAFETY: until the state below is stored, this side owns these fields.
        unsafe {
            (*self.slot).result_len.store(len, Ordering::Relaxed);
            (&raw mut (*self.slot).stats).write(stats);
            let end = (*self.slot).end.registers.rip;
            (&raw mut (*self.slot).ends).write(tool.progress(end).unwrap_or_default());
        }
        self.enter(state::FINISHED);
        Ok(())
    }

    /// Bytes of the result that was handed in.
    pub fn result_len(&self) -> u64 {
        // SAFETY: see `state`.
        unsafe { (*self.slot).result_len.load(Ordering::Relaxed) }
    }

    /// Notes that the state at the slice's end recurs.
    pub fn set_end_recurs(&self) {
        // SAFETY: see `state`.
        unsafe { (*self.slot).end_recurs.store(1, Ordering::Release) };
    }

    /// Takes back [`Self::publish`]: the app goes on (its exec failed).
    pub fn unpublish(&self) {
        self.state().store(state::RELEASED, Ordering::Release);
    }

    /// Says why no right result can come from this process. The first report stays, and so does a result that was
    /// handed in.
    pub fn report(&self, text: &dyn Display) {
        if self.state().load(Ordering::Acquire) >= state::FINISHED {
            return;
        }
        self.report_text(&text.to_string());
    }

    fn report_text(&self, text: &str) {
        let mut len = text.len().min(REPORT_BYTES);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: until the state below is stored, this side owns these fields; `len` is within both.
        unsafe {
            let to = (&raw mut (*self.slot).report).cast::<u8>();
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, len);
            (*self.slot).report_len.store(len as u32, Ordering::Relaxed);
        }
        self.enter(state::FAILED);
    }

    /// [`Self::report`], and the end of this process.
    pub fn fail(&self, text: &dyn Display) -> ! {
        self.report(text);
        exit_now(FAILED_STATUS)
    }

    /// The same where there is no memory to be had.
    pub(crate) fn fail_with(&self, text: &'static str) -> ! {
        if self.state().load(Ordering::Acquire) < state::FINISHED {
            self.report_text(text);
        }
        exit_now(FAILED_STATUS)
    }

    fn enter(&self, to: u32) {
        self.state().store(to, Ordering::Release);
        futex(self.state(), libc::FUTEX_WAKE, i32::MAX as u32);
    }
}

/// The settings of the run.
///
/// # Safety
/// This is a taken-over process: CONTROL is mapped.
pub unsafe fn header() -> &'static RunHeader {
    // SAFETY: the header starts CONTROL, was written before the first process was taken over, and stays.
    unsafe { &*(CONTROL.start as *const RunHeader) }
}

/// Ends this process at once: nothing of the image's libc runs, no buffer is flushed.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: exit_group takes no pointers and does not return.
    unsafe {
        libc::syscall(libc::SYS_exit_group, status);
    }
    unreachable!("exit_group returned")
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    futex_within(word, operation, value, None);
}

/// A futex call that waits for no longer than this.
pub(super) fn futex_within(word: &AtomicU32, operation: i32, value: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: word and time outlive the call. Not FUTEX_PRIVATE: the other side is another process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, timeout) };
}
