//! The one place where the control process sleeps.
//!
//! Everything it waits for is a signal: a child's change of state (SIGCHLD), the slice timer, the collector's answer
//! (a signal of its own on its pipe; SIGIO if the kernel has no room for more of these), and what people and other programs send. All are blocked and taken with sigwaitinfo(2), so
//! nothing is lost between looking and sleeping, and no handler runs anywhere.

use std::io;

use crate::error::Failure;

/// The signal of the slice timer.
pub const TIMER_SIGNAL: i32 = 40;
/// The signal of the collector's pipe.
pub const PIPE_SIGNAL: i32 = 41;

/// What woke the control process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Some child changed its state.
    Child,
    /// A slice has had its time.
    Timer {
        /// The process of which it is one.
        process: i32,
    },
    /// Signals of a process have been held back for long enough.
    Hold {
        /// The process.
        process: i32,
    },
    /// A collector has answered.
    Collector,
    /// A signal that somebody sent to end the run.
    Ended {
        /// Which.
        signal: i32,
        /// Whether it came from the terminal, which sent it to the app as well.
        from_terminal: bool,
    },
}

/// Signals by which people and programs ask for an end.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// SIGPIPE and SIGXFSZ too: that the collector is gone, or a file too large, is to be an error of the write.
const OTHERS: [i32; 6] = [libc::SIGCHLD, libc::SIGIO, libc::SIGPIPE, libc::SIGXFSZ, TIMER_SIGNAL, PIPE_SIGNAL];

/// The signals that are taken here, and what the mask was before.
pub struct Events {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Events {
    /// Blocks the signals. From now on they are seen by [`Events::wait`] only.
    ///
    /// # Errors
    /// If the kernel refuses, which it doesn't.
    pub fn new() -> Result<Self, Failure> {
        let set = signal_set(ENDING.into_iter().chain(OTHERS));
        let mut before = signal_set([]);
        // SAFETY: both sets are valid.
        if unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, &mut before) } != 0 {
            return Err(Failure::last("block signals"));
        }
        Ok(Self { set, before })
    }

    /// The mask from before, which the app is to start with.
    pub fn mask_before(&self) -> libc::sigset_t {
        self.before
    }

    /// Sleeps until something happens.
    pub fn wait(&self) -> Event {
        loop {
            // SAFETY: the structure is plain data, for which zero is a value.
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            // SAFETY: both pointers are valid.
            let signal = unsafe { libc::sigwaitinfo(&self.set, &mut info) };
            match signal {
                libc::SIGCHLD => return Event::Child,
                // SAFETY: a timer's signal carries the number that the timer was given.
                TIMER_SIGNAL => return of_timer(unsafe { info.si_value() }.sival_ptr as usize),
                PIPE_SIGNAL | libc::SIGIO => return Event::Collector,
                _ if ENDING.contains(&signal) => {
                    return Event::Ended { signal, from_terminal: info.si_code == libc::SI_KERNEL };
                }
                libc::SIGPIPE | libc::SIGXFSZ => {}
                _ => assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EINTR)),
            }
        }
    }
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// [`Event::Timer`].
    Slice,
    /// [`Event::Hold`].
    Hold,
}

/// In the number that a timer's signal carries: it is for [`Purpose::Hold`].
const FOR_HOLD: usize = 1 << 32;

impl Purpose {
    /// The number that the signal of a timer for `process` carries.
    pub fn value(self, process: i32) -> usize {
        process as usize | if self == Self::Hold { FOR_HOLD } else { 0 }
    }
}

fn of_timer(value: usize) -> Event {
    let process = value as i32;
    if value & FOR_HOLD == 0 { Event::Timer { process } } else { Event::Hold { process } }
}

/// A set of signals.
pub fn signal_set(signals: impl IntoIterator<Item = i32>) -> libc::sigset_t {
    // SAFETY: a signal set is plain data; sigemptyset and sigaddset write into it alone.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}
