//! What the command line asks for.

use superpin_tool::{Repeat, clap};

use crate::caches::geometry::Geometry;

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
    #[command(flatten)]
    pub geometry: Geometry,
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
    #[arg(long, conflicts_with_all = ["by", "sort", "top", "threads"])]
    pub cachegrind: bool,
    /// Whether a string instruction that repeats (REP) accesses memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    pub repeat: Repeat,
}
