//! The way round the runtime: replays the usual record of a system call between one piece of translated code and the next.
//!
//! It does what [`Replayer::syscall`] does for a record that is neither the log's last nor anything but a system call's, by the
//! same format ([`syscall_replay::log`]), without touching vector registers and without the runtime. Whatever is unusual is given up before
//! anything has changed that the runtime would not do in the same way once more: a call that isn't the recorded one, memory that
//! can't be accessed directly, an input of a rare kind. See [`engine::fast_path`] for what it owes to the engine.
//!
//! What interrupts it are a slice's own timers ([`crate::slice::end`]): of its deadline, and of the watch behind its end. Up to its last look at
//! `interrupted` that is enough; behind it the signal's handler sends it back, and what the last instructions have done is done once more.
//!
//! Named invariant *once more*: until the record is used up, nothing has changed but memory that the record names, and it has
//! not changed at all if the call also reads memory that must still be as it was.

use std::arch::global_asm;
use std::mem::offset_of;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use engine::Runner;
use engine::fast_path::{FastPath, at};
use machine::Gpr;
use syscall_replay::effects::HASHED;
use syscall_replay::hash::{FACTOR, ROTATION, SEED};
use syscall_replay::log::{NONDETERMINISTIC_BYTES, POINT, SYSCALL, nondeterministic_head};
use syscall_replay::table::{In, Len, row};
use syscall_replay::{Divergence, NondeterministicKind, Replayer};

use super::fast_readings::readings_assembly;

/// System calls whose inputs are known here.
const CALLS: usize = 512;
/// What a call reads: nothing that is known here.
const OTHER: u8 = 0;
/// A string that the first argument points to.
const FIRST_TEXT: u8 = 1;
/// A string that the second argument points to.
const SECOND_TEXT: u8 = 2;
/// Bytes that the second argument points to, as many as the third says.
const BYTES: u8 = 3;
/// From so many bytes on a string instruction copies faster than a loop.
const LONG: usize = 512;

/// Addresses in the log: next record and log's end. How many records were replayed here since they were last counted.
#[repr(C)]
struct Cursor {
    next: AtomicU64,
    end: AtomicU64,
    replayed: AtomicU64,
}

static CURSOR: Cursor = Cursor { next: AtomicU64::new(0), end: AtomicU64::new(0), replayed: AtomicU64::new(0) };
/// What each call reads, see [`OTHER`].
static INPUTS: [std::sync::atomic::AtomicU8; CALLS] = [const { std::sync::atomic::AtomicU8::new(OTHER) }; CALLS];

