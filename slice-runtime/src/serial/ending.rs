//! How the app ends, and this process with it.

use crate::ports::{exit_now, raw_syscall};
use crate::serial::signals::{Action, bit, set_real_action, set_real_mask};

/// How the app ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exit(u64),
    /// `exit` by the only thread that is left. Which thread's status is the process's the kernel knows: older ones take that of the first,
    /// newer ones that of the last.
    LastThread(u64),
    Signal(i32),
}

/// Ends this process by a signal, whatever the app did about that signal.
pub(super) fn die(signal: i32) -> ! {
    set_real_action(signal, &Action::default());
    // Others that wait don't come first, and it is this thread's: another one would get it when this one has gone on.
    set_real_mask(!bit(signal));
    let [process, thread] = [libc::SYS_getpid, libc::SYS_gettid].map(|number| raw_syscall(number as u64, [0; 6]));
    raw_syscall(libc::SYS_tgkill as u64, [process, thread, signal as u64, 0, 0, 0]);
    // Only if the signal isn't fatal after all.
    exit_now(128 + signal)
}
