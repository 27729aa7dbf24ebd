//! The thread state: what translated code reaches through GS.
//!
//! There is one in each process, in [`bubble::map::THREADS`], for all threads of the app's in turn; or one in each thread's window ([`bubble::map::window`]). Generated code uses its fields
//! by their offsets ([`offset_of!`](std::mem::offset_of)), so the struct is the only place where they are decided.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use bubble::map;
use machine::{Gpr, PAGE};

use super::cpu::Cpu;
use super::ibl::{INDIRECT_ENTRIES, IndirectTables, LINK_WORDS, Level};
use super::spill::{QUICK, Reserved, SHARDS, SPILL_SLOTS, WORD, WORDS};
use crate::trace::MAX_LIST;

/// Where in a page those fields begin that translated code uses all the time.
///
/// A processor compares addresses of loads and of stores before them by their last twelve bits first. So a loop whose stack lies at the same place of its page as these
/// fields waits for nothing (perl's took 16 % longer). There is no place at which this happens to no program; but where it does must not depend on how large
/// [`Cpu`] is.
const HOT_AT: usize = 256;

/// Everything that belongs to an app thread while it runs translated code.
#[repr(C)]
pub struct ThreadState {
    /// The app's state while the code cache is left. General registers are also saved here by `leave`.
    pub cpu: Cpu,
    /// Has what follows begin at [`HOT_AT`].
    pub hot_at: [u8; (HOT_AT + PAGE as usize - size_of::<Cpu>() % PAGE as usize) % PAGE as usize],
    /// Spill slots.
    pub spill: [u64; SPILL_SLOTS],
    /// What [`crate::abi::Saved`] registers hold, by their numbers, around a call from translated code.
    pub called: [u64; 16],
    /// The arithmetic flags there, as `lahf` and `seto al` put them into rax.
    pub called_flags: u64,
    /// Arguments of such a call that are computed before it, and all of one that gets a list.
    pub called_args: [u64; MAX_LIST],
    /// Where the next word of the buffer goes, see [`ThreadState::buffer`].
    pub buffer: u64,
    /// Which exit was taken: what [`exit_id`](super::exit_id) makes, written by the exit's stub.
    pub exit: u64,
    /// Target of an indirect branch that missed, or that has calls.
    pub target: u64,
    /// Where `enter` jumps to: a cache pc.
    pub entry: u64,
    /// Stack pointer of the runtime while translated code runs.
    pub runtime_rsp: u64,
    /// FS base of the image.
    pub runtime_fs: u64,
    /// Components that `leave` and `enter` save and restore.
    pub xsave_mask: u64,
    /// What XSAVE and XRSTOR lose of the last x87 instruction: a [`machine::x87::Lost`].
    pub loses_x87: u64,
    /// 1 if that is to be put into the unit's environment when translated code is entered, 2 even if an exception is pending.
    pub restores_x87: u64,
    /// Room for an environment of the x87 unit, as `fnstenv` stores it: 28 bytes.
    pub environment: [u64; 4],
    /// The last sixteen bytes of the environment that the app stored last.
    pub stored_environment: [u32; 4],
    /// What `xgetbv` with ecx zero answers where the app's instructions are replayed: eax and edx.
    pub xcr0: [u64; 2],
    /// 1 if XRSTOR takes registers that hold zero out of use.
    pub forgets_zeros: u64,
    /// Nothing but zeros.
    pub zeros: [u64; 4],
    /// Where other exits jump to.
    pub leave: u64,
    /// Where exit stubs at a block's end jump to if they can't reach it.
    pub leave_by_stub: u64,
    /// Where exits at system calls jump to: as `leave`, unless there is a fast path, see the engine's `fast_path`.
    pub syscall: u64,
    /// The same for readings of the time stamp counter.
    pub reading: u64,
    /// Where an indirect branch jumps to that isn't looked up, and an IBL stub that can't reach the gateway's own place for it, when the target is another one.
    pub miss: u64,
    /// 1 when `engine::interrupt` was called and not yet answered.
    pub interrupted: u64,
    /// What r11 holds when translated code is entered, see `emit::registers::r11`.
    pub entered_r11: u64,
    /// 1 if r11 isn't the app's while translated code runs.
    pub is_r11_reserved: u64,
    /// See [`super::dropped_bits`].
    pub dropped_bits: u64,
    /// 1 if targets are looked up in the target map, 0 if by IBL stubs.
    pub looks_in_map: u64,
    /// The bits of a target that choose its window in the target map.
    pub target_bits: u64,
    /// Addresses of the records of exits, by the number of their space.
    pub exits: [u64; 2],
    /// What the quick check compares with, where it may change flags.
    pub end_values: [u64; QUICK],
    /// Shards of counters, see [`crate::abi::Counters`].
    pub shards: [[u64; SHARDS]; WORDS],
    /// Where branches through constant pointers in shared code go, see the engine's `link_words`.
    pub link_words: [u64; LINK_WORDS],
    /// Where a call goes back to that is made with all of the app's state aside, and its routine.
    pub aside: [u64; 2],
    /// See [`IndirectTables`].
    pub indirect: IndirectTables,
    /// A vector register of which words are read.
    pub vector: [u64; 8],
    /// What is kept around a call of a routine that changes little, see the engine's `called`: the lower 128 bits of vector registers.
    pub vectors: [[u64; 2]; 16],
    /// MXCSR there.
    pub mxcsr: u64,
    /// 1 if the rest of the app's state has been put aside in that call.
    pub escaped: u64,
    /// Where the routine goes on then.
    pub escape_to: u64,
    /// Where this state lies: the start of its thread's window.
    pub window: u64,
    /// What handlers of signals look at: the engine's `Scene`.
    pub scene: u64,
    /// What is counted of the routine that is called with all aside, for the engine.
    pub counted_now: u64,
    /// A word of the host's.
    pub host: u64,
}

