//! The recorder's code: what a patched `syscall` instruction leads to.
//!
//! It makes the call, writes its record and goes back, with all registers and flags as the instruction leaves them. It uses a stack
//! of its own, so that nothing below the app's stack pointer changes, and no vector register. What it doesn't know how to record it
//! leaves to the control process: it puts everything back and stops before the call (`bail`). It does the same, or stops
//! behind the call (`done`), when the control process asks for it: see [`super::settle`].

use std::arch::global_asm;

use syscall_replay::effects::{FACTOR, HASH_OF_NOTHING, HASHED, ROTATION, SEED};

use super::layout::{
    AFTER, BY_DESCRIPTOR, ENTRY, FILES, FIXED, FLAGS, LIMIT, MAX_FILES, MOST_BYTES, NEEDS_FILE, NEXT, R11, RAX, RBX,
    RCX, RDI, RDX, READS, RESULT, ROOM, RSI, RSP, SECOND_IS_NULL, STACK_END, STOP, TABLE_AT, TABLE_LEN, TO_FIRST,
    TO_THIRD, WRITES,
};

global_asm!(
    ".pushsection .rodata.superpin_recorder, \"a\", @progbits",
    // Several units of the compiled crate name them.
    ".globl superpin_recorder_start",
    ".hidden superpin_recorder_start",
    ".globl superpin_recorder_decided",
    ".hidden superpin_recorder_decided",
    ".globl superpin_recorder_called",
    ".hidden superpin_recorder_called",
    ".globl superpin_recorder_leaves",
    ".hidden superpin_recorder_leaves",
    ".globl superpin_recorder_left",
    ".hidden superpin_recorder_left",
    ".globl superpin_recorder_done",
    ".hidden superpin_recorder_done",
    ".globl superpin_recorder_done_stop",
    ".hidden superpin_recorder_done_stop",
    ".globl superpin_recorder_bail",
    ".hidden superpin_recorder_bail",
    ".globl superpin_recorder_bail_stop",
    ".hidden superpin_recorder_bail_stop",
    ".globl superpin_recorder_end",
    ".hidden superpin_recorder_end",
    ".balign 16",
    "superpin_recorder_start:",
    // A stub has stored rcx, and put the address after the site there.
    "mov [rip + superpin_recorder_start + {R11}], r11",
    "mov [rip + superpin_recorder_start + {RSP}], rsp",
    "mov [rip + superpin_recorder_start + {AFTER}], rcx",
    "lea rsp, [rip + superpin_recorder_start + {STACK_END}]",
    "pushfq",
    "pop r11",
    "mov [rip + superpin_recorder_start + {FLAGS}], r11",
    "mov [rip + superpin_recorder_start + {RAX}], rax",
    // Whether it is a call that can be recorded here, and whether there is room.
    "cmp rax, {TABLE_LEN}",
    "jae 90f",
    "mov ecx, eax",
    "shl ecx, 4",
    "lea r11, [rip + superpin_recorder_start + {TABLE_AT}]",
    "add r11, rcx",
    "cmp qword ptr [r11], 0",
    "je 90f",
    "cmp qword ptr [rip + superpin_recorder_start + {ROOM}], 0",
    "je 90f",
    "mov [rip + superpin_recorder_start + {ENTRY}], r11",
    "mov rcx, [r11 + 8]",
    "mov r11, [rip + superpin_recorder_start + {NEXT}]",
    "cmp r11, [rip + superpin_recorder_start + {LIMIT}]",
    "jae 90f",
    "test ecx, {NEEDS_FILE}",
    "jz 2f",
    "cmp rdi, {MAX_FILES}",
    "jae 90f",
    "bt [rip + superpin_recorder_start + {FILES}], rdi",
    "jnc 90f",
    "2: test ecx, {READS}",
    "jz 3f",
    "cmp rdx, {MOST_BYTES}",
    "ja 90f",
    "3: test ecx, {SECOND_IS_NULL}",
    "jz 4f",
    "test rsi, rsi",
    "jnz 90f",
    "4: test ecx, {BY_DESCRIPTOR}",
    "jz 5f",
    "cmp r10, {AT_EMPTY_PATH}",
    "jne 90f",
    "5: cmp qword ptr [rip + superpin_recorder_start + {STOP}], 0",
    "superpin_recorder_decided:",
    "jne 90f",
    "syscall",
    "superpin_recorder_called:",
    "mov [rip + superpin_recorder_start + {RESULT}], rax",
    "mov [rip + superpin_recorder_start + {RBX}], rbx",
    "mov [rip + superpin_recorder_start + {RDI}], rdi",
    "mov [rip + superpin_recorder_start + {RSI}], rsi",
    "mov [rip + superpin_recorder_start + {RDX}], rdx",
    // rbx: the record. The arguments that don't belong to it are overwritten.
    "mov rbx, [rip + superpin_recorder_start + {NEXT}]",
    "mov rcx, [rip + superpin_recorder_start + {ENTRY}]",
    "mov r11, [rcx]",
    "mov [rbx], r11",
    "mov [rbx + 16], rax",
    "mov qword ptr [rbx + 24], 0",
    "mov [rbx + 32], rdi",
    "mov [rbx + 40], rsi",
    "mov [rbx + 48], rdx",
    "mov [rbx + 56], r10",
    "mov [rbx + 64], r8",
    "mov [rbx + 72], r9",
    // r11: its end.
    "movzx r11d, byte ptr [rcx + 1]",
    "lea r11, [rbx + r11 * 8 + 32]",
    "mov ecx, [rcx + 8]",
    "test ecx, {ANY_BYTES}",
    "jz 60f",
    "test ecx, {WRITES}",
    "jnz 70f",
    "cmp rax, -4095",
    "jae 60f",
    "test ecx, {READS}",
    "jnz 51f",
    "test ecx, {BY_DESCRIPTOR}",
    "jz 50f",
    "cmp byte ptr [rsi], 0",
    "jne 50f",
    "movabs rdi, {NO_TEXT}",
    "mov [rbx + 24], rdi",
    "mov rdi, [rip + superpin_recorder_start + {RDI}]",
    "50: test ecx, {TO_FIRST}",
    "cmovnz rsi, rdi",
    "test ecx, {TO_THIRD}",
    "cmovnz rsi, rdx",
    "shr ecx, 16",
    "jmp 52f",
    "51: mov rcx, rax",
    "52: test rsi, rsi",
    "jz 60f",
    "test rcx, rcx",
    "jz 60f",
    "mov [r11], rsi",
    "mov [r11 + 8], rcx",
    "lea rdi, [r11 + 16]",
    // The padding's zeroes first.
    "lea r11, [rcx + 7]",
    "and r11, -8",
    "add r11, rdi",
    "mov qword ptr [r11 - 8], 0",
    "cld",
    "cmp rcx, 16",
    "jne 53f",
    "mov rcx, [rsi]",
    "mov [rdi], rcx",
    "mov rcx, [rsi + 8]",
    "mov [rdi + 8], rcx",
    "jmp 60f",
    "53: rep movsb",
    "60: mov rcx, r11",
    "sub rcx, rbx",
    "mov [rbx + 8], rcx",
    "dec qword ptr [rip + superpin_recorder_start + {ROOM}]",
    "mov [rip + superpin_recorder_start + {NEXT}], r11",
    "mov rbx, [rip + superpin_recorder_start + {RBX}]",
    "mov rdi, [rip + superpin_recorder_start + {RDI}]",
    "mov rsi, [rip + superpin_recorder_start + {RSI}]",
    "cmp qword ptr [rip + superpin_recorder_start + {STOP}], 0",
    "superpin_recorder_leaves:",
    "jne 80f",
    "push qword ptr [rip + superpin_recorder_start + {FLAGS}]",
    "popfq",
    "mov rsp, [rip + superpin_recorder_start + {RSP}]",
    "mov r11, [rip + superpin_recorder_start + {FLAGS}]",
    "mov rcx, [rip + superpin_recorder_start + {AFTER}]",
    "jmp rcx",
    "superpin_recorder_left:",
    // The hash of what the call has read; if it hasn't read all, there may be no more than that to read: no hash.
    "70: cmp rax, rdx",
    "jne 60b",
    "mov ecx, {HASHED}",
    "cmp rdx, rcx",
    "cmovb rcx, rdx",
    "movabs rdi, {SEED}",
    "movabs rax, {FACTOR}",
    "xor rdi, rcx",
    "imul rdi, rax",
    "rol rdi, {ROTATION}",
    "71: cmp rcx, 8",
    "jb 72f",
    "xor rdi, [rsi]",
    "imul rdi, rax",
    "rol rdi, {ROTATION}",
    "add rsi, 8",
    "sub rcx, 8",
    "jmp 71b",
    "72: test ecx, ecx",
    "jz 74f",
    "xor edx, edx",
    "73: shl rdx, 8",
    "mov dl, [rsi + rcx - 1]",
    "dec ecx",
    "jnz 73b",
    "xor rdi, rdx",
    "imul rdi, rax",
    "rol rdi, {ROTATION}",
    "74: mov [rbx + 24], rdi",
    "mov rdx, [rip + superpin_recorder_start + {RDX}]",
    "mov rax, [rip + superpin_recorder_start + {RESULT}]",
    "jmp 60b",
    "superpin_recorder_done:",
    "80: push qword ptr [rip + superpin_recorder_start + {FLAGS}]",
    "popfq",
    "mov rsp, [rip + superpin_recorder_start + {RSP}]",
    "mov r11, [rip + superpin_recorder_start + {FLAGS}]",
    "mov rcx, [rip + superpin_recorder_start + {AFTER}]",
    "int3",
    "superpin_recorder_done_stop:",
    "superpin_recorder_bail:",
    "90: push qword ptr [rip + superpin_recorder_start + {FLAGS}]",
    "popfq",
    "mov rsp, [rip + superpin_recorder_start + {RSP}]",
    "mov r11, [rip + superpin_recorder_start + {R11}]",
    "mov rcx, [rip + superpin_recorder_start + {RCX}]",
    "int3",
    "superpin_recorder_bail_stop:",
    "superpin_recorder_end:",
    ".popsection",
    RCX = const RCX,
    R11 = const R11,
    RSP = const RSP,
    AFTER = const AFTER,
    STACK_END = const STACK_END,
    FLAGS = const FLAGS,
    RAX = const RAX,
    RBX = const RBX,
    RDI = const RDI,
    RSI = const RSI,
    RDX = const RDX,
    RESULT = const RESULT,
    ENTRY = const ENTRY,
    TABLE_LEN = const TABLE_LEN,
    TABLE_AT = const TABLE_AT,
    ROOM = const ROOM,
    NEXT = const NEXT,
    LIMIT = const LIMIT,
    STOP = const STOP,
    NEEDS_FILE = const NEEDS_FILE,
    MAX_FILES = const MAX_FILES,
    FILES = const FILES,
    READS = const READS,
    WRITES = const WRITES,
    TO_FIRST = const TO_FIRST,
    TO_THIRD = const TO_THIRD,
    BY_DESCRIPTOR = const BY_DESCRIPTOR,
    AT_EMPTY_PATH = const libc::AT_EMPTY_PATH,
    NO_TEXT = const HASH_OF_NOTHING,
    ANY_BYTES = const FIXED | READS | WRITES,
    MOST_BYTES = const MOST_BYTES,
    SECOND_IS_NULL = const SECOND_IS_NULL,
    HASHED = const HASHED,
    SEED = const SEED,
    FACTOR = const FACTOR,
    ROTATION = const ROTATION,
);

