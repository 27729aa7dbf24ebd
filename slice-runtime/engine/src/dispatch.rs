//! Finding the translation of an app pc, making it if there is none, and connecting traces.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use bubble::switches::{Off, Optimisation};
use isa::Kind;
use machine::{AppPc, CachePc, flags};
use translator::abi::{Exit, ExitKind, SpaceId, TraceId};
use translator::emit::{self, Lookup, Rules, Shape, Site, Translation};
use translator::liveness::Ahead;
use translator::routines::merge_counters;
use translator::trace::{self, FetchFault, Limits, MAX_BYTES};

use crate::end::End;
use crate::engine::Engine;
use crate::gateway;
use crate::guest::{Fault, Flow, Guest};
use crate::pages::PAGE;
use crate::regions::Regions;
use crate::tables::Trace;

/// `si_code` of faults.
const ILL_ILLOPN: i32 = 2;
const SEGV_MAPERR: i32 = 1;
const SEGV_ACCERR: i32 = 2;
/// Trap numbers of faults.
const TRAP_INVALID_OPCODE: u64 = 6;
pub(crate) const TRAP_PAGE_FAULT: u64 = 14;

/// Every so-manieth translation is timed.
const TIMED: u64 = 16;

/// Bytes before the end of a mapping in which a trace may want to go on behind it. One that starts before them ends there.
const NEAR_END: u64 = 128;

/// `len` bytes of code at `pc`.
fn code_at(pc: AppPc, len: u64) -> &'static [u8] {
    // SAFETY: the callers have found mappings that are readable up to there. The app, which alone could change them, doesn't run meanwhile; the
    // slice is used only before it does.
    unsafe { std::slice::from_raw_parts(pc.0 as *const u8, len as usize) }
}

/// A place in a code space.
pub type Found = (SpaceId, TraceId);

/// Why a translation isn't there.
pub(crate) enum Failed {
    /// The space is full.
    Full,
    /// The app faults when it fetches the code.
    Fetch(FetchFault),
    /// An instruction can't be translated.
    Untranslatable(String),
}

impl Engine {
    /// The trace for the app's `rip`; `None` if the guest wants to leave.
    pub(crate) fn dispatch(&mut self, guest: &mut dyn Guest) -> Option<Found> {
        self.leave_failed_targets();
        loop {
            let pc = AppPc(self.cpu().registers.rip);
            if let Some(found) = self.find(pc) {
                self.stats.shared_hits += u64::from(found.0 == SpaceId::Shared);
                return Some(found);
            }
            let flow = match self.make(pc, guest) {
                Ok(found) => return Some(found),
                Err(Failed::Full) => {
                    self.flush_own();
                    continue;
                }
                Err(Failed::Fetch(fault)) => {
                    let fault = self.fetch_fault(fault, pc);
                    let cpu = self.cpu_unbound();
                    guest.fault(&fault, cpu, self)
                }
                Err(Failed::Untranslatable(reason)) => guest.unsupported(&reason, self.cpu_unbound(), self),
            };
            if flow == Flow::Leave {
                return None;
            }
        }
    }

    /// The fault that the app gets when it executes at `pc`. What can't be fetched is the first byte of the instruction that
    /// can't be, which may lie on the next page.
    fn fetch_fault(&mut self, fault: FetchFault, pc: AppPc) -> Fault {
        let invalid = (libc::SIGILL, ILL_ILLOPN, TRAP_INVALID_OPCODE, 0, pc.0);
        let unreachable = pc.0.saturating_add(self.code_bytes(pc).len() as u64);
        let (signal, code, trap, error_code, address) = match fault {
            FetchFault::Invalid => invalid,
            FetchFault::Unreachable if self.regions.find(unreachable).is_some() => {
                (libc::SIGSEGV, SEGV_ACCERR, TRAP_PAGE_FAULT, 0x15, unreachable)
            }
            FetchFault::Unreachable => (libc::SIGSEGV, SEGV_MAPERR, TRAP_PAGE_FAULT, 0x14, unreachable),
        };
        // SAFETY: siginfo_t is plain data for which zero is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        info.si_signo = signal;
        info.si_code = code;
        // SAFETY: the address of a fault lies after the three leading integers and their padding (kernel ABI).
        unsafe { (&raw mut info).cast::<u64>().add(2).write(address) };
        Fault { signal, info, error_code, trap, address: if signal == libc::SIGSEGV { address } else { 0 } }
    }