global_asm!(
    ".pushsection .text.superpin_fast_path, \"ax\", @progbits",
    ".irp place,start,reading,window,window_end,interrupted,gives_up,end",
    ".globl superpin_fast_path_\\place",
    ".hidden superpin_fast_path_\\place",
    ".endr",
    ".balign 64",
    "superpin_fast_path_start:",
    "mov gs:[{rax}], rax",
    "mov gs:[{rcx}], rcx",
    "mov gs:[{rdx}], rdx",
    "mov gs:[{rbx}], rbx",
    "mov gs:[{rsp}], rsp",
    "mov gs:[{rsi}], rsi",
    "mov gs:[{rdi}], rdi",
    "mov gs:[{r8}], r8",
    "mov rsp, gs:[{runtime_rsp}]",
    "pushfq",
    "cld",
    // rbx: the record, which must not be the last: then the end has to be looked for.
    "mov rbx, [rip + {cursor} + {next}]",
    "mov rcx, [rip + {cursor} + {last}]",
    "sub rcx, rbx",
    "cmp rcx, 32",
    "jbe 90f",
    "cmp [rbx + 8], rcx",
    "jae 90f",
    // Nor before a point: it has to be looked for from there.
    "mov rcx, [rbx + 8]; cmp byte ptr [rbx + rcx], {POINT}; je 90f",
    // Kind, number and arguments.
    "cmp byte ptr [rbx], {SYSCALL}",
    "jne 90f",
    "cmp [rbx + 4], eax",
    "jne 90f",
    "movzx ecx, byte ptr [rbx + 1]",
    "lea eax, [rcx * 8 + 32]",
    "cmp [rbx + 8], rax",
    "jb 90f",
    "cmp ecx, 3",
    "ja 4f",
    "je 3f",
    "cmp ecx, 1",
    "ja 2f",
    "je 1f",
    "jmp 10f",
    "4: cmp ecx, 5",
    "jb 6f",
    "je 5f",
    "cmp ecx, 6",
    "jne 90f",
    "cmp r9, [rbx + 72]",
    "jne 90f",
    "5: cmp r8, [rbx + 64]",
    "jne 90f",
    "6: cmp r10, [rbx + 56]",
    "jne 90f",
    "3: cmp rdx, [rbx + 48]",
    "jne 90f",
    "2: cmp rsi, [rbx + 40]",
    "jne 90f",
    "1: cmp rdi, [rbx + 32]",
    "jne 90f",
    // r8: what it wrote; r9: the record's end.
    "10: lea r8, [rbx + rcx * 8 + 32]",
    "mov r9, [rbx + 8]",
    "add r9, rbx",
    "cmp qword ptr [rbx + 24], 0",
    "jne 40f",
    "20: lea rsi, [r8 + 16]",
    "cmp rsi, r9",
    "ja 30f",
    "mov rdi, [r8]",
    "mov rcx, [r8 + 8]",
    "mov rax, r9",
    "sub rax, rsi",
    "cmp rcx, rax",
    "ja 90f",
    "lea r8, [rcx + 7]",
    "and r8, -8",
    "add r8, rsi",
    "cmp rcx, {LONG}",
    "jae 25f",
    "mov edx, ecx",
    "and edx, 7",
    "shr ecx, 3",
    "jz 22f",
    "21: mov rax, [rsi]",
    "mov [rdi], rax",
    "add rsi, 8",
    "add rdi, 8",
    "dec ecx",
    "jnz 21b",
    "22: test edx, edx",
    "jz 20b",
    "23: mov al, [rsi]",
    "mov [rdi], al",
    "inc rsi",
    "inc rdi",
    "dec edx",
    "jnz 23b",
    "jmp 20b",
    "25: rep movsb",
    "jmp 20b",
    // Done: registers as the instruction leaves them, and on to the next piece of code.
    "30: mov [rip + {cursor} + {next}], r9",
    "inc qword ptr [rip + {cursor} + {replayed}]",
    "mov rax, [rbx + 16]",
    "mov ecx, gs:[{exit}]",
    "mov edx, ecx",
    "and edx, 0x3fffffff",
    "shr ecx, 30",
    "and ecx, 1",
    "mov rcx, gs:[rcx * 8 + {exits}]",
    "imul rdx, rdx, {EXIT_BYTES}",
    "mov rcx, [rcx + rdx]",
    "mov r10, rcx",
    // r9: the address of the target's word, in the target map or in the table of IBL stubs, see `translator::abi::index_of`.
    "36: cmp qword ptr gs:[{looks_in_map}], 0",
    "je 33f",
    "pext r9, r10, gs:[{target_bits}]",
    "mov r9, gs:[r9 * 8 + {windows}]",
    "lea r9, [r9 + r10 * 8]",
    "jmp 34f",
    "33: mov r9, rcx",
    "mov ecx, gs:[{dropped_bits}]",
    "shr r9, cl",
    "movzx r9d, r9w",
    "movabs rcx, {indirect}",
    "lea r9, [rcx + r9 * 8]",
    "34: cmp byte ptr [rbx], {SYSCALL}",
    "jne 35f",
    "mov rcx, r10",
    "mov rdx, [rsp]",
    "cmp qword ptr gs:[{is_r11_reserved}], 0",
    "je 31f",
    "mov gs:[{kept_r11}], rdx",
    "jmp 32f",
    "31: mov r11, rdx",
    "32: mov rdx, gs:[{rdx}]",
    "mov rbx, gs:[{rbx}]",
    "mov rsi, gs:[{rsi}]",
    "mov rdi, gs:[{rdi}]",
    "mov r8, gs:[{r8}]",
    "superpin_fast_path_window:",
    "cmp qword ptr gs:[{interrupted}], 0",
    "jne superpin_fast_path_interrupted",
    "popfq",
    "mov rsp, gs:[{rsp}]",
    "superpin_fast_path_jump:",
    "jmp qword ptr [r9]",
    "superpin_fast_path_window_end:",
    "superpin_fast_path_interrupted:",
    "mov rsp, gs:[{runtime_rsp}]",
    "lea rsp, [rsp - 8]",
    "popfq",
    "mov rsp, gs:[{rsp}]",
    "jmp superpin_indirect_miss",
    readings_assembly!(),
    // What the call reads is compared before anything is written: one piece at most, on two pages at most, that can be written.
    "40: cmp r8, r9",
    "je 41f",
    "mov rdi, [r8]",
    "mov rcx, [r8 + 8]",
    "lea rax, [rcx - 1]",
    "cmp rax, 4096",
    "jae 90f",
    "add rax, 24",
    "and rax, -8",
    "add rax, r8",
    "cmp rax, r9",
    "jne 90f",
    "or byte ptr [rdi], 0",
    "or byte ptr [rdi + rcx - 1], 0",
    "41: mov rax, gs:[{rax}]",
    "mov eax, eax",
    "cmp eax, {CALLS}",
    "jae 90f",
    "lea rcx, [rip + {inputs}]",
    "movzx ecx, byte ptr [rcx + rax]",
    "mov rsi, gs:[{rdi}]",
    "cmp ecx, {FIRST_TEXT}",
    "je 42f",
    "mov rsi, gs:[{rsi}]",
    "cmp ecx, {SECOND_TEXT}",
    "je 42f",
    "cmp ecx, {BYTES}",
    "jne 90f",
    "mov rcx, gs:[{rdx}]",
    "mov eax, {HASHED}",
    "cmp rcx, rax",
    "cmova rcx, rax",
    "jmp 44f",
    "42: xor ecx, ecx",
    "43: cmp byte ptr [rsi + rcx], 0",
    "je 44f",
    "inc ecx",
    "cmp ecx, {HASHED}",
    "jb 43b",
    "jmp 90f",
    "44: movabs rdi, {SEED}",
    syscall_replay::hash_assembly!(),
    "cmp rdi, [rbx + 24]",
    "jne 90f",
    "movzx ecx, byte ptr [rbx + 1]",
    "lea r8, [rbx + rcx * 8 + 32]",
    "mov r9, [rbx + 8]",
    "add r9, rbx",
    "jmp 20b",
    // The runtime does it.
    "90:",
    "superpin_fast_path_gives_up:",
    "mov rsp, gs:[{runtime_rsp}]",
    "lea rsp, [rsp - 8]",
    "popfq",
    "mov rax, gs:[{rax}]",
    "mov rcx, gs:[{rcx}]",
    "mov rdx, gs:[{rdx}]",
    "mov rbx, gs:[{rbx}]",
    "mov rsi, gs:[{rsi}]",
    "mov rdi, gs:[{rdi}]",
    "mov r8, gs:[{r8}]",
    "mov r9, gs:[{r9_home}]",
    "mov r10, gs:[{r10_home}]",
    "mov rsp, gs:[{rsp}]",
    "jmp superpin_leave",
    "superpin_fast_path_end:",
    ".popsection",
    AT_RDTSC = const at::AT_RDTSC,
    BYTES = const BYTES,
    CALLS = const CALLS,
    EXIT_BYTES = const at::EXIT_WORDS * 8,
    FACTOR = const FACTOR,
    FIRST_TEXT = const FIRST_TEXT,
    HASHED = const HASHED,
    LONG = const LONG,
    ROTATION = const ROTATION,
    SECOND_TEXT = const SECOND_TEXT,
    RDTSC = const nondeterministic_head(NondeterministicKind::Rdtsc),
    READING_BYTES = const NONDETERMINISTIC_BYTES,
    SEED = const SEED,
    SYSCALL = const SYSCALL, POINT = const POINT,
    cursor = sym CURSOR,
    exit = const at::EXIT,
    exit_kind = const at::EXIT_KIND,
    exits = const at::EXITS,
    indirect = const at::INDIRECT,
    dropped_bits = const at::DROPPED_BITS,
    looks_in_map = const at::LOOKS_IN_MAP,
    target_bits = const at::TARGET_BITS,
    windows = const at::WINDOWS,
    inputs = sym INPUTS,
    interrupted = const at::INTERRUPTED,
    is_r11_reserved = const at::IS_R11_RESERVED,
    kept_r11 = const at::KEPT_R11,
    last = const offset_of!(Cursor, end),
    r10_home = const at::R10_HOME,
    r9_home = const at::R9_HOME,
    next = const offset_of!(Cursor, next),
    r8 = const at::register(Gpr::R8),
    rax = const at::register(Gpr::Rax),
    rbx = const at::register(Gpr::Rbx),
    rcx = const at::register(Gpr::Rcx),
    rdi = const at::register(Gpr::Rdi),
    rdx = const at::register(Gpr::Rdx),
    replayed = const offset_of!(Cursor, replayed),
    rsi = const at::register(Gpr::Rsi),
    rsp = const at::register(Gpr::Rsp),
    runtime_rsp = const at::RUNTIME_RSP,
);

