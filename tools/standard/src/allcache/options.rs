//! Sizes of TLBs and caches.

use std::str::FromStr;

use superpin_tool::models::{CacheShape, HierarchyShape};
use superpin_tool::{Repeat, clap};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Entries and ways of a TLB.
#[derive(Clone, Copy, Debug)]
pub struct Tlb(CacheShape);

impl FromStr for Tlb {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: a TLB is ENTRIES,WAYS, as 64,4");
        let (entries, ways) = text.split_once(',').ok_or_else(wrong)?;
        let entries = entries.parse::<u64>().ok().and_then(|entries| entries.checked_mul(PAGE)).ok_or_else(wrong)?;
        CacheShape::new(entries, ways.parse().map_err(|_| wrong())?, PAGE).map(Self)
    }
}

/// A cache, or none.
#[derive(Clone, Copy, Debug)]
pub struct Lower(Option<CacheShape>);

impl FromStr for Lower {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Self(None)) } else { text.parse().map(|shape| Self(Some(shape))) }
    }
}

/// The options.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// TLB for instructions, of pages of 4 KB
    #[arg(long, value_name = "ENTRIES,WAYS", default_value = "128,8")]
    itlb: Tlb,
    /// TLB for data
    #[arg(long, value_name = "ENTRIES,WAYS", default_value = "64,4")]
    dtlb: Tlb,
    /// First cache for instructions
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "32K,8,64")]
    l1i: CacheShape,
    /// First cache for data
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "32K,8,64")]
    l1d: CacheShape,
    /// Second cache, for what these two miss; or none
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "1M,16,64")]
    l2: Lower,
    /// Last cache; or none
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "8M,16,64")]
    llc: Lower,
    /// Whether a string instruction that repeats (REP) accesses memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    pub repeat: Repeat,
}

/// A TLB or cache, as it is printed.
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its size.
    pub shape: CacheShape,
}

/// What there is.
pub struct Shapes {
    /// The two TLBs.
    pub tlbs: HierarchyShape,
    /// The caches.
    pub caches: HierarchyShape,
    /// Those of the second level and below.
    pub lower: Vec<Named>,
    /// Bytes of the first cache's lines for instructions.
    pub fetched: u64,
}

impl Options {
    /// What they ask for.
    ///
    /// # Errors
    /// A text for the user, if there are no such caches.
    pub fn shapes(&self) -> Result<Shapes, String> {
        let named = [("L2", self.l2), ("LLC", self.llc)];
        let lower: Vec<Named> =
            named.into_iter().filter_map(|(name, lower)| Some(Named { name, shape: lower.0? })).collect();
        if self.l1i.line() > PAGE {
            return Err("lines of caches for instructions are no larger than pages".into());
        }
        let shapes = lower.iter().map(|lower| lower.shape).collect();
        Ok(Shapes {
            tlbs: HierarchyShape::new(vec![self.itlb.0, self.dtlb.0], Vec::new())?,
            caches: HierarchyShape::new(vec![self.l1i, self.l1d], shapes)?,
            lower,
            fetched: self.l1i.line(),
        })
    }
}