impl ThreadState {
    /// What r11 is to hold when translated code is entered.
    #[inline]
    pub fn load_r11(&mut self, reserved: Reserved) {
        self.is_r11_reserved = u64::from(reserved != Reserved::No);
        self.entered_r11 = match reserved {
            Reserved::No => self.cpu.registers.get(Gpr::R11),
            Reserved::CounterRegister => 0,
            Reserved::BufferPointer => self.buffer,
        };
    }

    /// Keeps what r11 held when translated code was left.
    #[inline]
    pub fn store_r11(&mut self, reserved: Reserved, held: u64) {
        match reserved {
            Reserved::No => {}
            Reserved::CounterRegister => self.shards[0][0] = self.shards[0][0].wrapping_add(held),
            Reserved::BufferPointer => self.buffer = held,
        }
    }

    /// How far its window lies from the first one, wrapping round: what is a thread's own lies so far from where the first thread has it.
    pub fn moved(&self) -> u64 {
        self.window.wrapping_sub(map::WINDOW_0.start)
    }

    /// Bytes that are free in the buffer.
    pub fn room(&self) -> u64 {
        map::BUFFER.end().wrapping_add(self.moved()).saturating_sub(self.buffer)
    }

    /// Whether so many words fit into the buffer.
    pub fn has_room(&self, words: usize) -> bool {
        self.room() >= words as u64 * WORD
    }

    /// Writes words to where the next ones go, and says where that is then. The buffer's position stays.
    ///
    /// # Safety
    /// There is room for them, and nobody else writes to the buffer.
    pub unsafe fn write_words(&self, words: &[u64]) -> u64 {
        // SAFETY: the buffer is mapped up to its end.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), self.buffer as *mut u64, words.len()) };
        self.buffer + words.len() as u64 * WORD
    }

    /// What a quick check that is about to be translated compares with.
    pub fn note_end(&mut self, values: impl Iterator<Item = u64>) {
        for (place, value) in self.end_values.iter_mut().zip(values) {
            *place = value;
        }
    }

    /// The first thread's state.
    #[inline]
    pub fn main() -> *mut ThreadState {
        map::THREADS.start as *mut ThreadState
    }

    /// GS offset of a spill slot.
    pub const fn spill_at(slot: usize) -> u32 {
        (offset_of!(ThreadState, spill) + slot * 8) as u32
    }

    /// Address of a spill slot, as the first thread has it.
    pub const fn spill_address(slot: usize) -> u64 {
        map::THREADS.start + Self::spill_at(slot) as u64
    }

    /// Address of a counter's shard.
    pub const fn shard_address(word: usize, shard: usize) -> u64 {
        map::THREADS.start + (offset_of!(ThreadState, shards) + (word * SHARDS + shard) * 8) as u64
    }

    /// Address of a word of `end_values`.
    pub const fn end_value_address(n: usize) -> u64 {
        map::THREADS.start + (offset_of!(ThreadState, end_values) + n * 8) as u64
    }

    /// Address of a register's place in `called`.
    pub const fn called_address(r: Gpr) -> u64 {
        map::THREADS.start + (offset_of!(ThreadState, called) + r as usize * 8) as u64
    }

