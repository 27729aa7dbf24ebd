//! `cmpcache`: caches of a processor with several cores, each of which has a first cache for data of its own, and one below that all share. A thread runs on one core all the time.
//!
//! It is CMP$im (Jaleel et al., 2008), with which Hazelwood, Lueck and Cohn (ISMM 2009) measure Pin, in small. What cores do to keep their caches the same (coherence) isn't simulated: a
//! line stays in a first cache though another core writes to it.

use superpin_tool::json::{Value, json};
use superpin_tool::models::{CacheShape, Hierarchy, HierarchyShape};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{OnThread, Out, Repeat, SliceInfo, ThreadEvent, Tool, Trace, clap};

use crate::accesses::{self, Access};
use crate::repeat;

/// Cores at most.
const MOST: usize = 64;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t cmpcache --cores 2 --l2 512K,8,64 -- xz -T2 -k FILE")]
pub struct Options {
    /// Cores; thread n runs on core n modulo this number
    #[arg(long, default_value_t = 4)]
    cores: usize,
    /// First cache for data, of each core
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "32K,8,64")]
    l1: CacheShape,
    /// Second cache, of all cores together
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "1M,16,64")]
    l2: CacheShape,
    /// Whether a string instruction that repeats (REP) accesses memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    repeat: Repeat,
}

/// The tool.
pub struct CmpCache {
    cores: usize,
    shape: HierarchyShape,
    repeat: Repeat,
}

/// Accesses of a core, misses of its cache, and of these misses of the one below.
type Counts = [u64; 3];

/// What a part of the execution did.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Seen {
    caches: Hierarchy<u8>,
    /// By core.
    counts: Vec<Counts>,
    /// The core of the thread that is executed.
    #[serde(skip)]
    core: u8,
}

/// Counts a miss of the `level`th cache for its core.
fn missed(counts: &mut [Counts]) -> impl FnMut(usize, u8) + '_ {
    |level, core| counts[usize::from(core)][1 + level] += 1
}

impl Seen {
    fn append(&mut self, next: Self) {
        if self.counts.is_empty() {
            self.counts = vec![Counts::default(); next.counts.len()];
        }
        for (sum, more) in self.counts.iter_mut().flatten().zip(next.counts.iter().flatten()) {
            *sum += more;
        }
        self.caches.append(next.caches, missed(&mut self.counts));
    }

    fn end(&mut self) {
        std::mem::take(&mut self.caches).end(missed(&mut self.counts));
    }

    /// What cores have done that have done anything, by number.
    fn rows(&self) -> impl Iterator<Item = (usize, Counts)> {
        self.counts.iter().copied().enumerate().filter(|(_, counts)| counts[0] != 0)
    }

    fn sums(&self) -> Counts {
        std::array::from_fn(|n| self.counts.iter().map(|counts| counts[n]).sum())
    }
}

impl CmpCache {
    fn on_thread(&self, seen: &mut Seen, event: ThreadEvent<'_>) {
        if let ThreadEvent::Turn(thread) = event {
            seen.core = (thread.number % self.cores as u64) as u8;
        }
    }
}

impl Tool for CmpCache {
    const NAME: &'static str = "cmpcache";
    const ABOUT: &'static str = "Simulate caches of several cores: one for each, and one that all share";
    const ON_THREAD: Option<OnThread<Self>> = Some(Self::on_thread);
    type Options = Options;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(options: Options) -> Result<Self, String> {
        if !(1..=MOST).contains(&options.cores) {
            return Err(format!("--cores is a number from 1 to {MOST}"));
        }
        let shape = HierarchyShape::new(vec![options.l1; options.cores], vec![options.l2])?;
        Ok(Self { cores: options.cores, shape, repeat: options.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        trace.instructions().for_each(|instruction| accesses::buffer(&instruction));
    }

    fn begin(&self, slice: SliceInfo) -> Seen {
        let counts = vec![Counts::default(); self.cores];
        Seen { caches: Hierarchy::begin(&self.shape, slice), counts, core: 0 }
    }

    fn drain(&self, seen: &mut Seen, words: &[u64]) {
        let Seen { caches, counts, core } = seen;
        for Access { address, size, .. } in accesses::of(words) {
            let lines = caches.access(usize::from(*core), address, size, *core, missed(counts));
            counts[usize::from(*core)][0] += lines;
        }
    }

    fn finish(&self, seen: &Seen) -> Seen {
        seen.clone()
    }

    fn fold(&self, total: &mut Seen, _: SliceInfo, part: Seen) {
        total.append(part);
    }

    fn warmed_up(&self, total: &mut Seen) {
        total.caches.end_warm_up();
        total.counts.fill(Counts::default());
    }

    fn fini(&self, mut total: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        total.end();
        writeln!(out, "{:<6} {:>16} {:>14} {:>8} {:>14}", "core", "accesses", "misses", "%", "misses of L2")?;
        for (core, [accesses, misses, below]) in total.rows() {
            let percent = 100.0 * misses as f64 / accesses as f64;
            writeln!(out, "{core:<6} {accesses:>16} {misses:>14} {percent:>8.3} {below:>14}")?;
        }
        repeat::say(self.repeat, out)?;
        let [_, misses, below] = total.sums();
        // A number that depends on all others.
        writeln!(out, "Misses: {}", out.total(misses + below))
    }

    fn values(&self, total: &Seen) -> Option<Value> {
        let mut total = total.clone();
        total.end();
        let row = |(core, [accesses, misses, below]): (usize, Counts)| json!({ "core": core, "accesses": accesses, "misses": misses, "l2_misses": below });
        let cores: Vec<Value> = total.rows().map(row).collect();
        Some(json!({ "cores": cores, "repetitions": self.repeat.to_string() }))
    }
}
