//! Where branches go: conditional ones by whether they are taken, those by registers or memory by their targets. The others go where they do as often as they are executed.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use superpin_tool::merge::Sum;
use superpin_tool::{AddressHasher, Arg, At, BranchKind, Instruction};

use super::log::Log;

/// A branch's address, and where it goes.
pub type Edge = (u64, u64);
/// Edges that were counted one by one: those of indirect branches.
pub type Indirect = HashMap<Edge, Sum, BuildHasherDefault<AddressHasher>>;
/// How often a conditional branch was taken, by its address.
pub type Taken = HashMap<u64, Sum, BuildHasherDefault<AddressHasher>>;

/// Counts beside the tables, each at a place of its own, until another one wants it.
const PLACES: usize = 1 << 12;

/// What a slice counts of them.
pub struct Branches {
    log: Log<2>,
    recently_taken: Vec<(u64, u64)>,
    taken: Taken,
    indirect: Indirect,
}

/// A tool's `Local` with such counts.
pub trait CountsBranches: Sized + 'static {
    /// They.
    fn branches(&mut self) -> &mut Branches;
}

/// Counts where a block's last instruction goes: if it is conditional, or of one of the kinds that are named. The tool hands the words of its buffer to [`Branches::drain`], and has no others.
pub fn count_branch<L: CountsBranches>(last: &Instruction<'_, L>, by_target: &[BranchKind]) {
    match last.branch() {
        // Whether `loop` and `jrcxz` are taken can't be a word of the buffer.
        Some(BranchKind::Conditional) if last.mnemonic().starts_with("loop") || last.mnemonic().contains("cx") => {
            last.call(At::Taken, is_taken::<L>, (last.address(),));
        }
        Some(BranchKind::Conditional) => last.buffer((Arg::Pc, Arg::BranchTaken)),
        Some(kind) if by_target.contains(&kind) => {
            last.call_if(At::Before, is_full::<L>, (), count::<L>, ());
            last.call(At::Taken, goes::<L>, (last.address(), Arg::BranchTarget));
        }
        Some(_) | None => {}
    }
}

fn goes<L: CountsBranches>(local: &mut L, from: u64, to: u64) {
    local.branches().log.push([from, to]);
}

fn is_full<L: CountsBranches>(local: &mut L) -> bool {
    local.branches().log.is_full()
}

fn count<L: CountsBranches>(local: &mut L) {
    let Branches { log, indirect, .. } = local.branches();
    for &[from, to] in log.entries() {
        indirect.entry((from, to)).or_default().0 += 1;
    }
    log.clear();
}

fn is_taken<L: CountsBranches>(local: &mut L, branch: u64) {
    local.branches().taken.entry(branch).or_default().0 += 1;
}

impl Branches {
    /// None yet.
    pub fn new() -> Self {
        let recently_taken = vec![Default::default(); PLACES];
        Self { log: Log::new(), recently_taken, taken: Taken::default(), indirect: Indirect::default() }
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

    /// All that was counted.
    pub fn counted(&self) -> (Taken, Indirect) {
        let (mut taken, mut indirect) = (self.taken.clone(), self.indirect.clone());
        for (branch, times) in self.recently_taken.iter().filter(|(_, times)| *times != 0) {
            taken.entry(*branch).or_default().0 += times;
        }
        for &[from, to] in self.log.entries() {
            indirect.entry((from, to)).or_default().0 += 1;
        }
        (taken, indirect)
    }
}
