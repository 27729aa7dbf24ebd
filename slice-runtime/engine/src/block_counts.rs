//! How often blocks were executed, where a tool has them counted.
//!
//! ```text
//!   counters in COUNTS ──────────────┐
//!     own cache is emptied: retire ──┼─► visit ─► the tool's result
//!     a block is left early ─────────┘
//! ```
//!
//! Named invariant *exact by address*: the executions of all blocks that hold an instruction add up to how often that was executed. So a block that is left
//! in its middle, by a fault or a signal, isn't counted; what was executed of it is, as a shorter block.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bubble::map::{TABLES, TABLES_OWN};
use translator::abi::{CountedBlock, SpaceId, block_counter_address};

use crate::cache::Tables;

const NO_ENGINE: u32 = 0;
const OWN: u32 = 1;
const BOTH: u32 = 2;

/// In which spaces there are translations.
static SPACES: AtomicU32 = AtomicU32::new(NO_ENGINE);
/// What no counter stands for: executions by first pc and code.
static RETIRED: Mutex<Option<Retired>> = Mutex::new(None);

type Retired = HashMap<(u64, Box<[u8]>), u64>;

fn retired() -> MutexGuard<'static, Option<Retired>> {
    RETIRED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An engine begins, which may share translations: nothing was counted.
pub(crate) fn begin(shares: bool) {
    SPACES.store(if shares { BOTH } else { OWN }, Ordering::Relaxed);
    *retired() = None;
}

/// The cache of this process's own is about to be emptied: its counters are, too.
pub(crate) fn retire(own: &Tables) {
    let mut retired = retired();
    for number in 0..own.block_counters() {
        let counter = counter(SpaceId::Own, number);
        // SAFETY: see `counter`.
        let count = unsafe { counter.replace(0) };
        if count != 0 {
            let block = own.counted(number);
            add(&mut retired, block.first, code(own, block), count);
        }
    }
}

/// The app leaves a block before its instruction at `pc`. `counted`: all of it has been counted.
pub(crate) fn leave(space: SpaceId, tables: &Tables, number: u32, pc: u64, counted: bool) {
    let block = tables.counted(number);
    if counted {
        // SAFETY: see `counter`.
        unsafe { *counter(space, number) = (*counter(space, number)).wrapping_sub(1) };
    }
    let executed = (pc - block.first) as usize;
    if executed > 0 {
        add(&mut retired(), block.first, &code(tables, block)[..executed], 1);
    }
}

fn add(retired: &mut Option<Retired>, first: u64, code: &[u8], count: u64) {
    let sum = retired.get_or_insert_default().entry((first, code.into())).or_default();
    *sum = sum.wrapping_add(count);
}

/// Calls `visit` with the address, the code and the executions of each block that was executed in this process: of one that is part of several traces several times, with
/// parts of its executions. Only while translated code doesn't run.
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
    for ((first, code), count) in retired().iter().flatten() {
        visit(*first, code, *count);
    }
}

fn visit_space(space: SpaceId, tables: &Tables, visit: &mut impl FnMut(u64, &[u8], u64)) {
    for number in 0..tables.block_counters() {
        // SAFETY: see `counter`.
        let count = unsafe { *counter(space, number) };
        if count != 0 {
            let block = tables.counted(number);
            visit(block.first, code(tables, block), count);
        }
    }
}

/// The counter is in COUNTS, which is mapped where an engine runs; translated code, which alone writes there, doesn't run meanwhile.
fn counter(space: SpaceId, number: u32) -> *mut u64 {
    block_counter_address(space, number) as *mut u64
}

fn code<'a>(tables: &'a Tables, block: &CountedBlock) -> &'a [u8] {
    tables.arena(block.code, block.len as usize)
}
