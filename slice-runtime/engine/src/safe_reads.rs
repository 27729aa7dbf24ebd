//! Reads of the app's memory that never fault, for analysis routines.
//!
//! ```text
//!   a tool's routine ─► read, read_word ─► code here ─► memory of the app's
//!                                            ▲                  │ can't be read: SIGSEGV, SIGBUS
//!                                            └─ after_fault ◄───┘ the handler goes on behind the read
//! ```
//!
//! A system call could tell as well what can be read, but not within an analysis routine, and not in some nanoseconds. This code changes general registers only, so a routine
//! that reads can still be called from translated code.
//!
//! What a read gives is the app's memory at that moment. So it means something in analysis routines, where the moment is a point of the execution, and nowhere else: in between
//! reads are *forbidden*, and one stops at an instruction by which the handler knows what has happened.

use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicU64, Ordering};

use bubble::map::BUBBLE;

/// Reads rcx bytes at rsi to rdi. Those that can't be read are left in rcx. It is called by name: a routine that is to be called from translated code makes no calls through pointers,
/// as the compiler's between crates are.
#[unsafe(naked)]
extern "C" fn read_bytes() {
    naked_asm!(
        ".globl superpin_read_bytes_at",
        "superpin_read_bytes_at:",
        "rep movsb",
        ".globl superpin_read_bytes_end",
        "superpin_read_bytes_end:",
        "ret",
    )
}

/// Reads the word at rdi into rax. In rcx is 1 if that could be read, else 0. It is called by name as well.
#[unsafe(naked)]
extern "C" fn read_word_at() {
    naked_asm!(
        ".globl superpin_read_word_at",
        "superpin_read_word_at:",
        "mov rax, [rdi]",
        "mov ecx, 1",
        "ret",
        ".globl superpin_read_word_failed",
        "superpin_read_word_failed:",
        "xor eax, eax",
        "xor ecx, ecx",
        "ret",
    )
}

/// Raises a signal by which the handler knows where it comes from.
#[unsafe(naked)]
extern "C" fn forbidden() {
    naked_asm!(".globl superpin_read_forbidden", "superpin_read_forbidden:", "ud2")
}

unsafe extern "C" {
    fn superpin_read_bytes_at();
    fn superpin_read_bytes_end();
    fn superpin_read_word_at();
    fn superpin_read_word_failed();
    fn superpin_read_forbidden();
}

/// This code, by whose places a handler knows what has happened.
pub const CODE: [unsafe extern "C" fn(); 3] = [superpin_read_bytes_at, superpin_read_word_at, superpin_read_forbidden];

/// Who must not read: nobody, everybody, or the thread with this stack pointer, which does something in which reads mean nothing. Others may run analysis routines meanwhile.
static FORBIDDEN: AtomicU64 = AtomicU64::new(EVERYBODY);
const NOBODY: u64 = 0;
const EVERYBODY: u64 = u64::MAX;
/// Bytes of its stack that a thread may use for what it does then: no other thread's are as near.
const DEPTH: u64 = 128 << 10;

/// Whether this is a moment that means nothing to the app, where the calling thread is not to read.
#[inline]
pub fn are_forbidden() -> bool {
    let who = FORBIDDEN.load(Ordering::Relaxed);
    who != NOBODY && (who == EVERYBODY || who.wrapping_sub(stack_pointer()) < DEPTH)
}

#[inline]
fn stack_pointer() -> u64 {
    let here: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags)) };
    here
}

/// What is said of a read where there is none.
pub(crate) const MISUSE: &str = "the app's memory is read outside an analysis routine: what is there then depends on where slices end and the buffer is full. \
    Read it in a routine that is called (Instruction::call), and keep what it says";

/// Reads mean something from now on, where they aren't forbidden.
pub(crate) fn begin() {
    FORBIDDEN.store(NOBODY, Ordering::Relaxed);
}

/// Does something in which reads of the app's memory mean nothing. By one thread at a time.
#[inline(never)]
pub fn without<R>(something: impl FnOnce() -> R) -> R {
    let before = FORBIDDEN.load(Ordering::Relaxed);
    if before == NOBODY {
        FORBIDDEN.store(stack_pointer(), Ordering::Relaxed);
    }
    let result = something();
    FORBIDDEN.store(before, Ordering::Relaxed);
    result
}

/// Reads the app's memory from `address` on. Says how many bytes could be read: all, or those before the first that the app couldn't read itself.
#[inline]
pub fn read(address: u64, into: &mut [u8]) -> usize {
    may_read();
    let bytes = if BUBBLE.contains(address) { 0 } else { into.len().min(before_bubble(address)) };
    let mut left = bytes;
    // SAFETY: there is room for so many bytes; if they can't be read, the handler goes on behind those that could. It changes these registers only.
    unsafe {
        asm!("call {read}", read = sym read_bytes, inout("rdi") into.as_mut_ptr() => _, inout("rsi") address => _, inout("rcx") left);
    }
    bytes - left
}

/// Reads eight bytes; `None` if the app couldn't.
#[inline]
pub fn read_word(address: u64) -> Option<u64> {
    may_read();
    if BUBBLE.overlaps(address, size_of::<u64>() as u64) {
        return None;
    }
    let (word, read): (u64, u64);
    // SAFETY: if it can't be read, the handler goes on elsewhere. It changes these registers only.
    unsafe { asm!("call {read}", read = sym read_word_at, in("rdi") address, out("rax") word, out("rcx") read) }
    (read != 0).then_some(word)
}

/// Stops where reads are forbidden.
#[inline]
fn may_read() {
    if are_forbidden() {
        // SAFETY: it raises a signal and doesn't come back.
        unsafe { asm!("call {forbidden}", forbidden = sym forbidden, options(noreturn)) }
    }
}

/// Bytes from `address` to the bubble, of which the app sees nothing, or to the end of all addresses.
fn before_bubble(address: u64) -> usize {
    let end = if address < BUBBLE.start { BUBBLE.start } else { u64::MAX };
    (end - address) as usize
}

/// Where a thread goes on that faulted at `pc`, if it was reading for a tool.
pub(crate) fn after_fault(pc: u64) -> Option<u64> {
    let address = |place: unsafe extern "C" fn()| place as *const () as u64;
    if pc == address(superpin_read_bytes_at) {
        Some(address(superpin_read_bytes_end))
    } else if pc == address(superpin_read_word_at) {
        Some(address(superpin_read_word_failed))
    } else {
        None
    }
}

/// Whether `pc` is where a read stops that is forbidden.
pub(crate) fn is_forbidden(pc: u64) -> bool {
    pc == superpin_read_forbidden as *const () as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_read() {
        begin();
        let app: [u8; 16] = std::array::from_fn(|n| n as u8);
        let address = app.as_ptr() as u64;
        let mut into = [0xff; 20];
        assert_eq!(read(address, &mut into[..16]), 16);
        assert_eq!((&into[..16], into[16]), (&app[..], 0xff));
        assert_eq!(read_word(address + 3), Some(0x0a09_0807_0605_0403));
    }

    #[test]
    fn the_bubble_is_not_there() {
        begin();
        let mut into = [0; 8];
        assert_eq!(read(BUBBLE.start, &mut into), 0);
        assert_eq!(read(BUBBLE.end() - 1, &mut into), 0);
        assert_eq!((read_word(BUBBLE.start - 4), read_word(BUBBLE.end() - 4)), (None, None));
        assert_eq!((before_bubble(BUBBLE.start - 5), before_bubble(u64::MAX)), (5, 0));
    }
}
