//! Descriptors of analysis calls that the runtime makes itself: calls out of line, and corrections of block-level calls.

use isa::{Instruction, Kind};
use machine::{Gpr, Registers};

use crate::instrument::{Arg, Call, MAX_ARGS, Point, may_branch};

/// How one argument is found.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Value = 0,
    BlockInstructions,
    Register,
    MemoryAddress,
    BranchTaken,
    BranchTarget,
}

/// A call, in a form that can be stored in the arena and read by other processes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    routine: u64,
    local: u64,
    predicated: u64,
    /// Whether the routine's result decides if the call is made that the next descriptor describes.
    tests: u64,
    args: [(Source, u64); MAX_ARGS],
}

impl Descriptor {
    /// Describes `call` before `instruction`, which belongs to a block of `block_len` instructions.
    ///
    /// # Panics
    /// If the call has more than [`MAX_ARGS`] arguments: the typed interface can't express that.
    pub fn new(call: &Call, instruction: &Instruction, block_len: usize) -> Self {
        assert!(call.args.len() <= MAX_ARGS, "an analysis routine takes at most {MAX_ARGS} arguments");
        let mut args = [(Source::Value, 0); MAX_ARGS];
        for (slot, arg) in args.iter_mut().zip(&call.args) {
            *slot = match *arg {
                Arg::Const(value) => (Source::Value, value),
                Arg::BlockInstructions => (Source::BlockInstructions, block_len as u64),
                Arg::InstructionPointer => (Source::Value, instruction.pc().0),
                Arg::Register(r) => (Source::Register, r as u64),
                Arg::MemoryAddress(n) => (Source::MemoryAddress, n as u64),
                Arg::BranchTaken => match taken(call.point, instruction) {
                    Some(taken) => (Source::Value, taken),
                    None => (Source::BranchTaken, 0),
                },
                Arg::BranchTarget => match instruction.kind().target() {
                    Some(target) => (Source::Value, target.0),
                    None => (Source::BranchTarget, 0),
                },
            };
        }
        let predicated = u64::from(call.predicated);
        Self { routine: call.routine as u64, local: call.local, predicated, tests: 0, args }
    }

    /// The same as the test of the call whose descriptor follows.
    pub fn as_test(self) -> Self {
        Self { tests: 1, ..self }
    }

    /// Whether it is a test: [`Self::call`] says if the call is made whose descriptor follows.
    pub fn is_test(&self) -> bool {
        self.tests != 0
    }

    /// Whether [`Self::call`] looks at the instruction.
    pub fn needs_instruction(&self) -> bool {
        let looks = |source| matches!(source, Source::MemoryAddress | Source::BranchTaken);
        self.predicated != 0 || self.args.iter().any(|(source, _)| looks(*source))
    }

    /// Makes the call with the app's registers before the instruction, which is there if it is needed. What a routine
    /// returns means something only if it is a test.
    pub fn call(&self, registers: &Registers, instruction: Option<&Instruction>) -> u64 {
        let instruction = || instruction.expect("an instruction, if it is needed");
        if self.predicated != 0 && !takes_effect(instruction(), registers) {
            return 0;
        }
        self.invoke(|source, value| match source {
            Source::Value | Source::BlockInstructions => value,
            Source::Register => registers.gpr[value as usize],
            Source::MemoryAddress => memory_address(instruction(), value as usize, registers),
            Source::BranchTaken => u64::from(is_taken(instruction(), registers)),
            // The branch has taken effect.
            Source::BranchTarget => registers.rip,
        })
    }

    /// Makes the call with `count` in place of the number of the block's instructions.
    pub fn correct(&self, count: u64) {
        self.invoke(|source, value| if source == Source::BlockInstructions { count } else { value });
    }

    fn invoke(&self, value: impl Fn(Source, u64) -> u64) -> u64 {
        let a = self.args.map(|(source, v)| value(source, v));
        // SAFETY: the routine is an `extern "C"` function of the image with at most five integer arguments after the local
        // state (the typed interface guarantees it); further arguments in registers are ignored by the C convention. One that
        // returns nothing leaves any number in the register that is read as its result.
        unsafe {
            let routine: extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64 =
                std::mem::transmute(self.routine as usize);
            routine(self.local, a[0], a[1], a[2], a[3], a[4])
        }
    }
}

/// Whether a branch is taken, where that is known without looking at registers.
pub(crate) fn taken(point: Point, branch: &Instruction) -> Option<u64> {
    match (point, branch.kind()) {
        (Point::Taken(_), _) => Some(1),
        (Point::After(_), _) => Some(0),
        (_, Kind::Branch { .. } | Kind::CountBranch { .. }) => None,
        _ => Some(u64::from(may_branch(branch))),
    }
}

