//! Sizes of TLBs and caches, as options write them.

use std::str::FromStr;

use superpin_tool::models::{CacheShape, HierarchyShape};

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
pub struct Lower(pub Option<CacheShape>);

impl FromStr for Lower {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Self(None)) } else { text.parse().map(|shape| Self(Some(shape))) }
    }
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

impl Shapes {
    /// The caches, as results tell them.
    pub fn described(&self) -> String {
        let first = ["L1I", "L1D"].into_iter().zip(self.caches.first());
        let caches = first.chain(self.lower.iter().map(|named| (named.name, &named.shape)));
        caches.map(|(name, shape)| format!("{name} {shape}")).collect::<Vec<_>>().join("; ")
    }
}

/// The sizes that are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// TLB for instructions.
    pub itlb: Tlb,
    /// TLB for data.
    pub dtlb: Tlb,
    /// First cache for instructions.
    pub l1i: CacheShape,
    /// First cache for data.
    pub l1d: CacheShape,
    /// Second cache, for what these two miss.
    pub l2: Lower,
    /// Last cache.
    pub llc: Lower,
}

impl Sizes {
    /// What they come to.
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
