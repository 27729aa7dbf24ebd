//! The first and the last instructions of a thread.
//!
//! The app's threads are the kernel's: what the kernel knows of a thread (its number, the word that it clears at the end, its list of locks) is
//! the app's. Only its stack, while the runtime uses it, and FS are the runtime's.

use std::arch::global_asm;

use machine::{Gpr, Memory};
use syscall_replay::threads::{CloneArgs, word};
use translator::abi::Cpu;

use super::block::ThreadBlock;
use crate::ports::raw_syscall;
use crate::serial::calls::{AppCall, load_call};

global_asm!(
    ".pushsection .text.superpin_threads, \"ax\", @progbits",
    // extern "C" fn (call: *const [u64; 7], block: *const ThreadBlock, begin: Begin) -> u64. Returns in the parent; the child has a stack of its own.
    ".globl superpin_start_thread",
    "superpin_start_thread:",
    "push rbx",
    "push rbp",
    "mov rbx, rsi",
    "mov rbp, rdx",
    load_call!(),
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop rbp",
    "pop rbx",
    "ret",
    "2:",
    "mov rax, rbp",
    "xor ebp, ebp",
    "mov rdi, rbx",
    "call rax",
    "ud2",
    // extern "C" fn (is_used: *mut u32, status: u64) -> !. After the store the stack may be another thread's.
    ".globl superpin_end_thread",
    "superpin_end_thread:",
    "mov eax, {exit}",
    "xchg rdi, rsi",
    "mov dword ptr [rsi], 0",
    "syscall",
    "ud2",
    ".popsection",
    exit = const libc::SYS_exit,
);

unsafe extern "C" {
    fn superpin_start_thread(call: *const [u64; 7], block: *const u8, begin: *const u8) -> u64;
    fn superpin_end_thread(is_used: *mut u32, status: u64) -> !;
}

/// The first function of a thread, which gets its thread block.
pub type Begin = extern "C" fn(&'static ThreadBlock) -> !;

/// More words than the kernel knows.
const MOST_WORDS: usize = 16;

/// A call that starts a thread.
pub struct NewThread {
    call: AppCall,
    /// What `clone3` is given; empty for `clone`.
    args: Vec<u64>,
    /// The state in which the app's thread starts.
    pub cpu: Cpu,
    /// Words that the kernel writes.
    pub written: Vec<u64>,
}

impl NewThread {
    /// Reads the call. `None` if its arguments can't be read, or are longer than any kernel's.
    pub fn of(call: &AppCall, cpu: &Cpu, memory: &dyn Memory) -> Option<Self> {
        let mut cpu = cpu.clone();
        cpu.registers.finish_syscall(0);
        let mut args = Vec::new();
        if call.number as i64 == libc::SYS_clone3 {
            let [address, size, ..] = call.args;
            let is_known = size as usize <= MOST_WORDS * 8 && size % 8 == 0;
            let mut bytes = vec![0; if is_known { size as usize } else { 0 }];
            if !is_known || memory.read(address, &mut bytes).is_err() {
                return None;
            }
            args.extend(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))));
        }
        let asked = CloneArgs::of(call.number, &call.args, memory)?;
        if asked.stack != 0 {
            cpu.registers.set(Gpr::Rsp, asked.stack);
        }
        if asked.flags & SETTLS != 0 {
            cpu.registers.fs_base = asked.tls;
        }
        // Also what it writes at the thread's end.
        let cleared = Some(asked.cleared()).filter(|word| *word != 0);
        Some(Self { call: *call, args, cpu, written: asked.written().chain(cleared).collect() })
    }

    /// Starts it, on a stack of the runtime's. Gives what the call gives in the thread that makes it. All signals must be blocked: they are in
    /// the new one until it has a stack for them.
    pub fn start(mut self, block: &'static ThreadBlock, begin: Begin) -> u64 {
        let (stack, size) = block.stack();
        let AppCall { number, mut args } = self.call;
        if self.args.is_empty() {
            args[0] &= !SETTLS;
            args[1] = stack + size;
        } else {
            self.args[word::FLAGS] &= !SETTLS;
            (self.args[word::STACK], self.args[word::STACK_SIZE]) = (stack, size);
            self.args[word::TLS] = 0;
            args[0] = self.args.as_ptr() as u64;
        }
        let call = [number, args[0], args[1], args[2], args[3], args[4], args[5]];
        // SAFETY: the stack is the new thread's alone, and big enough for what runs there.
        unsafe { superpin_start_thread(&raw const call, (block as *const ThreadBlock).cast(), begin as *const u8) }
    }
}

const SETTLS: u64 = libc::CLONE_SETTLS as u64;

/// The end of the calling thread, which runs on that thread block's stack. It mustn't have the turn any more.
pub fn end(block: &ThreadBlock, status: u64) -> ! {
    // The fault signals too: a handler would run on memory that may be another thread's.
    let all = u64::MAX;
    let args = [libc::SIG_SETMASK as u64, &raw const all as u64, 0, 8, 0, 0];
    raw_syscall(libc::SYS_rt_sigprocmask as u64, args);
    // SAFETY: nothing of this thread is used any more.
    unsafe { superpin_end_thread(block.is_used().as_ptr(), status) }
}
