//! Finding the translation of an app pc, and making it if there is none.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bubble::switches::{Off, Optimisation};
use isa::{Instruction, Kind};
use machine::{AppPc, PAGE};
use translator::abi::SpaceId;
use translator::emit::{self, Check, Rules, Shape, ThroughPointer};
use translator::routines::merge_counters;
use translator::trace::{
    self, Border, FetchFault, Instrument, Limits, MAX_BYTES, Selected, Trace, jump_instead, leave_out, leave_part,
};

use super::engine::Engine;
use super::point::{EndPlace, EndPoint};
use crate::cache::{Found, Locked};
use crate::coherence::code_at;
use crate::{gateway, log};

/// Every so-manieth translation is timed.
const TIMED: u64 = 16;

/// Bytes before the end of a mapping in which a trace most probably wants to go on behind it.
const NEAR_END: u64 = 128;

/// Why a translation isn't there.
#[derive(Debug)]
pub enum Failed {
    /// The space is full.
    Full,
    /// The app faults when it fetches the code.
    Fetch(FetchFault),
    /// An instruction can't be translated.
    Untranslatable(String),
}

/// What is to be made.
#[derive(Clone, Copy)]
pub enum Want<'a> {
    /// A trace.
    Trace {
        /// Space and cache offset behind an IBL stub whose trace is to start there.
        behind: Option<(SpaceId, u32)>,
    },
    /// What is left of one instruction that was begun: to be used once.
    Once {
        /// How many of its calls have been made.
        made: usize,
        /// The words that were written for it, and perhaps others behind them.
        written: &'a [u64],
        /// Where the block begins that it is a part of, and its code, if that is known.
        block: Option<(AppPc, &'a [u8])>,
    },
    /// What is left of a block that was begun: to be used once.
    Rest {
        /// Where the block begins, and its code.
        block: (AppPc, &'a [u8]),
    },
}

impl Want<'_> {
    fn is_once(&self) -> bool {
        matches!(self, Want::Once { .. })
    }

    /// Whether it isn't the whole of what a tool has instrumented: nobody else may enter it.
    fn is_part(&self) -> bool {
        !matches!(self, Want::Trace { .. })
    }

    /// The block that it is a part of: where it begins, and its code.
    fn block(&self) -> Option<(AppPc, &[u8])> {
        match *self {
            Want::Trace { .. } => None,
            Want::Once { block, .. } => block,
            Want::Rest { block } => Some(block),
        }
    }

    fn behind(&self) -> Option<(SpaceId, u32)> {
        match *self {
            Want::Trace { behind } => behind,
            Want::Once { .. } | Want::Rest { .. } => None,
        }
    }
}

/// What was made.
pub struct Made {
    /// The trace.
    pub found: Found,
    /// What is compared before it, if it starts at the end: the thread state is to have the values.
    pub check: Option<Check>,
}

/// Whether there may be more where `left` bytes of a mapping weren't enough.
fn may_go_on(selected: &Result<Selected, FetchFault>, left: u64) -> bool {
    let ran_out = match selected {
        Ok(selected) => selected.is_cut,
        Err(fault) => *fault == FetchFault::Unreachable,
    };
    ran_out && left < PAGE
}

/// The instructions of a block that are to be translated: from `pc` on.
fn part_of(trace: &Trace, pc: AppPc, want: Want<'_>) -> Range<usize> {
    let here = trace.instructions.iter().position(|instruction| instruction.pc() == pc);
    let here = here.expect("the app is at an instruction of the block");
    here..if want.is_once() { here + 1 } else { trace.instructions.len() }
}

/// Where the code ends that is to be translated.
fn watched_end(trace: &Trace, pc: AppPc, want: Want<'_>) -> u64 {
    let end = if want.block().is_some() { part_of(trace, pc, want).end } else { trace.instructions.len() };
    trace.instructions[end - 1].next_pc().0
}

