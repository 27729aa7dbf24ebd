//! Instructions that were begun and are finished later.
//!
//! Three things stop translated code in the middle of an instruction, although the app must not see that:
//!
//! * the instruction writes to code that was translated: a fault;
//! * an interruption stops `rep movsb` halfway;
//! * a signal comes after some of the tool's calls before the instruction, and before others.
//!
//! The runtime then runs that one instruction again, in a trace of its own. Example, a tool with two calls A and B:
//!
//! ```text
//!     A   B   mov [code], 1 → fault          first try: A and B were made
//!             mov [code], 1                  a trace that is used once: no calls are left
//! ```
//!
//! Named invariant *once*: no call is made twice, and no word is written twice with another value. Block counts are the exception: they are
//! taken back when the trace is left, and counted again.
//!
//! What was stopped in the middle of a block goes on there: see `rest`.

use machine::{AppPc, CachePc};
use translator::abi::{PcSource, SpaceId, TraceId, WORD};

use super::next::Next;
use super::rest::{Block, Rest};
use crate::cache::{Cache, Found};
use crate::translations::Want;

/// Where translated code was left.
pub(super) struct Left {
    /// How many calls of the instruction there have been made before it, those that are compensated not counted.
    pub(super) made: usize,
    /// Whether some have, or some for the block that it starts.
    pub(super) has_begun: bool,
    /// The block, if the app is in one: where in it, and behind the instruction there.
    pub(super) inside: Option<Inside>,
}

/// Where in a block.
pub(super) struct Inside {
    pub(super) block: Block,
    pub(super) pc: AppPc,
    pub(super) next: AppPc,
}

impl Inside {
    fn before(self) -> Rest {
        Rest { block: self.block, at: self.pc }
    }

    fn behind(self) -> Rest {
        Rest { block: self.block, at: self.next }
    }
}

/// What is known of an instruction that was begun, and of its block.
#[derive(Default)]
pub(super) struct Begun {
    /// The next trace is to hold one instruction, which is finished with it, and to be used once.
    single: bool,
    /// The trace of the last such instruction, and the cache's generation then.
    finishing: Option<(u32, TraceId)>,
    /// How many of that instruction's calls have been made already; those that are compensated don't count.
    calls_made: usize,
    /// How many of the calls of the instruction in [`Self::finishing`] were made before that trace.
    made_before: usize,
    /// An interruption that is answered when the instruction is finished.
    postponed: bool,
    /// Where the app goes on in a block, behind the instruction that is to be finished if there is one.
    rest: Option<Rest>,
    /// The last trace that is a part of a block, with the cache's generation then, and the block.
    part: Option<(u32, TraceId, Block)>,
}

impl Begun {
    /// Whether the next trace is to finish an instruction.
    pub(super) fn is_next(&self) -> bool {
        self.single
    }

    /// Whether the app is at the begin of a block, of which nothing was done.
    pub(super) fn is_idle(&self) -> bool {
        !self.single && self.rest.is_none()
    }

    /// The instruction at which translated code was left was begun, and so many of its calls have been made: the next trace finishes it.
    pub(super) fn finish(&mut self, left: Left) {
        self.single = true;
        self.calls_made = left.made;
        self.rest = left.inside.map(Inside::behind);
    }

    /// The same before an interruption is answered. So nobody sees it begin twice.
    pub(super) fn finish_first(&mut self, left: Left) {
        self.postponed = true;
        self.finish(left);
    }

    /// The app goes on where translated code was left.
    pub(super) fn go_on(&mut self, left: Left) {
        self.rest = left.inside.map(Inside::before);
    }

    /// The same after an interruption: a block of which nothing was executed is entered. Where a trace has been left that finished an instruction, the app goes on behind that.
    pub(super) fn go_on_or_enter(&mut self, left: Left) {
        let Some(inside) = left.inside else { return };
        self.rest = (inside.pc != inside.block.start).then(|| inside.before());
    }

    /// Where the app goes on in a block. It is forgotten.
    pub(super) fn take_rest(&mut self) -> Option<Rest> {
        self.rest.take()
    }

    /// The app goes on there after all.
    pub(super) fn put_back(&mut self, rest: Option<Rest>) {
        self.rest = rest;
    }

    /// The block that a trace is a part of, if it was made for that.
    pub(super) fn block_of(&self, cache: &Cache, found: Found) -> Option<&Block> {
        let (generation, id, block) = self.part.as_ref()?;
        (found == (SpaceId::Own, *id) && *generation == cache.generation()).then_some(block)
    }

    /// What the next trace is to be. `pointer`: that of the buffer, where so many bytes are free.
    pub(super) fn want(&self, (pointer, free): (u64, u64)) -> Option<Want<'_>> {
        let left = (free / WORD) as usize;
        // SAFETY: translated code wrote the words of the instruction, where the buffer pointer was taken back to, and doesn't run; behind them the buffer is mapped up to its end.
        let written = || unsafe { std::slice::from_raw_parts(pointer as *const u64, left) };
        let block = self.rest.as_ref().map(|rest| rest.block.code());
        self.single.then(|| Want::Once { made: self.calls_made, written: written(), block })
    }

    /// The trace was made that goes on in `block`.
    pub(super) fn part_is_made(&mut self, cache: &Cache, found: Found, block: Block) {
        self.part = Some((cache.generation(), found.1, block));
    }

    /// The trace was made that finishes the instruction.
    pub(super) fn is_made(&mut self, cache: &Cache, found: Found) {
        if let Some(rest) = &self.rest {
            self.part = Some((cache.generation(), found.1, rest.block.clone()));
        }
        self.single = false;
        self.finishing = Some((cache.generation(), found.1));
        self.made_before = self.calls_made;
    }

    /// How many of the calls of the instruction at `place` were made before its trace.
    pub(super) fn made_before(&self, cache: &Cache, place: CachePc) -> usize {
        if self.is_unfinished(cache, place) { self.made_before } else { 0 }
    }

    /// Whether `place`, where translated code was interrupted, lies before the end of an instruction that was begun already.
    pub(super) fn is_unfinished(&self, cache: &Cache, place: CachePc) -> bool {
        cache.locate(place).is_some_and(|at| {
            let here = at.space == SpaceId::Own && self.finishing == Some((cache.generation(), at.id));
            here && at.entry.source() == PcSource::Static && at.entry.pc == cache.trace((at.space, at.id)).pc.0
        })
    }

    /// Whether the instruction at `place`, of whose calls some have been made (`has_begun`), has begun and goes on before an interruption is answered.
    /// If it is a system call that is made for real, the host sees to it that the app doesn't wait in it for the very signal.
    pub(super) fn is_begun(&self, cache: &Cache, place: CachePc, has_begun: bool) -> bool {
        self.is_unfinished(cache, place) || has_begun && cache.locate(place).is_some()
    }

    /// Whether an interruption is to be answered before the app goes on at `next`. One that comes before the end of an instruction that
    /// was begun waits. `interrupted`: of the thread state.
    pub(super) fn is_interrupted(&mut self, cache: &Cache, interrupted: &mut u64, next: &Next) -> bool {
        if *interrupted == 0 && !self.postponed {
            return false;
        }
        self.postponed = self.single || matches!(*next, Next::Cache(place) if self.is_unfinished(cache, place));
        *interrupted = u64::from(!self.postponed);
        !self.postponed
    }
}
