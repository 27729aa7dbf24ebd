//! Where branches go: conditional ones if they are taken, and those by registers or memory. The others go where they do as often as they are executed.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use superpin_tool::merge::Sum;
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{AddressHasher, AppPc, Arg, At, BranchKind, CodeAddress, Instruction};

use super::log::Log;

/// What has gone there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub enum Branch {
    /// A conditional branch that was taken.
    Taken,
    /// A jump to an address from a register or memory.
    IndirectJump,
    /// A call of one.
    IndirectCall,
    /// A return.
    Return,
}

/// From a branch to where it goes, in a program ([`CodeAddress::to_bits`]). Code that changes may have several branches at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Edge {
    /// Which kind of branch.
    pub branch: Branch,
    /// Where it is.
    pub from: u64,
    /// Where it goes.
    pub to: u64,
}

/// How often.
pub type Went = BTreeMap<Edge, Sum>;

/// A branch's address with what else is to be known of it in front.
type Key = u64;
/// Bits of the address in a key.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

/// Counts beside the tables, each at a place of its own, until another one wants it.
const PLACES: usize = 1 << 12;

/// What a slice counts of them.
pub struct Branches {
    /// Branches by kind and address, and targets.
    log: Log<2>,
    logged: HashMap<(Key, u64), Sum, BuildHasherDefault<AddressHasher>>,
    recently_taken: Vec<(Key, u64)>,
    /// Conditional ones by distance and address.
    taken: HashMap<Key, Sum, BuildHasherDefault<AddressHasher>>,
}

/// A tool's `Local` with such counts.
pub trait CountsBranches: Sized + 'static {
    /// They.
    fn branches(&mut self) -> &mut Branches;
}

/// Counts where a block's last instruction goes: if it is conditional, or of one of the kinds that are named. The tool hands the words of its buffer to [`Branches::drain`], and has no others.
pub fn count_branch<L: CountsBranches>(last: &Instruction<'_, L>, by_target: &[Branch]) {
    let log = |branch: Branch, target: Arg| {
        last.call_if(At::Before, is_full::<L>, (), count::<L>, ());
        last.call(At::Taken, goes::<L>, (logged(last.address(), branch), target));
    };
    match (last.branch(), last.branch_target()) {
        (Some(BranchKind::Conditional), Some(target)) => {
            // Whether `loop` and `jrcxz` are taken can't be a word of the buffer.
            let is_count = last.mnemonic().starts_with("loop") || last.mnemonic().contains("cx");
            match near(last.address(), target).filter(|_| !is_count) {
                Some(key) => last.buffer((key, Arg::BranchTaken)),
                None => log(Branch::Taken, Arg::Const(target.0)),
            }
        }
        (Some(kind), _) => {
            if let Some(branch) = Branch::by_target(kind).filter(|branch| by_target.contains(branch)) {
                log(branch, Arg::BranchTarget);
            }
        }
        (None, _) => {}
    }
}

impl Branch {
    const ALL: [Self; 4] = [Self::Taken, Self::IndirectJump, Self::IndirectCall, Self::Return];

    fn by_target(kind: BranchKind) -> Option<Self> {
        match kind {
            BranchKind::IndirectJump => Some(Self::IndirectJump),
            BranchKind::IndirectCall => Some(Self::IndirectCall),
            BranchKind::Return => Some(Self::Return),
            BranchKind::Conditional | BranchKind::Jump | BranchKind::Call => None,
        }
    }
}

/// A key of a conditional branch that says where it goes, if that isn't too far away.
fn near(from: AppPc, to: AppPc) -> Option<Key> {
    let distance = i16::try_from(to.0.wrapping_sub(from.0) as i64).ok()?;
    Some(from.0 | u64::from(distance as u16) << ADDRESS_BITS)
}

/// A key of a branch whose target is told each time.
fn logged(from: AppPc, branch: Branch) -> Key {
    from.0 | (branch as u64) << ADDRESS_BITS
}

fn goes<L: CountsBranches>(local: &mut L, from: Key, to: u64) {
    local.branches().log.push([from, to]);
}

fn is_full<L: CountsBranches>(local: &mut L) -> bool {
    local.branches().log.is_full()
}

fn count<L: CountsBranches>(local: &mut L) {
    let Branches { log, logged, .. } = local.branches();
    for &[from, to] in log.entries() {
        logged.entry((from, to)).or_default().0 += 1;
    }
    log.clear();
}

impl Branches {
    /// None yet.
    pub fn new() -> Self {
        let recently_taken = vec![Default::default(); PLACES];
        Self { log: Log::new(), logged: HashMap::default(), recently_taken, taken: HashMap::default() }
    }

    /// Counts what is in the buffer.
    pub fn drain(&mut self, words: &[u64]) {
        for &[branch, _] in words.as_chunks::<2>().0.iter().filter(|[_, taken]| *taken != 0) {
            let (of, times) = &mut self.recently_taken[(branch ^ branch >> 12) as usize % PLACES];
            if *of != branch {
                if *times != 0 {
                    self.taken.entry(*of).or_default().0 += *times;
                }
                (*of, *times) = (branch, 0);
            }
            *times += 1;
        }
    }

    /// All that was counted, in the program that is executed.
    pub fn counted(&self) -> Went {
        let mut went = Went::new();
        let mut add = |branch: Branch, from: u64, to: u64, times: u64| {
            let [from, to] = [from, to].map(|address| CodeAddress::here(AppPc(address)).to_bits());
            went.entry(Edge { branch, from, to }).or_default().0 += times;
        };
        let recently = self.recently_taken.iter().filter(|(_, times)| *times != 0).copied();
        for (key, times) in self.taken.iter().map(|(key, times)| (*key, times.0)).chain(recently) {
            let from = key & ADDRESS;
            add(Branch::Taken, from, from.wrapping_add_signed(key as i64 >> ADDRESS_BITS), times);
        }
        let logged = self.logged.iter().map(|((key, to), times)| (*key, *to, times.0));
        for (key, to, times) in logged.chain(self.log.entries().iter().map(|&[key, to]| (key, to, 1))) {
            add(Branch::ALL[(key >> ADDRESS_BITS) as usize], key & ADDRESS, to, times);
        }
        went
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_where_branches_go() {
        let mut branches = Branches::new();
        let [from, forward, backward] = [0x7fff_ffff_f000, 0x7fff_ffff_f010, 0x7fff_ffff_8000].map(AppPc);
        assert_eq!(near(from, AppPc(from.0 + 0x8000)), None);
        for to in [forward, backward, forward] {
            branches.drain(&[near(from, to).unwrap(), 1, near(from, to).unwrap(), 0]);
        }
        branches.log.push([logged(from, Branch::Return), 0x1000]);
        let went = branches.counted();
        let edge = |branch, to: AppPc| Edge { branch, from: from.0, to: to.0 };
        let expected = [(Branch::Taken, backward, 1), (Branch::Taken, forward, 2), (Branch::Return, AppPc(0x1000), 1)];
        assert_eq!(went, expected.into_iter().map(|(branch, to, times)| (edge(branch, to), Sum(times))).collect());
    }
}
