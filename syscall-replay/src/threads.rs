//! Calls that start threads, and how long calls may take.

use std::sync::atomic::{AtomicU8, Ordering};

use machine::Memory;

/// What a call that starts a thread asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloneArgs {
    /// `CLONE_…`.
    pub flags: u64,
    /// The new thread's stack pointer; 0: its parent's.
    pub stack: u64,
    /// Its thread-local storage, see `CLONE_SETTLS`.
    pub tls: u64,
    /// Where the parent's word for its number is.
    pub parent_tid: u64,
    /// Where its own is, which is cleared at its end if it asks for that.
    pub child_tid: u64,
    /// Where a descriptor for it goes.
    pub pidfd: u64,
}

/// Which word of a `clone_args` says what.
pub mod word {
    /// `CLONE_…`.
    pub const FLAGS: usize = 0;
    pub(super) const PIDFD: usize = 1;
    pub(super) const CHILD_TID: usize = 2;
    pub(super) const PARENT_TID: usize = 3;
    /// Where the stack starts.
    pub const STACK: usize = 5;
    /// Its size.
    pub const STACK_SIZE: usize = 6;
    /// Thread-local storage.
    pub const TLS: usize = 7;
    /// How many matter here.
    pub(super) const COUNT: usize = 8;
}

impl CloneArgs {
    /// Of a `clone` or `clone3`. `None` if they can't be read.
    pub fn of(number: u64, args: &[u64; 6], memory: &dyn Memory) -> Option<Self> {
        let [first, second, third, fourth, fifth, _] = *args;
        if number as i64 != libc::SYS_clone3 {
            let (flags, stack, parent_tid, child_tid, tls) = (first, second, third, fourth, fifth);
            return Some(Self { flags, stack, tls, parent_tid, child_tid, pidfd: parent_tid });
        }
        let mut bytes = [0; word::COUNT * 8];
        if second < bytes.len() as u64 || memory.read(first, &mut bytes).is_err() {
            return None;
        }
        let word = |at: usize| u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes"));
        Some(Self {
            flags: word(word::FLAGS),
            stack: word(word::STACK).wrapping_add(word(word::STACK_SIZE)),
            tls: word(word::TLS),
            parent_tid: word(word::PARENT_TID),
            child_tid: word(word::CHILD_TID),
            pidfd: word(word::PIDFD),
        })
    }

    fn asks(&self, flag: i32) -> bool {
        self.flags & flag as u64 != 0
    }

    /// Addresses of the four-byte words that the kernel writes when it makes the thread.
    pub fn written(&self) -> impl Iterator<Item = u64> {
        let words = [
            self.asks(libc::CLONE_PARENT_SETTID).then_some(self.parent_tid),
            self.asks(libc::CLONE_CHILD_SETTID).then_some(self.child_tid),
            self.asks(libc::CLONE_PIDFD).then_some(self.pidfd),
        ];
        words.into_iter().flatten()
    }

    /// Address of the word that is cleared when it ends; 0 if none is.
    pub fn cleared(&self) -> u64 {
        if self.asks(libc::CLONE_CHILD_CLEARTID) { self.child_tid } else { 0 }
    }
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It never waits for anybody: made with the turn.
    Instant,
    /// As a rule it doesn't last.
    Short,
    /// It waits for something that others do, or for time to pass.
    Long,
}

/// What is known of a call.
pub fn length_of(number: u64, args: &[u64; 6]) -> Length {
    match number as i64 {
        libc::SYS_futex => of_futex(args[1] as i32),
        libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep
        | libc::SYS_pause
        | libc::SYS_rt_sigsuspend
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_sched_yield => Length::Long,
        libc::SYS_getpid
        | libc::SYS_gettid
        | libc::SYS_getppid
        | libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_clock_gettime
        | libc::SYS_clock_getres
        | libc::SYS_gettimeofday
        | libc::SYS_time
        | libc::SYS_times
        | libc::SYS_getrusage
        | libc::SYS_getcpu
        | libc::SYS_sched_getaffinity
        | libc::SYS_sched_setaffinity
        | libc::SYS_set_robust_list
        | libc::SYS_set_tid_address
        | libc::SYS_prctl
        | libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo
        | libc::SYS_rt_sigpending
        | libc::SYS_timer_settime
        | libc::SYS_timer_gettime
        | libc::SYS_setitimer
        | libc::SYS_membarrier => Length::Instant,
        _ => Length::Short,
    }
}

/// Calls that lasted although most of their kind are short: a read of a pipe, say, which nobody has written to. They are known by
/// their numbers and first arguments.
pub struct LastingCalls {
    /// How many more of them are taken for long ones; then one is tried again.
    left: [AtomicU8; 64],
}

impl Default for LastingCalls {
    fn default() -> Self {
        Self::new()
    }
}

impl LastingCalls {
    const TAKEN_FOR_LONG: u8 = 64;

    /// None has.
    pub const fn new() -> Self {
        Self { left: [const { AtomicU8::new(0) }; 64] }
    }

