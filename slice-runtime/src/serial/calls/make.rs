//! System calls made for the app, and instructions executed for it.

use std::arch::global_asm;
use std::sync::atomic::{AtomicU64, Ordering};

use bubble::departure::Places;

/// Instructions that load a system call's number and arguments from the seven words at rdi.
macro_rules! load_call {
    () => {
        concat!(
            "mov rax, [rdi]\n",
            "mov rsi, [rdi + 16]\n",
            "mov rdx, [rdi + 24]\n",
            "mov r10, [rdi + 32]\n",
            "mov r8, [rdi + 40]\n",
            "mov r9, [rdi + 48]\n",
            "mov rdi, [rdi + 8]\n",
        )
    };
}
pub(in crate::serial) use load_call;

// The window: from reading the flag to the `syscall` instruction. A signal that arrives before the window sets the
// flag, which is then seen; one that arrives in the window makes the hook move rip to `abort`; one that arrives
// later interrupts the call itself. The kernel restarts a call by setting rip back to the `syscall` instruction, which is
// inside the window: so the app makes the call again after its handler. rcx tells whether the call had been entered.
global_asm!(
    ".pushsection .text.superpin_interruptible, \"ax\", @progbits",
    // extern "C" fn (call: *const [u64; 7], flag: *const u64, aborted: *mut u64) -> u64
    ".globl superpin_interruptible",
    "superpin_interruptible:",
    "push rbx",
    "push rbp",
    "mov rbx, rdx",
    "mov rbp, rsi",
    load_call!(),
    "xor ecx, ecx",
    ".globl superpin_interruptible_window",
    "superpin_interruptible_window:",
    "cmp qword ptr [rbp], 0",
    "jne superpin_interruptible_abort",
    "syscall",
    ".globl superpin_interruptible_done",
    "superpin_interruptible_done:",
    "mov qword ptr [rbx], 0",
    "pop rbp",
    "pop rbx",
    "ret",
    ".globl superpin_interruptible_abort",
    "superpin_interruptible_abort:",
    "mov qword ptr [rbx], 1",
    "pop rbp",
    "pop rbx",
    "ret",
    ".globl superpin_interruptible_restarts",
    "superpin_interruptible_restarts:",
    "mov qword ptr [rbx], {RESTARTS}",
    "pop rbp",
    "pop rbx",
    "ret",
    ".popsection",
    RESTARTS = const RESTARTS,
);

unsafe extern "C" {
    fn superpin_interruptible(call: *const [u64; 7], flag: *const u64, aborted: *mut u64) -> u64;
    static superpin_interruptible_window: u8;
    static superpin_interruptible_done: u8;
    static superpin_interruptible_abort: u8;
    static superpin_interruptible_restarts: u8;
}

/// Why a system call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmade {
    /// A signal had come before it.
    NotEntered,
    /// A signal has interrupted it, and it is made again after the handler.
    Restarts,
    /// The control process has interrupted it, and what is left of it is made by `restart_syscall`.
    GoesOn,
}

/// Makes a system call that a signal may interrupt. It isn't made if `flag` is set.
pub fn interruptible(number: u64, args: [u64; 6], flag: &AtomicU64) -> Result<u64, Unmade> {
    let call = [number, args[0], args[1], args[2], args[3], args[4], args[5]];
    let mut aborted = 0;
    // SAFETY: the pointers are valid; see `raw_syscall` for the call itself.
    let result = unsafe { superpin_interruptible(&raw const call, flag.as_ptr(), &raw mut aborted) };
    match aborted {
        0 => Ok(result),
        RESTARTS if result == libc::SYS_restart_syscall as u64 && number != result => Err(Unmade::GoesOn),
        RESTARTS => Err(Unmade::Restarts),
        _ => Err(Unmade::NotEntered),
    }
}

const RESTARTS: u64 = 2;

/// Where to go on instead, if `pc` lies between the last look at the flag and the system call, or at a call that is to be made again: that
/// has left the address behind it in `rcx`.
pub fn abort_at(pc: u64, rcx: u64) -> Option<u64> {
    let start = &raw const superpin_interruptible_window as u64;
    let end = &raw const superpin_interruptible_done as u64;
    let place = if rcx == end {
        &raw const superpin_interruptible_restarts as u64
    } else {
        &raw const superpin_interruptible_abort as u64
    };
    (start..end).contains(&pc).then_some(place)
}

/// Tells the control process where a thread may be moved to from a call.
pub fn tell_places(places: &Places) {
    for (place, address) in [
        (&places.done, &raw const superpin_interruptible_done),
        (&places.abort, &raw const superpin_interruptible_abort),
        (&places.restarts, &raw const superpin_interruptible_restarts),
        // By the last one the others are known.
        (&places.window, &raw const superpin_interruptible_window),
    ] {
        place.store(address as u64, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_flag_keeps_the_call_from_being_made() {
        let flag = AtomicU64::new(0);
        let mut ends = [0_i32; 2];
        let pipe = [ends.as_mut_ptr() as u64, 0, 0, 0, 0, 0];
        assert_eq!(interruptible(libc::SYS_pipe as u64, pipe, &flag), Ok(0));
        let before = ends;
        flag.store(1, Ordering::Relaxed);
        assert_eq!(interruptible(libc::SYS_pipe as u64, pipe, &flag), Err(Unmade::NotEntered));
        assert_eq!(ends, before);
    }

    #[test]
    fn only_the_window_is_left_by_aborting() {
        let start = &raw const superpin_interruptible_window as u64;
        let done = &raw const superpin_interruptible_done as u64;
        let abort = abort_at(start, 0);
        assert_eq!([abort_at(start - 1, 0), abort_at(done, 0)], [None; 2]);
        assert!(abort.is_some());
        assert_eq!(abort_at(done - 2, 0), abort);
        // Where the kernel puts rip to restart the call.
        assert!(abort_at(done - 2, done).is_some_and(|restarts| Some(restarts) != abort));
    }
}
