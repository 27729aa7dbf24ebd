//! How often blocks were executed, where a tool has them counted.
//!
//! ```text
//!   counters in COUNTS ──────────────┐
//!     own cache is emptied: retire ──┼─► visit ─► the tool's result
//!     a block is left early ─────────┘
//! ```
//!
//! Of several tools in a run each is told of what it has counted ([`by`]): a block's counter stands for all that want to know.
//!
//! Where they are counted for each thread by itself ([`switch`]), the counters are those of the thread that is executed, and what others have executed is parked. Where each thread has a window
//! ([`by_window`]) it has counters of its own, and they are parked when it ends, or somebody asks ([`park_others`]).
//!
//! Named invariant *exact by address*: the executions of all blocks that hold an instruction add up to how often that was executed. So a block that is left
//! in its middle isn't counted; what was executed of it is, as a shorter block. If the app goes on there, in a trace that is the rest of the block, then
//! that trace's counter makes the block whole again: it counts the whole, and takes the shorter one back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bubble::map::{TABLES, TABLES_OWN, WINDOW_0};
use translator::abi::{CountedBlock, SpaceId, TraceId, block_counter_address};

use crate::cache::Tables;
use crate::gateway;

const NO_ENGINE: u32 = 0;
const OWN: u32 = 1;
const BOTH: u32 = 2;

/// In which spaces there are translations.
static SPACES: AtomicU32 = AtomicU32::new(NO_ENGINE);
static COUNTS: Mutex<Counts> = Mutex::new(Counts { uncounted: BTreeMap::new() });
/// Of threads that aren't executed, by their numbers.
static PARKED: Mutex<BTreeMap<u64, Parked>> = Mutex::new(BTreeMap::new());
/// What isn't told: it was told before.
static TOLD: Mutex<Told> = Mutex::new(Told::new());
/// The thread that is executed, where threads are told apart.
static CURRENT: AtomicU64 = AtomicU64::new(0);
/// Where each thread has counters of its own: threads by their numbers, and where their windows are. Else none.
static WINDOWS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// What was counted up to a place of the run: of each thread address, code and executions of blocks.
pub type Told = BTreeMap<u64, Vec<(u64, Box<[u8]>, u64)>>;

/// What is called with the address, the code, the tools and the executions of a block.
trait Visit: FnMut(u64, &[u8], u32, u64) {}

impl<F: FnMut(u64, &[u8], u32, u64)> Visit for F {}

/// What a thread has executed.
#[derive(Default)]
struct Parked {
    /// Values of counters that aren't zero, by space and number.
    counters: Vec<(SpaceId, u32, u64)>,
    counts: Counts,
}

impl Parked {
    /// With what another one has executed.
    fn add(&mut self, other: Self) {
        let mut sums: BTreeMap<(u32, u32), (SpaceId, u64)> = BTreeMap::new();
        for (space, number, count) in std::mem::take(&mut self.counters).into_iter().chain(other.counters) {
            let (_, sum) = sums.entry((space as u32, number)).or_insert((space, 0));
            *sum = sum.wrapping_add(count);
        }
        self.counters = sums.into_iter().map(|((_, number), (space, sum))| (space, number, sum)).collect();
        for ((first, code, tools), count) in other.counts.uncounted {
            let sum = self.counts.uncounted.entry((first, code, tools)).or_default();
            *sum = sum.wrapping_add(count);
        }
    }
}

#[derive(Default)]
struct Counts {
    /// Executions that no counter stands for, by first pc, code, and the tools that want to know.
    uncounted: BTreeMap<(u64, Box<[u8]>, u32), u64>,
}

impl Counts {
    fn add(&mut self, first: u64, code: &[u8], tools: u32, count: u64) {
        if !code.is_empty() {
            let sum = self.uncounted.entry((first, code.into(), tools)).or_default();
            *sum = sum.wrapping_add(count);
        }
    }

    fn visit(&self, visit: &mut impl Visit) {
        for ((first, code, tools), count) in &self.uncounted {
            visit(*first, code, *tools, *count);
        }
    }
}

fn counts() -> MutexGuard<'static, Counts> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An engine begins, which may share translations: nothing was counted.
pub(crate) fn begin(shares: bool) {
    SPACES.store(if shares { BOTH } else { OWN }, Ordering::Relaxed);
    *counts() = Counts::default();
}

