//! Signals that arrive while the engine runs: faults of the app inside the code cache, and interruptions.
//!
//! A handler can find the thread in the app's world (FS is the app's) or in the runtime's. The entry stub switches FS to the
//! image's and back. If the interrupted place is in the code cache, its state map turns the machine's state into the app's, and
//! the handler returns to `abandon`: the run loop goes on with that state.

use std::arch::global_asm;
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, Ordering};

use machine::{CachePc, Gpr, XSTATE_CAPACITY, flags};
use translator::abi::{Reserved, ThreadState};

use crate::engine::{EXIT_FAULT, EXIT_INTERRUPTED, EXIT_NOT_ENTERED, EXIT_UNFINISHED, Engine};
use crate::gateway;
use crate::guest::Fault;

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

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());
static HOOK: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Called for each asynchronous signal whose handler was installed by [`install_signal`], on the signal stack, with
/// all signals blocked: it must only take note of the signal. Says whether the thread that was interrupted is the one for which the engine
/// runs; if it isn't, the engine leaves it alone.
pub type Hook = fn(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool;

/// Sets the hook for asynchronous signals.
pub fn on_signal(hook: Hook) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

/// Makes the run loop ask [`crate::Guest::interrupted`] at the next place where the app's state is complete. May
/// be called from the hook.
pub fn interrupt() {
    // SAFETY: the thread state is mapped once an engine exists, and a hook is called only then.
    unsafe { (&raw mut (*ThreadState::main()).interrupted).write_volatile(1) };
}

/// The engine goes on for another thread: whether that one is to be interrupted, too.
pub fn set_interrupted(interrupted: bool) {
    // SAFETY: as in `interrupt`.
    unsafe { (&raw mut (*ThreadState::main()).interrupted).write_volatile(u64::from(interrupted)) };
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

/// Signals by which the CPU reports what an instruction did.
pub const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

/// What is said of an app that wants a trap after each instruction.
pub const TRAP_FLAG: &str = "the app has set the trap flag, which isn't followed";

const STACK_BYTES: usize = 256 << 10;

/// Takes over fault signals, on a stack of their own.
pub fn start(engine: &mut Engine) {
    ENGINE.store(engine, Ordering::Release);
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

/// Order of general registers in a signal frame, by [`Gpr`].
const FRAME: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Returns 1 if the run loop goes on in `abandon`, with the image's FS; 0 to resume what was interrupted.
extern "C" fn handle(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t, fs_base: u64) -> u64 {
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    // SAFETY: the engine was stored by `start` and outlives the process's use of signals. While a handler runs, the
    // interrupted code isn't using it: either translated code was interrupted, or `locate` only reads published tables.
    let engine = unsafe { &mut *ENGINE.load(Ordering::Acquire) };
    let synchronous = FAULTS.contains(&signal) && info.si_code > 0;
    if synchronous {
        if let Some(place) = engine.shortcut.as_ref().and_then(|shortcut| shortcut.after_fault(pc)) {
            context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
            return 0;
        }
        if let Some(place) = engine.after_lookup(pc).filter(|_| signal == libc::SIGSEGV) {
            context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
            return 0;
        }
        if !fill_in(engine, CachePc(pc), context, fs_base) {
            runtime_fault(signal, pc, context);
        }
        // SAFETY: the thread state is mapped; the run loop isn't running.
        let app_pc = unsafe { (*engine.thread).cpu.registers.rip };
        engine.fault = Some(describe(signal, info, context, app_pc));
        return abandon(engine, context, EXIT_FAULT);
    }
    let hook = HOOK.load(Ordering::Acquire);
    if !hook.is_null() {
        // SAFETY: only `on_signal` stores here, a function of this type.
        let hook: Hook = unsafe { std::mem::transmute(hook) };
        if !hook(signal, info, context) {
            return 0;
        }
    }
    // SAFETY: the thread state is mapped.
    let wanted = unsafe { (&raw const (*engine.thread).interrupted).read_volatile() } != 0;
    if wanted && gateway::in_enter_window(pc) {
        return abandon(engine, context, EXIT_NOT_ENTERED);
    }
    if let Some(place) = engine.shortcut.as_ref().filter(|_| wanted).and_then(|shortcut| shortcut.after_interrupt(pc)) {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
        return 0;
    }
    if wanted && engine.is_in_parts(CachePc(pc)) {
        // Translated code asks for interruptions when it has done the rest.
        return 0;
    }
    if wanted && fill_in(engine, CachePc(pc), context, fs_base) {
        let unfinished = is_string_instruction(pc) || engine.is_begun(CachePc(pc), engine.calls_made);
        let exit = if unfinished { EXIT_UNFINISHED } else { EXIT_INTERRUPTED };
        return abandon(engine, context, exit);
    }
    0
}

/// Whether a repeated string instruction of the app's lies at `pc`, which is in the code cache.
fn is_string_instruction(pc: u64) -> bool {
    // SAFETY: the cache is mapped, and there is more of the bubble behind it.
    let bytes = unsafe { std::slice::from_raw_parts(pc as *const u8, isa::MAX_LEN) };
    isa::Instruction::decode(bytes, machine::AppPc(pc)).is_ok_and(|instruction| instruction.is_rep())
}

fn abandon(engine: &mut Engine, context: &mut libc::ucontext_t, exit: u64) -> u64 {
    // SAFETY: the thread state is mapped; the run loop isn't running.
    unsafe { (*engine.thread).exit = exit };
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = gateway::abandon_pc() as i64;
    context.uc_mcontext.gregs[libc::REG_EFL as usize] = 0x202;
    1
}

fn describe(signal: i32, info: &libc::siginfo_t, context: &libc::ucontext_t, app_pc: u64) -> Fault {
    let word = |n: i32| context.uc_mcontext.gregs[n as usize] as u64;
    let mut info = *info;
    // These name an instruction, where others name memory.
    if [libc::SIGFPE, libc::SIGILL, libc::SIGTRAP].contains(&signal) && info.si_code != libc::SI_KERNEL {
        // SAFETY: the address of a fault lies after the three leading integers and their padding (kernel ABI).
        unsafe { (&raw mut info).cast::<u64>().add(2).write(app_pc) };
    }
    Fault { signal, info, error_code: word(libc::REG_ERR), trap: word(libc::REG_TRAPNO), address: word(libc::REG_CR2) }
}

/// Fills in the app's state from the frame; false if the place isn't in the code cache.
fn fill_in(engine: &mut Engine, place: CachePc, context: &libc::ucontext_t, fs_base: u64) -> bool {
    let Some((_, _, entry, _)) = engine.locate(place) else { return false };
    // SAFETY: the thread state is mapped; the run loop isn't running.
    let thread = unsafe { &mut *engine.thread };
    let registers = &mut thread.cpu.registers;
    for r in Gpr::ALL {
        registers.set(r, context.uc_mcontext.gregs[FRAME[r as usize] as usize] as u64);
    }
    registers.rflags = context.uc_mcontext.gregs[libc::REG_EFL as usize] as u64;
    registers.fs_base = fs_base;
    let mut recovered = *registers;
    let reserved = engine.counters().reserved();
    if reserved == Reserved::No {
        entry.recover(&mut recovered, thread);
    } else if let Some(held) = entry.recover_with_r11(&mut recovered, thread) {
        thread.store_r11(reserved, held);
    }
    thread.cpu.registers = recovered;
    copy_xstate(&mut thread.cpu.xstate.bytes, context);
    engine.calls_made = engine.leave_block(place);
    true
}

/// The frame's extended state. Its software bytes tell how much there is.
fn copy_xstate(bytes: &mut [u8; XSTATE_CAPACITY], context: &libc::ucontext_t) {
    const MAGIC1: u32 = 0x4650_5853;
    const SOFTWARE_AT: usize = 464;
    let area = context.uc_mcontext.fpregs.cast::<u8>();
    if area.is_null() {
        return;
    }
    // SAFETY: the kernel stored an FXSAVE area of 512 bytes, whose software bytes hold a magic and the size if an XSAVE
    // area of that size is there.
    unsafe {
        let magic = area.add(SOFTWARE_AT).cast::<u32>().read_unaligned();
        let size = area.add(SOFTWARE_AT + 16).cast::<u32>().read_unaligned() as usize;
        let len = if magic == MAGIC1 { size.min(XSTATE_CAPACITY) } else { 512 };
        std::ptr::copy_nonoverlapping(area, bytes.as_mut_ptr(), len);
    }
    // The kernel's words there mean something else to the gateway.
    bytes[SOFTWARE_AT..SOFTWARE_AT + 48].fill(0);
}

/// The runtime itself faulted: a bug, or app memory that went away under it.
fn runtime_fault(signal: i32, pc: u64, context: &libc::ucontext_t) -> ! {
    assert!(context.uc_mcontext.gregs[libc::REG_EFL as usize] & flags::TF as i64 == 0, "{TRAP_FLAG}");
    let address = context.uc_mcontext.gregs[libc::REG_CR2 as usize];
    panic!("signal {signal} at {}, address {address:#x}", crate::routines::in_image(pc));
}
