//! What is noted of an instruction as it is executed: words in the buffer, and the entries that are made of them.
//!
//! ```text
//!   address │ shape │ 8 bytes of the instruction │ [the others] │ [whether the branch is taken] [whether it is the first repetition]
//!           [number of the system call] [of a prefetch or flush: base, index, scale, displacement] │ accesses
//! ```
//!
//! Where an indirect branch goes isn't known before it has gone there, and of `loop` and `jrcxz` the buffer can't have whether they are taken: that is told apart, in the same order.

use std::collections::VecDeque;

use superpin_tool::{Arg, At, BranchKind, Gpr, Instruction, OperandKind, Property};

use super::entries::{append, append_encoding, append_marker, markers, types};
use crate::accesses::{self, Access, LOADS, STORES};

/// The fields of a shape, by their lowest bits: bytes of the instruction; a [`Branch`]; the type of a prefetch or flush, or 0; whether it repeats, whether it is a system call; how many accesses.
const LEN: u32 = 0;
const BRANCH: u32 = 4;
const HINT: u32 = 8;
const REPEATS: u32 = 16;
const CALLS: u32 = 17;
const ACCESSES: u32 = 24;

/// Bytes of an instruction in a word.
const WORD: usize = 8;
/// The size that DynamoRIO gives a prefetch, and the line that is flushed.
const PREFETCHED: u16 = 1;
const FLUSHED: u16 = 64;

/// How an instruction branches, and how it is known where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    None,
    Jump,
    Call,
    /// A word says whether it is taken …
    Conditional,
    /// … or that is told apart …
    ByCount,
    /// … as is where these go.
    IndirectJump,
    IndirectCall,
    Return,
}

const BRANCHES: [Branch; 8] = [
    Branch::None,
    Branch::Jump,
    Branch::Call,
    Branch::Conditional,
    Branch::ByCount,
    Branch::IndirectJump,
    Branch::IndirectCall,
    Branch::Return,
];

impl Branch {
    fn of<L: 'static>(instruction: &Instruction<'_, L>) -> Self {
        let counts = || instruction.mnemonic().starts_with("loop") || instruction.mnemonic().contains("cx");
        match instruction.branch() {
            None => Self::None,
            Some(BranchKind::Jump) => Self::Jump,
            Some(BranchKind::Call) => Self::Call,
            Some(BranchKind::Conditional) if counts() => Self::ByCount,
            Some(BranchKind::Conditional) => Self::Conditional,
            Some(BranchKind::IndirectJump) => Self::IndirectJump,
            Some(BranchKind::IndirectCall) => Self::IndirectCall,
            Some(BranchKind::Return) => Self::Return,
        }
    }

    fn is_told_apart(self) -> bool {
        matches!(self, Self::ByCount | Self::IndirectJump | Self::IndirectCall | Self::Return)
    }
}

/// What a prefetch or flush does to memory: the entry's type, and the words of its address. These aren't accesses to others.
fn hint<L: 'static>(instruction: &Instruction<'_, L>) -> Option<(u16, [Arg; 4])> {
    let kind = match instruction.mnemonic() {
        "clflush" | "clflushopt" => types::FLUSH,
        "prefetcht0" => types::PREFETCH_T0,
        "prefetcht1" => types::PREFETCH_T1,
        "prefetcht2" => types::PREFETCH_T2,
        "prefetchnta" => types::PREFETCH_NTA,
        _ if instruction.is(Property::Prefetch) => types::PREFETCH,
        _ => return None,
    };
    let none = Arg::Const(0);
    if kind == types::FLUSH {
        return Some((kind, [Arg::MemoryAddress(0), none, none, none]));
    }
    let address = instruction.operands().into_iter().find_map(|operand| match operand.kind {
        OperandKind::Address(address) => Some(address),
        _ => None,
    })?;
    let register = |register: Option<Gpr>| register.map_or(none, Arg::Register);
    let words = [
        register(address.base),
        register(address.index),
        address.scale.into(),
        Arg::Const(address.displacement as u64),
    ];
    // A segment's base and addresses of 32 bits are nothing that compilers make there.
    (address.segment.is_none() && !address.address_32).then_some((kind, words))
}

