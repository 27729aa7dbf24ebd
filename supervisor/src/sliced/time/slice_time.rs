//! How long a slice works in the master, and how long it may take itself.

use std::collections::VecDeque;
use std::thread::available_parallelism;
use std::time::Duration;

use super::fitting::{FIRST, fitting, is_enough, may_shorten, shortest, towards_end};
use super::input::left;
use crate::base::Failure;
use crate::command::{Settings, SliceLength};
use crate::report::Costs;
use crate::sliced::boundaries::Timer;

/// How long to wait until an interrupt is tried again that came at a bad place.
const ASK_AGAIN: Duration = Duration::from_millis(1);
/// By how much a slice may be slower than the app. Most are so by 2 to 10.
const SLOWDOWN: u32 = 100;

/// So many slices are the last ones.
const LAST: usize = 4;

/// The time of the slice that is recorded.
pub(in crate::sliced) struct SliceTime {
    timer: Timer,
    /// `-spmsec`, or how long the next slice is to be.
    wanted: Duration,
    /// It fits what slices cost.
    adapts: bool,
    /// What the app has spent at most on copying pages, in each of the last slices.
    copied: VecDeque<Duration>,
    /// Slices that were made shorter because the app's end seemed near.
    shortened: u32,
    /// Whose time it is.
    pid: i32,
    /// `-spgrace`.
    grace: Duration,
    /// On which slices run.
    processors: usize,
}

impl SliceTime {
    /// Before there is a process whose time it is.
    pub(in crate::sliced) fn new(settings: &Settings) -> Self {
        let (wanted, adapts) = match settings.slice_length {
            SliceLength::Fixed(time) => (time, false),
            SliceLength::Auto => (FIRST, true),
        };
        let grace = Duration::from_millis(settings.grace_ms);
        Self {
            timer: Timer::default(),
            wanted,
            adapts,
            copied: VecDeque::new(),
            shortened: 0,
            pid: 0,
            grace,
            processors: available_parallelism().map_or(1, usize::from),
        }
    }

    /// It is process `pid`'s.
    ///
    /// # Errors
    /// If the process is gone or the kernel has no timers left.
    pub(in crate::sliced) fn begin(&mut self, pid: i32) -> Result<(), Failure> {
        (self.timer, self.pid) = (Timer::new(pid)?, pid);
        Ok(())
    }

    /// A slice begins, by what slices have cost, or gets as much time once more. Gives what the app has spent at most, since the last did, on copying pages.
    pub(in crate::sliced) fn slice_begins(&mut self, costs: &Costs) -> Duration {
        if self.adapts {
            self.wanted = self.fitting(costs);
        }
        let copied = self.timer.slice_begins(self.wanted);
        self.copied.truncate(LAST - 1);
        self.copied.push_front(copied);
        copied
    }

    fn fitting(&mut self, costs: &Costs) -> Duration {
        // The least: the kernel counts pages that are new to the app, too.
        let copied = self.copied.iter().min().copied().unwrap_or_default();
        let (fitting, shortest) = (fitting(costs, copied), shortest(costs));
        if fitting <= shortest || !may_shorten(costs, copied, self.shortened) {
            return fitting;
        }
        let Some(left) = left(self.pid, costs.up_to_now) else { return fitting };
        let wanted = towards_end(fitting, shortest, left);
        self.shortened += u32::from(wanted < fitting);
        wanted
    }

    /// Whether the app is to wait before another slice, though `running` are fewer than may run: what slices have cost says so.
    pub(in crate::sliced) fn has_enough(&self, running: usize, costs: &Costs) -> bool {
        self.adapts && is_enough(costs, running, self.processors)
    }

    /// The slice could not be cut when its time was over: the signal comes again soon.
    pub(in crate::sliced) fn ask_again(&self) {
        self.timer.set(ASK_AGAIN);
    }

    /// The signal has come. Whether the slice's time is over; otherwise there will be another signal.
    pub(in crate::sliced) fn is_over(&self) -> bool {
        self.timer.is_over()
    }

    /// A new program was loaded.
    pub(in crate::sliced) fn image_begins(&mut self) {
        self.timer.image_begins();
    }

    /// See [`Timer::is_image_young`].
    pub(in crate::sliced) fn is_image_young(&self) -> bool {
        self.timer.is_image_young()
    }

    /// CPU time of the slice which has just ended in the master. `None`: the process is gone.
    pub(in crate::sliced) fn used(&mut self) -> Option<Duration> {
        self.timer.used()
    }

    /// CPU time that a slice may use for which the master has used so much: many times that. Zero: as much as it likes.
    pub(in crate::sliced) fn cpu_bound(&self, used: Option<Duration>) -> Duration {
        match used {
            Some(used) if !self.grace.is_zero() => used * SLOWDOWN + self.grace,
            _ => Duration::ZERO,
        }
    }
}