unsafe extern "C" {
    static superpin_fast_path_start: u8;
    static superpin_fast_path_reading: u8;
    static superpin_fast_path_window: u8;
    static superpin_fast_path_window_end: u8;
    static superpin_fast_path_interrupted: u8;
    static superpin_fast_path_jump: u8;
    static superpin_fast_path_gives_up: u8;
    static superpin_fast_path_end: u8;
}

/// A slice's replayer, which the fast path shares.
pub struct Replaying {
    replayer: Replayer<'static>,
    start: u64,
}

impl Replaying {
    /// Replays a log by the runtime alone.
    pub fn new(log: &'static [u8]) -> Self {
        Self { replayer: Replayer::new(log), start: log.as_ptr() as u64 }
    }

    /// From now on system calls and readings of the time stamp counter take the fast path.
    pub fn shorten(&self, log: &'static [u8], engine: &mut Runner) {
        for (number, input) in INPUTS.iter().enumerate() {
            let known = match row(number as u64).map(|row| row.inputs) {
                Some([In::Text(0)]) => FIRST_TEXT,
                Some([In::Text(1)]) => SECOND_TEXT,
                Some([In::Bytes(1, Len::Arg(2))]) => BYTES,
                _ => OTHER,
            };
            input.store(known, Relaxed);
        }
        CURSOR.next.store(self.start, Relaxed);
        CURSOR.end.store(self.start + log.len() as u64, Relaxed);
        let at = |place: *const u8| place as u64;
        let fast_path = FastPath {
            code: at(&raw const superpin_fast_path_start)..at(&raw const superpin_fast_path_end),
            reading: at(&raw const superpin_fast_path_reading),
            gives_up: at(&raw const superpin_fast_path_gives_up),
            window: at(&raw const superpin_fast_path_window)..at(&raw const superpin_fast_path_window_end),
            interrupted: at(&raw const superpin_fast_path_interrupted),
            jump: at(&raw const superpin_fast_path_jump),
        };
        // SAFETY: it does what the engine asks for.
        unsafe { engine.take_fast_path(fast_path) };
    }

    /// Whether the last record was used. The fast path doesn't use it.
    pub fn is_exhausted(&self) -> bool {
        self.replayer.is_exhausted()
    }

    /// Lets the runtime take what the log says here besides what the app does.
    pub fn take<T>(&mut self, take: impl FnOnce(&mut Replayer<'static>) -> Option<T>) -> Option<T> {
        self.replay(|log| Ok(take(log))).ok().flatten()
    }

    /// Lets the runtime replay a record.
    ///
    /// # Errors
    /// As `replay`.
    pub fn replay<T>(
        &mut self,
        replay: impl FnOnce(&mut Replayer<'static>) -> Result<T, Divergence>,
    ) -> Result<T, Divergence> {
        let replayed = CURSOR.replayed.swap(0, Relaxed);
        if replayed > 0 {
            self.replayer.skip_to((CURSOR.next.load(Relaxed) - self.start) as usize, replayed);
        }
        let outcome = replay(&mut self.replayer);
        CURSOR.next.store(self.start + self.replayer.offset() as u64, Relaxed);
        outcome
    }
}
