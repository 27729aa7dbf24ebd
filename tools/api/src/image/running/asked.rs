//! Whether a tool asks for the same at the same code, however often and in whatever order it looks.

use std::cell::RefCell;

use slice_runtime::place_of;
use translator::trace::{AnalysisCall, Trace};

use super::injected::{Inserted, inserted};
use super::share::Share;
use crate::tool::Tool;

/// So many traces are kept until another tool looks at them, the last one first.
const KEPT: usize = 16;

/// The traces that another tool is still to look at.
#[derive(Default)]
pub struct Asked {
    waiting: RefCell<Vec<(Trace, Inserted)>>,
}

impl Asked {
    /// `tool` has inserted into `trace` what is there. It looks once more at once, and `other`, made of the same options, later.
    ///
    /// # Errors
    /// What differs.
    pub fn note<T: Tool>(&self, trace: &Trace, tool: &T, other: &T) -> Result<(), String> {
        let first = (trace.calls.clone(), trace.buffered.clone(), trace.counted.clone());
        let (instructions, block_ends) = (trace.instructions.clone(), trace.block_ends.clone());
        let bare = Trace { instructions, block_ends, files: trace.files, ..Trace::default() };
        compare(T::NAME, &bare, &first, &inserted(tool, &bare, Share::ALONE), "at once")?;
        let is_full = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.push((bare, first));
            waiting.len() == KEPT
        };
        if is_full { self.look_back(other) } else { Ok(()) }
    }

    /// Has the other tool look at all that it hasn't seen.
    ///
    /// # Errors
    /// What differs.
    pub fn look_back<T: Tool>(&self, other: &T) -> Result<(), String> {
        self.compare_all(T::NAME, &|trace| inserted(other, trace, Share::ALONE))
    }

    fn compare_all(&self, tool: &str, look: &dyn Fn(&Trace) -> Inserted) -> Result<(), String> {
        let waiting = self.waiting.take();
        let how = "by another tool of the same options, in another order";
        waiting.iter().rev().try_for_each(|(trace, first)| compare(tool, trace, first, &look(trace), how))
    }
}

/// Whether both have inserted the same.
fn compare(tool: &str, trace: &Trace, first: &Inserted, second: &Inserted, how: &str) -> Result<(), String> {
    if first == second {
        return Ok(());
    }
    let pick = |inserted: &Inserted| -> Vec<(usize, String)> {
        let (calls, buffered, counted) = inserted;
        let index = |call: &AnalysisCall| match call.point {
            translator::trace::Point::Anywhere(block) => trace.block(block).start,
            point => point.index().unwrap_or(0),
        };
        let calls = calls.iter().map(|call| (index(call), describe(call)));
        let words = buffered.iter().map(|words| (words.index, format!("words {:?}", words.words)));
        let counts = counted.iter().map(|counted| (trace.block(counted.block).start, "the block counted".to_owned()));
        calls.chain(words).chain(counts).collect()
    };
    let (one, two) = (pick(first), pick(second));
    let differs = (0..one.len().max(two.len())).find(|n| one.get(*n) != two.get(*n)).unwrap_or(0);
    let nothing = "nothing".to_owned();
    let text = |all: &[(usize, String)]| all.get(differs).map_or(nothing.clone(), |(_, text)| text.clone());
    let index = one.get(differs).or_else(|| two.get(differs)).map_or(0, |(index, _)| *index);
    Err(format!(
        "tool {tool} instruments the same code in two ways: at {} it asked for {}, and when it was asked again, {how}, for {}. \
         `instrument` must be a pure function of the code and of the tool's options (see docs/tools.md, \"What makes the sliced result exact\")",
        place_of(trace.instructions[index].pc().0),
        text(&one),
        text(&two),
    ))
}

fn describe(call: &AnalysisCall) -> String {
    let routine = engine::routines::named(call.routine as u64);
    let test = call.test.as_ref().map_or(String::new(), |test| format!(" if {test:?}"));
    let predicated = if call.predicated { ", predicated" } else { "" };
    format!("a call of {routine} with {:?}, {:?}{predicated}{test}", call.args, call.point)
}