unsafe extern "C" {
    static superpin_recorder_start: u8;
    static superpin_recorder_decided: u8;
    static superpin_recorder_called: u8;
    static superpin_recorder_leaves: u8;
    static superpin_recorder_left: u8;
    static superpin_recorder_done: u8;
    static superpin_recorder_done_stop: u8;
    static superpin_recorder_bail: u8;
    static superpin_recorder_bail_stop: u8;
    static superpin_recorder_end: u8;
}

/// The machine code.
pub fn code() -> &'static [u8] {
    let start = &raw const superpin_recorder_start;
    // SAFETY: both symbols are the borders of one piece of read-only data, defined above.
    unsafe { std::slice::from_raw_parts(start, offset(&raw const superpin_recorder_end) as usize) }
}

/// From the code's start to one of its places.
fn offset(place: *const u8) -> u64 {
    place as u64 - &raw const superpin_recorder_start as u64
}

/// Places in the code, as offsets from its start.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The control process's wish to stop was looked at: what comes after it makes the call.
    pub decided: u64,
    /// Behind the call.
    pub called: u64,
    /// The wish was looked at for the last time.
    pub leaves: u64,
    /// Behind the way back to the app.
    pub left: u64,
    /// The way to a stop behind the call.
    pub done: u64,
    /// Behind that stop.
    pub done_stop: u64,
    /// The way to a stop before the call.
    pub bail: u64,
    /// Behind that stop.
    pub bail_stop: u64,
}

