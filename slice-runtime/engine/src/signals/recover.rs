//! From a signal's frame to the app's state.

use machine::{CachePc, Gpr, XSTATE_CAPACITY};
use translator::abi::{Reserved, ThreadState};

use crate::cache::Locator;
use crate::interface::Fault;

/// Fills in the app's state from the frame of a signal that found translated code at `place`; false if nothing of the code cache is there.
pub(super) fn fill_in(
    thread: &mut ThreadState,
    (locator, reserved): (&Locator, Reserved),
    place: CachePc,
    context: &libc::ucontext_t,
    fs_base: u64,
) -> bool {
    let Some(at) = locator.locate(place) else { return false };
    let registers = &mut thread.cpu.registers;
    for (r, word) in Gpr::IN_SIGNAL_FRAME.into_iter().zip(context.uc_mcontext.gregs) {
        registers.set(r, word as u64);
    }
    registers.rflags = context.uc_mcontext.gregs[libc::REG_EFL as usize] as u64;
    registers.fs_base = fs_base;
    let mut recovered = *registers;
    if reserved == Reserved::No {
        at.entry.recover(&mut recovered, thread);
    } else if let Some(held) = at.entry.recover_with_r11(&mut recovered, thread) {
        thread.store_r11(reserved, held);
    }
    thread.cpu.registers = recovered;
    copy_xstate(&mut thread.cpu.xstate.bytes, context);
    true
}

pub(super) fn describe(signal: i32, info: &libc::siginfo_t, context: &libc::ucontext_t, app_pc: u64) -> Fault {
    let word = |n: i32| context.uc_mcontext.gregs[n as usize] as u64;
    let mut info = *info;
    // These name an instruction, where others name memory.
    if [libc::SIGFPE, libc::SIGILL, libc::SIGTRAP].contains(&signal) && info.si_code != libc::SI_KERNEL {
        // SAFETY: the address of a fault lies after the three leading integers and their padding (kernel ABI).
        unsafe { (&raw mut info).cast::<u64>().add(2).write(app_pc) };
    }
    Fault { signal, info, error_code: word(libc::REG_ERR), trap: word(libc::REG_TRAPNO), address: word(libc::REG_CR2) }
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
