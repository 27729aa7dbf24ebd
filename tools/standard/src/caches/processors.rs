//! Caches of some processors, as their vendors' manuals have them. Of the last one it is what one core complex or a small chip has.

use superpin_tool::clap;

/// A processor.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// Intel Haswell (2013)
    Haswell,
    /// Intel Skylake, for desktops (2015)
    Skylake,
    /// Intel Ice Lake, for laptops (2019)
    Icelake,
    /// AMD Zen 3 (2020)
    Zen3,
    /// AMD Zen 4 (2022)
    Zen4,
}

/// What a command line would say of it.
pub struct Caches {
    pub itlb: &'static str,
    pub dtlb: &'static str,
    pub l1i: &'static str,
    pub l1d: &'static str,
    pub l2: &'static str,
    pub llc: &'static str,
}

/// What there is if nobody asks for another: two levels, as cachegrind's.
pub const TWO_LEVELS: Caches =
    Caches { itlb: "128,8", dtlb: "64,4", l1i: "32K,8,64", l1d: "32K,8,64", l2: "none", llc: "8M,16,64" };

impl Processor {
    /// Its caches.
    pub fn caches(self) -> Caches {
        match self {
            Self::Haswell => Caches { itlb: "128,4", l2: "256K,8,64", ..TWO_LEVELS },
            Self::Skylake => Caches { l2: "256K,4,64", ..TWO_LEVELS },
            Self::Icelake => Caches { l1d: "48K,12,64", l2: "512K,8,64", ..TWO_LEVELS },
            Self::Zen3 => Caches { itlb: "64,64", dtlb: "64,64", l2: "512K,8,64", llc: "32M,16,64", ..TWO_LEVELS },
            Self::Zen4 => Caches { itlb: "64,64", dtlb: "72,72", l2: "1M,8,64", llc: "32M,16,64", ..TWO_LEVELS },
        }
    }
}