    /// Address of a word of `called_args`.
    pub const fn called_arg_address(n: usize) -> u64 {
        map::THREADS.start + (offset_of!(ThreadState, called_args) + n * 8) as u64
    }

    /// Address of a word of [`Cpu::kept`].
    pub const fn kept_address(n: usize) -> u64 {
        map::THREADS.start + (offset_of!(ThreadState, cpu) + offset_of!(Cpu, kept) + n * 8) as u64
    }

    /// Address of [`Cpu::thread`].
    pub const THREAD: u64 = map::THREADS.start + (offset_of!(ThreadState, cpu) + offset_of!(Cpu, thread)) as u64;

    /// Address of `called_flags`.
    pub const CALLED_FLAGS: u64 = map::THREADS.start + offset_of!(ThreadState, called_flags) as u64;
    /// Address of `runtime_rsp`.
    pub const RUNTIME_RSP: u64 = map::THREADS.start + offset_of!(ThreadState, runtime_rsp) as u64;
    /// Address of `target`.
    pub const TARGET: u64 = map::THREADS.start + offset_of!(ThreadState, target) as u64;
    /// Address of `interrupted`.
    pub const INTERRUPTED: u64 = map::THREADS.start + offset_of!(ThreadState, interrupted) as u64;
    /// Address of `vector`.
    pub const VECTOR: u64 = map::THREADS.start + offset_of!(ThreadState, vector) as u64;
    /// Address of `buffer`.
    pub const BUFFER_ADDRESS: u64 = map::THREADS.start + offset_of!(ThreadState, buffer) as u64;

    /// GS offset of `window`.
    pub const WINDOW_AT: u32 = offset_of!(ThreadState, window) as u32;
    /// GS offset of `exit`.
    pub const EXIT_AT: u32 = offset_of!(ThreadState, exit) as u32;
    /// GS offset of `leave`.
    pub const LEAVE_AT: u32 = offset_of!(ThreadState, leave) as u32;
    /// GS offset of `syscall`.
    pub const SYSCALL_AT: u32 = offset_of!(ThreadState, syscall) as u32;
    /// GS offset of `reading`.
    pub const READING_AT: u32 = offset_of!(ThreadState, reading) as u32;
    /// GS offset of `leave_by_stub`.
    pub const LEAVE_BY_STUB_AT: u32 = offset_of!(ThreadState, leave_by_stub) as u32;
    /// GS offset of `miss`.
    pub const MISS_AT: u32 = offset_of!(ThreadState, miss) as u32;
    /// GS offset of `target_bits`.
    pub const TARGET_BITS_AT: u32 = offset_of!(ThreadState, target_bits) as u32;
    /// GS offset of a branch's link word.
    pub const fn link_word_at(word: u32) -> u32 {
        offset_of!(ThreadState, link_words) as u32 + word * 8
    }

    /// GS offset of one of the tables of indirect branches.
    pub const fn indirect_at(level: Level) -> u32 {
        let before = level as usize * size_of::<[AtomicU64; INDIRECT_ENTRIES]>();
        (offset_of!(ThreadState, indirect) + offset_of!(IndirectTables, levels) + before) as u32
    }

    /// Address of an entry of the first.
    pub const fn indirect_address(index: usize) -> u64 {
        Self::INDIRECT_ADDRESS + (index * size_of::<AtomicU64>()) as u64
    }

    /// Address of all of them.
    pub const INDIRECT_ADDRESS: u64 = map::THREADS.start + offset_of!(ThreadState, indirect) as u64;
    /// GS offset of [`Self::xcr0`].
    pub const XCR0_AT: u32 = offset_of!(ThreadState, xcr0) as u32;
    /// GS offset of [`Cpu::repeating`].
    pub const REPEATING_AT: u32 = (offset_of!(ThreadState, cpu) + offset_of!(Cpu, repeating)) as u32;
    /// GS offset of [`Cpu::flags_before`].
    pub const FLAGS_BEFORE_AT: u32 = (offset_of!(ThreadState, cpu) + offset_of!(Cpu, flags_before)) as u32;
    /// GS offset of the app's own GS base.
    pub const APP_GS_AT: u32 =
        (offset_of!(ThreadState, cpu) + offset_of!(Cpu, registers) + offset_of!(machine::Registers, gs_base)) as u32;
}

const _: () = assert!(size_of::<ThreadState>() <= map::THREADS.size as usize);
