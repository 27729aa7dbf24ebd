//! What an instruction is about to do, computed from the app's state.

use isa::{ElementMask, Elements, Instruction, Kind, MemoryOperand, Segment};
use machine::{Gpr, Registers};

use super::cpu::Cpu;
use crate::trace::{Point, may_branch};

/// Whether a branch is taken, where that is known without looking at registers.
pub fn taken(point: Point, branch: &Instruction) -> Option<u64> {
    match (point, branch.kind()) {
        (Point::Taken(_), _) => Some(1),
        (Point::After(_), _) => Some(0),
        (_, Kind::Branch { .. } | Kind::CountBranch { .. }) => None,
        _ => Some(u64::from(may_branch(branch))),
    }
}

/// Whether a conditional branch is taken with these registers.
pub(super) fn is_taken(branch: &Instruction, registers: &Registers) -> bool {
    let zero = registers.rflags & machine::flags::ZF != 0;
    // With an address size prefix it is the low half.
    let count = if branch.counts_32() { registers.get(Gpr::Rcx) as u32 as u64 } else { registers.get(Gpr::Rcx) };
    match branch.kind() {
        Kind::Branch { condition, .. } => condition.holds(registers.rflags),
        _ => match branch.mnemonic() {
            "loop" => count != 1,
            "loope" => count != 1 && zero,
            "loopne" => count != 1 && !zero,
            _ => count == 0,
        },
    }
}

/// Whether a predicated instruction does anything.
pub(super) fn takes_effect(instruction: &Instruction, registers: &Registers) -> bool {
    if instruction.is_rep() {
        let count = registers.get(Gpr::Rcx);
        let counts_32 = instruction.repetition().is_some_and(|how| how.counts_32);
        return if counts_32 { count as u32 != 0 } else { count != 0 };
    }
    instruction.cmov_condition().is_none_or(|condition| condition.holds(registers.rflags))
}

/// Whether it takes effect whenever it is executed.
pub fn is_unconditional(instruction: &Instruction) -> bool {
    !instruction.is_rep() && instruction.cmov_condition().is_none()
}

/// Effective address of a memory operand; of gathers and scatters without the index.
pub(super) fn memory_address(instruction: &Instruction, index: usize, registers: &Registers) -> u64 {
    address_of(&instruction.memory_operands()[index], 0, registers)
}

/// The base of a segment.
pub(super) fn segment_base(segment: Segment, registers: &Registers) -> u64 {
    match segment {
        Segment::Fs => registers.fs_base,
        Segment::Gs => registers.gs_base,
    }
}

/// Address that an operand names, with something added to it: the index of a vector, already multiplied, or where an element is.
fn address_of(operand: &MemoryOperand, added: u64, registers: &Registers) -> u64 {
    let part = |r: Option<Gpr>| r.map_or(0, |r| registers.get(r));
    let index = if operand.index_8 { part(operand.index) & 0xff } else { part(operand.index) };
    let mut address = part(operand.base)
        .wrapping_add(index.wrapping_mul(u64::from(operand.scale)))
        .wrapping_add(operand.displacement as u64)
        .wrapping_add(added);
    if operand.address_32 {
        address &= 0xffff_ffff;
    }
    operand.segment.map_or(0, |segment| segment_base(segment, registers)).wrapping_add(address)
}

/// Address of an element of a memory operand, and how many of its bytes are accessed: none if a mask leaves it out, or if there is no such element.
pub(super) fn element(instruction: &Instruction, operand: usize, n: usize, cpu: &Cpu) -> (u64, u32) {
    let elements = instruction.elements(operand);
    let memory = instruction.memory_operands()[operand];
    let added = match elements.indices {
        None => n as u64 * u64::from(elements.size),
        Some((vector, size)) => {
            let bytes = cpu.xstate.vector(usize::from(vector));
            let at = n * usize::from(size);
            let index = match bytes.get(at..at + usize::from(size)) {
                Some(bytes) if size == 4 => i32::from_le_bytes(bytes.try_into().expect("four")) as u64,
                Some(bytes) => u64::from_le_bytes(bytes.try_into().expect("eight")),
                None => 0,
            };
            index.wrapping_mul(u64::from(memory.scale))
        }
    };
    let is_accessed = n < usize::from(elements.count) && is_chosen(&elements, n, cpu);
    (address_of(&memory, added, &cpu.registers), if is_accessed { elements.size } else { 0 })
}

