//! What was written so far: code, marks, exits, and who is in which register.

use std::ops::Range;

use bubble::switches::{Off, Optimisation};
use isa::{Code, Usage};
use machine::{AppPc, CachePc, Gpr};

use super::{Lookup, Rules, Site, Spare, ThroughSlot, WordsState, emptied};
use crate::abi::{
    BlockCall, CallMark, Counters, Descriptor, Doors, Exit, ExitKind, MapEntry, NOT_BORROWED, Place, R11, Reserved,
    TraceId, as_bytes, borrowed,
};
use crate::routines::Known;
use crate::trace::{Point, Trace};

/// A register in a set of registers.
pub(in crate::emit) const fn bit(r: Gpr) -> u16 {
    1 << r as u16
}

/// The mirrored registers, one bit for each.
pub(in crate::emit) const BOTH: u16 = bit(Gpr::R10) | bit(Gpr::R9);

/// Those of r10 and r9 that are absent at the start of a trace, and may be at the end of a block.
pub(in crate::emit) fn absent_at_ends(off: Off) -> u16 {
    if off.leaves(Optimisation::Late) { BOTH } else { 0 }
}

/// What is known of a trace before its first byte is written.
pub(in crate::emit) struct Facts {
    /// What each instruction uses.
    pub(in crate::emit) usages: Vec<Usage>,
    /// For each instruction, the flags that must be preserved before it.
    pub(in crate::emit) live_flags: Vec<u64>,
    /// For each block-level call: the index of the instruction before which it is made.
    pub(in crate::emit) placed: Vec<Option<usize>>,
}

/// See the room's page.
pub(in crate::emit) struct Emitter<'a> {
    pub(in crate::emit) trace: &'a Trace,
    pub(in crate::emit) site: Site,
    pub(in crate::emit) off: Off,
    /// See [`Rules::loops`].
    pub(in crate::emit) loops: bool,
    /// See [`Rules::once`].
    pub(in crate::emit) once: bool,
    /// Whether the trace compares its app code, see `heads::self_check`.
    pub(in crate::emit) inspects: bool,
    /// See [`Rules::through_slot`].
    pub(in crate::emit) through_slot: Option<ThroughSlot>,
    pub(in crate::emit) counters: &'a Counters,
    pub(in crate::emit) known: &'a Known,
    /// See [`Rules::lookup`].
    pub(in crate::emit) lookup: Lookup,
    /// See [`Rules::doors`].
    pub(in crate::emit) doors: Doors,
    pub(in crate::emit) code: Code,
    pub(in crate::emit) stubs: Code,
    pub(in crate::emit) exits: Vec<Exit>,
    /// Exits whose stub is still to be written: number, offset in `code` of the rel32 that goes to it, and the app pc at
    /// which the app goes on if it is stopped in the stub.
    pub(in crate::emit) pending: Vec<(usize, usize)>,
    /// Offsets in `code` of RIP displacements that name a return address, with the address.
    pub(in crate::emit) returns: Vec<(usize, u64)>,
    /// As they are stored.
    pub(in crate::emit) descriptors: Vec<u64>,
    pub(in crate::emit) map: Vec<MapEntry>,
    pub(in crate::emit) block_calls: Vec<BlockCall>,
    pub(in crate::emit) call_marks: Vec<CallMark>,
    pub(in crate::emit) buffer: WordsState,
    /// Where a count branch that isn't taken jumps over what follows if it is.
    pub(in crate::emit) not_taken: Option<Range<u32>>,
    /// Those of r10 and r9 whose values are only in their mirrors: one bit for each register.
    pub(in crate::emit) absent: u16,
    /// Where a branch back to the trace's head goes if something was loaded there.
    pub(in crate::emit) top: Option<CachePc>,
    /// What r11 is for.
    pub(in crate::emit) reserved: Reserved,
    /// What r11 holds now, if it is reserved.
    pub(in crate::emit) r11: R11,
    /// Whether the app has changed its r11 since it has been there.
    pub(in crate::emit) r11_changed: bool,
    /// See [`Rules::replays`].
    pub(in crate::emit) replays: bool,
    /// What each instruction uses.
    pub(in crate::emit) usages: Vec<Usage>,
    /// For each instruction, the flags that must be preserved before it.
    pub(in crate::emit) live_flags: Vec<u64>,
    /// For each block-level call: the index of the instruction before which it is made.
    pub(in crate::emit) placed: Vec<Option<usize>>,
    /// Where buffers go back to.
    pub(in crate::emit) spare: &'a mut Spare,
}

