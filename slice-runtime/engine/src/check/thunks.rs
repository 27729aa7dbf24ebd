//! The few instructions that copies of routines go through. They change nothing that a routine could see.

use std::arch::global_asm;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bubble::map::BUBBLE;

/// Words that copies and thunks use. One thread at a time executes routines.
#[derive(Default)]
#[repr(C)]
pub struct Words {
    /// rax, while its register has an address.
    pub rax: AtomicU64,
    /// Where an indirect branch goes.
    pub target: AtomicU64,
    r10: AtomicU64,
    r11: AtomicU64,
    /// Where one has gone of which there is no copy; 0: nowhere.
    pub missed: AtomicU64,
    /// First address of the image's code.
    pub text: AtomicU64,
    /// Bytes of it.
    pub len: AtomicU64,
    /// For each byte of it, where its copy lies, from `copies` on, as four bytes; 0: nowhere.
    pub table: AtomicU64,
    /// What copies are told from.
    pub copies: AtomicU64,
    /// Not 0: system calls are the runtime's own.
    pub allowed: AtomicU64,
    /// Who is told of a store, `extern "C" fn(address, behind) -> !`: `behind` is where the thunk would return to.
    pub stores: AtomicU64,
    /// The same of a system call, with its number.
    pub asks: AtomicU64,
}

/// The words.
pub static WORDS: Words = Words {
    rax: AtomicU64::new(0),
    target: AtomicU64::new(0),
    r10: AtomicU64::new(0),
    r11: AtomicU64::new(0),
    missed: AtomicU64::new(0),
    text: AtomicU64::new(0),
    len: AtomicU64::new(0),
    table: AtomicU64::new(0),
    copies: AtomicU64::new(0),
    allowed: AtomicU64::new(0),
    stores: AtomicU64::new(0),
    asks: AtomicU64::new(0),
};

/// Below the stack pointer a function may keep what it likes.
pub const RED_ZONE: i32 = 128;

global_asm!(
    // The stack pointer is below the red zone in these two. rax: what is stored to.
    ".globl superpin_check_store",
    "superpin_check_store:",
    "pushfq",
    "push rcx",
    "push rdx",
    "mov rdx, rax",
    "mov rcx, {bubble}",
    "sub rdx, rcx",
    "mov rcx, {size}",
    "cmp rdx, rcx",
    "jae 2f",
    "pop rdx",
    "pop rcx",
    "popfq",
    "ret",
    "2:",
    "mov rdi, rax",
    "mov rsi, [rsp + 24]",
    "and rsp, -16",
    "call qword ptr [rip + {words} + {stores}]",
    "ud2",
    ".globl superpin_check_syscall",
    "superpin_check_syscall:",
    "cmp qword ptr [rip + {words} + {allowed}], 0",
    "je 2f",
    "syscall",
    "ret",
    "2:",
    "mov rdi, rax",
    "mov rsi, [rsp]",
    "and rsp, -16",
    "call qword ptr [rip + {words} + {asks}]",
    "ud2",
    // To `target`, or its copy.
    ".globl superpin_check_branch",
    "superpin_check_branch:",
    "mov [rip + {words} + {r10}], r10",
    "mov [rip + {words} + {r11}], r11",
    "lea rsp, [rsp - 128]",
    "pushfq",
    "mov r11, [rip + {words} + {target}]",
    "mov r10, r11",
    "sub r11, [rip + {words} + {text}]",
    "cmp r11, [rip + {words} + {len}]",
    "jae 3f",
    "shl r11, 2",
    "add r11, [rip + {words} + {table}]",
    "mov r11d, [r11]",
    "test r11d, r11d",
    "jz 2f",
    "add r11, [rip + {words} + {copies}]",
    "mov [rip + {words} + {target}], r11",
    "jmp 3f",
    "2:",
    "mov [rip + {words} + {missed}], r10",
    "3:",
    "popfq",
    "lea rsp, [rsp + 128]",
    "mov r10, [rip + {words} + {r10}]",
    "mov r11, [rip + {words} + {r11}]",
    "jmp qword ptr [rip + {words} + {target}]",
    bubble = const BUBBLE.start,
    size = const BUBBLE.size,
    words = sym WORDS,
    r10 = const offset_of!(Words, r10),
    r11 = const offset_of!(Words, r11),
    target = const offset_of!(Words, target),
    missed = const offset_of!(Words, missed),
    text = const offset_of!(Words, text),
    len = const offset_of!(Words, len),
    table = const offset_of!(Words, table),
    copies = const offset_of!(Words, copies),
    allowed = const offset_of!(Words, allowed),
    stores = const offset_of!(Words, stores),
    asks = const offset_of!(Words, asks),
);

unsafe extern "C" {
    fn superpin_check_store();
    fn superpin_check_syscall();
    fn superpin_check_branch();
}

/// Where a copy calls to, before a store to the address in rax.
pub fn store() -> u64 {
    superpin_check_store as *const () as u64
}

/// In place of a system call.
pub fn syscall() -> u64 {
    superpin_check_syscall as *const () as u64
}

/// In place of an indirect branch, whose target is in [`Words::target`].
pub fn branch() -> u64 {
    superpin_check_branch as *const () as u64
}

/// The address of one of the words.
pub fn address(word: &AtomicU64) -> u64 {
    word.as_ptr() as u64
}

/// Where an indirect branch has gone of which there is no copy, since this was last asked.
pub fn take_missed() -> Option<u64> {
    let missed = WORDS.missed.load(Relaxed);
    WORDS.missed.store(0, Relaxed);
    (missed != 0).then_some(missed)
}