/// Whether a conditional branch is taken with these registers.
fn is_taken(branch: &Instruction, registers: &Registers) -> bool {
    let zero = registers.rflags & machine::flags::ZF != 0;
    // With an address size prefix it is the low half.
    let count = if branch.counts_32() { registers.get(Gpr::Rcx) as u32 as u64 } else { registers.get(Gpr::Rcx) };
    match branch.kind() {
        Kind::Branch { condition, .. } => holds(condition as u8, registers.rflags),
        _ => match branch.mnemonic() {
            "loop" => count != 1,
            "loope" => count != 1 && zero,
            "loopne" => count != 1 && !zero,
            _ => count == 0,
        },
    }
}

/// Whether a predicated instruction does anything (P3).
fn takes_effect(instruction: &Instruction, registers: &Registers) -> bool {
    if instruction.is_rep() {
        return registers.get(Gpr::Rcx) != 0;
    }
    instruction.cmov_condition().is_none_or(|condition| holds(condition as u8, registers.rflags))
}

/// Whether the condition with this hardware number holds.
fn holds(condition: u8, rflags: u64) -> bool {
    use machine::flags::{CF, OF, PF, SF, ZF};
    let set = |mask: u64| rflags & mask != 0;
    let less = set(SF) != set(OF);
    let base = match condition >> 1 {
        0 => set(OF),
        1 => set(CF),
        2 => set(ZF),
        3 => set(CF | ZF),
        4 => set(SF),
        5 => set(PF),
        6 => less,
        _ => less || set(ZF),
    };
    base != (condition & 1 == 1)
}

/// Effective address of a memory operand.
fn memory_address(instruction: &Instruction, index: usize, registers: &Registers) -> u64 {
    let operands = instruction.memory_operands();
    let operand = &operands[index];
    let part = |r: Option<Gpr>| r.map_or(0, |r| registers.get(r));
    let mut address = part(operand.base)
        .wrapping_add(part(operand.index).wrapping_mul(u64::from(operand.scale)))
        .wrapping_add(operand.displacement as u64);
    if operand.address_32 {
        address &= 0xffff_ffff;
    }
    match operand.segment {
        Some(isa::Segment::Fs) => address.wrapping_add(registers.fs_base),
        Some(isa::Segment::Gs) => address.wrapping_add(registers.gs_base),
        None => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::AppPc;

    #[test]
    fn addresses_follow_the_operand() {
        // mov rax, [rbx + rcx*4 - 8]
        let load = Instruction::decode(&[0x48, 0x8b, 0x44, 0x8b, 0xf8], AppPc(0)).unwrap();
        let mut registers = Registers::default();
        registers.set(Gpr::Rbx, 0x1000);
        registers.set(Gpr::Rcx, 3);
        assert_eq!(memory_address(&load, 0, &registers), 0x1004);
    }

    #[test]
    fn count_branches_follow_the_count() {
        use machine::flags::ZF;
        let taken = |bytes: &[u8], rcx, rflags| {
            let branch = Instruction::decode(bytes, AppPc(0)).unwrap();
            let mut registers = Registers { rflags, ..Registers::default() };
            registers.set(Gpr::Rcx, rcx);
            is_taken(&branch, &registers)
        };
        const BIG: u64 = 1 << 32;
        // loop, loope, loopne, jrcxz, jecxz, and loop with ecx
        assert!(taken(&[0xe2, 0], 2, 0) && taken(&[0xe2, 0], 0, 0) && !taken(&[0xe2, 0], 1, 0));
        assert!(taken(&[0xe1, 0], 2, ZF) && !taken(&[0xe1, 0], 2, 0));
        assert!(taken(&[0xe0, 0], 2, 0) && !taken(&[0xe0, 0], 2, ZF));
        assert!(taken(&[0xe3, 0], 0, 0) && !taken(&[0xe3, 0], BIG, 0));
        assert!(taken(&[0x67, 0xe3, 0], BIG, 0) && !taken(&[0x67, 0xe2, 0], BIG | 1, 0));
    }

    #[test]
    fn conditions_follow_the_flags() {
        use machine::flags::{SF, ZF};
        assert!(holds(isa::Condition::E as u8, ZF) && !holds(isa::Condition::Ne as u8, ZF));
        assert!(holds(isa::Condition::L as u8, SF) && holds(isa::Condition::Le as u8, ZF));
        assert!(holds(isa::Condition::G as u8, 0));
    }
}
