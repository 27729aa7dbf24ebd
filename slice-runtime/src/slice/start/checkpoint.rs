//! The process that keeps a slice's first state.
//!
//! It is a fork of the slice from before anything of the app's ran, and stays as it is until it is killed, for two uses:
//! the slice before compares its end with it (`verify`), and if the slice dies or fails, another is forked from it.

use std::io;
use std::time::Duration;

use crate::ports::{OwnSlot, exit_now};

/// Yama's request to let a process be inspected by any other of the same user.
const PR_SET_PTRACER: i32 = 0x5961_6d61;

/// How long to wait for a process, and how long between two attempts.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// Forks the checkpoint process, and returns in the slice: now, and in another process each time that the slice is begun again.
/// Their parent is the control process, which reaps them, and they die with it. `supervisor`: it; `None`: it traces them instead.
pub fn keep(slot: OwnSlot, supervisor: Option<i32>) {
    let attempt = slot.attempt();
    match fork_in_time() {
        Ok(0) => {
            depend_on(supervisor);
            stay(slot, supervisor, attempt);
        }
        Ok(pid) => slot.set_checkpoint(Some(pid)),
        // Without it the slice can still do its work, unless the one before needs the comparison.
        Err(_) => slot.set_checkpoint(None),
    }
}

/// Waits for ever. Returns in new slices only.
fn stay(slot: OwnSlot, supervisor: Option<i32>, mut attempt: u32) {
    loop {
        attempt = slot.wait_for_attempt_after(attempt);
        loop {
            match fork() {
                Ok(0) => {
                    depend_on(supervisor);
                    // SAFETY: getpid has no preconditions.
                    slot.enter_process(unsafe { libc::syscall(libc::SYS_getpid) } as i32);
                    return;
                }
                Ok(pid) if is_reported(slot, pid) => break,
                Ok(_) => {}
                // The control process notices that the checkpoint process has ended.
                Err(error) => slot.fail(&format_args!("it can't be begun again: no new process ({error})")),
            }
        }
    }
}

/// Tells that process `pid` runs the slice. False if it has been killed before that was known: then the control process, which
/// takes the report on the end of a process that it knows as a runner, has missed it.
fn is_reported(slot: OwnSlot, pid: i32) -> bool {
    slot.enter_process(pid);
    // SAFETY: kill has no memory preconditions; signal 0 only asks.
    let is_there = unsafe { libc::syscall(libc::SYS_kill, pid, 0) } == 0;
    is_there || !slot.take_process(pid)
}

/// A fork, as soon as there may be another process: others end.
fn fork_in_time() -> io::Result<i32> {
    let mut patience = PATIENCE;
    loop {
        match fork() {
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && !patience.is_zero() => {
                let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE.as_nanos() as i64 };
                // SAFETY: the time is valid, and nobody wants to know how much of it was left.
                unsafe { libc::syscall(libc::SYS_nanosleep, &raw const pause, 0) };
                patience = patience.saturating_sub(PAUSE);
            }
            forked => return forked,
        }
    }
}

/// A fork whose parent is this process's parent.
fn fork() -> io::Result<i32> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: a fork without a new stack. All signals are blocked, and what the child calls until it is a slice are
    // system calls alone.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid as i32),
    }
}

/// Dies with the control process, and may be looked at by the other slices.
fn depend_on(supervisor: Option<i32>) {
    // SAFETY: none of these calls takes a pointer. Without Yama the second one fails, and isn't needed.
    unsafe {
        libc::syscall(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::syscall(libc::SYS_prctl, PR_SET_PTRACER, -1_i64, 0, 0, 0);
        if supervisor.is_some_and(|supervisor| libc::syscall(libc::SYS_getppid) != i64::from(supervisor)) {
            exit_now(1);
        }
    }
}
