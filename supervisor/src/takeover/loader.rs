//! The loader: machine code that executes steps inside a taken-over process. See [`super::steps`] for what they are.
//!
//! Position-independent, uses no memory but its steps. Registers: r15 the current step, r13 its index, rbx the
//! descriptor that the latest `open` gave.

use std::arch::global_asm;

use crate::run_memory::FAILURE_BASE;

/// A step is eight words: number, six arguments, flags.
pub const STEP_BYTES: u64 = 64;
/// The result is a descriptor to be remembered.
pub const OPENS: u64 = 1;
/// The fifth argument is the remembered descriptor.
pub const USES_AS_5TH: u64 = 2;
/// The first argument is the remembered descriptor.
pub const USES_AS_1ST: u64 = 4;
/// No system call: copies (destination, source, length).
pub const COPIES: u64 = 8;
/// No system call: fills with zeroes (destination, length).
pub const ZEROES: u64 = 16;
/// No system call: the end. Jumps to the second argument with the first as stack pointer.
pub const ENDS: u64 = 32;
/// A failure of this call doesn't matter.
pub const MAY_FAIL: u64 = 64;

global_asm!(
    ".pushsection .rodata.superpin_loader, \"a\", @progbits",
    ".globl superpin_loader_start",
    ".globl superpin_loader_end",
    ".hidden superpin_loader_start",
    ".hidden superpin_loader_end",
    "superpin_loader_start:",
    // The image expects floating-point control as after exec; the app's is in the boot block.
    "fninit",
    "ldmxcsr dword ptr [rip + 9f]",
    "cld",
    "xor r13d, r13d",
    "2: mov r14, [r15 + 56]",
    "test r14d, {ends}",
    "jnz 6f",
    "mov rax, [r15]",
    "mov rdi, [r15 + 8]",
    "mov rsi, [r15 + 16]",
    "mov rdx, [r15 + 24]",
    "mov r10, [r15 + 32]",
    "mov r8, [r15 + 40]",
    "mov r9, [r15 + 48]",
    "test r14d, {copies}",
    "jnz 4f",
    "test r14d, {zeroes}",
    "jnz 5f",
    "test r14d, {as_5th}",
    "cmovnz r8, rbx",
    "test r14d, {as_1st}",
    "cmovnz rdi, rbx",
    "syscall",
    "cmp rax, -4095",
    "jae 7f",
    "test r14d, {opens}",
    "cmovnz rbx, rax",
    "3: add r15, {step}",
    "inc r13d",
    "jmp 2b",
    "4: mov rcx, rdx",
    "rep movsb",
    "jmp 3b",
    "5: mov rcx, rsi",
    "xor eax, eax",
    "rep stosb",
    "jmp 3b",
    // rdx = 0 at a program's entry: no function for atexit.
    "6: mov rsp, [r15 + 8]",
    "mov rcx, [r15 + 16]",
    "xor edx, edx",
    "xor ebp, ebp",
    "jmp rcx",
    "7: test r14d, {may_fail}",
    "jnz 3b",
    "lea edi, [r13 + {failure}]",
    "mov eax, {exit_group}",
    "syscall",
    "ud2",
    "9: .long 0x1f80",
    "superpin_loader_end:",
    ".popsection",
    ends = const ENDS,
    copies = const COPIES,
    zeroes = const ZEROES,
    as_5th = const USES_AS_5TH,
    as_1st = const USES_AS_1ST,
    opens = const OPENS,
    may_fail = const MAY_FAIL,
    step = const STEP_BYTES,
    failure = const FAILURE_BASE,
    exit_group = const libc::SYS_exit_group,
);

/// The loader's machine code.
pub fn code() -> &'static [u8] {
    unsafe extern "C" {
        static superpin_loader_start: u8;
        static superpin_loader_end: u8;
    }
    let (start, end) = (&raw const superpin_loader_start, &raw const superpin_loader_end);
    // SAFETY: both symbols are the borders of one piece of read-only data, defined above.
    unsafe { std::slice::from_raw_parts(start, end.offset_from(start) as usize) }
}
