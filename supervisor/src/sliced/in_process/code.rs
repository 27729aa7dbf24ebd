//! The recorder's code: what a patched `syscall` instruction leads to.
//!
//! It makes the call, writes its record and goes back, with all registers and flags as the instruction leaves them. It uses a stack
//! of its own, so that nothing below the app's stack pointer changes, and no vector register. What it doesn't know how to record it
//! leaves to the control process: it puts everything back and stops before the call (`bail`). It does the same, or stops
//! behind the call (`done`), when the control process asks for it: see [`super::settle`].

use std::arch::global_asm;

use syscall_replay::effects::HASHED;
use syscall_replay::hash::{FACTOR, ROTATION, SEED};

use super::layout::{
    AFTER, CLOSED, CLOSES, COMMAND, DEVICES, ENTRY, FILES, FIXED, FLAGS, LAST_COMMAND, LIMIT, MAX_FILES, MOST_BYTES,
    MOST_PATH, MOST_RECORD, NEEDS_FILE, NEXT, OPENS, OTHER_COMMAND, OUTPUT, PATH, PATH_IS_SECOND, R11, RAX, RBX, RCX,
    RDI, RDX, READS, RESULT, ROOM, ROOM_ARGUMENT, RSI, RSP, SECOND_IS_NULL, STACK_END, STATUS, STOP, TABLE_AT,
    TABLE_LEN, WRITES,
};