impl<'a> Emitter<'a> {
    pub(in crate::emit) fn new(trace: &'a Trace, site: Site, rules: Rules<'a>, facts: Facts) -> Self {
        let spare = rules.spare;
        Self {
            placed: facts.placed,
            off: rules.off,
            live_flags: facts.live_flags,
            replays: rules.replays,
            usages: facts.usages,
            trace,
            site,
            loops: rules.loops,
            once: rules.once,
            inspects: false,
            through_slot: rules.through_slot,
            counters: rules.counters,
            known: rules.known,
            lookup: rules.lookup,
            doors: rules.doors,
            code: Code { bytes: emptied(&mut spare.code), base: site.pc },
            stubs: Code { bytes: emptied(&mut spare.stubs), base: site.stubs_end },
            exits: emptied(&mut spare.exits),
            pending: emptied(&mut spare.pending),
            returns: Vec::new(),
            descriptors: emptied(&mut spare.descriptors),
            map: emptied(&mut spare.map),
            block_calls: Vec::with_capacity(trace.calls.len()),
            call_marks: Vec::with_capacity(trace.calls.len()),
            buffer: WordsState::default(),
            not_taken: None,
            absent: absent_at_ends(rules.off),
            top: None,
            reserved: rules.counters.reserved(),
            r11: R11::Reserved,
            r11_changed: false,
            spare,
        }
    }

    pub(in crate::emit) fn offset(&self) -> u32 {
        (self.code.bytes.len() + self.stubs.bytes.len()) as u32
    }

    /// From here on the app is about to execute `pc`, with all registers in place.
    pub(in crate::emit) fn mark(&mut self, pc: u64) {
        self.mark_with(pc, Place::Static, [NOT_BORROWED; 3]);
    }

    /// From here on the app goes on at `pc`, with all registers in place; the block before is complete.
    pub(in crate::emit) fn mark_left(&mut self, pc: u64) {
        self.mark_with(pc, Place::Left, [NOT_BORROWED; 3]);
    }

    /// From here on these registers are borrowed.
    pub(in crate::emit) fn mark_borrowed(&mut self, pc: u64, registers: &[(Gpr, usize)]) {
        let mut packed = [NOT_BORROWED; 3];
        for (slot, &(r, spill)) in packed.iter_mut().zip(registers) {
            *slot = borrowed(r, spill);
        }
        self.mark_with(pc, Place::Static, packed);
    }

    pub(in crate::emit) fn mark_with(&mut self, pc: u64, place: Place, borrowed: [u8; 3]) {
        let borrowed = self.buffer.with_held(borrowed);
        self.push_mark(MapEntry::new(pc, self.offset(), place, self.r11, borrowed).with_absent(self.absent));
    }

    pub(in crate::emit) fn push_mark(&mut self, entry: MapEntry) {
        match self.map.last_mut() {
            Some(last) if last.offset == entry.offset => *last = entry,
            _ => self.map.push(entry),
        }
    }

    pub(in crate::emit) fn add_exit(&mut self, kind: ExitKind, pc: AppPc, argument: u32) -> usize {
        self.exits.push(Exit { pc, kind, site: 0, argument, from: TraceId(0) });
        self.exits.len() - 1
    }

    /// A jump of `opcode_len` bytes before its rel32 follows: keeps that field within one cache line.
    pub(in crate::emit) fn align_rel32(&mut self, opcode_len: u64) {
        let at = (self.code.here().0 + opcode_len) % 64;
        if at > 60 {
            self.code.nop((64 - at) as usize);
        }
    }

    /// `jmp` to the app pc `target`: to an exit stub until it is linked.
    pub(in crate::emit) fn exit_jump(&mut self, target: AppPc) {
        self.align_rel32(1);
        let here = self.code.here();
        let site = self.code.jmp(here);
        self.direct_exit(target, site);
    }

    /// `rel32` at `site` leads to `target`.
    pub(in crate::emit) fn direct_exit(&mut self, target: AppPc, site: CachePc) {
        let at = (site.0 - self.site.pc.0) as usize;
        let exit = self.add_exit(ExitKind::Direct, target, 0);
        self.exits[exit].site = self.site.offset + at as u32;
        self.pending.push((exit, at));
    }

    /// Arena offset that the descriptor will have.
    pub(in crate::emit) fn add_descriptor(&mut self, descriptor: Descriptor) -> u32 {
        let at = self.site.arena as usize + as_bytes(&self.descriptors).len();
        descriptor.store(&mut self.descriptors);
        at as u32
    }

    /// Whether there are calls at this point.
    pub(in crate::emit) fn has_calls(&self, point: Point) -> bool {
        self.trace.calls.iter().any(|call| call.point == point)
    }
}
