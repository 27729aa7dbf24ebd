//! The gateway between the runtime and translated code: `enter`, `leave` and the way back from a signal handler.
//!
//! While translated code runs, every general register, the flags, the extended state and FS are the app's; GS points to
//! the [`ThreadState`]. While the runtime runs, FS is the image's and the app's state lies in `ThreadState::cpu`.
//!
//! `enter(thread)` looks like a function call to the runtime: it saves the callee-saved registers on the runtime's stack,
//! notes the stack pointer, loads the app's state and jumps to `thread.entry`. `leave`, jumped to by exit stubs, stores
//! the app's state and returns from that call. `abandon` returns from it with nothing to store, after a signal
//! handler filled in `cpu` itself.
//!
//! Named invariants:
//! * *complete*: when `enter` returns, `cpu` holds all of the app's state except `rip`, which the exit tells.
//! * *home*: `enter` makes the home slots of r10 and r9 what these are, see `translator::emit::registers::home`, and stores the app's r11, see `translator::emit::registers::r11`.
//! * *window*: between `enter_window` and `enter_window_end` a signal handler may redirect to `abandon`: nothing
//!   of the app's state has been changed in memory and none is only in registers.

use std::mem::offset_of;

use machine::{Registers, XState};
use translator::abi::{HOME_R9, HOME_R10, SLOT_R11, ThreadState};

use super::extended::{REGISTERS, gateway_asm, load_extended_state, store_extended_state, store_fs_base};

gateway_asm!(
    ".pushsection .text.superpin_gateway, \"ax\", @progbits",
    ".balign 64",
    // extern "C" fn enter(thread: *mut ThreadState)
    ".globl superpin_enter",
    "superpin_enter:",
    machine::keep_registers!(),
    "mov gs:[{runtime_rsp}], rsp",
    ".globl superpin_enter_window",
    "superpin_enter_window:",
    "cmp qword ptr gs:[{interrupted}], 0",
    "jne superpin_abandon",
    load_extended_state!(),
    "mov rax, gs:[{fs_base}]",
    "wrfsbase rax",
    "push qword ptr gs:[{rflags}]",
    "popfq",
    machine::load_registers!("gs:["),
    "mov gs:[{home_r10}], r10",
    "mov gs:[{home_r9}], r9",
    "mov gs:[{slot_r11}], r11",
    "mov r11, gs:[{entered_r11}]",
    "jmp qword ptr gs:[{entry}]",
    ".globl superpin_enter_window_end",
    "superpin_enter_window_end:",
    // The same from an IBL stub, which has the app's rcx in r9.
    ".balign 16",
    ".globl superpin_stub_miss",
    ".hidden superpin_stub_miss",
    "superpin_stub_miss:",
    "mov rcx, r9",
    // An indirect branch whose target is in r10 and not in the table. The app's r10 and r9 are in their home slots.
    ".globl superpin_indirect_miss",
    ".hidden superpin_indirect_miss",
    "superpin_indirect_miss:",
    "mov gs:[{target}], r10",
    "mov r10, gs:[{home_r10}]",
    "mov r9, gs:[{home_r9}]",
    "mov qword ptr gs:[{exit}], -1",
    "jmp superpin_leave",
    // Exit stubs at a block's end bring the exit's number in r10. There the values of r10 and r9 are in their home slots.
    ".balign 16",
    ".globl superpin_leave_by_stub",
    "superpin_leave_by_stub:",
    "mov gs:[{exit}], r10",
    "mov r10, gs:[{home_r10}]",
    "mov r9, gs:[{home_r9}]",
    // Exits with nothing borrowed jump here.
    ".globl superpin_leave",
    ".hidden superpin_leave",
    "superpin_leave:",
    machine::store_registers!("gs:["),
    "mov rsp, gs:[{runtime_rsp}]",
    "pushfq",
    "pop rax",
    "mov gs:[{rflags}], rax",
    "cld",
    store_fs_base!(),
    store_extended_state!(),
    // Abandons an entry, or leaves when `cpu` is already filled in.
    ".globl superpin_abandon",
    "superpin_abandon:",
    "mov rsp, gs:[{runtime_rsp}]",
    "mov rax, gs:[{runtime_fs}]",
    "wrfsbase rax",
    "push 0x202",
    "popfq",
    "push 0x1f80",
    "ldmxcsr [rsp]",
    "fninit",
    "add rsp, 8",
    machine::return_with_kept_registers!(),
    // extern "C" fn detach(thread: *mut ThreadState) -> !: loads the app's state and goes to its rip, for good.
    ".globl superpin_detach",
    "superpin_detach:",
    load_extended_state!(),
    "mov rax, gs:[{fs_base}]",
    "wrfsbase rax",
    "push qword ptr gs:[{rflags}]",
    "popfq",
    machine::load_registers!("gs:["),
    "jmp qword ptr gs:[{rip}]",
    ".popsection",
    runtime_rsp = const offset_of!(ThreadState, runtime_rsp),
    interrupted = const offset_of!(ThreadState, interrupted),
    entry = const offset_of!(ThreadState, entry),
    exit = const offset_of!(ThreadState, exit),
    target = const offset_of!(ThreadState, target),
    home_r10 = const ThreadState::spill_at(HOME_R10),
    home_r9 = const ThreadState::spill_at(HOME_R9),
    slot_r11 = const ThreadState::spill_at(SLOT_R11),
    entered_r11 = const offset_of!(ThreadState, entered_r11),
    registers = const REGISTERS,
    rflags = const REGISTERS + offset_of!(Registers, rflags),
    rip = const REGISTERS + offset_of!(Registers, rip),
);

