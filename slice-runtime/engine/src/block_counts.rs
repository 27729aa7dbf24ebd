//! How often blocks were executed, where a tool has them counted.
//!
//! ```text
//!   counters in COUNTS ──────────────┐
//!     own cache is emptied: retire ──┼─► visit ─► the tool's result
//!     a block is left early ─────────┘
//! ```
//!
//! Named invariant *exact by address*: the executions of all blocks that hold an instruction add up to how often that was executed. So a block that is left
//! in its middle isn't counted; what was executed of it is, as a shorter block. If the app goes on there, in a trace that is the rest of the block, then
//! that trace's counter makes the block whole again: it counts the whole, and takes the shorter one back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bubble::map::{TABLES, TABLES_OWN};
use translator::abi::{CountedBlock, SpaceId, TraceId, block_counter_address};

use crate::cache::Tables;

const NO_ENGINE: u32 = 0;
const OWN: u32 = 1;
const BOTH: u32 = 2;

/// In which spaces there are translations.
static SPACES: AtomicU32 = AtomicU32::new(NO_ENGINE);
static COUNTS: Mutex<Counts> = Mutex::new(Counts { uncounted: BTreeMap::new() });
/// What isn't told: it was told before.
static TOLD: Mutex<Told> = Mutex::new(Vec::new());

/// What was counted up to a place of the run: address, code and executions of blocks.
pub type Told = Vec<(u64, Box<[u8]>, u64)>;

struct Counts {
    /// Executions that no counter stands for, by first pc and code.
    uncounted: BTreeMap<(u64, Box<[u8]>), u64>,
}

impl Counts {
    fn add(&mut self, first: u64, code: &[u8], count: u64) {
        if !code.is_empty() {
            let sum = self.uncounted.entry((first, code.into())).or_default();
            *sum = sum.wrapping_add(count);
        }
    }
}

fn counts() -> MutexGuard<'static, Counts> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An engine begins, which may share translations: nothing was counted.
pub(crate) fn begin(shares: bool) {
    SPACES.store(if shares { BOTH } else { OWN }, Ordering::Relaxed);
    *counts() = Counts { uncounted: BTreeMap::new() };
}

/// The cache of this process's own is about to be emptied: its counters are, too.
pub(crate) fn retire(own: &Tables) {
    let mut counts = counts();
    visit_space(SpaceId::Own, own, &mut |first, code, count| counts.add(first, code, count));
    for number in 0..own.block_counters() {
        // SAFETY: see `counter`.
        unsafe { *counter(SpaceId::Own, number) = 0 };
    }
}

/// The app leaves a trace `inside` of its code, in a block, before the instruction at `pc`.
pub(crate) fn leave(space: SpaceId, tables: &Tables, id: TraceId, pc: u64, inside: u32) {
    let first = tables.trace(id).first_counter;
    let mut blocks = (first..).zip(tables.counted_in(id));
    let Some((number, block)) = blocks.find(|(_, block)| (block.first..block.end()).contains(&pc)) else { return };
    if inside >= block.done {
        // SAFETY: see `counter`.
        unsafe { *counter(space, number) = (*counter(space, number)).wrapping_sub(1) };
    }
    let executed = (pc - block.block()) as usize;
    let [before, whole] = code(tables, block);
    if executed > before.len() {
        let mut counts = counts();
        counts.add(block.block(), before, 1_u64.wrapping_neg());
        counts.add(block.block(), &whole[..executed], 1);
    }
}

/// What was counted up to now.
pub fn now() -> Told {
    let mut all = Told::new();
    visit(|first, code, count| all.push((first, code.into(), count)));
    all
}

/// Does something that asks for counts, and is told only of what was counted since `told`.
pub fn since<R>(told: Told, work: impl FnOnce() -> R) -> (R, Told) {
    let set = |told| std::mem::replace(&mut *TOLD.lock().unwrap_or_else(PoisonError::into_inner), told);
    set(told);
    let result = work();
    (result, set(Told::new()))
}

/// Calls `visit` with the address, the code and the executions of each block that was executed in this process: of many several times, with parts of the
/// executions, which add up (wrapping round). Only while translated code doesn't run.
///
/// # Panics
/// If there is no engine in this process.
pub fn visit(mut visit: impl FnMut(u64, &[u8], u64)) {
    let spaces = SPACES.load(Ordering::Relaxed);
    assert!(
        spaces != NO_ENGINE,
        "blocks are counted where the app runs: what was counted is asked for in Tool::finish"
    );
    // SAFETY: the engine was promised that its tables are mapped; there is one.
    let own = unsafe { Tables::at(TABLES_OWN.start, false) };
    visit_space(SpaceId::Own, &own, &mut visit);
    if spaces == BOTH {
        // SAFETY: as before.
        let shared = unsafe { Tables::at(TABLES.start, true) };
        visit_space(SpaceId::Shared, &shared, &mut visit);
    }
    for ((first, code), count) in &counts().uncounted {
        visit(*first, code, *count);
    }
    for (first, code, count) in TOLD.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        visit(*first, code, count.wrapping_neg());
    }
}

fn visit_space(space: SpaceId, tables: &Tables, visit: &mut impl FnMut(u64, &[u8], u64)) {
    for number in 0..tables.block_counters() {
        // SAFETY: see `counter`.
        let count = unsafe { *counter(space, number) };
        if count != 0 {
            let block = tables.counted(number);
            let [before, whole] = code(tables, block);
            visit(block.block(), whole, count);
            if !before.is_empty() {
                visit(block.block(), before, count.wrapping_neg());
            }
        }
    }
}

/// The counter is in COUNTS, which is mapped where an engine runs; translated code, which alone writes there, doesn't run meanwhile.
fn counter(space: SpaceId, number: u32) -> *mut u64 {
    block_counter_address(space, number) as *mut u64
}

/// The code of a block: what was executed before its trace was entered, and all of it.
fn code<'a>(tables: &'a Tables, block: &CountedBlock) -> [&'a [u8]; 2] {
    let executed = block.executed as usize;
    let whole = tables.arena(block.code - block.executed, executed + block.len as usize);
    [&whole[..executed], whole]
}