    pub(crate) fn find(&mut self, pc: AppPc) -> Option<Found> {
        if self.single {
            return None;
        }
        if let Some(id) = self.own.tables.find(pc)
            && (!self.is_compared(SpaceId::Own, id) || self.is_still_current(id))
        {
            return Some((SpaceId::Own, id));
        }
        let tables = self.shared.as_ref()?.tables;
        let id = tables.find(pc)?;
        (!self.hidden.contains(&id) && self.is_shared(pc)).then_some((SpaceId::Shared, id))
    }

    /// The shared trace that starts at `pc`, if this process must not run it.
    fn hidden_at(&self, pc: AppPc) -> Option<TraceId> {
        let id = self.shared.as_ref()?.tables.find(pc)?;
        self.hidden.contains(&id).then_some(id)
    }

    /// Whether a trace is compared with its app code when it is entered.
    fn is_compared(&self, space: SpaceId, id: TraceId) -> bool {
        let trace = self.space(space).tables.trace(id);
        self.regions.pages.are_compared(trace.pc.0, trace.pc.0 + u64::from(trace.app_len))
    }

    /// Compares this process's own trace. It is dropped if it isn't what it was made from any more, and if it needn't be compared again.
    fn is_still_current(&mut self, id: TraceId) -> bool {
        let trace = self.own.tables.trace(id);
        let (pc, len, hash) = (trace.pc, trace.app_len as usize, trace.code_hash);
        let bytes = self.code_bytes(pc);
        let is_current = bytes.len() >= len && hash_of(&bytes[..len]) == hash;
        let end = pc.0 + len as u64;
        if self.regions.pages.were_compared(pc.0, end, is_current) {
            self.drop_own(pc.0 & !(PAGE - 1), end.next_multiple_of(PAGE));
            return false;
        }
        if !is_current {
            self.drop_trace(id);
        }
        is_current
    }

    /// Whether a new trace for `pc` would be shared.
    pub(crate) fn makes_shared(&mut self, pc: AppPc) -> bool {
        let is_end = self.end.as_ref().is_some_and(|end| end.registers.rip == pc.0);
        !is_end && self.hidden_at(pc).is_none() && !self.single && self.is_shared(pc)
    }

    /// Whether the code at `pc` is translated for all slices.
    pub(crate) fn is_shared(&mut self, pc: AppPc) -> bool {
        let Some(shared) = &self.shared else { return false };
        !self.regions.pages.is_protected(pc.0) && self.regions.shared(pc.0, &shared.tables)
    }

    fn make(&mut self, pc: AppPc, guest: &mut dyn Guest) -> Result<Found, Failed> {
        if self.makes_shared(pc) {
            match self.make_in(SpaceId::Shared, pc, guest) {
                // An instruction that runs across the mapping's end is translated for this process alone.
                Err(Failed::Full | Failed::Fetch(FetchFault::Unreachable)) => {}
                made => return made,
            }
        }
        self.make_in(SpaceId::Own, pc, guest)
    }