    fn of(&self, number: u64, args: &[u64; 6]) -> &AtomicU8 {
        let mixed = (number << 32 ^ args[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.left[(mixed >> 58) as usize]
    }

    /// The call has lasted.
    pub fn note(&self, number: u64, args: &[u64; 6]) {
        self.of(number, args).store(Self::TAKEN_FOR_LONG, Ordering::Relaxed);
    }

    /// Whether the call is likely to last.
    pub fn expects(&self, number: u64, args: &[u64; 6]) -> bool {
        let left = self.of(number, args);
        let before = left.load(Ordering::Relaxed);
        left.store(before.saturating_sub(1), Ordering::Relaxed);
        before > 0
    }
}

/// The word of a futex whose owner the kernel knows, where a call waits for it: the kernel changes it at once.
pub fn owned_word(number: u64, args: &[u64; 6]) -> Option<u64> {
    const LOCK_PI2: i32 = 13;
    (number as i64 == libc::SYS_futex && [libc::FUTEX_LOCK_PI, LOCK_PI2].contains(&futex_operation(args[1] as i32)))
        .then_some(args[0])
}

/// The same where a call gives it to the next owner: that may change it once more.
pub fn given_word(number: u64, args: &[u64; 6]) -> Option<u64> {
    match (number as i64, futex_operation(args[1] as i32)) {
        (libc::SYS_futex, libc::FUTEX_UNLOCK_PI) => Some(args[0]),
        (libc::SYS_futex, libc::FUTEX_CMP_REQUEUE_PI) => Some(args[4]),
        _ => None,
    }
}

/// Whether a call waits for a futex that has no owner: the kernel doesn't write it.
pub fn only_waits(number: u64, args: &[u64; 6]) -> bool {
    number as i64 == libc::SYS_futex
        && [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET].contains(&futex_operation(args[1] as i32))
}

/// Without flags.
fn futex_operation(operation: i32) -> i32 {
    operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME)
}

fn of_futex(operation: i32) -> Length {
    const LOCK_PI2: i32 = 13;
    match futex_operation(operation) {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI | libc::FUTEX_LOCK_PI | LOCK_PI2 => {
            Length::Long
        }
        _ => Length::Instant,
    }
}

#[cfg(test)]
mod tests {
    use machine::Here;

    use super::*;

    #[test]
    fn both_calls_that_start_threads_are_read() {
        let flags = (libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID) as u64;
        let clone = CloneArgs::of(libc::SYS_clone as u64, &[flags, 0x9000, 0x10, 0x20, 0x30, 0], &Here::new()).unwrap();
        assert_eq!((clone.stack, clone.tls, clone.cleared()), (0x9000, 0x30, 0x20));
        assert_eq!(clone.written().collect::<Vec<_>>(), [0x10]);
        let words = [flags, 0, 0x20, 0x10, 0, 0x8000, 0x1000, 0x30];
        let args = [words.as_ptr() as u64, 64, 0, 0, 0, 0];
        let clone3 = CloneArgs::of(libc::SYS_clone3 as u64, &args, &Here::new()).unwrap();
        assert_eq!(clone3, CloneArgs { pidfd: 0, ..clone });
        assert_eq!(CloneArgs::of(libc::SYS_clone3 as u64, &[0, 64, 0, 0, 0, 0], &Here::new()), None);
    }

    #[test]
    fn a_call_that_lasted_is_expected_to_for_a_while() {
        let read = libc::SYS_read as u64;
        let of = |fd: u64| [fd, 0, 0, 0, 0, 0];
        let lasting = LastingCalls::new();
        assert!(!lasting.expects(read, &of(3)));
        lasting.note(read, &of(3));
        let expected = (0..200).take_while(|_| lasting.expects(read, &of(3))).count();
        assert_eq!(expected, usize::from(LastingCalls::TAKEN_FOR_LONG));
        assert!(!lasting.expects(read, &of(4)));
    }

    #[test]
    fn the_kernel_writes_words_of_futexes_that_have_owners() {
        let futex = |operation: i32| [0x10, (operation | libc::FUTEX_PRIVATE_FLAG) as u64, 0, 0, 0x20, 0];
        let number = libc::SYS_futex as u64;
        let words = |operation| (owned_word(number, &futex(operation)), given_word(number, &futex(operation)));
        assert_eq!(words(libc::FUTEX_LOCK_PI), (Some(0x10), None));
        assert_eq!(words(libc::FUTEX_UNLOCK_PI), (None, Some(0x10)));
        assert_eq!(words(libc::FUTEX_CMP_REQUEUE_PI), (None, Some(0x20)));
        assert_eq!(words(libc::FUTEX_WAIT), (None, None));
        assert_eq!(owned_word(libc::SYS_read as u64, &futex(libc::FUTEX_LOCK_PI)), None);
        assert!(only_waits(number, &futex(libc::FUTEX_WAIT)) && !only_waits(number, &futex(libc::FUTEX_LOCK_PI)));
    }

    #[test]
    fn a_futex_may_wait_or_wake() {
        let futex = |operation: i32| length_of(libc::SYS_futex as u64, &[0, operation as u64, 0, 0, 0, 0]);
        assert_eq!(futex(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG), Length::Long);
        assert_eq!(futex(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG), Length::Instant);
        assert_eq!(futex(libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME), Length::Long);
    }
}
