//! Several tools that look at one run.
//!
//! ```text
//!   translated code ── calls ──► routines of each, with its local state
//!                   └─ words ──► buffer: │ tool, how many │ words … │ tool, … │  ── drain ──► each tool's own
//!   counters of blocks: one for all that want to know, which says who they are
//! ```
//! Named invariant *as alone*: a tool is told, calls and counts what it would if there were no other. What tools must see alike for that the control process has
//! looked at (`supervisor/src/processes/together.rs`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::take;

use engine::block_counts;
use slice_runtime::{AppImage, AppThread, Happened, RunningTool, SignalChange, SystemCall, ThreadChange};
use translator::trace::{AnalysisCall, Arg, Buffered, Counted, Trace};

use super::joined;
use super::share::Share;

/// Where the tool stands in the word before its own.
const TOOL: u32 = 16;

/// One of the tools.
pub struct Member {
    /// Itself.
    pub tool: Box<dyn RunningTool>,
    /// What of the process it has.
    pub share: Share,
    /// It sees each thread by itself.
    pub each_thread: bool,
}

/// Tools that look at one run.
pub fn together(members: Vec<Member>) -> Box<dyn RunningTool> {
    let words = RefCell::new(vec![Vec::new(); members.len()]);
    Box::new(Together { members, words })
}

struct Together {
    members: Vec<Member>,
    /// Words of each that are handed over: kept for their memory.
    words: RefCell<Vec<Vec<u64>>>,
}

impl Together {
    fn tools(&self) -> impl Iterator<Item = &dyn RunningTool> {
        self.members.iter().map(|member| &*member.tool)
    }

    /// Words that are in the buffer are of several tools, and a tool that takes them itself would take those of others.
    fn take_words(&self) {
        engine::stream::take(|words| self.drain(words));
    }

    /// Has a tool do something that may ask for counts of blocks.
    fn ask<R>(&self, Member { tool, share, each_thread }: &Member, act: impl FnOnce(&dyn RunningTool) -> R) -> R {
        let are_by_thread = self.members.iter().any(|member| member.each_thread);
        block_counts::by(share.tool, || match are_by_thread && !each_thread {
            true => block_counts::of_all(|| act(&**tool)),
            false => act(&**tool),
        })
    }
}

impl RunningTool for Together {
    fn instrument(&self, trace: &mut Trace) {
        let mut calls = take(&mut trace.calls);
        let (mut buffered, mut counted) = (Vec::new(), BTreeMap::<usize, u32>::new());
        for (number, Member { tool, .. }) in self.members.iter().enumerate() {
            tool.instrument(trace);
            calls.append(&mut trace.calls);
            buffered.extend(take(&mut trace.buffered).into_iter().map(|words| of_tool(number, words)));
            for Counted { block, tools } in take(&mut trace.counted) {
                *counted.entry(block).or_default() |= tools;
            }
        }
        buffered.sort_by_key(|words| words.index);
        (trace.calls, trace.buffered) = (calls, buffered);
        trace.counted = counted.into_iter().map(|(block, tools)| Counted { block, tools }).collect();
    }

    fn begins(&self, executed: u64) {
        self.tools().for_each(|tool| tool.begins(executed));
    }

    fn count(&self, trace: &Trace) -> Vec<AnalysisCall> {
        self.tools().flat_map(|tool| tool.count(trace)).collect()
    }

    fn were_counted(&self, before: &[u8]) -> Result<(), String> {
        self.tools().try_for_each(|tool| tool.were_counted(before))
    }

    fn counted(&self, out: &mut [u8]) -> Result<usize, String> {
        // One of them counts at most.
        self.tools().try_fold(0, |len, tool| Ok(len.max(tool.counted(out)?)))
    }

    fn patience(&self) -> u32 {
        // They take as long as all of them together.
        self.tools().map(RunningTool::patience).sum()
    }

    fn reads_flags(&self) -> bool {
        self.tools().any(RunningTool::reads_flags)
    }

    fn wants_each_repetition(&self) -> bool {
        self.tools().any(RunningTool::wants_each_repetition)
    }

    fn wants_images(&self) -> bool {
        self.tools().any(RunningTool::wants_images)
    }

    fn image(&self, image: AppImage, what: Happened) {
        self.take_words();
        self.tools().for_each(|tool| tool.image(image, what));
    }

    fn wants_calls(&self) -> bool {
        self.tools().any(RunningTool::wants_calls)
    }

    fn call(&self, call: &SystemCall) {
        self.take_words();
        self.tools().for_each(|tool| tool.call(call));
    }

    fn wants_signals(&self) -> bool {
        self.tools().any(RunningTool::wants_signals)
    }

    fn signal(&self, what: SignalChange) {
        self.take_words();
        self.tools().for_each(|tool| tool.signal(what));
    }

    fn begins_with(&self, thread: &AppThread) {
        self.tools().for_each(|tool| tool.begins_with(thread));
    }

    fn switch(&self, to: &AppThread) {
        self.take_words();
        self.tools().for_each(|tool| tool.switch(to));
    }

    fn thread_ends(&self) {
        self.take_words();
        self.members.iter().for_each(|member| self.ask(member, |tool| tool.thread_ends()));
    }

    fn wants_threads(&self) -> bool {
        self.tools().any(RunningTool::wants_threads)
    }

    fn thread(&self, thread: &AppThread, what: ThreadChange<'_>) {
        self.take_words();
        self.tools().for_each(|tool| tool.thread(thread, what));
    }

    fn drain(&self, words: &[u64]) {
        let mut own = self.words.borrow_mut();
        own.iter_mut().for_each(Vec::clear);
        sort_out(words, &mut own);
        for (tool, words) in self.tools().zip(own.iter()).filter(|(_, words)| !words.is_empty()) {
            tool.drain(words);
        }
    }

    fn begin_anew(&self) {
        self.members.iter().for_each(|member| self.ask(member, |tool| tool.begin_anew()));
    }

    fn finish(&self, out: &mut [u8]) -> Result<usize, String> {
        self.take_words();
        joined::join(out, &self.members, |member, out| self.ask(member, |tool| tool.finish(out)))
    }
}

/// Words, with a word before them that says whose they are.
fn of_tool(number: usize, Buffered { index, mut words }: Buffered) -> Buffered {
    words.insert(0, Arg::Const((number << TOOL | words.len()) as u64));
    Buffered { index, words }
}

/// Adds each tool's words to its own.
fn sort_out(mut words: &[u64], own: &mut [Vec<u64>]) {
    while let Some((head, rest)) = words.split_first() {
        let (of_tool, next) = rest.split_at((head & ((1 << TOOL) - 1)) as usize);
        own[(head >> TOOL) as usize].extend_from_slice(of_tool);
        words = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_gets_its_own_words() {
        let value = |arg: &Arg| match arg {
            Arg::Const(value) => *value,
            other => panic!("{other:?}"),
        };
        let written = [(0, vec![7]), (2, vec![8, 9]), (0, vec![]), (1, vec![0]), (2, vec![10])].map(|(tool, words)| {
            let words = words.into_iter().map(Arg::Const).collect();
            of_tool(tool, Buffered { index: 3, words })
        });
        let words: Vec<u64> = written.iter().flat_map(|buffered| buffered.words.iter().map(value)).collect();
        let mut own = vec![Vec::new(); 3];
        sort_out(&words, &mut own);
        assert_eq!(own, [vec![7], vec![0], vec![8, 9, 10]]);
    }
}