    pub(crate) fn make_in(&mut self, space: SpaceId, pc: AppPc, guest: &mut dyn Guest) -> Result<Found, Failed> {
        // Not the first: it meets cold caches, and would count for many.
        let start = (self.stats.traces % TIMED == TIMED / 2).then(Instant::now);
        let tables = self.space(space).tables;
        let locked = tables.lock();
        if space == SpaceId::Shared {
            // Another slice may have made it while we waited.
            if let Some(id) = tables.find(pc) {
                self.stats.shared_hits += 1;
                return Ok((space, id));
            }
            self.stats.shared_misses += 1;
        }
        let trace = self.select(space, pc, guest)?;
        let through_slot = self.through_slot(space, &locked, &trace);
        let code_len = trace.instructions.iter().map(isa::Instruction::len).sum::<usize>();
        // An instruction that is only finished was begun elsewhere than at the end.
        let checks = space == SpaceId::Own && !self.single;
        let check = self.end.as_ref().filter(|end| checks && end.registers.rip == pc.0).map(End::check);
        if let Some(check) = &check {
            self.thread().note_end(check.conditions.iter().map(|condition| condition.value()));
        }
        let site = self.site(space, &locked);
        let lookup = self.lookup_for(&trace);
        let exact_faults = self.settings.exact_faults;
        let shared = self.shared.as_ref().map(|shared| shared.tables);
        let counters = shared.as_ref().map_or(&self.counters, |tables| &tables.header().counters);
        let off = self.settings.off;
        // As in `may_enter_directly`. A check at the head is made each time.
        let compared = self.regions.pages.are_compared(pc.0, pc.0 + code_len as u64);
        let loops = self.settings.linking && !self.single && check.is_none() && !compared;
        let inspects = compared && !self.single && self.regions.pages.change_elsewhere(pc.0, pc.0 + code_len as u64);
        let regions = &mut self.regions;
        let live_at = &mut |at| live_flags_at(regions, at, pc, exact_faults, off);
        let replays = self.settings.replays;
        let once = self.single;
        let inspected = inspects.then(|| self_code(pc, code_len));
        let rules = Rules { off, exact_faults, replays, counters, doors: gateway::doors(), known: &self.known };
        let shape = Shape { loops, once, inspected, check: check.as_ref(), lookup, through_slot };
        let made = emit::translate(&trace, site, rules, shape, live_at, &mut self.spare)
            .map_err(|e| Failed::Untranslatable(e.to_string()))?;
        self.stats.traces += 1;
        self.stats.instructions += trace.instructions.len() as u64;
        let id = self.keep(space, &locked, pc, code_len, &made, !self.single)?;
        drop(locked);
        self.spare.take_back(made);
        self.spare.instructions = trace.instructions;
        if std::mem::take(&mut self.single) {
            self.finishing = Some(id);
            self.made_before = self.calls_made;
        }
        if let Some(start) = start {
            self.stats.translate_ns += TIMED * start.elapsed().as_nanos() as u64;
        }
        Ok((space, id))
    }

    /// How the trace's indirect branch finds its target. Where it may go, or come back to, is made ready for.
    fn lookup_for(&mut self, trace: &trace::Trace) -> Lookup {
        if !self.targets.are_used() {
            return Lookup::Landings;
        }
        let last = trace.instructions.last().expect("a trace has an instruction");
        self.targets.expect_all(trace.head(), last.next_pc());
        let asks = self.settings.off.leaves(Optimisation::Prefetch) && matches!(last.kind(), Kind::Call { .. });
        Lookup::Targets { ask_for: if asks { self.targets.ask_for(last.next_pc()) } else { None } }
    }

