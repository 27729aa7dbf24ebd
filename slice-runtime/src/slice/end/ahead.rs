//! A look ahead from a point: whether the app, if no signal came, would pass through the same state again.
//!
//! A loop that changes nothing and waits until a handler changes something for it passes through one state again and again. Which time the signal came nobody can tell: the slice
//! takes the first. So at each point a copy of the slice's process goes on without the signal for a short while. If it comes back to the point, that is ambiguous.
//!
//! ```text
//!   slice ── at the point ──┬── the signal comes ── …
//!                           └── copy: goes on ──┬─ the same state: ambiguous
//!                                               └─ asks for input, or its time is over
//! ```
//!
//! The copy must leave no trace: it ends as soon as it would ask for anything.

use std::collections::VecDeque;
use std::time::Duration;

use bubble::map::BUBBLE;
use bubble::shared::PointStats;
use machine::mapping::{self, Mapping};
use machine::pagemap::Pagemap;
use machine::{Here, Memory, PAGE};

use super::interruption;
use crate::ports::{cpu_time, exit_now, stream};

/// For how long, at least, a copy looks. Many of those who have the turn until it ends, or are where a signal comes, wait for just that in a loop. The slice goes round it once, so its
/// own time says nothing. Beginning to look, and two digests, have been seen to take more than a millisecond.
const SHORTEST: Duration = Duration::from_millis(2);
/// So many copies look at the same time.
const TOGETHER: usize = 4;
/// For how long a new process is waited for where there may be no more, and in which steps.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// How the copy ends.
const COMES_BACK: i32 = 3;
const GOES_AWAY: i32 = 4;

/// The copies of a slice.
#[derive(Default)]
pub struct Lookers {
    /// Processes that look, and from where.
    pids: VecDeque<(i64, Place)>,
    /// Of the slice, at the last point.
    cpu: Duration,
    /// Points that recur, as far as was seen, or from which could not be looked.
    seen: PointStats,
}

/// A point.
#[derive(Clone, Copy)]
struct Place {
    pc: u64,
    ends_turn: bool,
}

impl Lookers {
    /// Has a copy look ahead from `pc`, where a turn ends or a signal comes. It returns in the copy too, with what it is.
    pub fn look(&mut self, pc: u64, ends_turn: bool) -> Option<Ahead> {
        let (cpu, from) = (cpu_time(), Place { pc, ends_turn });
        let time = interruption::watched_for(cpu.saturating_sub(self.cpu)).max(SHORTEST);
        self.cpu = cpu;
        while self.pids.len() >= TOGETHER {
            self.wait_for_first();
        }
        match self.fork_in_time() {
            None => self.note(from),
            Some(0) => {
                // SAFETY: the call takes no pointer.
                unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
                stream::close();
                if interruption::after_wall(time).is_err() {
                    exit_now(COMES_BACK);
                }
                return Some(Ahead { time, seen: None });
            }
            Some(pid) => self.pids.push_back((pid, from)),
        }
        None
    }

    /// All have looked: what is to be known of points that are ambiguous.
    pub fn finish(&mut self) -> PointStats {
        while !self.pids.is_empty() {
            self.wait_for_first();
        }
        self.seen
    }

    fn wait_for_first(&mut self) {
        if let Some((pid, from)) = self.pids.pop_front()
            && wait(pid) != GOES_AWAY
        {
            self.note(from);
        }
    }

    fn note(&mut self, from: Place) {
        let turns = u64::from(from.ends_turn);
        self.seen.add(&PointStats { reached: 0, ambiguous: 1, ambiguous_at: from.pc, ambiguous_turns: turns });
    }

    fn fork_in_time(&mut self) -> Option<i64> {
        let mut patience = PATIENCE;
        loop {
            // A parent that ignores its children's ends would not be told by the usual signal.
            // SAFETY: a fork without a new stack and without a signal at its end.
            let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
            if pid >= 0 {
                return Some(pid);
            }
            if patience.is_zero() {
                return None;
            }
            while !self.pids.is_empty() {
                self.wait_for_first();
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE.as_nanos() as i64 };
            // SAFETY: the time is valid, and nobody wants to know how much of it was left.
            unsafe { libc::syscall(libc::SYS_nanosleep, &raw const pause, 0) };
            patience = patience.saturating_sub(PAUSE);
        }
    }
}

/// How process `pid` ends; -1 if it doesn't do that by itself.
fn wait(pid: i64) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a place for it.
        let waited =
            unsafe { libc::syscall(libc::SYS_wait4, pid, &raw mut status, libc::__WALL, std::ptr::null_mut::<u8>()) };
        if waited == pid {
            return if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 };
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return -1;
        }
    }
}

/// The copy has come to where the app asks for something.
pub fn goes_away() -> ! {
    exit_now(GOES_AWAY)
}

/// How far the copy is.
pub struct Ahead {
    /// CPU time for which it looks.
    time: Duration,
    /// A digest of all memory when it was last in the state of the point, as far as a point tells that.
    seen: Option<u64>,
}

impl Ahead {
    /// It is in that state again. That says nothing of pages that the app has written since: only if all of memory is there twice, it recurs.
    pub fn comes_back(&mut self) {
        let begun = cpu_time();
        let Some(now) = digest() else { exit_now(COMES_BACK) };
        if self.seen == Some(now) {
            exit_now(COMES_BACK);
        }
        if self.seen.replace(now).is_none() {
            self.time = 2 * (self.time + cpu_time().saturating_sub(begun));
        }
    }

    /// It was interrupted: it has had its time, or goes on. On a busy machine it may not have run yet.
    pub fn is_interrupted(&self) {
        let left = self.time.saturating_sub(cpu_time());
        if left.is_zero() || interruption::after_wall(left).is_err() {
            goes_away();
        }
    }
}

/// Of all memory that the app can write. `None`: that can't be told.
fn digest() -> Option<u64> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (memory, pages) = (Here::new(), Pagemap::open("self").ok()?);
    let mut page = [0; PAGE as usize];
    let mut digest = 0_u64;
    let mut add = |word: u64| digest = (digest ^ word).wrapping_mul(FACTOR).rotate_left(29);
    for map in mapping::all("self").ok()?.iter().filter(|map| is_apps(map)) {
        for (n, _) in pages.range(map.start, map.end).ok()?.iter().enumerate().filter(|(_, page)| page.is_there()) {
            let address = map.start + n as u64 * PAGE;
            memory.read(address, &mut page).ok()?;
            if page.iter().all(|&byte| byte == 0) {
                continue;
            }
            add(address);
            page.chunks_exact(8).for_each(|word| add(u64::from_le_bytes(word.try_into().expect("eight bytes"))));
        }
    }
    Some(digest)
}

fn is_apps(map: &Mapping) -> bool {
    map.read && map.write && !map.name.starts_with("[v") && !BUBBLE.overlaps(map.start, map.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_app_can_write_is_looked_at() {
        let is_apps = |line: &str| is_apps(&Mapping::parse(line).unwrap());
        assert!(is_apps("400000-401000 rw-p 00000000 fe:00 1 /bin/x"));
        assert!(!is_apps("400000-401000 r-xp 00000000 fe:00 1 /bin/x"));
        assert!(!is_apps(&format!("{:x}-{:x} rw-p 00000000 00:00 0", BUBBLE.start, BUBBLE.start + PAGE)));
    }
}
