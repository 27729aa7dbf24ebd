//! The app's whole state, for a routine to read.

use isa::{Instruction, Segment, SegmentRegister};
use machine::{AppPc, Gpr, X87};

use super::cpu::Cpu;
use super::values::{element, segment_base};

/// The app's whole state at a call: what the app would find natively. Each answer costs when it is asked for.
pub struct State<'a> {
    cpu: &'a Cpu,
    /// The instruction before which the call is.
    instruction: Option<&'a Instruction>,
}

/// A part of memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where it begins.
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// Whether it is read.
    pub read: bool,
    /// Whether it is written.
    pub write: bool,
}

impl<'a> State<'a> {
    /// The app between two instructions.
    pub fn between(cpu: &'a Cpu) -> Self {
        Self { cpu, instruction: None }
    }

    /// `instruction`: before which the call is.
    pub fn new(cpu: &'a Cpu, instruction: Option<&'a Instruction>) -> Self {
        Self { cpu, instruction }
    }

    /// Where the app goes on: the address of the instruction before which the call is.
    pub fn ip(&self) -> AppPc {
        AppPc(self.cpu.registers.rip)
    }

    /// A general register.
    pub fn gpr(&self, r: Gpr) -> u64 {
        self.cpu.registers.get(r)
    }

    /// The flags, as `pushf` would store them.
    pub fn flags(&self) -> u64 {
        self.cpu.registers.rflags
    }

    /// The base of a segment: zero but for FS and GS.
    pub fn segment_base(&self, segment: SegmentRegister) -> u64 {
        match segment {
            SegmentRegister::Fs => segment_base(Segment::Fs, &self.cpu.registers),
            SegmentRegister::Gs => segment_base(Segment::Gs, &self.cpu.registers),
            _ => 0,
        }
    }

    /// A vector register, `zmm0` to `zmm31`, the lowest byte first. What the processor doesn't have of it is zero.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn vector(&self, number: usize) -> [u8; 64] {
        self.cpu.xstate.vector(number)
    }

    /// A mask register, `k0` to `k7`: zero where the processor has none.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn mask(&self, number: usize) -> u64 {
        self.cpu.xstate.mask(number)
    }

    /// The x87 unit, with the MMX registers.
    pub fn x87(&self) -> X87 {
        self.cpu.xstate.x87()
    }

    /// The control and status register of SSE.
    pub fn mxcsr(&self) -> u32 {
        self.cpu.xstate.mxcsr()
    }

    /// All memory that the instruction is about to access, in the order of its operands: each element of gathers, scatters and masked moves that its mask doesn't leave
    /// out, and other operands whole, even if a condition may leave them out. Of a repeated string instruction one step. What has no size of its own (`xsave`) has size 0.
    ///
    /// # Panics
    /// If the call isn't before an instruction.
    pub fn accesses(&self) -> Vec<Access> {
        let instruction = self.instruction.expect("the instruction has been executed: ask for its accesses before it");
        let mut all = Vec::new();
        for (n, memory) in instruction.memory_operands().iter().enumerate() {
            let elements = instruction.elements(n);
            let is_whole = elements.mask == isa::ElementMask::All && elements.indices.is_none();
            for index in 0..usize::from(elements.count) {
                let (address, size) = element(instruction, n, index, self.cpu);
                if size != 0 || is_whole {
                    all.push(Access { address, size, read: memory.read, write: memory.write });
                }
            }
        }
        all
    }
}