    /// Selects and instruments the trace at `pc`, and watches its pages if they can be written.
    fn select(&mut self, space: SpaceId, pc: AppPc, guest: &mut dyn Guest) -> Result<trace::Trace, Failed> {
        if (pc.0 << 16) as i64 >> 16 != pc.0 as i64 {
            // The fault is the branch's, which can't be told any more.
            return Err(Failed::Untranslatable(format!("a branch to {pc}, an address that nothing can have")));
        }
        let region = self.regions.find(pc.0).filter(|r| r.execute && r.read);
        let Some(region) = region.cloned() else { return Err(Failed::Fetch(FetchFault::Unreachable)) };
        if self.regions.may_change_elsewhere(&region) {
            self.regions.pages.distrust(pc.0, pc.0 + 2 * PAGE);
        }
        let mut ends = Vec::from_iter(self.end.as_ref().map(|end| end.registers.rip));
        if space == SpaceId::Shared {
            // Whoever adds one holds the lock, as the caller does. Nearly always there is none near here.
            let all = self.space(space).tables.of_one_run().ends.iter().map(|end| end.load(Ordering::Relaxed));
            ends.extend(all.filter(|end| end.wrapping_sub(pc.0) < MAX_BYTES));
        }
        let is_end = |pc: AppPc| ends.contains(&pc.0);
        // What is behind the mapping has to be asked for each time where nothing is, as behind a page of a compiler's.
        let left = region.file.end - pc.0;
        let mut bytes = if left < NEAR_END { self.code_bytes(pc) } else { code_at(pc, left.min(PAGE)) };
        if space == SpaceId::Shared {
            // Shared code stays inside its mapping.
            bytes = &bytes[..bytes.len().min((region.file.end - pc.0) as usize)];
        }
        let mut instructions = emit::emptied(&mut self.spare.instructions);
        let mut compared = self.regions.pages.are_compared(pc.0, pc.0 + 1);
        // A translation that compares itself does so once, whatever its length: nothing in it writes.
        let by_itself = self.regions.pages.change_elsewhere(pc.0, pc.0 + 1);
        let (mut trace, code_end) = loop {
            let limits = Limits {
                blocks: if compared && !by_itself { 1 } else { self.settings.max_blocks },
                instructions: if self.single { 1 } else { self.settings.max_instructions },
                stop_after_write: compared,
            };
            let mut trace = trace::select(pc, bytes, limits, is_end, instructions).map_err(Failed::Fetch)?;
            let code_end = trace.instructions.last().expect("a trace has an instruction").next_pc().0;
            if compared || !self.regions.pages.are_compared(pc.0, code_end) {
                break (trace, code_end);
            }
            // It runs into a page that is compared.
            compared = true;
            instructions = emit::emptied(&mut trace.instructions);
        };
        if self.regions.any_writable(pc.0, code_end) {
            self.regions.pages.watch(pc.0, code_end);
        }
        guest.instrument(&mut trace);
        if self.single {
            self.leave_out_what_was_done(&mut trace);
        }
        if self.settings.off.leaves(Optimisation::Merge) {
            merge_counters(&mut trace, &self.known);
        }
        Ok(trace)
    }