/// Whether the mask lets an element be accessed.
fn is_chosen(elements: &Elements, n: usize, cpu: &Cpu) -> bool {
    match elements.mask {
        ElementMask::All => true,
        ElementMask::Opmask(k) => cpu.xstate.mask(k.into()) >> n & 1 == 1,
        ElementMask::CountOfOpmask(k) => {
            let bits = u64::MAX >> (64 - u32::from(elements.count));
            (n as u32) < (cpu.xstate.mask(k.into()) & bits).count_ones()
        }
        ElementMask::Signs(vector, size) => {
            cpu.xstate.vector(vector.into())[(n + 1) * usize::from(size) - 1] & 0x80 != 0
        }
        ElementMask::SignsOfMmx(mmx) => {
            // They are numbered; the stack is counted from its top.
            let x87 = cpu.xstate.x87();
            let top = usize::from(x87.status >> 11 & 7);
            x87.stack[(usize::from(mmx) + 8 - top) % 8][n] & 0x80 != 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{AppPc, XState};

    fn cpu() -> Cpu {
        Cpu::new(Registers::default(), XState::initial())
    }

    #[test]
    fn addresses_follow_the_operand() {
        // mov rax, [rbx + rcx*4 - 8]; xlat
        let load = Instruction::decode(&[0x48, 0x8b, 0x44, 0x8b, 0xf8], AppPc(0)).unwrap();
        let xlat = Instruction::decode(&[0xd7], AppPc(0)).unwrap();
        let mut registers = Registers::default();
        registers.set(Gpr::Rbx, 0x1000);
        registers.set(Gpr::Rcx, 3);
        registers.set(Gpr::Rax, 0x1ff);
        assert_eq!(memory_address(&load, 0, &registers), 0x1004);
        assert_eq!(memory_address(&xlat, 0, &registers), 0x10ff);
    }

    #[test]
    fn what_takes_effect_follows_flags_and_counts() {
        let does = |bytes: &[u8], rcx, rflags| {
            let instruction = Instruction::decode(bytes, AppPc(0)).unwrap();
            let mut registers = Registers { rflags, ..Registers::default() };
            registers.set(Gpr::Rcx, rcx);
            (takes_effect(&instruction, &registers), is_unconditional(&instruction))
        };
        const BIG: u64 = 1 << 32;
        // nop; cmove %ecx,%eax; rep movsb, with rcx and with ecx
        assert_eq!(does(&[0x90], 0, 0), (true, true));
        assert_eq!(does(&[0x0f, 0x44, 0xc1], 0, 0), (false, false));
        assert_eq!(does(&[0x0f, 0x44, 0xc1], 0, machine::flags::ZF), (true, false));
        assert_eq!(does(&[0xf3, 0xa4], 0, 0), (false, false));
        assert_eq!(does(&[0xf3, 0xa4], BIG, 0), (true, false));
        assert_eq!(does(&[0x67, 0xf3, 0xa4], BIG, 0), (false, false));
        assert_eq!(does(&[0x67, 0xf3, 0xa4], BIG | 1, 0), (true, false));
    }

    #[test]
    fn elements_follow_index_and_mask() {
        let mut cpu = cpu();
        cpu.registers.set(Gpr::Rax, 0x1000);
        // In use: SSE. xmm1: indices 0, 1, -1, 2; xmm2: the mask, of which the first and the third are set.
        cpu.xstate.bytes[512] = 2;
        for (n, index) in [0_i32, 1, -1, 2].into_iter().enumerate() {
            cpu.xstate.bytes[160 + 16 + 4 * n..][..4].copy_from_slice(&index.to_le_bytes());
        }
        cpu.xstate.bytes[160 + 32 + 3] = 0x80;
        cpu.xstate.bytes[160 + 32 + 11] = 0xff;
        // vpgatherdd %xmm2,(%rax,%xmm1,4),%xmm0
        let gather = Instruction::decode(&[0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88], AppPc(0)).unwrap();
        let all: Vec<_> = (0..5).map(|n| element(&gather, 0, n, &cpu)).collect();
        assert_eq!(all, [(0x1000, 4), (0x1004, 0), (0xffc, 4), (0x1008, 0), (0x1000, 0)]);
        // vmaskmovps (%rax),%xmm2,%xmm0
        let masked = Instruction::decode(&[0xc4, 0xe2, 0x69, 0x2c, 0x00], AppPc(0)).unwrap();
        let all: Vec<_> = (0..4).map(|n| element(&masked, 0, n, &cpu)).collect();
        assert_eq!(all, [(0x1000, 4), (0x1004, 0), (0x1008, 4), (0x100c, 0)]);
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
}
