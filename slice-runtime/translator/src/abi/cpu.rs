//! The app's state while the code cache is left.

use machine::{Registers, XState, flags};

/// The app's state while the code cache is left.
#[repr(C)]
#[derive(Clone)]
pub struct Cpu {
    /// General registers, `rip`, flags, segment bases: all the app's own.
    pub registers: Registers,
    /// Extended state.
    pub xstate: XState,
    /// Address of the repeated string instruction that the app is in the middle of, with a step made and others to follow; else 0. Only where a tool looks at each
    /// repetition, and of those that don't compare only if it asks which is the first.
    pub repeating: u64,
    /// If that one compares: the arithmetic flags before its first step, as `lahf` and `seto al` put them into rax.
    pub flags_before: u64,
    /// What a tool has kept since the block that the app is in was entered: see [`KEPT`].
    pub kept: [u64; KEPT],
    /// The same for the second local state of a tool that is checked.
    pub kept_by_second: [u64; KEPT],
    /// Number of the app's thread whose state this is: 0 of the first one.
    pub thread: u64,
}

/// Words that a tool can keep within a block. They mean something only there, so a slice begins with nothing in them.
pub const KEPT: usize = 16;

impl Cpu {
    /// The app between two instructions.
    pub fn new(registers: Registers, xstate: XState) -> Cpu {
        Cpu { registers, xstate, repeating: 0, flags_before: 0, kept: [0; KEPT], kept_by_second: [0; KEPT], thread: 0 }
    }

    /// The flags that the app had before the repeated comparison that it is in the middle of.
    pub fn rflags_before(&self) -> u64 {
        self.registers.rflags & !flags::ARITHMETIC | flags_in(self.flags_before)
    }
}

/// The arithmetic flags that rax holds, as `lahf` and `seto al` put them there. OF may have been taken from it already, which changes al.
pub(super) fn flags_in(rax: u64) -> u64 {
    let overflow = matches!(rax as u8, 1 | 0x80);
    rax >> 8 & (flags::ARITHMETIC & 0xff) | if overflow { flags::OF } else { 0 }
}
