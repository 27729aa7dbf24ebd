//! Handlers of signals: the entry stub, and how it is installed.
//!
//! A handler can find the thread in the app's world (FS is the app's) or in the runtime's. The entry stub switches FS to the
//! image's and back.

use std::arch::global_asm;
use std::mem::offset_of;

use translator::abi::ThreadState;

use super::handler::{Scene, handle};
use crate::interface::FAULTS;
use crate::safe_reads;

global_asm!(
    ".globl superpin_signal_entry",
    "superpin_signal_entry:",
    "push rbx",
    "rdfsbase rbx",
    "mov rax, gs:[{runtime_fs}]",
    "wrfsbase rax",
    "mov rcx, rbx",
    "call {handle}",
    "test rax, rax",
    "jnz 2f",
    "wrfsbase rbx",
    "2:",
    "pop rbx",
    "ret",
    ".globl superpin_signal_return",
    "superpin_signal_return:",
    "mov eax, {sigreturn}",
    "syscall",
    sigreturn = const libc::SYS_rt_sigreturn,
    runtime_fs = const offset_of!(ThreadState, runtime_fs),
    handle = sym handle,
);

unsafe extern "C" {
    fn superpin_signal_entry();
    fn superpin_signal_return();
}

const STACK_BYTES: usize = 256 << 10;

/// Takes over fault signals, on a stack of their own.
///
/// # Safety
/// The scene must live, at its place, as long as signals are handled; the thread state is mapped and the calling thread's.
pub unsafe fn start(thread: *mut ThreadState, scene: *mut Scene) {
    // SAFETY: the caller's promise.
    unsafe { enters(thread, scene) };
    safe_reads::begin();
    let stack = Box::leak(Box::<[u8]>::new_uninit_slice(STACK_BYTES));
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    // SAFETY: the stack lives for ever.
    let r = unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) };
    assert_eq!(r, 0, "sigaltstack: {}", std::io::Error::last_os_error());
    let mut unblocked = std::mem::MaybeUninit::uninit();
    for signal in FAULTS {
        install_signal(signal, 0).expect("handlers of fault signals can be set");
    }
    // SAFETY: the set is initialised by sigemptyset before use.
    unsafe {
        libc::sigemptyset(unblocked.as_mut_ptr());
        for signal in FAULTS {
            libc::sigaddset(unblocked.as_mut_ptr(), signal);
        }
        libc::sigprocmask(libc::SIG_UNBLOCK, unblocked.as_ptr(), std::ptr::null_mut());
    }
}

/// Handlers in the thread with this state look at the scene from now on.
///
/// # Safety
/// As [`start`].
pub unsafe fn enters(thread: *mut ThreadState, scene: *mut Scene) {
    // SAFETY: the caller's promise.
    unsafe { (*thread).scene = scene as u64 };
}

/// Handles `signal` by the engine from now on, with these flags beside those that the engine needs.
///
/// # Errors
/// As sigaction(2).
pub fn install_signal(signal: i32, flags: i32) -> std::io::Result<()> {
    const SA_RESTORER: i32 = 0x0400_0000;
    let action = KernelAction {
        handler: superpin_signal_entry as *const () as u64,
        flags: (flags | libc::SA_SIGINFO | libc::SA_ONSTACK | SA_RESTORER) as u64,
        restorer: superpin_signal_return as *const () as u64,
        mask: u64::MAX,
    };
    // Not by libc's function, which keeps two signals for its own threads.
    // SAFETY: the action is valid; the entry follows the handler convention.
    let r = unsafe {
        let none = std::ptr::null_mut::<KernelAction>();
        libc::syscall(libc::SYS_rt_sigaction, signal, &raw const action, none, size_of::<u64>())
    };
    if r == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The kernel's `struct sigaction`.
#[repr(C)]
struct KernelAction {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}
