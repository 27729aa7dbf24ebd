//! The one place where the control process sleeps.
//!
//! Everything it waits for is a signal: a child's change of state (SIGCHLD), the slice timer, the collector's answer
//! (a signal of its own on its pipe; SIGIO if the kernel has no room for more of these), and what people and other programs send. All are blocked and taken with rt_sigtimedwait(2), so
//! nothing is lost between looking and sleeping, and no handler runs anywhere.

use std::io;
use std::time::Duration;

use crate::base::Failure;

/// The signal of the slice timer.
pub const TIMER_SIGNAL: i32 = 40;
/// The signal by which `superpin detach` asks for a process to be let go.
pub const DETACH_SIGNAL: i32 = 42;
/// The signal of the collector's pipe.
pub const PIPE_SIGNAL: i32 = 41;

/// What woke the control process.
#[derive(Clone, Copy)]
pub enum Event {
    /// Some child changed its state.
    Child,
    /// A slice has had its time.
    Timer {
        /// The process of which it is one.
        process: i32,
    },
    /// Signals of a process have been held back for long enough.
    Throttle {
        /// The process.
        process: i32,
    },
    /// A thread of a process may have had the turn for long enough.
    Turn {
        /// The process.
        process: i32,
    },
    /// How the run gets on is to be shown.
    Show,
    /// A collector has answered.
    Collector,
    /// A process is to go on natively.
    Detach {
        /// Its number, or this process's own: the app.
        process: i32,
    },
    /// A signal that somebody sent, or the terminal.
    Signal(libc::siginfo_t),
    /// The time is over for which there was to be waited.
    Nothing,
}

/// Signals by which people and programs ask for an end.
pub const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// A set of signals as the kernel has it: libc's functions leave out two that libc uses itself.
type Set = u64;
const ALL: Set = u64::MAX;
const SET_BYTES: usize = size_of::<Set>();

/// All signals, taken here, and what was blocked and ignored before.
pub struct Events {
    before: Set,
    ignored: Vec<i32>,
}

impl Events {
    /// Blocks all signals. From now on they are seen by [`Events::wait`] only.
    ///
    /// # Errors
    /// If the kernel refuses, which it doesn't.
    pub fn new() -> Result<Self, Failure> {
        let mut before: Set = 0;
        // SAFETY: both sets are valid.
        let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &ALL, &mut before, SET_BYTES) };
        if result != 0 {
            return Err(Failure::last("block signals"));
        }
        // Children of a process that ignores this one end without a report.
        let ignores_children = signal_is_ignored(libc::SIGCHLD);
        set_default(libc::SIGCHLD);
        Ok(Self { before, ignored: if ignores_children { vec![libc::SIGCHLD] } else { Vec::new() } })
    }

    /// The mask from before, which the app is to start with.
    pub fn mask_before(&self) -> u64 {
        self.before
    }

    /// What was ignored before and isn't any more. The app is to ignore it.
    pub fn ignored_before(&self) -> Vec<i32> {
        self.ignored.clone()
    }

    /// Sleeps until something happens, or for so long.
    pub fn wait(&self, most: Option<Duration>) -> Event {
        let time =
            most.map(|most| libc::timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        loop {
            // SAFETY: the structure is plain data, for which zero is a value.
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            // SAFETY: all pointers are valid, or null where that is allowed.
            let signal = unsafe { libc::syscall(libc::SYS_rt_sigtimedwait, &ALL, &mut info, time, SET_BYTES) };
            let from_kernel = info.si_code > 0;
            match signal as i32 {
                -1 => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EAGAIN) => return Event::Nothing,
                    // After it was stopped.
                    Some(libc::EINTR) => {}
                    error => panic!("rt_sigtimedwait: {error:?}"),
                },
                libc::SIGCHLD if from_kernel => return Event::Child,
                TIMER_SIGNAL if info.si_code == libc::SI_TIMER => {
                    return of_timer(value(&info) as usize);
                }
                DETACH_SIGNAL if info.si_code == libc::SI_QUEUE && value(&info) >> 32 == DETACH => {
                    return Event::Detach { process: value(&info) as i32 };
                }
                PIPE_SIGNAL | libc::SIGIO if from_kernel => return Event::Collector,
                // That the collector is gone, or a file too large, is an error of the write.
                libc::SIGPIPE | libc::SIGXFSZ | libc::SIGXCPU if from_kernel || is_own(&info) => {}
                _ => return Event::Signal(info),
            }
        }
    }
}