    /// Readable code from `pc` on.
    pub(crate) fn code_bytes(&mut self, pc: AppPc) -> &'static [u8] {
        // An instruction may run across the border of two mappings: pages that we protect are mappings of their own.
        let len = self.regions.code_end(pc.0, pc.0.saturating_add(PAGE)) - pc.0;
        code_at(pc, len)
    }

    pub(crate) fn site(&self, space: SpaceId, locked: &crate::tables::Locked<'_>) -> Site {
        // Traces start at 16 bytes: cheap for the fetcher, and five bytes of a neighbour are never patched.
        // Behind a landing that leads there without a jump one starts at once.
        let next = locked.next_code();
        let offset = if self.behind == Some((space, next)) { next } else { next.next_multiple_of(16) };
        Site {
            space,
            offset,
            pc: self.space(space).pc(offset),
            stubs_end: self.space(space).pc((self.space(space).limit - u64::from(locked.stub_bytes())) as u32),
            first_exit: locked.next_exit(),
            arena: locked.next_arena(),
        }
    }

    pub(crate) fn keep(
        &mut self,
        space: SpaceId,
        locked: &crate::tables::Locked<'_>,
        pc: AppPc,
        app_len: usize,
        made: &Translation,
        findable: bool,
    ) -> Result<TraceId, Failed> {
        let site = self.site(space, locked);
        let code = self.space(space);
        let stubs = code.limit as u32 - locked.stub_bytes() - made.stubs.len() as u32;
        let fits = site.offset as usize + made.code.len() <= stubs as usize;
        if !fits || !locked.has_room(made.exits.len(), made.arena.len()) {
            return Err(Failed::Full);
        }
        code.write(locked, site.offset, &made.code);
        code.write(locked, stubs, &made.stubs);
        locked.write_exits(&made.exits);
        locked.write_arena(&made.arena);
        let trace = Trace {
            pc,
            app_len: app_len as u32,
            start: site.offset,
            size: made.code.len() as u32,
            stubs,
            map: made.map,
            map_len: made.map_len,
            dead: AtomicU32::new(0),
            next_in_page: 0,
            block_calls: made.block_calls,
            buffer_marks: made.buffer_marks,
            call_marks: made.call_marks,
            landings: Default::default(),
            inspects: u32::from(made.inspects),
            code_hash: hash_of(self_code(pc, app_len)),
        };
        self.stats.cache_bytes += (made.code.len() + made.stubs.len()) as u64;
        Ok(locked.publish(trace, made.stubs.len(), made.exits.len(), made.arena.len(), findable))
    }

    /// Cache pc of a trace.
    pub(crate) fn entry_of(&self, space: SpaceId, id: TraceId) -> CachePc {
        let code = self.space(space);
        code.pc(code.tables.trace(id).start)
    }

    /// Whether other traces may jump to this one without the dispatcher's knowledge.
    pub(crate) fn may_enter_directly(&self, space: SpaceId, id: TraceId) -> bool {
        let trace = self.space(space).tables.trace(id);
        let once = space == SpaceId::Own && self.own.tables.find(trace.pc) != Some(id);
        self.settings.linking && !once && (trace.inspects == 1 || !self.is_compared(space, id))
    }

    /// Patches an exit so that it goes straight to its target.
    ///
    /// Shared code can't go to this process's own. But where that stands in for a hidden trace, the link may go to the hidden
    /// trace, whose entry leads on for this process.
    pub(crate) fn link(&mut self, from: SpaceId, exit: &Exit, to: SpaceId, id: TraceId) {
        let (to, id) = match (from, to, self.hidden_at(exit.pc)) {
            (SpaceId::Shared, SpaceId::Own, Some(hidden)) => (SpaceId::Shared, hidden),
            _ => (to, id),
        };
        if !self.may_enter_directly(to, id) {
            return;
        }
        if from == SpaceId::Shared {
            let code = self.space(from);
            let inside = self.regions.same(code.tables.trace(exit.from).pc.0, exit.pc.0);
            if to == SpaceId::Own || !inside {
                return;
            }
        }
        self.note_entrance(to, id);
        self.space(from).link(exit.site, self.entry_of(to, id));
    }

    /// Arithmetic flags that may be read after the app comes to `pc`.
    pub(crate) fn live_flags_at(&mut self, pc: AppPc) -> u64 {
        live_flags_at(&mut self.regions, pc, pc, self.settings.exact_faults, self.settings.off)
    }
}

fn live_flags_at(regions: &mut Regions, at: AppPc, from: AppPc, exact_faults: bool, off: Off) -> u64 {
    if !off.leaves(Optimisation::Ahead) {
        return flags::ARITHMETIC;
    }
    if !regions.same(at.0, from.0) {
        return flags::ARITHMETIC;
    }
    let remembers = off.leaves(Optimisation::Remember);
    if let Some(found) = regions.findings.get(at).filter(|_| remembers) {
        return found;
    }
    let found = Ahead::new(|pc: AppPc| regions.constant_code(pc.0, from.0), exact_faults).live_flags(at);
    if remembers {
        regions.findings.put(at, found);
    }
    found
}

fn self_code(pc: AppPc, len: usize) -> &'static [u8] {
    // SAFETY: the code was just decoded from there, and the slice is used before anything can change it.
    unsafe { std::slice::from_raw_parts(pc.0 as *const u8, len) }
}

/// As FNV-1a, by words of eight bytes.
fn hash_of(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let mixed = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

const _: () = assert!(size_of::<ExitKind>() == 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_ahead_are_remembered() {
        let code = AppPc(live_flags_at as *const () as u64);
        for off in [Off::default(), Off::default().and(Optimisation::Remember)] {
            let mut regions = Regions::default();
            let found = live_flags_at(&mut regions, code, code, true, off);
            assert_eq!(regions.findings.get(code), off.leaves(Optimisation::Remember).then_some(found));
        }
    }
}
