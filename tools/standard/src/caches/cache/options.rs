//! What the command line asks for.

use std::str::FromStr;

use superpin_tool::models::CacheShape;
use superpin_tool::{Repeat, clap};

use super::processors::{Caches, Processor, TWO_LEVELS};
use crate::caches::shapes::{Lower, Shapes, Sizes, Tlb};

/// What goes together in a row.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Routines
    Routine,
    /// Source lines
    Line,
    /// Instructions
    Instruction,
    /// Images: the program and its libraries
    Image,
}

/// By which misses rows are sorted, the most first.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Of the TLBs
    Tlb,
    /// Of the first cache for instructions
    L1i,
    /// Of the first cache for data
    L1d,
    /// Of the second cache
    L2,
    /// Of the last cache
    Llc,
}

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Examples: superpin -sp 1 -t cache --by line --top 10 -- ./app\n  \
    superpin -sp 1 -t cache --cachegrind -o cachegrind.out.app -- ./app; cg_annotate cachegrind.out.app")]
pub struct Options {
    /// Caches as this processor has them; the options below change single ones [default: two levels, the last one of 8 MB]
    #[arg(long, value_enum)]
    processor: Option<Processor>,
    /// TLB for instructions, of pages of 4 KB
    #[arg(long, value_name = "ENTRIES,WAYS")]
    itlb: Option<Tlb>,
    /// TLB for data
    #[arg(long, value_name = "ENTRIES,WAYS")]
    dtlb: Option<Tlb>,
    /// First cache for instructions
    #[arg(long, value_name = "SIZE,WAYS,LINE")]
    l1i: Option<CacheShape>,
    /// First cache for data
    #[arg(long, value_name = "SIZE,WAYS,LINE")]
    l1d: Option<CacheShape>,
    /// Second cache, for what these two miss; or none
    #[arg(long, value_name = "SIZE,WAYS,LINE")]
    l2: Option<Lower>,
    /// Last cache; or none
    #[arg(long, value_name = "SIZE,WAYS,LINE")]
    llc: Option<Lower>,
    /// What a row is of
    #[arg(long, value_enum, default_value_t = By::Routine)]
    pub by: By,
    /// By whose misses rows are sorted, the most first
    #[arg(long, value_enum, default_value_t = Sort::L1d)]
    pub sort: Sort,
    /// How many rows to print; 0: all
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// Write a file as valgrind's cachegrind does, for cg_annotate and its like
    #[arg(long, conflicts_with_all = ["by", "sort", "top"])]
    pub cachegrind: bool,
    /// Whether a string instruction that repeats (REP) accesses memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    pub repeat: Repeat,
}

impl Options {
    /// The caches that they ask for.
    ///
    /// # Errors
    /// A text for the user, if there are no such caches.
    pub fn shapes(&self) -> Result<Shapes, String> {
        let Caches { itlb, dtlb, l1i, l1d, l2, llc } = self.processor.map_or(TWO_LEVELS, Processor::caches);
        let sizes = Sizes {
            itlb: or(self.itlb, itlb)?,
            dtlb: or(self.dtlb, dtlb)?,
            l1i: or(self.l1i, l1i)?,
            l1d: or(self.l1d, l1d)?,
            l2: or(self.l2, l2)?,
            llc: or(self.llc, llc)?,
        };
        sizes.shapes()
    }
}

/// What was asked for, or what there is otherwise.
fn or<T: FromStr<Err = String>>(asked: Option<T>, otherwise: &str) -> Result<T, String> {
    asked.map_or_else(|| otherwise.parse(), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpin_tool::clap::ValueEnum;

    #[test]
    fn processors_have_caches_that_can_be_simulated() {
        for caches in Processor::value_variants().iter().map(|processor| processor.caches()).chain([TWO_LEVELS]) {
            let Caches { itlb, dtlb, l1i, l1d, l2, llc } = caches;
            let sizes = Sizes {
                itlb: itlb.parse().unwrap(),
                dtlb: dtlb.parse().unwrap(),
                l1i: l1i.parse().unwrap(),
                l1d: l1d.parse().unwrap(),
                l2: l2.parse().unwrap(),
                llc: llc.parse().unwrap(),
            };
            sizes.shapes().unwrap();
        }
    }
}