unsafe extern "C" {
    fn superpin_enter(thread: *mut ThreadState);
    fn superpin_leave();
    fn superpin_leave_by_stub();
    fn superpin_stub_miss();
    fn superpin_indirect_miss();
    fn superpin_abandon();
    fn superpin_detach(thread: *mut ThreadState) -> !;
    static superpin_enter_window: u8;
    static superpin_enter_window_end: u8;
}

/// `ThreadState::exit` after a fault in the code cache.
pub const EXIT_FAULT: u64 = u64::MAX - 1;

/// `ThreadState::exit` after an interruption.
pub const EXIT_INTERRUPTED: u64 = u64::MAX - 2;

/// `ThreadState::exit` if the entry was abandoned before anything ran.
pub const EXIT_NOT_ENTERED: u64 = u64::MAX - 3;

/// Value of `ThreadState::exit` after an indirect branch missed.
pub const INDIRECT_MISS: u64 = u64::MAX;

/// Runs translated code from `entry` until it leaves the cache.
///
/// # Safety
/// GS must point to `thread`, `thread.entry` to translated code, and `cpu` must hold a state of the app.
pub unsafe fn enter(thread: *mut ThreadState) {
    // SAFETY: the caller's promise; the assembly follows the C convention.
    unsafe { superpin_enter(thread) }
}

/// Gives the whole processor state back to the app, at its `rip`, natively and for good.
///
/// # Safety
/// GS must point to `thread`, and `cpu` must hold a state of the app. The runtime must expect never to run again
/// in this thread.
pub unsafe fn detach(thread: *mut ThreadState) -> ! {
    // SAFETY: the caller's promise.
    unsafe { superpin_detach(thread) }
}

/// Address that a failed indirect prediction jumps to; also what empty entries of the table hold.
pub fn indirect_miss_pc() -> u64 {
    superpin_indirect_miss as *const () as u64
}

/// The same for an IBL stub that has the app's rcx in r9.
pub fn stub_miss_pc() -> u64 {
    superpin_stub_miss as *const () as u64
}

/// Address that exit stubs at a block's end jump to, with the exit's number in r10.
pub fn leave_by_stub_pc() -> u64 {
    superpin_leave_by_stub as *const () as u64
}

/// Address that makes `enter` return at once; the app's state is what `cpu` holds.
pub fn abandon_pc() -> u64 {
    superpin_abandon as *const () as u64
}

/// Whether `pc` lies in the part of `enter` that can be abandoned.
pub fn in_enter_window(pc: u64) -> bool {
    // SAFETY: only the symbols' addresses are used.
    let (start, end) = (&raw const superpin_enter_window as u64, &raw const superpin_enter_window_end as u64);
    (start..end).contains(&pc)
}

/// Points GS to the thread state, notes the image's FS base, and finds out which components to save. `xcr0`: what the app is told that there are.
///
/// # Safety
/// `thread` must be mapped, zeroed or initialised, and belong to the calling thread from now on.
pub unsafe fn adopt(thread: *mut ThreadState, xcr0: u64) {
    let fs: u64;
    // SAFETY: the kernel allows FSGSBASE (checked at start-up by the control process); GS isn't used by Rust code.
    unsafe {
        std::arch::asm!("rdfsbase {}", out(reg) fs, options(nomem, nostack));
        std::arch::asm!("wrgsbase {}", in(reg) thread, options(nostack));
        (*thread).runtime_fs = fs;
        (*thread).window = thread as u64;
        (*thread).leave = superpin_leave as *const () as u64;
        (*thread).syscall = (*thread).leave;
        (*thread).reading = (*thread).leave;
        (*thread).leave_by_stub = leave_by_stub_pc();
        (*thread).miss = indirect_miss_pc();
        (*thread).xsave_mask = machine::component::enabled() & machine::component::KEPT;
        (*thread).loses_x87 = machine::x87::lost() as u64;
        (*thread).xcr0 = [xcr0 & u64::from(u32::MAX), xcr0 >> 32];
        (*thread).forgets_zeros = machine::in_use::forgets_zeros().into();
    }
}

/// The thread state of the calling thread. Null before the engine has begun.
pub fn current() -> *mut ThreadState {
    let thread: *mut ThreadState;
    // SAFETY: as in `adopt`.
    unsafe { std::arch::asm!("rdgsbase {}", out(reg) thread, options(nomem, nostack)) };
    thread
}

/// Where the calling thread has what the first one has at this address in its window. In a process without an engine that is there.
pub fn own(address: u64) -> u64 {
    // SAFETY: it is null, or the thread's state, which stays mapped.
    address.wrapping_add(unsafe { current().as_ref() }.map_or(0, ThreadState::moved))
}

/// The app's extended state, for a routine that translated code was left for.
pub fn extended_state() -> &'static XState {
    // SAFETY: a routine runs after `adopt`; the thread state stays, and only `leave` writes the state while routines run.
    unsafe { &(*current()).cpu.xstate }
}

/// What the environment of the x87 unit that the app stored last holds of its last instruction: its last sixteen bytes.
pub fn stored_environment() -> [u32; 4] {
    // SAFETY: as in `extended_state`.
    unsafe { (*current()).stored_environment }
}