global_asm!(
    ".pushsection .rodata.superpin_recorder, \"a\", @progbits",
    // Several units of the compiled crate name them.
    ".irp place,start,decided,probes,probed,called,leaves,left,done,done_stop,unreadable,bail,bail_stop,end",
    ".globl superpin_recorder_\\place",
    ".hidden superpin_recorder_\\place",
    ".endr",
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
    "mov [rip + superpin_recorder_start + {RBX}], rbx",
    "mov [rip + superpin_recorder_start + {RDI}], rdi",
    "mov [rip + superpin_recorder_start + {RSI}], rsi",
    "mov [rip + superpin_recorder_start + {RDX}], rdx",
    "cmp qword ptr [rip + superpin_recorder_start + {STOP}], 0",
    "superpin_recorder_decided:",
    "jne 90f",
    // Whether it is a call that can be recorded here, and whether there is room.
    "cmp rax, {TABLE_LEN}",
    "jae 90f",
    "mov ecx, eax",
    "shl ecx, 4",
    "lea r11, [rip + superpin_recorder_start + {TABLE_AT}]",
    "add r11, rcx",
    "mov rcx, [r11]",
    "test rcx, rcx",
    "jz 90f",
    "cmp qword ptr [rip + superpin_recorder_start + {ROOM}], 0",
    "je 90f",
    "mov [rip + superpin_recorder_start + {ENTRY}], r11",
    // rbx: the record, with all six registers: those that aren't arguments are overwritten later.
    "mov rbx, [rip + superpin_recorder_start + {NEXT}]",
    "lea rcx, [rbx + {MOST_RECORD}]",
    "cmp rcx, [rip + superpin_recorder_start + {LIMIT}]",
    "ja 90f",
    "mov rcx, [r11]",
    "mov [rbx], rcx",
    "mov qword ptr [rbx + 24], 0",
    "mov [rbx + 32], rdi",
    "mov [rbx + 40], rsi",
    "mov [rbx + 48], rdx",
    "mov [rbx + 56], r10",
    "mov [rbx + 64], r8",
    "mov [rbx + 72], r9",
    "mov rcx, [r11 + 8]",
    "test ecx, {NEEDS_FILE}",
    "jnz 30f",
    "2: test ecx, {READS}",
    "jz 3f",
    "mov rdx, rcx",
    "shr rdx, {ROOM_ARGUMENT}",
    "mov rdx, [rbx + rdx * 8 + 32]",
    "cmp rdx, {MOST_BYTES}",
    "ja 90f",
    "lea rdx, [rbx + rdx + {MOST_RECORD}]",
    "cmp rdx, [rip + superpin_recorder_start + {LIMIT}]",
    "ja 90f",
    "3: test ecx, {SECOND_IS_NULL}",
    "jz 4f",
    "test rsi, rsi",
    "jnz 90f",
    "4: test ecx, {COMMAND}",
    "jz 5f",
    "cmp rsi, {LAST_COMMAND}",
    "jbe 5f",
    "cmp rsi, {OTHER_COMMAND}",
    "jne 90f",
    "5: test ecx, {PATH} | {WRITES}",
    "jnz 40f",
    "6: mov rdx, [rip + superpin_recorder_start + {RDX}]",
    "mov rax, [rip + superpin_recorder_start + {RAX}]",
    "syscall",
    "superpin_recorder_called:",
    "mov [rip + superpin_recorder_start + {RESULT}], rax",
    "mov [rbx + 16], rax",
    "mov rcx, [rip + superpin_recorder_start + {ENTRY}]",
    // r11: the record's end.
    "movzx r11d, byte ptr [rcx + 1]",
    "lea r11, [rbx + r11 * 8 + 32]",
    "mov rcx, [rcx + 8]",
    "test ecx, {CLOSES} | {OPENS}",
    "jnz 20f",
    "10: test ecx, {ANY_BYTES}",
    "jz 60f",
    "cmp rax, -4095",
    "jae 60f",
    "mov edx, ecx",
    "shr edx, {OUTPUT}",
    "and edx, 7",
    "mov rsi, [rbx + rdx * 8 + 32]",
    "test ecx, {READS}",
    "jnz 11f",
    "shr ecx, 16",
    "jmp 12f",
    "11: shr rcx, {ROOM_ARGUMENT}",
    "mov rcx, [rbx + rcx * 8 + 32]",
    "cmp rax, rcx",
    "cmovb rcx, rax",
    "12: test rsi, rsi",
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
    "jne 13f",
    "mov rcx, [rsi]",
    "mov [rdi], rcx",
    "mov rcx, [rsi + 8]",
    "mov [rdi + 8], rcx",
    "jmp 60f",
    "13: rep movsb",
    "60: mov rcx, r11",
    "sub rcx, rbx",
    "mov [rbx + 8], rcx",
    "dec qword ptr [rip + superpin_recorder_start + {ROOM}]",
    "mov [rip + superpin_recorder_start + {NEXT}], r11",
    "mov rax, [rip + superpin_recorder_start + {RESULT}]",
    "mov rbx, [rip + superpin_recorder_start + {RBX}]",
    "mov rdi, [rip + superpin_recorder_start + {RDI}]",
    "mov rsi, [rip + superpin_recorder_start + {RSI}]",
    "mov rdx, [rip + superpin_recorder_start + {RDX}]",
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
    // A descriptor was closed, or a file opened. One that only slices still execute is opened once they have ended: nothing has
    // happened yet.
    "20: test ecx, {OPENS}",
    "jz 21f",
    "cmp rax, -{ETXTBSY}",
    "je 90f",
    "jmp 10b",
    "21: cmp rdi, {MAX_FILES}",
    "jae 10b",
    "btr [rip + superpin_recorder_start + {FILES}], rdi",
    "bts [rip + superpin_recorder_start + {CLOSED}], rdi",
    "jmp 10b",
    // The descriptor must be known, or become so: a file or directory of a known device, or a pipe.
    "30: cmp rdi, {MAX_FILES}",
    "jae 90f",
    "bt [rip + superpin_recorder_start + {FILES}], rdi",
    "jc 2b",
    "lea rdx, [rip + superpin_recorder_start + {DEVICES}]",
    "cmp qword ptr [rdx], 0",
    "je 90f",
    "lea rsi, [rip + superpin_recorder_start + {STATUS}]",
    "mov eax, {FSTAT}",
    "syscall",
    "test eax, eax",
    "jnz 90f",
    "mov ecx, [rsi + 24]",
    "and ecx, {S_IFMT}",
    "cmp ecx, {S_IFIFO}",
    "je 32f",
    "cmp ecx, {S_IFREG}",
    "je 31f",
    "cmp ecx, {S_IFDIR}",
    "jne 90f",
    "31: mov rax, [rdx]",
    "add rdx, 8",
    "test rax, rax",
    "jz 90f",
    "cmp rax, [rsi]",
    "jne 31b",
    "32: bts [rip + superpin_recorder_start + {FILES}], rdi",
    "mov rsi, [rip + superpin_recorder_start + {RSI}]",
    "mov rcx, [rip + superpin_recorder_start + {ENTRY}]",
    "mov rcx, [rcx + 8]",
    "jmp 2b",
    // The hash of what the call reads, which may not be there. A path that may be that of a file that shows mappings is left to the control
    // process.
    "40: test ecx, {WRITES}",
    "jz 41f",
    "mov rcx, [rbx + 48]",
    "mov edx, {HASHED}",
    "cmp rcx, rdx",
    "cmova rcx, rdx",
    "superpin_recorder_probes:",
    "jmp 45f",
    "41: mov rsi, rdi",
    "test ecx, {PATH_IS_SECOND}",
    "cmovnz rsi, [rip + superpin_recorder_start + {RSI}]",
    "test rsi, rsi",
    "jz 90f",
    "xor ecx, ecx",
    "xor edx, edx",
    "42: shl edx, 8",
    "mov dl, [rsi + rcx]",
    "test dl, dl",
    "jz 45f",
    "cmp edx, {MAPS}",
    "je 90f",
    "inc ecx",
    "cmp ecx, {MOST_PATH}",
    "jb 42b",
    "jmp 90f",
    "45: movabs rdi, {SEED}",
    syscall_replay::hash_assembly!(),
    "mov [rbx + 24], rdi",
    "mov r10, [rbx + 56]",
    "mov r8, [rbx + 64]",
    "mov r9, [rbx + 72]",
    "superpin_recorder_probed:",
    "mov rdi, [rip + superpin_recorder_start + {RDI}]",
    "mov rsi, [rip + superpin_recorder_start + {RSI}]",
    "jmp 6b",
    "superpin_recorder_done:",
    "80: push qword ptr [rip + superpin_recorder_start + {FLAGS}]",
    "popfq",
    "mov rsp, [rip + superpin_recorder_start + {RSP}]",
    "mov r11, [rip + superpin_recorder_start + {FLAGS}]",
    "mov rcx, [rip + superpin_recorder_start + {AFTER}]",
    "int3",
    "superpin_recorder_done_stop:",
    // What the call reads can't be read here; or the control process wants the master while it is being read.
    "superpin_recorder_unreadable:",
    "mov r10, [rbx + 56]",
    "mov r8, [rbx + 64]",
    "mov r9, [rbx + 72]",
    "superpin_recorder_bail:",
    "90: mov rax, [rip + superpin_recorder_start + {RAX}]",
    "mov rbx, [rip + superpin_recorder_start + {RBX}]",
    "mov rdi, [rip + superpin_recorder_start + {RDI}]",
    "mov rsi, [rip + superpin_recorder_start + {RSI}]",
    "mov rdx, [rip + superpin_recorder_start + {RDX}]",
    "push qword ptr [rip + superpin_recorder_start + {FLAGS}]",
    "popfq",
    "mov rsp, [rip + superpin_recorder_start + {RSP}]",
    "mov r11, [rip + superpin_recorder_start + {R11}]",
    "mov rcx, [rip + superpin_recorder_start + {RCX}]",
    "int3",
    "superpin_recorder_bail_stop:",
    "superpin_recorder_end:",
    ".popsection",
    AFTER = const AFTER,
    ANY_BYTES = const FIXED | READS,
    CLOSED = const CLOSED,
    CLOSES = const CLOSES,
    COMMAND = const COMMAND,
    DEVICES = const DEVICES,
    ENTRY = const ENTRY,
    ETXTBSY = const libc::ETXTBSY,
    FACTOR = const FACTOR,
    FILES = const FILES,
    FLAGS = const FLAGS,
    FSTAT = const libc::SYS_fstat,
    HASHED = const HASHED,
    LAST_COMMAND = const LAST_COMMAND,
    LIMIT = const LIMIT,
    MAPS = const u32::from_be_bytes(*b"maps"),
    MAX_FILES = const MAX_FILES,
    MOST_BYTES = const MOST_BYTES,
    MOST_PATH = const MOST_PATH,
    MOST_RECORD = const MOST_RECORD,
    NEEDS_FILE = const NEEDS_FILE,
    NEXT = const NEXT,
    OPENS = const OPENS,
    OTHER_COMMAND = const OTHER_COMMAND,
    OUTPUT = const OUTPUT,
    PATH = const PATH,
    PATH_IS_SECOND = const PATH_IS_SECOND,
    R11 = const R11,
    RAX = const RAX,
    RBX = const RBX,
    RCX = const RCX,
    RDI = const RDI,
    RDX = const RDX,
    READS = const READS,
    RESULT = const RESULT,
    ROOM = const ROOM,
    ROOM_ARGUMENT = const ROOM_ARGUMENT,
    ROTATION = const ROTATION,
    RSI = const RSI,
    RSP = const RSP,
    SECOND_IS_NULL = const SECOND_IS_NULL,
    SEED = const SEED,
    STACK_END = const STACK_END,
    STATUS = const STATUS,
    STOP = const STOP,
    S_IFDIR = const libc::S_IFDIR,
    S_IFIFO = const libc::S_IFIFO,
    S_IFMT = const libc::S_IFMT,
    S_IFREG = const libc::S_IFREG,
    TABLE_AT = const TABLE_AT,
    TABLE_LEN = const TABLE_LEN,
    WRITES = const WRITES,
);

