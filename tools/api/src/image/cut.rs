//! Results of parts, folded in another grouping than those of slices, which must come to the same.

use super::locals::fold;
use super::parts::{Part, as_slice};
use crate::tool::{SliceInfo, Tool};

/// Places that are named at most.
const NAMED: usize = 4;

/// A second total.
pub struct Cut<T: Tool> {
    total: T::Total,
    parts: u64,
    /// Where the first parts end.
    ends: Vec<u64>,
}

impl<T: Tool> Cut<T> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { total: T::Total::default(), parts: 0, ends: Vec::new() }
    }

    /// Folds the parts of the next slice, which is this one.
    ///
    /// # Errors
    /// If a result can't be decoded.
    pub fn fold(&mut self, tool: &T, slice: SliceInfo, parts: Vec<Part>) -> Result<(), String> {
        for (n, Part { end, result }) in parts.into_iter().enumerate() {
            fold(tool, &mut self.total, as_slice(slice, n), &result, true, true)
                .map_err(|error| format!("the result of a part of a slice can't be decoded: {error}"))?;
            self.parts += 1;
            if end != 0 && self.ends.len() < NAMED && !self.ends.contains(&end) {
                self.ends.push(end);
            }
        }
        Ok(())
    }

    /// What was folded until now was seen to warm up.
    pub fn warmed_up(&mut self, tool: &T) {
        tool.warmed_up(&mut self.total);
    }

    /// The total of the parts.
    pub fn take_total(&mut self) -> T::Total {
        std::mem::take(&mut self.total)
    }

    /// What to say if the total of the parts isn't that of the whole: what they print. `None`: it is.
    pub fn difference(&self, of_parts: &[u8], of_whole: &[u8]) -> Option<String> {
        if of_parts == of_whole {
            return None;
        }
        let lines = |text: &[u8]| -> Vec<String> { String::from_utf8_lossy(text).lines().map(str::to_owned).collect() };
        let (parts, whole) = (lines(of_parts), lines(of_whole));
        let differs = (0..parts.len().max(whole.len())).find(|n| parts.get(*n) != whole.get(*n)).unwrap_or(0);
        let line = |all: &[String]| all.get(differs).map_or("nothing".into(), |line| format!("`{line}`"));
        let sorted = |mut lines: Vec<String>| {
            lines.sort_unstable();
            lines
        };
        let in_order = if sorted(parts.clone()) == sorted(whole.clone()) {
            " (These are the same lines in another order: what a hash table has is to be sorted before it is printed.)"
        } else {
            ""
        };
        let ends: Vec<String> = self.ends.iter().map(|end| format!("{end:#x}")).collect();
        Some(format!(
            "the results of tool {} don't add up: as one it prints {}, and cut into {} parts (the first before the app's instructions at {}) {}, in line {}. \
             Folding the results of two parts, in order, must give what one result of both gives, and one of a part where nothing happens must change nothing; \
             `begin` starts from nothing, and all that routines learn goes into `Local` (see docs/tools.md, \"What makes the sliced result exact\").{in_order}",
            T::NAME,
            line(&whole),
            self.parts,
            ends.join(", "),
            line(&parts),
            differs + 1,
        ))
    }
}