/// The cache of this process's own is about to be emptied: its counters are, too.
pub(crate) fn retire(own: &Tables) {
    park_others();
    let mut counts = counts();
    visit_space(SpaceId::Own, own, &mut |first, code, tools, count| counts.add(first, code, tools, count));
    for number in 0..own.block_counters() {
        // SAFETY: see `counter`.
        unsafe { *counter(SpaceId::Own, number) = 0 };
    }
    for parked in parked().values_mut() {
        for (_, number, count) in parked.counters.extract_if(.., |(space, ..)| *space == SpaceId::Own) {
            visit_counted(own, number, count, &mut |first, code, tools, count| {
                parked.counts.add(first, code, tools, count)
            });
        }
    }
}

/// What is executed from now on is another thread's, whose counts go on. Those of thread `from` are put away; `None`: it has ended, and they are only asked for by [`of_all`]. Only while translated
/// code doesn't run. It takes some microseconds for 10,000 blocks.
pub fn switch(from: Option<u64>, to: u64) {
    let counters = if windows().is_empty() { take_counters(own_window()) } else { Vec::new() };
    let away = Parked { counters, counts: std::mem::take(&mut *counts()) };
    CURRENT.store(to, Ordering::Relaxed);
    let mut parked = parked();
    parked.entry(from.unwrap_or(ENDED)).or_default().add(away);
    let Parked { counters, counts: of_thread } = parked.remove(&to).unwrap_or_default();
    *counts() = of_thread;
    for (space, number, count) in counters {
        // SAFETY: see `counter`.
        unsafe { *counter(space, number) = count };
    }
}

/// The thread with this number, which calls this, has counters of its own in its window from now on, as all others have, or will have.
pub fn by_window(thread: u64) {
    windows().insert(thread, own_window());
}

/// The thread with this number, which calls this, has ended.
pub fn leaves_window(thread: u64) {
    let (counters, counts) = (take_counters(own_window()), std::mem::take(&mut *counts()));
    windows().remove(&thread);
    parked().entry(ENDED).or_default().add(Parked { counters, counts });
}

/// Parks what threads other than the calling one have counted in their windows. Only while no translated code runs.
pub fn park_others() {
    let own = own_window();
    for (&thread, &window) in windows().iter().filter(|(_, window)| **window != own) {
        let counters = take_counters(window);
        parked().entry(thread).or_default().add(Parked { counters, counts: Counts::default() });
    }
}

fn windows() -> MutexGuard<'static, BTreeMap<u64, u64>> {
    WINDOWS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own_window() -> u64 {
    gateway::own(WINDOW_0.start)
}

/// Empties the counters in a window. Gives what they were.
fn take_counters(window: u64) -> Vec<(SpaceId, u32, u64)> {
    let moved = window.wrapping_sub(WINDOW_0.start);
    let mut taken = Vec::new();
    for_each_space(|space, tables| {
        for number in 0..tables.block_counters() {
            let place = block_counter_address(space, number).wrapping_add(moved) as *mut u64;
            // SAFETY: see `counter`; each window has the same.
            let count = unsafe { std::mem::take(&mut *place) };
            if count != 0 {
                taken.push((space, number, count));
            }
        }
    });
    taken
}

/// Does something that asks for counts, and is told those of all threads, also where they are counted by thread for others.
pub fn of_all<R>(work: impl FnOnce() -> R) -> R {
    asking_for(ALL, work)
}

/// Does something that asks for counts, and is told those of a thread that isn't executed.
pub fn of<R>(thread: u64, work: impl FnOnce() -> R) -> R {
    asking_for(thread + 1, work)
}

/// Does something that asks for counts, and is told those: see [`ASKED`].
fn asking_for<R>(asked: u64, work: impl FnOnce() -> R) -> R {
    let before = ASKED.swap(asked, Ordering::Relaxed);
    let result = work();
    ASKED.store(before, Ordering::Relaxed);
    result
}

/// Does something that asks for counts, and is told of blocks that one of `tools` has counted, a bit for each.
pub fn by<R>(tools: u32, work: impl FnOnce() -> R) -> R {
    let before = ASKING.swap(tools, Ordering::Relaxed);
    let result = work();
    ASKING.store(before, Ordering::Relaxed);
    result
}

/// Whose counts are asked for.
static ASKING: AtomicU32 = AtomicU32::new(u32::MAX);

