//! Numbers of the thread state: spill slots, shards of counters, what a quick check compares, and how much is much in the buffer.

use bubble::map::BUFFER;
use machine::Gpr;

/// Slots for registers that generated code borrows.
pub const SPILL_SLOTS: usize = 9;

/// Home slot of r10, see `emit::registers::home`.
pub const HOME_R10: usize = 0;

/// Home slot of r9.
pub const HOME_R9: usize = 1;

/// The registers with home slots, and these.
pub const HOMES: [(Gpr, usize); 2] = [(Gpr::R10, HOME_R10), (Gpr::R9, HOME_R9)];

/// First spill slot that instruction rewriting and instrumentation may use.
pub const SLOT_SCRATCH: usize = 2;

/// First of the slots for registers that are borrowed across instructions, see `emit::stream::words`.
pub const SLOT_HELD: usize = 6;

/// The app's r11 while that is used for something else, see `emit::registers::r11`.
pub const SLOT_R11: usize = 8;

/// Words that can have shards; further ones are added to directly.
pub const WORDS: usize = 8;

/// Shards of a word.
pub const SHARDS: usize = 64;

/// What r11 holds while translated code runs, see `emit::registers::r11`: the same in all processes that share translations.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reserved {
    /// The app's own value.
    #[default]
    No = 0,
    /// Additions to the first word.
    CounterRegister = 1,
    /// The buffer pointer.
    BufferPointer = 2,
}

/// Bytes in the buffer after which it is emptied at the next place where that is cheap: few enough to stay in a core's caches beside
/// what the app uses.
const ENOUGH: u64 = 64 << 10;

/// The bits of a buffer pointer that say that there is so much in the buffer.
pub const MUCH: u32 = (2 * BUFFER.size - 1) as u32 & !(ENOUGH - 1) as u32;

/// Bytes of a word of the buffer.
pub const WORD: u64 = size_of::<u64>() as u64;

/// Conditions that are compared inline at most. Each is looked at only where those before it hold. As many as there are registers: with two of them, a loop whose
/// registers hold bits of data, as an interpreter's do, may pass at each fourth iteration.
pub const QUICK: usize = 16;
