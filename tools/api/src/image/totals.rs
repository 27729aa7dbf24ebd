//! What needs a collecting tool's types: the total that results are folded into, and, if the tool is checked, one of results of parts,
//! folded in another grouping than those of slices, which must come to the same.

use std::io;

use serde_json::Value;

use super::running::fold;
use super::running::parts::{Part, as_slice, split};
use crate::tool::{Out, SliceInfo, Told, Tool};

/// Places that are named at most.
const NAMED: usize = 4;

/// The total of a tool without its types, which would make more code for each tool.
pub trait Totals {
    /// Adds what a first pass has counted to what was counted before it; both are encoded.
    ///
    /// # Errors
    /// If it can't be decoded.
    fn count(&self, before: &mut Vec<u8>, counted: &[u8]) -> Result<(), String>;
    /// Folds the next slice's encoded result.
    ///
    /// # Errors
    /// If it can't be decoded.
    fn fold(&mut self, slice: SliceInfo, result: &[u8]) -> Result<(), String>;
    /// What was folded until now was seen to warm up.
    fn warmed_up(&mut self);
    /// Whether there is a second total, of parts.
    fn is_checked(&self) -> bool;
    /// Takes the total (or that of the parts) and has the tool print it.
    ///
    /// # Errors
    /// If the tool can't.
    fn print(&mut self, of_parts: bool, out: &mut Out<'_>) -> io::Result<()>;
    /// Takes the total (or that of the parts), as the tool's JSON. `None`: it has none.
    fn values(&mut self, of_parts: bool, told: Told<'_>) -> Option<Value>;

    /// The same of the total, which is still to be printed.
    fn values_so_far(&self, told: Told<'_>) -> Option<Value>;
    /// What to say if what the parts' total printed isn't what the whole's did. `None`: it is.
    fn difference(&self, of_parts: &[u8], of_whole: &[u8]) -> Option<String>;
}

/// The totals of a tool.
pub struct Typed<T: Tool> {
    tool: T,
    total: T::Total,
    /// If the tool is checked.
    cut: Option<Cut<T>>,
}

impl<T: Tool> Typed<T> {
    /// Nothing yet.
    pub fn new(tool: T, checks: bool) -> Self {
        Self { tool, total: T::Total::default(), cut: checks.then(Cut::new) }
    }

    fn take(&mut self, of_parts: bool) -> T::Total {
        let parts = self.cut.as_mut().filter(|_| of_parts);
        std::mem::take(parts.map_or(&mut self.total, |cut| &mut cut.total))
    }
}

impl<T: Tool> Totals for Typed<T> {
    fn count(&self, before: &mut Vec<u8>, counted: &[u8]) -> Result<(), String> {
        T::FIRST_PASS.map_or(Ok(()), |pass| pass.fold(before, counted))
    }

    fn fold(&mut self, slice: SliceInfo, mut result: &[u8]) -> Result<(), String> {
        if let Some(cut) = &mut self.cut {
            let (whole, parts) = split(result).ok_or("a result of a checked tool isn't one")?;
            cut.fold(&self.tool, slice, parts)?;
            result = whole;
        }
        fold(&self.tool, &mut self.total, slice, result, self.cut.is_some(), false)
            .map_err(|error| format!("the result of slice {} can't be decoded: {error}", slice.number))
    }

    fn warmed_up(&mut self) {
        self.tool.warmed_up(&mut self.total);
        if let Some(cut) = &mut self.cut {
            self.tool.warmed_up(&mut cut.total);
        }
    }

    fn is_checked(&self) -> bool {
        self.cut.is_some()
    }

    fn print(&mut self, of_parts: bool, out: &mut Out<'_>) -> io::Result<()> {
        let total = self.take(of_parts);
        self.tool.fini(total, out)
    }

    fn values(&mut self, of_parts: bool, told: Told<'_>) -> Option<Value> {
        let total = self.take(of_parts);
        self.tool.values_with(&total, told.images)
    }

    fn values_so_far(&self, told: Told<'_>) -> Option<Value> {
        self.tool.values_with(&self.total, told.images)
    }

    fn difference(&self, of_parts: &[u8], of_whole: &[u8]) -> Option<String> {
        let cut = self.cut.as_ref()?;
        (of_parts != of_whole).then(|| difference(T::NAME, of_parts, of_whole, cut.parts, &cut.ends))
    }
}

/// A second total.
struct Cut<T: Tool> {
    total: T::Total,
    parts: u64,
    /// Where the first parts end.
    ends: Vec<u64>,
}

impl<T: Tool> Cut<T> {
    fn new() -> Self {
        Self { total: T::Total::default(), parts: 0, ends: Vec::new() }
    }

    /// Folds the parts of the next slice, which is this one.
    fn fold(&mut self, tool: &T, slice: SliceInfo, parts: Vec<Part>) -> Result<(), String> {
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
}

/// What differs in the lines of both.
fn difference(tool: &str, of_parts: &[u8], of_whole: &[u8], cut_into: u64, ends: &[u64]) -> String {
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
    let ends: Vec<String> = ends.iter().map(|end| format!("{end:#x}")).collect();
    format!(
        "the results of tool {tool} don't add up: as one it prints {}, and cut into {} parts (the first before the app's instructions at {}) {}, in line {}. \
             Folding the results of two parts, in order, must give what one result of both gives, and one of a part where nothing happens must change nothing; \
             `begin` starts from nothing, and all that routines learn goes into `Local` (see docs/tools.md, \"What makes the sliced result exact\").{in_order}",
        line(&whole),
        cut_into,
        ends.join(", "),
        line(&parts),
        differs + 1,
    )
}
