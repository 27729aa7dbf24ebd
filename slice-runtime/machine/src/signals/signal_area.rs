//! What the kernel's signal frames hold of the extended state on this processor, found out by looking at one.
//!
//! It isn't what the processor has: components that a process must ask for (AMX's tiles) aren't in the frames of one that hasn't, those that only the kernel
//! uses in none, and configurations that came with later processors (AMX's) are.

use std::cell::Cell;
use std::io;
use std::sync::{Mutex, PoisonError};

use crate::{ComponentPlace, component};

/// The XSAVE area of a signal frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SignalArea {
    /// Components that it has room for.
    pub components: u64,
    /// Those of them, besides x87 and SSE, that the kernel writes: of others there is what was on the stack before.
    pub written: u64,
    /// Its bytes, without the magic behind it.
    pub size: u32,
    /// What protection keys forbid to handlers (PKRU), where the processor has such keys.
    pub protection_keys: u32,
}

/// `FP_XSTATE_MAGIC1`, in the first software byte of an area that has more than the legacy region.
const MAGIC1: u32 = 0x4650_5853;
const SOFTWARE_AT: usize = 464;
const SHORTEST: u32 = 576;
/// What is on the stack before.
const UNWRITTEN: u8 = 0x5a;
const STACK: usize = 64 << 10;

thread_local! {
    static SEEN: Cell<Option<SignalArea>> = const { Cell::new(None) };
}

/// Raises a signal in this thread and looks at its frame. The signal is SIGURG, which a process ignores unless it has a handler.
///
/// # Errors
/// If a signal can't be raised, or its frame has no XSAVE area.
pub fn ask() -> io::Result<SignalArea> {
    // A signal's action is the process's: who asks at the same time would put it back too early.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    SEEN.set(None);
    let mut stack = vec![UNWRITTEN; STACK];
    // SAFETY: the handler only looks at its frame; the action and the mask from before are put back, and all structures are plain data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = look as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let alternate = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
        let mut stack_before = std::mem::zeroed();
        done(libc::sigaltstack(&alternate, &mut stack_before))?;
        let (mut action_before, mut set, mut mask_before) = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGURG);
        done(libc::sigaction(libc::SIGURG, &action, &mut action_before))?;
        done(libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, &mut mask_before))?;
        done(libc::raise(libc::SIGURG))?;
        done(libc::pthread_sigmask(libc::SIG_SETMASK, &mask_before, std::ptr::null_mut()))?;
        done(libc::sigaction(libc::SIGURG, &action_before, std::ptr::null_mut()))?;
        done(libc::sigaltstack(&stack_before, std::ptr::null_mut()))?;
    }
    SEEN.get().ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "signal frames have no XSAVE area"))
}

fn done(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn look(_: i32, _: *const libc::siginfo_t, context: *const libc::ucontext_t) {
    // SAFETY: the kernel stored a ucontext, and an FXSAVE area of 512 bytes where that says; its software bytes hold a magic if it is an XSAVE area.
    let area = unsafe { (*context).uc_mcontext.fpregs.cast::<u8>() };
    // SAFETY: as above.
    let software = unsafe { area.add(SOFTWARE_AT) };
    // SAFETY: as above.
    let half = |at: usize| unsafe { software.add(at).cast::<u32>().read_unaligned() };
    let (components, size) = (u64::from(half(12)) << 32 | u64::from(half(8)), half(16));
    if half(0) == MAGIC1 && size >= SHORTEST {
        let is_written = |bit: &u32| {
            let place = ComponentPlace::own(*bit).range();
            if components >> bit & 1 == 0 || place.end > size as usize {
                return false;
            }
            // SAFETY: the area has room for it.
            let bytes = unsafe { std::slice::from_raw_parts(area.add(place.start), place.len()) };
            bytes.iter().any(|byte| *byte != UNWRITTEN)
        };
        let written = (2..63).filter(is_written).fold(0, |all, bit| all | 1 << bit);
        let protection_keys = if components & component::PKRU == 0 { 0 } else { read_protection_keys() };
        SEEN.set(Some(SignalArea { components, written, size, protection_keys }));
    }
}

/// To be called where the kernel has enabled protection keys.
fn read_protection_keys() -> u32 {
    let keys: u32;
    // SAFETY: RDPKRU, which reads a register, is there; it wants zero in ecx, and clears edx.
    unsafe {
        std::arch::asm!("rdpkru", in("ecx") 0, out("eax") keys, out("edx") _, options(nomem, nostack, preserves_flags));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_ask_at_the_same_time() {
        let ask_often = || {
            for _ in 0..2000 {
                ask().unwrap();
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(ask_often);
            }
        });
    }

    #[test]
    fn the_area_has_room_for_what_it_holds() {
        let area = ask().unwrap();
        assert_eq!(area.components & 3, 3);
        for bit in (2..63).filter(|bit| area.components >> bit & 1 != 0) {
            let [len, start, ..] = crate::cpuid::ask(0xd, bit);
            assert!(start + len <= area.size, "component {bit}");
        }
    }

    #[test]
    fn a_blocked_signal_stays_blocked() {
        // SAFETY: plain data; the mask is this thread's.
        unsafe {
            let (mut set, mut now) = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGURG);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            ask().unwrap();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut now);
            assert_eq!(libc::sigismember(&now, libc::SIGURG), 1);
        }
    }
}
