//! The first instructions, in the image, of a thread that the app had before it was attached to: see [`bubble::adoption`].

use std::arch::global_asm;
use std::sync::atomic::Ordering;

use bubble::adoption::{AdoptedState, Adoption, ThreadStack};
use translator::abi::Cpu;

use super::block::ThreadBlock;
use super::start::Begin;
use crate::ports::raw_syscall;
use crate::serial::signals::AltStack;

global_asm!(
    ".pushsection .text.superpin_adopt, \"ax\", @progbits",
    // The app's control words may be any; rax, rdi and rsp are as the control process has set them.
    ".globl superpin_adopt_thread",
    "superpin_adopt_thread:",
    "fninit",
    "push 0x1f80",
    "ldmxcsr dword ptr [rsp]",
    "add rsp, 8",
    "xor ebp, ebp",
    "call rax",
    "ud2",
    ".popsection",
);

unsafe extern "C" {
    static superpin_adopt_thread: u8;
}

/// Tells the control process where threads are to begin, each on the stack of its block.
pub fn tell(adoption: &Adoption, blocks: &[&'static ThreadBlock], begin: Begin) {
    let stacks = blocks.iter().map(|block| {
        let (start, size) = block.stack();
        ThreadStack { block: std::ptr::from_ref(*block) as u64, start, size }
    });
    let stacks = Vec::leak(stacks.collect());
    adoption.entry.store(&raw const superpin_adopt_thread as u64, Ordering::Relaxed);
    adoption.begin.store(begin as *const () as u64, Ordering::Relaxed);
    adoption.fs_base.store(base(ARCH_GET_FS), Ordering::Relaxed);
    adoption.gs_base.store(base(ARCH_GET_GS), Ordering::Relaxed);
    adoption.stacks.store(stacks.as_ptr() as u64, Ordering::Release);
}

/// What the control process has left for the calling thread, which runs on the stack of that block: registers and extended state, and the signal mask. `None`: it has registers in
/// use that this processor doesn't have.
pub fn state(block: &ThreadBlock) -> Option<(Cpu, u64)> {
    // SAFETY: it was written before this thread came here, far from where the stack is used by now.
    let state = unsafe { &*(block.stack().0 as *const AdoptedState) };
    Some((Cpu::new(state.registers, state.xstate.load()?), state.signal_mask))
}

/// Makes the block's signal stack that of the calling thread. Gives the one that the app's thread had.
pub fn take_signals(block: &ThreadBlock) -> AltStack {
    let mut before = [0; 3];
    raw_syscall(libc::SYS_sigaltstack as u64, [0, before.as_mut_ptr() as u64, 0, 0, 0, 0]);
    block.take_signals();
    AltStack::from_words(before)
}

/// What the calling thread has in FS (`ARCH_GET_FS`) or GS.
fn base(which: u64) -> u64 {
    let mut base: u64 = 0;
    raw_syscall(libc::SYS_arch_prctl as u64, [which, &raw mut base as u64, 0, 0, 0, 0]);
    base
}

const ARCH_GET_FS: u64 = 0x1003;
const ARCH_GET_GS: u64 = 0x1004;