impl Engine {
    /// The trace for `pc`, if there is one that may be entered.
    pub(crate) fn find(&mut self, pc: AppPc) -> Option<Found> {
        if let Some(id) = self.cache.own().tables.find(pc) {
            let found = (SpaceId::Own, id);
            if !self.is_compared(found) || self.is_still_current(found) {
                return Some(found);
            }
        }
        let id = self.cache.shared().filter(|_| !self.has_left_shared)?.tables.find(pc)?;
        (!self.points.is_hidden(id) && self.is_shared(pc)).then_some((SpaceId::Shared, id))
    }

    /// Compares this process's own trace. It is dropped if it isn't what it was made from any more, and if it needn't be compared again.
    fn is_still_current(&mut self, found: Found) -> bool {
        let trace = self.cache.trace(found);
        let (pc, end) = (trace.pc, trace.pc.0 + u64::from(trace.app_len));
        let is_current = self.cache.is_made_from(found.1, self.code.bytes(pc));
        if self.code.were_compared(pc.0, end, is_current) {
            self.drop_own(pc.0 & !(PAGE - 1), end.next_multiple_of(PAGE));
            return false;
        }
        if !is_current {
            self.drop_trace(found.1);
        }
        is_current
    }

    /// Makes a trace for `pc`.
    ///
    /// # Errors
    /// If there is no room, no code, or an instruction that can't be translated.
    pub(crate) fn make(&mut self, pc: AppPc, want: Want<'_>, tool: &dyn Instrument) -> Result<Made, Failed> {
        if !want.is_part() && self.makes_shared(pc) {
            match self.make_in(SpaceId::Shared, pc, want, tool) {
                // A block that runs across the mapping's end, or has an end at its start or in its middle, is translated for this process alone.
                Err(Failed::Full | Failed::Fetch(FetchFault::Unreachable)) => {}
                made => return made,
            }
        }
        self.make_in(SpaceId::Own, pc, want, tool)
    }

    pub(super) fn make_in(
        &mut self,
        space: SpaceId,
        pc: AppPc,
        want: Want<'_>,
        tool: &dyn Instrument,
    ) -> Result<Made, Failed> {
        // Not the first: it meets cold caches, and would count for many.
        let start = (self.stats.traces % TIMED == TIMED / 2).then(Instant::now);
        let tables = self.cache.space(space).tables;
        let locked = tables.lock();
        if space == SpaceId::Shared {
            // Another slice may have made it while we waited.
            if let Some(id) = tables.find(pc) {
                self.stats.shared_hits += 1;
                return Ok(Made { found: (space, id), check: None });
            }
            if self.is_end_of_another(pc) {
                return Err(Failed::Fetch(FetchFault::Unreachable));
            }
            self.stats.shared_misses += 1;
        }
        let trace = self.select(space, pc, want, tool)?;
        let (once, part) = (want.is_once(), want.is_part());
        let through_pointer = if part { None } else { self.through_pointer(space, &locked, &trace) };
        let code_len = trace.instructions.iter().map(Instruction::len).sum::<usize>();
        let code_end = pc.0 + code_len as u64;
        // An instruction that is only finished was begun elsewhere than at the end.
        let end = self.points.end().filter(|_| space == SpaceId::Own && !once);
        let starts_block = !matches!(want, Want::Rest { .. });
        let check = end.and_then(|end| Some((end.place().index_in(&trace, starts_block)?, end.check())));
        let stop = self.settings.watched.stops_at.filter(|_| space == SpaceId::Own);
        let stop = stop.and_then(|pc| trace.instructions.iter().position(|i| i.pc() == AppPc(pc)));
        let site = self.cache.site(space, &locked, want.behind());
        let lookup = self.links.lookup_for(&trace);
        let (off, exact_faults, replays) = (self.settings.off, self.settings.exact_faults, self.settings.replays);
        let each_repetition = self.settings.each_repetition;
        // As in `may_enter_directly`. A check at the head is made each time.
        let compared = self.code.are_compared(pc.0, code_end);
        let loops = self.settings.linking && !part && check.is_none() && stop.is_none() && !compared;
        let self_checks = compared && !part && self.code.change_elsewhere(pc.0, code_end);
        // It was just decoded from there, and is used before anything can change it, other threads but for.
        let decoded = self.deferred.others_run().then(|| trace.instructions.iter().flat_map(|i| i.bytes().to_vec()));
        let decoded: Option<Vec<u8>> = decoded.map(Iterator::collect);
        let code_bytes = decoded.as_deref().unwrap_or_else(|| code_at(pc, code_len as u64));
        let self_checked = self_checks.then_some(code_bytes);
        let rewritten = (compared && !once).then_some(code_bytes);
        let code = &mut self.code;
        let live_at = &mut |at| code.live_flags_at(at, pc, exact_faults, off);
        let (counters, known) = (self.cache.counters(), &self.known);
        let rules = Rules { off, exact_faults, replays, each_repetition, counters, doors: gateway::doors(), known };
        let checked = check.as_ref().map(|(index, check)| (*index, check));
        let shape = Shape { loops, once, part, self_checked, rewritten, check: checked, stop, lookup, through_pointer };
        let made = emit::translate(&trace, site, rules, shape, live_at, &mut self.spare)
            .map_err(|e| Failed::Untranslatable(e.to_string()))?;
        self.stats.traces += 1;
        self.stats.instructions += trace.instructions.len() as u64;
        let kept = self.cache.keep(&site, &locked, (pc, code_bytes), &made, !part);
        let id = kept.map_err(|_| Failed::Full)?;
        drop(locked);
        let place = || self.code.find(pc.0).and_then(|region| region.place(pc.0));
        log::translated(&self.settings.watched, id, &trace, &made, &site, place);
        self.spare.take_back(made);
        self.spare.instructions = trace.instructions;
        if let Some(start) = start {
            self.stats.translate_ns += TIMED * start.elapsed().as_nanos() as u64;
        }
        Ok(Made { found: (space, id), check: check.map(|(_, check)| check) })
    }

