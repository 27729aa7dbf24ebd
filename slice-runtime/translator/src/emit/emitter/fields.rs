//! How emitted code names words of the thread state: the one place that decides it.
//!
//! By their addresses (RIP-relative), as long as one thread at a time runs translated code. Some processors then forward a store to a load of the same word
//! at once, and take several cycles through a segment base: a register that is borrowed in each block would wait that long in each block.
//!
//! Without [`Optimisation::Rip`] the same words are named through GS, see [`isa::Code::through_gs`]: each thread has its own then.

use bubble::map::WINDOW_0;
use bubble::switches::{Off, Optimisation};
use isa::Code;
use machine::{CachePc, Gpr};

use crate::abi::{CounterPlace, ThreadState};

/// An empty buffer for code that will lie at `base`, and names words as these switches say.
pub fn code_at(base: CachePc, off: Off) -> Code {
    let through_gs = if off.leaves(Optimisation::Rip) { 0..0 } else { WINDOW_0.start..WINDOW_0.end() };
    Code { base, through_gs, ..Code::default() }
}

/// A word of the thread state, or one that takes its place.
#[derive(Clone, Copy, Debug)]
pub(in crate::emit) enum Field {
    /// A spill slot.
    Spill(usize),
    /// Where a register is saved around a call.
    Called(Gpr),
    /// The arithmetic flags there.
    CalledFlags,
    /// An argument of such a call that was computed before it.
    CalledArg(usize),
    /// A word of the vector register that was stored last to have its words read.
    Vector(u8),
    /// A word that the tool keeps.
    Kept(u8),
    /// The number of the app's thread.
    Thread,
    /// The runtime's stack pointer.
    RuntimeRsp,
    /// The target of an indirect branch.
    Target,
    /// Whether an interruption came.
    Interrupted,
    /// The buffer pointer.
    Buffer,
    /// What a quick check compares with.
    EndValue(usize),
    /// A counter's shard, or its own word.
    Counter(CounterPlace),
}

impl Field {
    fn address(self) -> u64 {
        match self {
            Field::Spill(slot) => ThreadState::spill_address(slot),
            Field::Called(r) => ThreadState::called_address(r),
            Field::CalledFlags => ThreadState::CALLED_FLAGS,
            Field::CalledArg(n) => ThreadState::called_arg_address(n),
            Field::Vector(n) => ThreadState::VECTOR + u64::from(n) * 8,
            Field::Kept(n) => ThreadState::kept_address(n.into()),
            Field::Thread => ThreadState::THREAD,
            Field::RuntimeRsp => ThreadState::RUNTIME_RSP,
            Field::Target => ThreadState::TARGET,
            Field::Interrupted => ThreadState::INTERRUPTED,
            Field::Buffer => ThreadState::BUFFER_ADDRESS,
            Field::EndValue(n) => ThreadState::end_value_address(n),
            Field::Counter(CounterPlace::Shard { word, shard }) => ThreadState::shard_address(word, shard),
            Field::Counter(CounterPlace::Word(address)) => address,
        }
    }
}

/// Instructions that name such words.
pub(in crate::emit) trait Fields {
    /// `r = field`.
    fn load_field(&mut self, r: Gpr, field: Field);
    /// `field = r`.
    fn store_field(&mut self, field: Field, r: Gpr);
    /// `field += amount`. Changes flags.
    fn add_field_imm(&mut self, field: Field, amount: i32);
    /// `field += r`. Changes flags.
    fn add_field(&mut self, field: Field, r: Gpr);
    /// Compares a register with a field.
    fn cmp_field(&mut self, r: Gpr, field: Field);
    /// Compares a field with a constant.
    fn cmp_field_imm(&mut self, field: Field, value: i32);
    /// Tests bits of a field's lower half.
    fn test_field32(&mut self, field: Field, bits: u32);
    /// `r` = an address in what is the thread's own, given as that of the first thread.
    fn own_address(&mut self, r: Gpr, address: u64);
}

impl Fields for Code {
    fn load_field(&mut self, r: Gpr, field: Field) {
        self.load_mem(r, field.address());
    }

    fn store_field(&mut self, field: Field, r: Gpr) {
        self.store_mem(field.address(), r);
    }

    fn add_field_imm(&mut self, field: Field, amount: i32) {
        self.add_mem_imm(field.address(), amount);
    }

    fn add_field(&mut self, field: Field, r: Gpr) {
        self.add_mem(field.address(), r);
    }

    fn cmp_field(&mut self, r: Gpr, field: Field) {
        self.cmp_mem(r, field.address());
    }

    fn cmp_field_imm(&mut self, field: Field, value: i32) {
        self.cmp_mem_imm(field.address(), value);
    }

    fn test_field32(&mut self, field: Field, bits: u32) {
        self.test_mem32(field.address(), bits);
    }

    fn own_address(&mut self, r: Gpr, address: u64) {
        match self.gs_offset(address) {
            Some(offset) => {
                self.load_gs(r, ThreadState::WINDOW_AT);
                self.lea(r, r, offset as i32);
            }
            None => self.mov_imm(r, address),
        }
    }
}