/// Has all of an instruction noted. `tell`: is told what isn't in the buffer, in order.
pub fn instrument<L: 'static>(instruction: &Instruction<'_, L>, tell: impl Fn(&mut L, u64) + Copy + 'static) {
    let (branch, hint) = (Branch::of(instruction), hint(instruction));
    let accesses: Vec<_> = match hint {
        Some(_) => Vec::new(),
        None => [LOADS, STORES].into_iter().flat_map(|kinds| accesses::pairs(instruction, kinds)).collect(),
    };
    let bytes = instruction.bytes();
    let shape = (bytes.len() as u64) << LEN
        | (branch as u64) << BRANCH
        | u64::from(hint.map_or(0, |(kind, _)| kind)) << HINT
        | u64::from(instruction.is_rep()) << REPEATS
        | u64::from(instruction.is_syscall()) << CALLS
        | (accesses.len() as u64) << ACCESSES;
    instruction.buffer((Arg::Pc, shape));
    bytes.chunks(WORD).for_each(|some| instruction.buffer((word(some),)));
    match branch {
        Branch::Conditional => instruction.buffer((Arg::BranchTaken,)),
        Branch::ByCount => instruction.call(At::Before, tell, (Arg::BranchTaken,)),
        _ if branch.is_told_apart() => instruction.call(At::Taken, tell, (Arg::BranchTarget,)),
        _ => {}
    }
    if instruction.is_rep() {
        instruction.buffer((Arg::FirstRepetition,));
    }
    if instruction.is_syscall() {
        instruction.buffer((Gpr::Rax,));
    }
    if let Some((_, address)) = hint {
        let [base, index, scale, displacement] = address;
        instruction.buffer((base, index, scale, displacement));
    }
    accesses.into_iter().flatten().for_each(|pair| instruction.buffer(pair));
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Words that are taken one after the other.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    /// The next one, if this is so.
    fn take_if(&mut self, is_there: bool) -> Option<u64> {
        if is_there { self.0.split_off_first().copied() } else { None }
    }
}

/// Appends the entries of an instruction, whose words come first; what was told apart is in `told`. Gives the words behind it; `None` if something of it is still missing.
pub fn append_instruction<'w>(bytes: &mut Vec<u8>, words: &'w [u64], told: &mut VecDeque<u64>) -> Option<&'w [u64]> {
    let &[pc, shape, ref rest @ ..] = words else { return None };
    let field = |lowest: u32, bits: u32| shape >> lowest & ((1 << bits) - 1);
    let len = field(LEN, BRANCH - LEN) as u16;
    let branch = BRANCHES[field(BRANCH, 3) as usize];
    let hint = field(HINT, REPEATS - HINT) as u16;
    let (repeats, calls) = (field(REPEATS, 1) != 0, field(CALLS, 1) != 0);
    let outcome = if branch.is_told_apart() { told.pop_front()? } else { 0 };
    if matches!(branch, Branch::IndirectJump | Branch::IndirectCall | Branch::Return) {
        append_marker(bytes, markers::BRANCH_TARGET, outcome);
    }
    let (encoding, rest) = rest.split_at_checked(usize::from(len).div_ceil(WORD))?;
    for (n, word) in encoding.iter().enumerate() {
        append_encoding(bytes, (usize::from(len) - n * WORD).min(WORD) as u16, *word);
    }
    let mut rest = Words(rest);
    let outcome = rest.take_if(branch == Branch::Conditional).unwrap_or(outcome);
    let is_first = rest.take_if(repeats) != Some(0);
    append(bytes, kind(branch, outcome, is_first), len, pc);
    if let Some(number) = rest.take_if(calls) {
        // The kernel looks at the lower half.
        append_marker(bytes, markers::SYSTEM_CALL, number & u64::from(u32::MAX));
    }
    let Words(mut rest) = rest;
    if hint != 0 {
        let (&[base, index, scale, displacement], behind) = rest.split_first_chunk()?;
        let address = base.wrapping_add(index.wrapping_mul(scale)).wrapping_add(displacement);
        append(bytes, hint, if hint == types::FLUSH { FLUSHED } else { PREFETCHED }, address);
        rest = behind;
    }
    // Each access says how many pairs it has.
    let pairs = (0..shape >> ACCESSES).try_fold(0, |pairs, _| {
        let what = rest.get(2 * pairs + 1)?;
        Some(pairs + accesses::pairs_of(*what))
    })?;
    let (own, behind) = rest.split_at_checked(2 * pairs)?;
    for Access { address, size, kinds } in accesses::of(own) {
        append(bytes, if kinds == STORES { types::STORE } else { types::LOAD }, size as u16, address);
    }
    Some(behind)
}

