//! A call that was broken off, and is made again unless a handler runs before.

use syscall_replay::is_restart;

/// A call that was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sliced::master) struct BrokenOff {
    /// Which.
    pub(in crate::sliced::master) number: u64,
    /// Not by the kernel: we have put it off, and the master stands at its `syscall` instruction again.
    pub(in crate::sliced::master) is_rewound: bool,
    /// How it is made then.
    pub(super) again: Again,
    /// The recorder knows it, and all that it has written.
    pub(super) is_known: bool,
}

/// How a call is made that was broken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sliced::master) struct Again {
    /// It has failed because of a program that is executed, and is made a second time.
    pub(in crate::sliced::master) is_second: bool,
    /// What it waits for is there: see [`syscall_replay::waiting`].
    pub(in crate::sliced::master) is_ready: bool,
}

impl Again {
    /// As the one or the other says.
    pub(super) fn or(self, other: Self) -> Self {
        Self { is_second: self.is_second || other.is_second, is_ready: self.is_ready || other.is_ready }
    }
}

impl BrokenOff {
    /// Whether it was broken off still: `rax` is what the kernel has left there.
    pub(in crate::sliced::master) fn is_so(self, rax: u64) -> bool {
        self.is_rewound || is_restart(rax)
    }

    /// Whether the kernel has made it stand at the call's instruction again, since no signal was left for the thread: another thread has got the one that broke the call off.
    pub(in crate::sliced::master) fn is_about_to_be_made_again(self, rax: u64) -> bool {
        [self.number, libc::SYS_restart_syscall as u64].contains(&rax)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_makes_again_by_itself_is_no_end_of_a_call() {
        let again = |is_rewound| BrokenOff { number: 0, is_rewound, again: Again::default(), is_known: false };
        let restarts = -512_i64 as u64;
        assert!(again(false).is_so(restarts) && !again(false).is_so(0) && again(true).is_so(0));
        let futex = BrokenOff { number: 202, ..again(false) };
        assert!([202, 219].into_iter().all(|rax| futex.is_about_to_be_made_again(rax)));
        assert!(!futex.is_about_to_be_made_again(restarts) && !futex.is_about_to_be_made_again(1));
    }
}