impl Places {
    /// Where they are.
    pub fn get() -> Self {
        Self {
            decided: offset(&raw const superpin_recorder_decided),
            called: offset(&raw const superpin_recorder_called),
            leaves: offset(&raw const superpin_recorder_leaves),
            left: offset(&raw const superpin_recorder_left),
            done: offset(&raw const superpin_recorder_done),
            done_stop: offset(&raw const superpin_recorder_done_stop),
            bail: offset(&raw const superpin_recorder_bail),
            bail_stop: offset(&raw const superpin_recorder_bail_stop),
        }
    }
}

/// The stub for the site whose `syscall` instruction ends at `after`: `at` is the offset of the stub.
pub fn stub(at: u64, after: u64) -> Vec<u8> {
    const STORE_RCX: [u8; 3] = [0x48, 0x89, 0x0d];
    const LOAD_RCX: [u8; 2] = [0x48, 0xb9];
    const JUMP: u8 = 0xe9;
    let relative = |to: u64, next: u64| (to as i64 - (at + next) as i64) as i32;
    let mut bytes = STORE_RCX.to_vec();
    bytes.extend(relative(RCX, 7).to_le_bytes());
    bytes.extend(LOAD_RCX);
    bytes.extend(after.to_le_bytes());
    bytes.push(JUMP);
    bytes.extend(relative(super::layout::CODE_AT, 22).to_le_bytes());
    bytes
}