fn kind(branch: Branch, outcome: u64, is_first: bool) -> u16 {
    match branch {
        Branch::None if is_first => types::INSTRUCTION,
        Branch::None => types::NOT_FETCHED,
        Branch::Jump => types::JUMP,
        Branch::Call => types::CALL,
        Branch::Conditional | Branch::ByCount if outcome != 0 => types::TAKEN,
        Branch::Conditional | Branch::ByCount => types::NOT_TAKEN,
        Branch::IndirectJump => types::INDIRECT_JUMP,
        Branch::IndirectCall => types::INDIRECT_CALL,
        Branch::Return => types::RETURN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type, size, address.
    type Entry = (u16, u16, u64);

    /// The entries of one instruction with these words, and how many words are left.
    fn entries(words: &[u64], told: &[u64]) -> Option<(Vec<Entry>, usize)> {
        let (mut bytes, mut told) = (Vec::new(), told.iter().copied().collect());
        let left = append_instruction(&mut bytes, words, &mut told)?.len();
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let entry = |entry: &[u8; 12]| (number(&entry[..2]) as u16, number(&entry[2..4]) as u16, number(&entry[4..]));
        Some((bytes.as_chunks().0.iter().map(entry).collect(), left))
    }

    fn shape(len: u64, branch: Branch) -> u64 {
        len << LEN | (branch as u64) << BRANCH
    }

    #[test]
    fn a_branch_has_its_type_and_target() {
        let conditional = |taken| entries(&[0x40_1000, shape(2, Branch::Conditional), 0x0574, taken, 7], &[]);
        assert_eq!(conditional(1), Some((vec![(47, 2, 0x0574), (48, 2, 0x40_1000)], 1)));
        assert_eq!(conditional(0), Some((vec![(47, 2, 0x0574), (49, 2, 0x40_1000)], 1)));
        let by_count = |told: &[u64]| entries(&[0x40_1000, shape(2, Branch::ByCount), 0xfee2], told);
        assert_eq!(by_count(&[0]), Some((vec![(47, 2, 0xfee2), (49, 2, 0x40_1000)], 0)));
        assert_eq!(by_count(&[]), None, "it isn't known yet");
        let load = [0x7fff_0000, LOADS | 8 << 8];
        let words = [&[0x40_1000, shape(1, Branch::Return) | 1 << ACCESSES, 0xc3][..], &load].concat();
        let expected = vec![(28, 29, 0x40_2000), (47, 1, 0xc3), (16, 1, 0x40_1000), (0, 8, 0x7fff_0000)];
        assert_eq!(entries(&words, &[0x40_2000]), Some((expected, 0)));
    }

    #[test]
    fn what_an_instruction_does_stands_behind_it() {
        let long = [0x40_1000, shape(10, Branch::None) | 1 << ACCESSES, 1, 2, 0x7fff_0000, STORES | 4 << 8];
        let expected = vec![(47, 8, 1), (47, 2, 2), (10, 10, 0x40_1000), (1, 4, 0x7fff_0000)];
        assert_eq!(entries(&long, &[]), Some((expected, 0)));
        let call = [0x40_1000, shape(2, Branch::None) | 1 << CALLS, 0x050f, 0xffff_ffff_0000_0003];
        assert_eq!(entries(&call, &[]), Some((vec![(47, 2, 0x050f), (10, 2, 0x40_1000), (28, 25, 3)], 0)));
        let prefetch = shape(4, Branch::None) | u64::from(types::PREFETCH_T1) << HINT;
        let expected = vec![(47, 4, 9), (10, 4, 0x40_1000), (4, 1, 0x1ff8)];
        assert_eq!(entries(&[0x40_1000, prefetch, 9, 0x1000, 0x200, 8, -8_i64 as u64], &[]), Some((expected, 0)));
        let repeated = |first| entries(&[0x40_1000, shape(2, Branch::None) | 1 << REPEATS, 0xa4f3, first], &[]);
        assert_eq!([1, 0].map(|first| repeated(first).unwrap().0[1].0), [types::INSTRUCTION, types::NOT_FETCHED]);
    }
}
