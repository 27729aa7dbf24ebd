//! Which TLBs and caches the command line asks for.

use std::str::FromStr;

use superpin_tool::clap;
use superpin_tool::models::CacheShape;

use super::processors::{Caches, Processor, TWO_LEVELS};
use super::shapes::{Lower, Shapes, Sizes, Tlb};

/// Options.
#[derive(clap::Args)]
pub struct Geometry {
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
}

impl Geometry {
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
