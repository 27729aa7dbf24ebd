//! What a signal means that arrives while the engine runs: a fault of the app inside the code cache, or an interruption.
//!
//! If the interrupted place is in the code cache, its state map turns the machine's state into the app's, and the handler returns to `abandon`: the run loop goes on with
//! that state, and with what is in the [`Mailbox`]. The handler makes no calls of the tool's and decides nothing that the run loop can.

use std::sync::atomic::{AtomicPtr, Ordering};

use machine::{CachePc, flags};
use translator::abi::{Reserved, ThreadState};
use translator::emit::is_lookup;

use super::recover::{describe, fill_in};
use crate::cache::Locator;
use crate::gateway::{self, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_NOT_ENTERED, FastPath};
use crate::interface::{FAULTS, Fault, TRAP_FLAG};
use crate::safe_reads;

/// What a handler leaves for the run loop. It is full only between a handler's return and the run loop.
#[derive(Default)]
pub struct Mailbox {
    /// What was raised, after [`EXIT_FAULT`].
    pub fault: Option<Fault>,
    /// Where translated code was left.
    pub left_at: Option<CachePc>,
}

/// What a handler needs, and nothing else.
pub struct Scene {
    pub(crate) thread: *mut ThreadState,
    /// Finds places in the cache.
    pub(crate) locator: Locator,
    /// What r11 holds in translated code.
    pub(crate) reserved: Reserved,
    /// Places of the way round the runtime, if there is one.
    pub(crate) fast_path: Option<FastPath>,
    /// Whether targets of indirect branches are looked up in the map.
    pub(crate) looks_in_map: bool,
    /// For the run loop.
    pub(crate) mailbox: Mailbox,
}

impl Scene {
    /// Where a thread goes on that faulted at `pc`, if it looked up a target then.
    fn after_lookup(&self, pc: u64) -> Option<u64> {
        if !self.looks_in_map {
            return None;
        }
        let looked = pc == 0
            || self.locator.locate(CachePc(pc)).is_some_and(|at| {
                // SAFETY: the cache is mapped, and there is more of the bubble behind it.
                let bytes = unsafe { std::slice::from_raw_parts(pc as *const u8, isa::MAX_LEN) };
                at.entry.source() == translator::abi::PcSource::InR10 && is_lookup(bytes)
            });
        looked.then(gateway::indirect_miss_pc)
    }

    /// Fills in the app's state, and notes where it was found.
    fn fill_in(&mut self, place: CachePc, context: &libc::ucontext_t, fs_base: u64) -> bool {
        // SAFETY: the thread state is mapped; the run loop isn't running.
        let thread = unsafe { &mut *self.thread };
        let found = fill_in(thread, (&self.locator, self.reserved), place, context, fs_base);
        if found {
            self.mailbox.left_at = Some(place);
        }
        found
    }

    /// Makes the run loop go on when the handler returns.
    fn abandon(&mut self, context: &mut libc::ucontext_t, exit: u64) -> u64 {
        // SAFETY: the thread state is mapped; the run loop isn't running.
        unsafe { (*self.thread).exit = exit };
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = gateway::abandon_pc() as i64;
        context.uc_mcontext.gregs[libc::REG_EFL as usize] = 0x202;
        1
    }
}

static HOOK: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Called for each asynchronous signal whose handler was installed by [`super::install_signal`], on the signal stack, with
/// all signals blocked: it must only take note of the signal. Says whether the thread that was interrupted is the one for which the engine
/// runs; if it isn't, the engine leaves it alone.
pub type Hook = fn(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool;

/// Sets the hook for asynchronous signals.
pub fn on_signal(hook: Hook) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

/// Makes the calling thread's run loop ask [`crate::Host::interrupted`] at the next place where the app's state is complete. May
/// be called from the hook.
pub fn interrupt() {
    set_interrupted(true);
}

/// The engine goes on for another thread, which calls this: whether that one is to be interrupted, too.
pub fn set_interrupted(interrupted: bool) {
    // SAFETY: the thread state is mapped once an engine exists, and a hook is called only then.
    unsafe { (&raw mut (*gateway::current()).interrupted).write_volatile(u64::from(interrupted)) };
}

/// Returns 1 if the run loop goes on in `abandon`, with the image's FS; 0 to resume what was interrupted.
pub(super) extern "C" fn handle(
    signal: i32,
    info: &libc::siginfo_t,
    context: &mut libc::ucontext_t,
    fs_base: u64,
) -> u64 {
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    // SAFETY: the scene was stored when the thread's runner was made, and lives as long as signals are used. The run loop looks at it only while no translated code runs, and what a
    // handler reads then doesn't change.
    let scene = unsafe { ((*gateway::current()).scene as *mut Scene).as_mut() };
    let synchronous = FAULTS.contains(&signal) && info.si_code > 0;
    let Some(scene) = scene else {
        // The thread begins, and runs nothing yet.
        if synchronous {
            runtime_fault(signal, pc, context);
        }
        ask_hook(signal, info, context);
        return 0;
    };
    if synchronous {
        if let Some(place) = scene.fast_path.as_ref().and_then(|fast_path| fast_path.after_fault(pc)) {
            context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
            return 0;
        }
        if let Some(place) = safe_reads::after_fault(pc) {
            context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
            return 0;
        }
        if let Some(place) = scene.after_lookup(pc).filter(|_| signal == libc::SIGSEGV) {
            context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
            return 0;
        }
        if !scene.fill_in(CachePc(pc), context, fs_base) {
            runtime_fault(signal, pc, context);
        }
        // SAFETY: the thread state is mapped; the run loop isn't running.
        let app_pc = unsafe { (*scene.thread).cpu.registers.rip };
        scene.mailbox.fault = Some(describe(signal, info, context, app_pc));
        return scene.abandon(context, EXIT_FAULT);
    }
    if !ask_hook(signal, info, context) {
        return 0;
    }
    // SAFETY: the thread state is mapped.
    let wanted = unsafe { (&raw const (*scene.thread).interrupted).read_volatile() } != 0;
    if wanted && gateway::in_enter_window(pc) {
        return scene.abandon(context, EXIT_NOT_ENTERED);
    }
    if let Some(place) = scene.fast_path.as_ref().filter(|_| wanted).and_then(|fast_path| fast_path.after_interrupt(pc))
    {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = place as i64;
        return 0;
    }
    if wanted && scene.locator.is_in_parts(CachePc(pc)) {
        // Translated code asks for interruptions when it has done the rest.
        return 0;
    }
    if wanted && scene.fill_in(CachePc(pc), context, fs_base) {
        return scene.abandon(context, EXIT_INTERRUPTED);
    }
    0
}

/// Asks the hook, if there is one, whether the signal is the calling thread's affair.
fn ask_hook(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool {
    let hook = HOOK.load(Ordering::Acquire);
    if hook.is_null() {
        return true;
    }
    // SAFETY: only `on_signal` stores here, a function of this type.
    let hook: Hook = unsafe { std::mem::transmute(hook) };
    hook(signal, info, context)
}

/// The runtime itself faulted: a bug, or app memory that went away under it.
fn runtime_fault(signal: i32, pc: u64, context: &libc::ucontext_t) -> ! {
    assert!(context.uc_mcontext.gregs[libc::REG_EFL as usize] & flags::TF as i64 == 0, "{TRAP_FLAG}");
    assert!(!safe_reads::is_forbidden(pc), "{}", safe_reads::MISUSE);
    let address = context.uc_mcontext.gregs[libc::REG_CR2 as usize];
    panic!("signal {signal} at {}, address {address:#x}", crate::routines::in_image(gateway::original(pc)));
}