unsafe extern "C" {
    static superpin_recorder_start: u8;
    static superpin_recorder_decided: u8;
    static superpin_recorder_probes: u8;
    static superpin_recorder_probed: u8;
    static superpin_recorder_called: u8;
    static superpin_recorder_leaves: u8;
    static superpin_recorder_left: u8;
    static superpin_recorder_done: u8;
    static superpin_recorder_done_stop: u8;
    static superpin_recorder_unreadable: u8;
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
    /// From here on the app's memory is read, which may not be there, with any values in three of its registers.
    pub probes: u64,
    /// And up to here.
    pub probed: u64,
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
    /// From there to a stop before the call.
    pub unreadable: u64,
    /// From elsewhere.
    pub bail: u64,
    /// Behind that stop.
    pub bail_stop: u64,
}

impl Places {
    /// Where they are.
    pub fn get() -> Self {
        Self {
            decided: offset(&raw const superpin_recorder_decided),
            probes: offset(&raw const superpin_recorder_probes),
            probed: offset(&raw const superpin_recorder_probed),
            called: offset(&raw const superpin_recorder_called),
            leaves: offset(&raw const superpin_recorder_leaves),
            left: offset(&raw const superpin_recorder_left),
            done: offset(&raw const superpin_recorder_done),
            done_stop: offset(&raw const superpin_recorder_done_stop),
            unreadable: offset(&raw const superpin_recorder_unreadable),
            bail: offset(&raw const superpin_recorder_bail),
            bail_stop: offset(&raw const superpin_recorder_bail_stop),
        }
    }
}