/// What tells such a signal from any other with its number: the upper half of its value.
const DETACH: u64 = 0x6465_7461;

/// Asks superpin, which is process `superpin`, to let `process` go.
///
/// # Errors
/// If there is no such process, or it is another user's.
pub fn ask_to_detach(superpin: i32, process: i32) -> io::Result<()> {
    let value = (DETACH << 32 | u64::from(process as u32)) as usize;
    let value = libc::sigval { sival_ptr: value as *mut libc::c_void };
    // SAFETY: no memory is involved.
    match unsafe { libc::sigqueue(superpin, DETACH_SIGNAL, value) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn value(info: &libc::siginfo_t) -> u64 {
    // SAFETY: a queued signal, or a timer's, carries a value.
    unsafe { info.si_value() }.sival_ptr as u64
}

/// What the kernel sends in place of a process's own system call looks as if that process had sent it.
fn is_own(info: &libc::siginfo_t) -> bool {
    // SAFETY: of a signal that was sent the kernel has filled this in.
    info.si_code == libc::SI_USER && unsafe { info.si_pid() } == std::process::id() as i32
}

/// Whether a signal waits to be taken here.
pub fn is_pending(signal: i32) -> bool {
    let mut pending: Set = 0;
    // SAFETY: a valid place for the set.
    unsafe { libc::syscall(libc::SYS_rt_sigpending, &mut pending, SET_BYTES) };
    pending >> (signal - 1) & 1 != 0
}

fn signal_is_ignored(signal: i32) -> bool {
    // SAFETY: the structure is plain data, for which zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the old action.
    unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN }
}

/// Gives a signal of this process its default action.
pub fn set_default(signal: i32) {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Lets a signal that waits take effect on this process, now.
pub fn let_through(signal: i32) {
    let set: Set = 1 << (signal - 1);
    for how in [libc::SIG_UNBLOCK, libc::SIG_BLOCK] {
        // SAFETY: the set is valid.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &set, std::ptr::null_mut::<Set>(), SET_BYTES) };
    }
}

/// In a process that is about to execute a program: blocks all signals.
pub fn block_all() -> io::Result<()> {
    // SAFETY: the set is valid.
    let result = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &ALL, std::ptr::null_mut::<Set>(), SET_BYTES)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// [`Event::Timer`].
    Slice,
    /// [`Event::Throttle`].
    Throttle,
    /// [`Event::Detach`].
    Detach,
    /// [`Event::Turn`].
    Turn,
    /// [`Event::Show`].
    Show,
}

/// In the number that a timer's signal carries: it is for [`Purpose::Throttle`].
const FOR_THROTTLE: usize = 1 << 32;
/// It is for [`Purpose::Detach`].
const FOR_DETACH: usize = 1 << 33;
/// It is for [`Purpose::Turn`].
const FOR_TURN: usize = 1 << 34;
/// It is for [`Purpose::Show`].
const FOR_SHOW: usize = 1 << 35;

impl Purpose {
    /// The number that the signal of a timer for `process` carries.
    pub fn value(self, process: i32) -> usize {
        let purpose = match self {
            Self::Slice => 0,
            Self::Throttle => FOR_THROTTLE,
            Self::Detach => FOR_DETACH,
            Self::Turn => FOR_TURN,
            Self::Show => FOR_SHOW,
        };
        process as usize | purpose
    }
}

fn of_timer(value: usize) -> Event {
    let process = value as i32;
    match value & (FOR_THROTTLE | FOR_DETACH | FOR_TURN | FOR_SHOW) {
        0 => Event::Timer { process },
        FOR_TURN => Event::Turn { process },
        FOR_SHOW => Event::Show,
        FOR_DETACH => Event::Detach { process },
        _ => Event::Throttle { process },
    }
}