    /// Whether another slice looks for its end before this instruction: it might come to a shared trace that starts there without knowing of it.
    fn is_end_of_another(&self, pc: AppPc) -> bool {
        let Some(tables) = self.cache.shared_tables() else { return false };
        let mut ends = tables.of_one_run().ends.iter().enumerate();
        ends.any(|(slot, end)| slot != self.settings.slot && EndPlace::decoded(end.load(Ordering::Relaxed)).pc == pc)
    }

    /// Selects and instruments the trace at `pc`, and watches its pages if they can be written.
    fn select(&mut self, space: SpaceId, pc: AppPc, want: Want<'_>, tool: &dyn Instrument) -> Result<Trace, Failed> {
        if (pc.0 << 16) as i64 >> 16 != pc.0 as i64 {
            // The fault is the branch's, which can't be told any more.
            return Err(Failed::Untranslatable(format!("a branch to {pc}, an address that nothing can have")));
        }
        let region = self.code.find(pc.0).filter(|r| r.execute && r.read);
        let Some(region) = region.cloned() else { return Err(Failed::Fetch(FetchFault::Unreachable)) };
        if self.code.may_change_elsewhere(&region) {
            self.code.expect_changes(pc.0, pc.0 + 2 * PAGE);
        }
        if region.write {
            self.code.remember_writes(pc.0);
        }
        let mut ends = Vec::from_iter(self.points.end().map(EndPoint::place));
        if space == SpaceId::Shared {
            // Whoever adds one holds the lock, as the caller does. Nearly always there is none near here.
            let all = self.cache.space(space).tables.of_one_run().ends.iter().map(|end| end.load(Ordering::Relaxed));
            ends.extend(all.map(EndPlace::decoded).filter(|end| end.pc.0.wrapping_sub(pc.0) < MAX_BYTES));
        }
        let border = |pc: AppPc| {
            let here = |end: &EndPlace| Some(end.border(pc, space)).filter(|border| *border != Border::None);
            ends.iter().find_map(here).unwrap_or(Border::None)
        };
        // What is behind the mapping has to be asked for each time where nothing is, as behind a page of a compiler's.
        let left = region.file.end - pc.0;
        let near = left < NEAR_END && space == SpaceId::Own;
        let mut bytes = if near { self.code.bytes(pc) } else { code_at(pc, left.min(PAGE)) };
        let mut start = pc;
        let block = want.block();
        if let Some(whole) = block {
            (start, bytes) = whole;
        }
        let mut instructions = emit::emptied(&mut self.spare.instructions);
        let mut compared = self.code.are_compared(pc.0, pc.0 + 1);
        // A translation that compares itself does so once, whatever its length: nothing in it writes.
        let by_itself = self.code.change_elsewhere(pc.0, pc.0 + 1);
        let mut trace = loop {
            let one = compared && !by_itself || block.is_some();
            let limits = Limits {
                blocks: if one { 1 } else { self.settings.max_blocks },
                instructions: self.settings.max_instructions,
                single: want.is_once() && block.is_none(),
                stop_after_write: compared,
                each_repetition: self.settings.each_repetition,
            };
            let selected = trace::select(start, bytes, limits, border, instructions);
            if space == SpaceId::Own && !near && !want.is_part() && may_go_on(&selected, left) {
                // The block, or its first instruction, runs across the mapping's end.
                let longer = self.code.bytes(pc);
                if longer.len() > bytes.len() {
                    (bytes, instructions) = (longer, Vec::new());
                    continue;
                }
            }
            let Selected { mut trace, is_cut } = selected.map_err(Failed::Fetch)?;
            if is_cut && space == SpaceId::Shared {
                return Err(Failed::Fetch(FetchFault::Unreachable));
            }
            let code_end = trace.instructions.last().expect("a trace has an instruction").next_pc().0;
            if compared || !self.code.are_compared(pc.0, code_end) {
                // What was read while others could write it is read again.
                if self.deferred.others_run() && self.code.watch(pc.0, watched_end(&trace, pc, want)) {
                    instructions = emit::emptied(&mut trace.instructions);
                    continue;
                }
                break trace;
            }
            // It runs into a page that is compared.
            compared = true;
            instructions = emit::emptied(&mut trace.instructions);
        };
        trace.files[0] = region.file.if_of_file();
        let whole_end = trace.instructions.last().expect("a trace has an instruction").next_pc().0;
        if whole_end > region.file.end {
            trace.files[1] = self.code.find(whole_end - 1).and_then(|region| region.file.if_of_file());
        }
        tool.instrument(&mut trace);
        jump_instead(&mut trace);
        self.code.watch(pc.0, watched_end(&trace, pc, want));
        if block.is_some() {
            let part = part_of(&trace, pc, want);
            leave_part(&mut trace, part);
        }
        if let Want::Once { made, written, .. } = want {
            leave_out(&mut trace, made, written);
        }
        if let Some((start, code)) = block {
            trace.executed = code[..(pc.0 - start.0) as usize].to_vec();
        }
        if self.settings.off.leaves(Optimisation::Merge) {
            merge_counters(&mut trace, &self.known);
        }
        Ok(trace)
    }

    /// How the trace's last instruction goes where it goes, if that is a branch through a constant pointer.
    fn through_pointer(&mut self, space: SpaceId, locked: &Locked<'_>, trace: &Trace) -> Option<ThroughPointer> {
        let last = trace.instructions.last()?;
        let pointer = emit::constant_pointer(last)?;
        let off: Off = self.settings.off;
        if !off.leaves(Optimisation::ConstantPointers) {
            return None;
        }
        let target = self.code.constant_target(pointer)?;
        match space {
            SpaceId::Own => Some(ThroughPointer::To(target)),
            // A call would have to push its return address before it is known that the constant pointer can be read.
            SpaceId::Shared if last.kind() != Kind::JumpIndirect => None,
            // Whoever jumps to a trace's start has r10 free.
            SpaceId::Shared if !self.settings.linking || !off.leaves(Optimisation::Late) => None,
            SpaceId::Shared => locked.take_link_word().map(ThroughPointer::ByLinkWord),
        }
    }
}
