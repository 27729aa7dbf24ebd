//! What was found out once and is needed again and again: which calls add a constant to a word (reading a routine's machine code
//! takes longer than translating a block), and which pages can be read (asking takes a system call).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasherDefault;

use bubble::routines::Away;
use isa::routine::{ARGUMENTS, Own, Plan, Way, inline};
use machine::{AddressHasher, Memory, PAGE};

use super::routine::routine_code;
use crate::trace::{AnalysisCall, Arg, Form};

/// Calls that are remembered at most.
const MOST_KNOWN: usize = 4096;

/// Routine, local state and argument.
type Key = (usize, u64, Option<u64>);
/// A word's address and what is added to it.
pub type Addition = (u64, i32);

/// What is known of this program's routines.
struct OwnPlan(Plan<Own>);

impl Default for OwnPlan {
    fn default() -> Self {
        // SAFETY: it is asked for routines of the image only, which are functions of this program.
        Self(Plan::new(unsafe { Own::new() }))
    }
}

/// What is known.
#[derive(Default)]
pub struct RoutineFacts {
    additions: RefCell<HashMap<Key, Option<Addition>, BuildHasherDefault<AddressHasher>>>,
    /// What routines change.
    plan: OwnPlan,
    /// How calls were translated: how many of each routine in each way, and why not in a better one. See [`bubble::routines::way`].
    ways: RefCell<BTreeMap<(usize, u64), (u64, u64)>>,
    /// Numbers of pages that could be read.
    readable: RefCell<HashSet<u64>>,
}

impl RoutineFacts {
    /// Whether the byte at `address` can be read. Memory that is taken from the app later, and whose faults the app then
    /// handles looking at a register that was about to be loaded from it, isn't foreseen.
    pub(crate) fn is_readable(&self, address: u64) -> bool {
        let page = address / PAGE;
        if self.readable.borrow().contains(&page) {
            return true;
        }
        let is_readable = machine::Here::new().read(address, &mut [0]).is_ok();
        if is_readable {
            self.readable.borrow_mut().insert(page);
        }
        is_readable
    }

    /// The app's mappings changed.
    pub fn forget_pages(&self) {
        self.readable.borrow_mut().clear();
    }

    /// A call was translated.
    pub(crate) fn note(&self, call: &AnalysisCall, way: u64, why: u64) {
        if call.form != Form::Runtime {
            let mut ways = self.ways.borrow_mut();
            let (places, all) = ways.entry((call.routine, way)).or_default();
            (*places, *all) = (*places + 1, *all | why);
        }
    }

    /// How calls of the tool's routines were translated.
    pub fn ways(&self) -> Vec<Away> {
        let one = |(&(routine, way), &(places, why)): (&(usize, u64), &(u64, u64))| Away {
            routine: routine as u64,
            way,
            why,
            places,
            ..Away::default()
        };
        self.ways.borrow().iter().map(one).collect()
    }

    /// What a routine changes.
    pub(crate) fn way_of(&self, routine: usize) -> Way {
        self.plan.0.way(routine as u64)
    }

    /// The word's address and what is added, if that is all that the call does. It stands for `block_len` instructions.
    pub(crate) fn added_by(&self, call: &AnalysisCall, block_len: usize) -> Option<Addition> {
        if call.form != Form::Words {
            return None;
        }
        let argument = match call.args.as_slice() {
            [] => None,
            [Arg::Const(value)] => Some(*value),
            [Arg::BlockInstructions] => Some(block_len as u64),
            _ => return None,
        };
        let find = || {
            let mut known = [None; ARGUMENTS];
            known[0] = Some(call.local);
            known[1] = argument;
            inline(routine_code(call.routine), call.routine as u64, &known)?.as_counter_add()
        };
        let mut known = self.additions.borrow_mut();
        if known.len() == MOST_KNOWN {
            // A tool that numbers its blocks, say.
            known.clear();
        }
        *known.entry((call.routine, call.local, argument)).or_insert_with(find)
    }
}
