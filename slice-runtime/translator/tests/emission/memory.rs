//! The app's code and data, and the routines of a tool, at addresses that are the same in each process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use isa::random::{PLANE, Program};
use machine::{AppPc, PAGE};

pub const CODE: u64 = 0x5555_5180_0000;
pub const CODE_LEN: u64 = 5 * PLANE as u64;
pub const DATA: u64 = CODE + CODE_LEN;
pub const DATA_LEN: u64 = 16 * PAGE;
pub const CONTROL: u64 = DATA + DATA_LEN;
pub const CONSTANTS: u64 = CONTROL + PAGE;
pub const HOLE: u64 = CONSTANTS + PAGE;
pub const ROUTINES: u64 = HOLE + PAGE;
pub const END: u64 = ROUTINES + PAGE;
/// Doors within reach of both caches, and out of their reach.
pub const NEAR_DOOR: u64 = 0x5554_e012_3450;
pub const FAR_DOOR: u64 = 0x7000_0012_3450;

// Routines that are put in place, called by translated code, and called by the runtime. They are copied to where they are
// used: whatever a compiler makes of others doesn't matter here.
std::arch::global_asm!(
    ".section .rodata.superpin_routines, \"a\"",
    "superpin_routine_add: add [rdi], rsi",
    "ret",
    "superpin_routine_one: add qword ptr [rdi + 8], 1",
    "ret",
    "superpin_routine_mix: mov rax, [rdi + 16]",
    "rol rax, 7",
    "lea rcx, [rsi + rdx * 2]",
    "xor rax, rcx",
    "mov [rdi + 16], rax",
    "ret",
    "superpin_routine_choose: test sil, 16",
    "je 2f",
    "add [rdi + 24], rdx",
    "ret",
    "2: cmp rdx, rsi",
    "jbe 3f",
    "add qword ptr [rdi + 32], 3",
    "3: ret",
    "superpin_routine_loop: mov ecx, 3",
    "2: add [rdi + 40], rsi",
    "dec ecx",
    "jne 2b",
    "ret",
    "superpin_routine_vector: movq xmm0, rsi",
    "movq [rdi + 48], xmm0",
    "ret",
    "superpin_routine_test: mov rax, rsi",
    "xor rax, rdx",
    "and eax, 1",
    "ret",
    "superpin_routine_test_loop: mov ecx, 2",
    "2: dec ecx",
    "jne 2b",
    "mov rax, rsi",
    "ret",
    "superpin_routines_end:",
    ".previous",
);

unsafe extern "C" {
    static superpin_routine_add: [u8; 0];
    static superpin_routine_one: [u8; 0];
    static superpin_routine_mix: [u8; 0];
    static superpin_routine_choose: [u8; 0];
    static superpin_routine_loop: [u8; 0];
    static superpin_routine_vector: [u8; 0];
    static superpin_routine_test: [u8; 0];
    static superpin_routine_test_loop: [u8; 0];
    static superpin_routines_end: [u8; 0];
}

/// Addresses of the routines, and of the tests behind them.
pub struct Routines {
    pub counters: [usize; 2],
    pub others: [usize; 4],
    pub tests: [usize; 2],
}

/// The memory of the app, at fixed addresses: one test has it at a time.
pub struct Memory {
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());

impl Memory {
    pub fn new() -> (Memory, Routines) {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: NOREPLACE touches nothing that exists; the hole is a part of the new mapping.
        let (p, hole) = unsafe {
            let p = libc::mmap(CODE as *mut _, (END - CODE) as usize, access, flags, -1, 0);
            (p as u64, libc::mprotect(HOLE as *mut _, PAGE as usize, libc::PROT_NONE))
        };
        assert_eq!((p, hole), (CODE, 0), "{CODE:#x} is taken: {}", std::io::Error::last_os_error());
        // SAFETY: the symbols' addresses alone are used, and the bytes between the first and the last are this program's.
        let (routines, code) = unsafe {
            let first = &raw const superpin_routine_add as usize;
            let at = |symbol: *const [u8; 0]| ROUTINES as usize + (symbol as usize - first);
            let routines = Routines {
                counters: [at(&raw const superpin_routine_add), at(&raw const superpin_routine_one)],
                others: [
                    at(&raw const superpin_routine_mix),
                    at(&raw const superpin_routine_choose),
                    at(&raw const superpin_routine_loop),
                    at(&raw const superpin_routine_vector),
                ],
                tests: [at(&raw const superpin_routine_test), at(&raw const superpin_routine_test_loop)],
            };
            let len = &raw const superpin_routines_end as usize - first;
            (routines, std::slice::from_raw_parts(first as *const u8, len))
        };
        write(ROUTINES, code);
        (Memory { _turn: turn }, routines)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nothing refers to it any more.
        unsafe { libc::munmap(CODE as *mut _, (END - CODE) as usize) };
    }
}

/// Writes to the mapping.
pub fn write(at: u64, bytes: &[u8]) {
    assert!((CODE..=END - bytes.len() as u64).contains(&at));
    // SAFETY: inside of the mapping, which this test alone uses.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
}

/// The app's code from `pc` on, as far as it may be relied on.
pub fn code_at(pc: AppPc) -> &'static [u8] {
    if !(CODE..CODE + CODE_LEN).contains(&pc.0) {
        return &[];
    }
    // SAFETY: inside of the mapping, which isn't written while a program is translated.
    unsafe { std::slice::from_raw_parts(pc.0 as *const u8, (CODE + CODE_LEN - pc.0).min(PAGE) as usize) }
}

pub fn load(program: &Program) {
    // SAFETY: a part of the mapping.
    let emptied = unsafe { libc::madvise(CODE as *mut _, CODE_LEN as usize, libc::MADV_DONTNEED) };
    assert_eq!(emptied, 0, "{}", std::io::Error::last_os_error());
    program.parts().for_each(|(offset, code)| write(CODE + offset as u64, code));
    program.constants.iter().zip(0..).for_each(|(word, n)| write(CONSTANTS + n * 8, &word.to_le_bytes()));
}