/// The thread whose counts are asked for, and one; [`EXECUTED`]; [`ALL`].
static ASKED: AtomicU64 = AtomicU64::new(EXECUTED);
/// The thread that is executed, in place of the number of one and one.
const EXECUTED: u64 = 0;
/// All threads, in place of the number of one and one.
const ALL: u64 = u64::MAX;
/// Threads that have ended, in place of the number of one.
const ENDED: u64 = u64::MAX - 2;

fn parked() -> MutexGuard<'static, BTreeMap<u64, Parked>> {
    PARKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `work` with all spaces in which there are translations.
fn for_each_space(mut work: impl FnMut(SpaceId, &Tables)) {
    let spaces = SPACES.load(Ordering::Relaxed);
    assert!(
        spaces != NO_ENGINE,
        "blocks are counted where the app runs: what was counted is asked for in Tool::finish"
    );
    // SAFETY: the engine was promised that its tables are mapped; there is one.
    work(SpaceId::Own, &unsafe { Tables::at(TABLES_OWN.start, false) });
    if spaces == BOTH {
        // SAFETY: as before.
        work(SpaceId::Shared, &unsafe { Tables::at(TABLES.start, true) });
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
        counts.add(block.block(), before, block.tools, 1_u64.wrapping_neg());
        counts.add(block.block(), &whole[..executed], block.tools, 1);
    }
}

/// What was counted up to now.
pub fn now() -> Told {
    let all = || {
        let mut all = Vec::new();
        visit(|first, code, count| all.push((first, code.into(), count)));
        all
    };
    let waiting: Vec<u64> = parked().keys().copied().collect();
    // Each by itself, also where those of all are asked for.
    let of_current = [(CURRENT.load(Ordering::Relaxed), asking_for(EXECUTED, all))];
    waiting.into_iter().map(|thread| (thread, of(thread, all))).chain(of_current).collect()
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
    let asking = ASKING.load(Ordering::Relaxed);
    let mut of_asking = |first, code: &[u8], tools, count| {
        if tools & asking != 0 {
            visit(first, code, count);
        }
    };
    let asked = ASKED.load(Ordering::Relaxed);
    let others: Vec<u64> = match asked {
        EXECUTED => Vec::new(),
        ALL => parked().keys().copied().collect(),
        number => vec![number - 1],
    };
    if matches!(asked, EXECUTED | ALL) {
        for_each_space(|space, tables| visit_space(space, tables, &mut of_asking));
        counts().visit(&mut of_asking);
    }
    others.iter().for_each(|thread| visit_parked(*thread, &mut of_asking));
    let current = CURRENT.load(Ordering::Relaxed);
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    // Of all, also those that were told of threads that have ended since.
    let is_asked = |thread: u64| asked == ALL || thread == asked.checked_sub(1).unwrap_or(current);
    for (first, code, count) in told.iter().filter(|(thread, _)| is_asked(**thread)).flat_map(|(_, told)| told) {
        visit(*first, code, count.wrapping_neg());
    }
}

fn visit_parked(thread: u64, visit: &mut impl Visit) {
    let parked = parked();
    let Some(parked) = parked.get(&thread) else { return };
    for_each_space(|space, tables| {
        for (_, number, count) in parked.counters.iter().filter(|(other, ..)| *other == space) {
            visit_counted(tables, *number, *count, visit);
        }
    });
    parked.counts.visit(visit);
}

fn visit_space(space: SpaceId, tables: &Tables, visit: &mut impl Visit) {
    for number in 0..tables.block_counters() {
        // SAFETY: see `counter`.
        let count = unsafe { *counter(space, number) };
        if count != 0 {
            visit_counted(tables, number, count, visit);
        }
    }
}

fn visit_counted(tables: &Tables, number: u32, count: u64, visit: &mut impl Visit) {
    let block = tables.counted(number);
    let [before, whole] = code(tables, block);
    visit(block.block(), whole, block.tools, count);
    if !before.is_empty() {
        visit(block.block(), before, block.tools, count.wrapping_neg());
    }
}

/// The calling thread's. The counter is in COUNTS, which is mapped where an engine runs; translated code, which alone writes there, doesn't run meanwhile.
fn counter(space: SpaceId, number: u32) -> *mut u64 {
    gateway::own(block_counter_address(space, number)) as *mut u64
}

/// The code of a block: what was executed before its trace was entered, and all of it.
fn code<'a>(tables: &'a Tables, block: &CountedBlock) -> [&'a [u8]; 2] {
    let executed = block.executed as usize;
    let whole = tables.arena(block.code - block.executed, executed + block.len as usize);
    [&whole[..executed], whole]
}
