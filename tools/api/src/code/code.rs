//! Executions by code.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use machine::{AddressHasher, AppPc};
use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::address::CodeAddress;
use super::block::CodeBlock;
use super::instruction::CodeInstruction;

/// How often code was executed: a [`crate::Tool::Result`], a total, or a part of either.
///
/// It comes from [`crate::BlockCounts`], merges by itself ([`crate::merge::Merge`]), and is asked in [`crate::Tool::fini`]:
///
/// ```no_run
/// # use superpin_tool::Code;
/// # fn fini(total: Code) {
/// let by_mnemonic = total.by(|instruction| instruction.mnemonic());       // a BTreeMap<&str, u64>
/// let by_page = total.by(|instruction| instruction.address().0 >> 12);
/// # }
/// ```
///
/// Code is told apart by its address and its bytes: where a program has written other code to the same place, or has become another program (`exec`), both are there. What is told of *instructions* ([`Self::instructions`], [`Self::at`],
/// [`Self::by`], [`Self::total`]) is the same serially and in slices, whatever their length, and whatever the limits of traces and the switches of the engine. What is told of *blocks* is, too, but for
/// those in whose middle the app got a signal: there a slice may begin, and so another block.
#[derive(Clone, Debug, Default)]
pub struct Code {
    blocks: HashMap<Key, u64, BuildHasherDefault<AddressHasher>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    at: CodeAddress,
    code: Box<[u8]>,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Nearly always there is one code at an address.
        let mut start = [0; 8];
        let len = self.code.len().min(8);
        start[..len].copy_from_slice(&self.code[..len]);
        state.write_u64(self.at.address.0);
        state.write_u64(u64::from_le_bytes(start) ^ self.code.len() as u64);
    }
}

impl Code {
    /// A block was executed so many times more. `code`: the bytes of its instructions.
    pub(in crate::code) fn add(&mut self, at: CodeAddress, code: Box<[u8]>, executions: u64) {
        let sum = self.blocks.entry(Key { at, code }).or_default();
        *sum = sum.wrapping_add(executions);
    }

    /// Forgets blocks whose executions add up to none.
    pub(in crate::code) fn forget_unexecuted(&mut self) {
        self.blocks.retain(|_, executions| *executions != 0);
    }

    /// What the next part of the execution has executed comes to this.
    pub(crate) fn add_all(&mut self, next: Code) {
        if self.blocks.is_empty() {
            self.blocks = next.blocks;
            return;
        }
        for (Key { at, code }, executions) in next.blocks {
            self.add(at, code, executions);
        }
    }

    /// Whether nothing was executed.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The blocks that were executed, by address. Blocks may overlap: those who come by a branch into the middle of one execute another one.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = CodeBlock<'_>> {
        let mut sorted: Vec<_> = self.blocks.iter().collect();
        sorted.sort_by(|(a, _), (b, _)| {
            (a.at.address, &a.code, a.at.program).cmp(&(b.at.address, &b.code, b.at.program))
        });
        sorted.into_iter().map(|(key, executions)| CodeBlock::new(key.at, &key.code, *executions))
    }

    /// All instructions that were executed, each once with all its executions, by address. Other code at the same place is another instruction.
    pub fn instructions(&self) -> impl ExactSizeIterator<Item = CodeInstruction> {
        let mut sums: BTreeMap<(AppPc, Vec<u8>, u32), CodeInstruction> = BTreeMap::new();
        for instruction in self.blocks().flat_map(|block| block.instructions()) {
            let at = instruction.code_address();
            let key = (at.address, instruction.bytes().to_vec(), at.program);
            match sums.get_mut(&key) {
                Some(sum) => sum.add(instruction.executions()),
                None => drop(sums.insert(key, instruction)),
            }
        }
        sums.into_values()
    }

    /// How often an instruction was executed that starts at `pc`. It looks at all blocks: for many addresses take [`Self::instructions`].
    pub fn at(&self, pc: AppPc) -> u64 {
        let all = self.blocks.iter().map(|(key, executions)| CodeBlock::new(key.at, &key.code, *executions));
        let holding = all.filter(|block| (block.address().0..block.end_address().0).contains(&pc.0));
        let there = holding.filter(|block| block.instructions().any(|instruction| instruction.address() == pc));
        there.map(|block| block.executions()).sum()
    }

    /// Executions of instructions, added up by what `key` says of them: their mnemonic, the page or the routine that they are in. An instruction is asked about once for each block that it is
    /// part of.
    pub fn by<K: Ord>(&self, mut key: impl FnMut(&CodeInstruction) -> K) -> BTreeMap<K, u64> {
        let mut sums = BTreeMap::new();
        for (Key { at, code }, executions) in &self.blocks {
            for instruction in CodeBlock::new(*at, code, *executions).instructions() {
                let sum: &mut u64 = sums.entry(key(&instruction)).or_default();
                *sum = sum.wrapping_add(instruction.executions());
            }
        }
        sums
    }

    /// How many instructions were executed.
    pub fn total(&self) -> u64 {
        self.blocks().map(|block| block.executions().wrapping_mul(block.len() as u64)).fold(0, u64::wrapping_add)
    }
}

