//! Descriptors of analysis calls that the runtime makes itself: calls out of line, and corrections of block-level calls.

use isa::{Instruction, Kind};
use machine::{Gpr, Registers};

use crate::trace::{AnalysisCall, Arg, MAX_ARGS, Point, may_branch};

/// How one argument is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Value,
    BlockInstructions,
    Register,
    MemoryAddress,
    BranchTaken,
    BranchTarget,
}

impl Source {
    const ALL: [Source; 6] = [
        Source::Value,
        Source::BlockInstructions,
        Source::Register,
        Source::MemoryAddress,
        Source::BranchTaken,
        Source::BranchTarget,
    ];
}

/// A call. Its form in the arena, which other processes read, too, is words: the routine, the local state, `packed`, and the arguments that aren't
/// constant zeroes at the end. There is one for nearly each block of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallDescriptor {
    routine: u64,
    local: u64,
    predicated: bool,
    /// Whether the routine's result decides if the call is made that the next descriptor describes.
    tests: bool,
    args: [(Source, u64); MAX_ARGS],
}

/// Words of a descriptor without its arguments.
const HEAD: usize = 3;

impl CallDescriptor {
    /// Describes `call` before `instruction`, which belongs to a block of `block_len` instructions.
    ///
    /// # Panics
    /// If the call has more than [`MAX_ARGS`] arguments: the typed interface can't express that.
    pub fn new(call: &AnalysisCall, instruction: &Instruction, block_len: usize) -> Self {
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
        Self { routine: call.routine as u64, local: call.local, predicated: call.predicated, tests: false, args }
    }

    /// Appends its words.
    pub fn store(&self, words: &mut Vec<u64>) {
        words.extend([self.routine, self.local, self.packed()]);
        words.extend(self.stored_args().iter().map(|(_, value)| value));
    }

    /// Reads the descriptor at this offset of the arena, and gives the offset behind it. `bytes` gives bytes of the arena: from an offset on, so many.
    ///
    /// # Panics
    /// If none was stored there.
    pub fn load<'a>(offset: u32, bytes: impl Fn(u32, usize) -> &'a [u8]) -> (Self, u32) {
        let word = |n: usize| {
            let word = bytes(offset + (n * size_of::<u64>()) as u32, size_of::<u64>());
            u64::from_ne_bytes(word.try_into().expect("a word"))
        };
        let [predicated, tests, count, sources @ ..] = word(HEAD - 1).to_le_bytes();
        let mut args = [(Source::Value, 0); MAX_ARGS];
        for (n, arg) in args[..usize::from(count)].iter_mut().enumerate() {
            *arg = (Source::ALL[usize::from(sources[n])], word(HEAD + n));
        }
        let loaded = Self { routine: word(0), local: word(1), predicated: predicated != 0, tests: tests != 0, args };
        (loaded, offset + ((HEAD + usize::from(count)) * size_of::<u64>()) as u32)
    }

    /// What is neither an address nor an argument's value, a byte each: whether it is predicated, whether it is a test, how many arguments are stored, and how these
    /// are found.
    fn packed(&self) -> u64 {
        let mut bytes =
            [u8::from(self.predicated), u8::from(self.tests), self.stored_args().len() as u8, 0, 0, 0, 0, 0];
        for (byte, (source, _)) in bytes[HEAD..].iter_mut().zip(self.stored_args()) {
            *byte = *source as u8;
        }
        u64::from_le_bytes(bytes)
    }

    fn stored_args(&self) -> &[(Source, u64)] {
        let last = self.args.iter().rposition(|&arg| arg != (Source::Value, 0));
        &self.args[..last.map_or(0, |last| last + 1)]
    }

    /// The same as the test of the call whose descriptor follows.
    pub fn as_test(self) -> Self {
        Self { tests: true, ..self }
    }

    /// Whether it is a test: [`Self::call`] says if the call is made whose descriptor follows.
    pub fn is_test(&self) -> bool {
        self.tests
    }

    /// Whether [`Self::call`] looks at the instruction.
    pub fn needs_instruction(&self) -> bool {
        let looks = |source| matches!(source, Source::MemoryAddress | Source::BranchTaken);
        self.predicated || self.args.iter().any(|(source, _)| looks(*source))
    }

    /// Makes the call with the app's registers before the instruction, which is there if it is needed. What a routine
    /// returns means something only if it is a test.
    pub fn call(&self, registers: &Registers, instruction: Option<&Instruction>) -> u64 {
        let instruction = || instruction.expect("an instruction, if it is needed");
        if self.predicated && !takes_effect(instruction(), registers) {
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

    /// The routine.
    pub fn routine(&self) -> u64 {
        self.routine
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
pub fn taken(point: Point, branch: &Instruction) -> Option<u64> {
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
fn takes_effect(instruction: &Instruction, registers: &Registers) -> bool {
    if instruction.is_rep() {
        return registers.get(Gpr::Rcx) != 0;
    }
    instruction.cmov_condition().is_none_or(|condition| condition.holds(registers.rflags))
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
    fn what_is_stored_is_loaded() {
        let none = CallDescriptor {
            routine: 7,
            local: 8,
            predicated: false,
            tests: false,
            args: [(Source::Value, 0); MAX_ARGS],
        };
        let few = CallDescriptor { predicated: true, ..none.as_test() };
        let mut args = none.args;
        args[2] = (Source::BlockInstructions, u64::MAX);
        let some = CallDescriptor { args, ..few };
        let all = CallDescriptor { args: std::array::from_fn(|n| (Source::ALL[n + 1], n as u64)), ..none };
        let descriptors = [all, none, some, few];
        let mut words = Vec::new();
        descriptors.iter().for_each(|descriptor| descriptor.store(&mut words));
        let bytes = crate::abi::as_bytes(&words);
        let mut at = 0;
        for descriptor in descriptors {
            let (loaded, behind) = CallDescriptor::load(at, |offset, len| &bytes[offset as usize..][..len]);
            assert_eq!(loaded, descriptor);
            at = behind;
        }
        assert_eq!(at as usize, bytes.len());
    }

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
}
