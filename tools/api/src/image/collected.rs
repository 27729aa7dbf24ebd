//! The tools of a run that collect: each gets its part of what slices hand in.

use std::fs::File;
use std::os::fd::OwnedFd;

use bubble::values::{LENGTH, WARMED_UP};

use super::collect::{Asked, Collector, Trouble};
use super::entry::Found;
use super::running::joined;
use crate::tool::{SliceInfo, Told};

/// All of them, at least one.
pub struct Collected(Vec<Collector>);

impl Collected {
    /// Makes them from their options.
    ///
    /// # Errors
    /// What is wrong with those, or with where a result is to go.
    pub fn new(tools: &[Found<'_, '_>], asked: Asked) -> Result<Self, String> {
        tools.iter().map(|(entry, options)| (entry.collect)(options, asked)).collect::<Result<_, _>>().map(Self)
    }

    /// Takes what slices write from now on, out of the run memory. Errors that are found meanwhile are written to `answers`.
    ///
    /// # Errors
    /// If it can't be taken.
    pub fn begin(&mut self, memory: &OwnedFd, answers: &File) -> Result<(), String> {
        self.0.iter_mut().try_for_each(|tool| tool.begin(memory, answers))
    }

    /// The next slice has counted this in its first pass. Gives what was counted before it; both are encoded.
    ///
    /// # Errors
    /// If it can't be decoded.
    pub fn before(&mut self, counted: &[u8]) -> Result<Vec<u8>, String> {
        // One of them counts at most; where none does, a region has: of that there are no values.
        let counts = self.0.iter().position(Collector::has_first_pass).unwrap_or(0);
        self.0[counts].before(counted)
    }

    /// Folds what a slice has handed in, and what it has written. If the tool ended it by itself these are several results.
    ///
    /// # Errors
    /// If it can't be decoded or written.
    pub fn fold(&mut self, mut slice: SliceInfo, slot: usize, mut results: &[u8]) -> Result<(), String> {
        let cut_off = "a slice's result is cut off";
        self.0.iter().try_for_each(|tool| tool.fold_stream(slot))?;
        while let Some((len, rest)) = results.split_first_chunk::<LENGTH>() {
            let word = u64::from_le_bytes(*len);
            let (result, rest) = rest.split_at_checked((word & !WARMED_UP) as usize).ok_or(cut_off)?;
            let parts = self.split(result).ok_or(cut_off)?;
            for (tool, result) in self.0.iter_mut().zip(parts) {
                tool.fold(slice, result)?;
                if word & WARMED_UP != 0 {
                    tool.warmed_up();
                }
            }
            (slice, results) = (slice.following(), rest);
        }
        Ok(())
    }

    /// A result's parts: see [`joined`].
    fn split<'r>(&self, result: &'r [u8]) -> Option<Vec<&'r [u8]>> {
        match self.0.len() {
            1 => Some(vec![result]),
            tools => joined::split(result, tools),
        }
    }

    /// Notes how a routine was called, as [`super::collector`] says.
    pub fn routine(&mut self, line: &str) {
        self.0.iter_mut().for_each(|tool| tool.routine(line));
    }

    /// Prints totals and what they are worth, each under its tool's name if there are several, and under a heading if that isn't empty.
    ///
    /// # Errors
    /// The first trouble of any; all that can be printed is.
    pub fn fini(&mut self, told: Told<'_>, heading: &str) -> Result<(), Trouble> {
        let several = self.0.len() > 1;
        let headings = |name: &str| match (several, heading) {
            (false, _) => heading.to_owned(),
            (true, "") => name.to_owned(),
            (true, _) => format!("{name}, {heading}"),
        };
        let printed: Vec<_> = self.0.iter_mut().map(|tool| tool.fini(told, &headings(tool.name()), heading)).collect();
        printed.into_iter().collect()
    }
}