/// Programs, addresses, code and executions.
impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.blocks.len()))?;
        for (key, executions) in &self.blocks {
            all.serialize_element(&(key.at.program, key.at.address.0, &key.code, executions))?;
        }
        all.end()
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Blocks;
        impl<'de> Visitor<'de> for Blocks {
            type Value = Code;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("blocks with their executions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Code, A::Error> {
                let mut code = Code::default();
                while let Some((program, address, bytes, executions)) =
                    all.next_element::<(u32, u64, Box<[u8]>, u64)>()?
                {
                    code.add(CodeAddress { program, address: AppPc(address) }, bytes, executions);
                }
                Ok(code)
            }
        }
        deserializer.deserialize_seq(Blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nop, nop, ret
    const CODE: [u8; 3] = [0x90, 0x90, 0xc3];

    fn code(blocks: &[(u64, &[u8], u64)]) -> Code {
        let mut code = Code::default();
        let at = |address| CodeAddress { program: 1, address: AppPc(address) };
        blocks.iter().for_each(|&(address, bytes, executions)| code.add(at(address), bytes.into(), executions));
        code
    }

    #[test]
    fn overlapping_blocks_add_up() {
        let code = code(&[(0x1000, &CODE, 5), (0x1001, &CODE[1..], 2), (0x1000, &CODE[..1], 1)]);
        assert_eq!([0xfff, 0x1000, 0x1001, 0x1002, 0x1003].map(|pc| code.at(AppPc(pc))), [0, 6, 7, 7, 0]);
        let each: Vec<_> = code.instructions().map(|i| (i.address().0, i.mnemonic(), i.executions())).collect();
        assert_eq!(each, [(0x1000, "nop", 6), (0x1001, "nop", 7), (0x1002, "ret", 7)]);
        assert_eq!(code.by(|instruction| instruction.mnemonic()), BTreeMap::from([("nop", 13), ("ret", 7)]));
        assert_eq!(code.total(), 20);
        let blocks: Vec<_> = code.blocks().map(|b| (b.address().0, b.end_address().0, b.executions())).collect();
        assert_eq!(blocks, [(0x1000, 0x1001, 1), (0x1000, 0x1003, 5), (0x1001, 0x1003, 2)]);
    }

    #[test]
    fn what_was_written_over_is_told_apart() {
        // inc %eax
        let code = code(&[(0x1000, &CODE, 5), (0x1000, &[0xff, 0xc0, 0xc3], 2)]);
        assert_eq!(code.at(AppPc(0x1000)), 7);
        assert_eq!(code.at(AppPc(0x1001)), 5, "the second nop, and the middle of another instruction");
        let each: Vec<_> = code.instructions().map(|i| (i.address().0, i.to_string(), i.executions())).collect();
        let expected = [(0x1000, "nop", 5), (0x1000, "inc %eax", 2), (0x1001, "nop", 5), (0x1002, "ret", 7)];
        assert_eq!(each, expected.map(|(address, text, executions)| (address, text.to_owned(), executions)));
    }

    #[test]
    fn parts_travel_and_merge() {
        let mut total = Code::default();
        for part in [code(&[(0x1000, &CODE, 5)]), code(&[(0x1000, &CODE, 7), (u64::MAX - 9, &CODE, 1)])] {
            let encoded = postcard::to_stdvec(&part).unwrap();
            total.add_all(postcard::from_bytes(&encoded).unwrap());
        }
        assert_eq!((total.at(AppPc(0x1000)), total.total()), (12, 39));
        assert!(Code::default().is_empty() && !total.is_empty());
    }
}
