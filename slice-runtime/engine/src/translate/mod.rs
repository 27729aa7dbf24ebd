//! From a trace of app instructions to machine code for the cache.
//!
//! Most instructions are copied as they are. What depends on its place (RIP-relative operands, branches) is rewritten, what
//! the cache must not run (system calls, volatile instructions) becomes an exit, and analysis calls are put between.
//! Named invariants:
//! * *exact exits*: wherever a trace can be left to the runtime, its state map tells all of the app's registers: which are borrowed (only between two
//!   instructions), or in their mirrors ([`mirror`]), or reserved ([`reserved`]). Flags are the app's unless nobody reads them: they are changed only where
//!   the code that follows, of this trace or the next ones ([`crate::ahead`]), overwrites them before anything could see them.
//! * *marks*: the state map has a mark at each place from which on another description of the app's state holds, so an
//!   interruption anywhere can be answered.
//! * *one store*: rel32 fields that may be patched lie within one cache line.

pub mod branches;
mod buffer;
mod calls;
mod check;
mod direct;
mod drain;
mod inline;
mod inspect;
mod instructions;
mod known;
mod merge;
mod mirror;
mod reserved;
mod slots;
mod spare;
mod tested;

pub use known::Known;
pub use merge::merge_counters;
pub use slots::{ThroughSlot, slot};
pub use spare::{Spare, emptied};

use std::ops::Range;

use bubble::switches::{Off, Optimisation};
use isa::{Code, Usage};
use machine::{AppPc, CachePc, Gpr};

use crate::counters::{Counters, Reserved};
use crate::gateway;
use crate::instrument::Trace;
use crate::space::SpaceId;
use crate::statemap::{BlockCall, CallMark, MapEntry, NOT_BORROWED, Place, R11, as_bytes, borrowed};
use crate::tables::{Exit, ExitKind, TraceId};
use crate::thread::ThreadState;

/// Where a translation will lie.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The space.
    pub space: SpaceId,
    /// Cache offset of its first byte.
    pub offset: u32,
    /// The same as a cache pc.
    pub pc: CachePc,
    /// Where its stubs end.
    pub stubs_end: CachePc,
    /// Number of its first exit.
    pub first_exit: u32,
    /// Arena offset of its first byte.
    pub arena: u32,
}

/// Something that must hold at a slice's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A register has a value.
    Register(Gpr, u64),
    /// The 64-bit word at an address, which is mapped, has a value.
    Word(u64, u64),
    /// A quadword of the vector registers, numbered as [`crate::Control::require_vector`] numbers them, has a value.
    Vector(u8, u64),
}

impl Condition {
    /// The register that it is about.
    fn register(self) -> Option<Gpr> {
        match self {
            Self::Register(r, _) => Some(r),
            _ => None,
        }
    }

    /// The value that it asks for.
    pub fn value(self) -> u64 {
        let (Self::Register(_, value) | Self::Word(_, value) | Self::Vector(_, value)) = self;
        value
    }
}

/// What is compared at a slice's end before the guest is asked.
#[derive(Clone, Debug)]
pub struct Check {
    /// All of these must hold.
    pub conditions: Vec<Condition>,
    /// Whether the app reads no flags after it that it doesn't set.
    pub may_change_flags: bool,
}

/// A finished translation, to be written at its site.
pub struct Translation {
    /// Machine code.
    pub code: Vec<u8>,
    /// Exit stubs, which lie elsewhere so that code which runs lies close together.
    pub stubs: Vec<u8>,
    /// Exits, in the order of their numbers.
    pub exits: Vec<Exit>,
    /// Bytes for the arena: descriptors, state map, block-level calls.
    pub arena: Vec<u8>,
    /// Arena offset of the state map.
    pub map: u32,
    /// Its entries.
    pub map_len: u32,
    /// Block-level calls after it.
    pub block_calls: u32,
    /// Buffer marks after those.
    pub buffer_marks: u32,
    /// Call marks after those.
    pub call_marks: u32,
    /// Whether it compares its app code itself when it is entered.
    pub inspects: bool,
}

/// An instruction that can't be translated, with the reason. The app's pc and text are in it.
#[derive(Debug, thiserror::Error)]
#[error("cannot translate {instruction} at {pc}: {reason}")]
pub struct Untranslatable {
    pc: AppPc,
    instruction: String,
    reason: &'static str,
}

/// How an indirect branch finds the translation of its target.
#[derive(Clone, Copy, Debug)]
pub enum Lookup {
    /// By landings, see `branches`.
    Landings,
    /// By the map of targets, see [`crate::targets`].
    Targets {
        /// Where the word of the call's return is, if it is to be asked for.
        ask_for: Option<u64>,
    },
}

/// What holds for all translations of a run.
pub struct Rules<'a> {
    /// Optimisations that are off.
    pub off: Off,
    /// Flags are exact wherever an instruction may fault.
    pub exact_faults: bool,
    /// See [`crate::Settings::replays`].
    pub replays: bool,
    /// Whether the trace may jump back to its own head without passing its entry.
    pub loops: bool,
    /// Whether the trace is left behind its only instruction, wherever that goes, see [`crate::finish`].
    pub once: bool,
    /// The trace's app code, if it is to be compared when the trace is entered, see [`inspect`].
    pub inspected: Option<&'a [u8]>,
    /// Counters that have cells.
    pub counters: &'a Counters,
    /// What was found out about routines.
    pub known: &'a Known,
    /// How an indirect branch finds its target.
    pub lookup: Lookup,
    /// The arithmetic flags that may be read after an app pc is reached, see [`crate::ahead`].
    pub live_at: &'a mut dyn FnMut(AppPc) -> u64,
    /// How the trace's last instruction goes where it goes, if it is a branch through a slot, see [`crate::slots`].
    pub through_slot: Option<ThroughSlot>,
    /// Buffers to be used.
    pub spare: &'a mut Spare,
}

/// Translates `trace` for `site`, with a quick check before its first instruction if it is an end.
///
/// # Errors
/// If it contains an instruction that has no translation.
pub fn translate<'a>(
    trace: &'a Trace,
    site: Site,
    check: Option<&Check>,
    rules: Rules<'a>,
) -> Result<Translation, Untranslatable> {
    inline::choose_counters(trace, &rules);
    reserved::decide(trace, &rules);
    let inspected = rules.inspected;
    let mut translator = Translator::new(trace, site, rules);
    if let Some(code) = inspected {
        translator.inspect(code);
    }
    if let Some(check) = check {
        translator.quick_check(check);
    }
    let mut block = 0;
    for index in 0..trace.instructions.len() {
        if index == trace.block_ends[block] {
            block += 1;
        }
        translator.mark(trace.instructions[index].pc().0);
        if index == 0 {
            translator.bring_for_loop();
            translator.begin_words();
        }
        translator.bring_for_words(index);
        translator.r11_before(index, block);
        translator.buffer_before(index, block);
        translator.bring_needed(index);
        translator.calls_before(index, block);
        translator.r11_at(index, block);
        translator.instruction(index, block)?;
        translator.wrote(index);
        translator.mirror_after(index, block);
        translator.calls_after(index, block);
        translator.r11_after(index, block);
    }
    translator.fall_through();
    translator.literals();
    translator.stubs();
    Ok(translator.finish())
}

/// A register in a set of registers.
const fn bit(r: Gpr) -> u16 {
    1 << r as u16
}

struct Translator<'a> {
    trace: &'a Trace,
    site: Site,
    off: Off,
    /// See [`Rules::loops`].
    loops: bool,
    /// See [`Rules::once`].
    once: bool,
    /// Whether the trace compares its app code, see [`inspect`].
    inspects: bool,
    /// See [`Rules::through_slot`].
    through_slot: Option<ThroughSlot>,
    counters: &'a Counters,
    known: &'a Known,
    /// See [`Rules::lookup`].
    lookup: Lookup,
    code: Code,
    stubs: Code,
    exits: Vec<Exit>,
    /// Exits whose stub is still to be written: number, offset in `code` of the rel32 that goes to it, and the app pc at
    /// which the app goes on if it is stopped in the stub.
    pending: Vec<(usize, usize)>,
    /// Offsets in `code` of RIP displacements that name a return address, with the address.
    returns: Vec<(usize, u64)>,
    /// As they are stored.
    descriptors: Vec<u64>,
    map: Vec<MapEntry>,
    block_calls: Vec<BlockCall>,
    call_marks: Vec<CallMark>,
    buffer: buffer::State,
    /// Where a count branch that isn't taken jumps over what follows if it is.
    not_taken: Option<Range<u32>>,
    /// Those of r10 and r9 whose values are only in their mirrors: one bit for each register.
    absent: u16,
    /// Where a branch back to the trace's head goes if something was loaded there.
    top: Option<CachePc>,
    /// What r11 is for.
    reserved: Reserved,
    /// What r11 holds now, if it is reserved.
    r11: R11,
    /// Whether the app has changed its r11 since it has been there.
    r11_changed: bool,
    /// See [`Rules::replays`].
    replays: bool,
    /// What each instruction uses.
    usages: Vec<Usage>,
    /// For each instruction, the flags that must be preserved before it.
    live_flags: Vec<u64>,
    /// For each block-level call: the index of the instruction before which it is made.
    placed: Vec<Option<usize>>,
    /// Where buffers go back to.
    spare: &'a mut Spare,
}

impl<'a> Translator<'a> {
    fn new(trace: &'a Trace, site: Site, mut rules: Rules<'a>) -> Self {
        let mut usages = emptied(&mut rules.spare.usages);
        usages.extend(trace.instructions.iter().map(isa::Instruction::usage));
        let mut live_flags = emptied(&mut rules.spare.live_flags);
        calls::find_live_flags(trace, &usages, &mut rules, &mut live_flags);
        let placed = calls::place(trace, &live_flags, &rules);
        let spare = rules.spare;
        Self {
            placed,
            off: rules.off,
            live_flags,
            replays: rules.replays,
            usages,
            trace,
            site,
            loops: rules.loops,
            once: rules.once,
            inspects: false,
            through_slot: rules.through_slot,
            counters: rules.counters,
            known: rules.known,
            lookup: rules.lookup,
            code: Code { bytes: emptied(&mut spare.code), base: site.pc },
            stubs: Code { bytes: emptied(&mut spare.stubs), base: site.stubs_end },
            exits: emptied(&mut spare.exits),
            pending: emptied(&mut spare.pending),
            returns: Vec::new(),
            descriptors: emptied(&mut spare.descriptors),
            map: emptied(&mut spare.map),
            block_calls: Vec::with_capacity(trace.calls.len()),
            call_marks: Vec::with_capacity(trace.calls.len()),
            buffer: buffer::State::default(),
            not_taken: None,
            absent: mirror::absent_at_ends(rules.off),
            top: None,
            reserved: rules.counters.reserved(),
            r11: R11::Reserved,
            r11_changed: false,
            spare,
        }
    }

    fn offset(&self) -> u32 {
        (self.code.bytes.len() + self.stubs.bytes.len()) as u32
    }

    /// From here on the app is about to execute `pc`, with all registers in place.
    fn mark(&mut self, pc: u64) {
        self.mark_with(pc, Place::Static, [NOT_BORROWED; 3]);
    }

    /// From here on the app goes on at `pc`, with all registers in place; the block before is complete.
    fn mark_left(&mut self, pc: u64) {
        self.mark_with(pc, Place::Left, [NOT_BORROWED; 3]);
    }

    /// From here on these registers are borrowed.
    fn mark_borrowed(&mut self, pc: u64, registers: &[(Gpr, usize)]) {
        let mut packed = [NOT_BORROWED; 3];
        for (slot, &(r, spill)) in packed.iter_mut().zip(registers) {
            *slot = borrowed(r, spill);
        }
        self.mark_with(pc, Place::Static, packed);
    }

    fn mark_with(&mut self, pc: u64, place: Place, borrowed: [u8; 3]) {
        let borrowed = self.buffer.with_held(borrowed);
        self.push_mark(MapEntry::new(pc, self.offset(), place, self.r11, borrowed).with_absent(self.absent));
    }

    fn push_mark(&mut self, entry: MapEntry) {
        match self.map.last_mut() {
            Some(last) if last.offset == entry.offset => *last = entry,
            _ => self.map.push(entry),
        }
    }

    fn add_exit(&mut self, kind: ExitKind, pc: AppPc, argument: u32) -> usize {
        self.exits.push(Exit { pc, kind, site: 0, argument, from: TraceId(0) });
        self.exits.len() - 1
    }

    /// A jump of `opcode_len` bytes before its rel32 follows: keeps that field within one cache line.
    fn align_rel32(&mut self, opcode_len: u64) {
        let at = (self.code.here().0 + opcode_len) % 64;
        if at > 60 {
            self.code.nop((64 - at) as usize);
        }
    }

    /// `jmp` to the app pc `target`: to an exit stub until it is linked.
    fn exit_jump(&mut self, target: AppPc) {
        self.align_rel32(1);
        let here = self.code.here();
        let site = self.code.jmp(here);
        self.direct_exit(target, site);
    }

    /// `rel32` at `site` leads to `target`.
    fn direct_exit(&mut self, target: AppPc, site: CachePc) {
        let at = (site.0 - self.site.pc.0) as usize;
        let exit = self.add_exit(ExitKind::Direct, target, 0);
        self.exits[exit].site = self.site.offset + at as u32;
        self.pending.push((exit, at));
    }

    /// Leaves to the runtime right here, with all registers in place.
    fn leave(&mut self, kind: ExitKind, pc: AppPc, argument: u32) -> usize {
        self.take_r11();
        self.load_absent(mirror::BOTH);
        let exit = self.add_exit(kind, pc, argument);
        let id = exit_id(self.site.space, self.site.first_exit + exit as u32);
        self.code.store_gs_imm32(ThreadState::EXIT_AT, id);
        // What is finished for once is left behind its end.
        let is_short = kind == ExitKind::Syscall && !self.once;
        self.code.jmp_gs(if is_short { ThreadState::SYSCALL_AT } else { ThreadState::LEAVE_AT });
        exit
    }

    /// Ends the trace after its last instruction if that can fall through.
    fn fall_through(&mut self) {
        let last = self.trace.instructions.last().expect("a trace has an instruction");
        if instructions::falls_through(last) {
            self.mark_left(last.next_pc().0);
            self.give_back_at_end();
            self.mark_left(last.next_pc().0);
            self.exit_jump(last.next_pc());
        }
    }

    /// Exit stubs: most of them are never executed, or once. In the state map they follow the code.
    fn stubs(&mut self) {
        self.ways_out();
        let leave = gateway::leave_by_stub_pc();
        let apart = self.off.leaves(Optimisation::Stubs);
        let is_near = Code::new(if apart { self.site.stubs_end } else { self.code.here() }).reaches(leave);
        let each = if is_near { NEAR_STUB } else { FAR_STUB };
        let start = self.site.stubs_end.0 - (self.pending.len() * each) as u64;
        if apart {
            self.stubs.base = CachePc(start);
        }
        self.absent = mirror::BOTH;
        let pending = std::mem::take(&mut self.pending);
        for &(exit, at) in &pending {
            let here = if apart { self.stubs.here() } else { self.code.here() };
            let rel = here.0.wrapping_sub(self.site.pc.0 + at as u64 + 4) as u32;
            self.code.bytes[at..at + 4].copy_from_slice(&rel.to_le_bytes());
            self.mark_left(self.exits[exit].pc.0);
            let id = exit_id(self.site.space, self.site.first_exit + exit as u32);
            let stubs = if apart { &mut self.stubs } else { &mut self.code };
            stubs.mov_imm(Gpr::R10, id as u64);
            if is_near {
                stubs.jmp(CachePc(leave));
            } else {
                stubs.jmp_gs(ThreadState::LEAVE_BY_STUB_AT);
            }
        }
        debug_assert!(self.stubs.here() == self.site.stubs_end);
        self.pending = pending;
    }

    fn literals(&mut self) {
        if self.returns.is_empty() {
            return;
        }
        let misaligned = (self.code.here().0 % 8) as usize;
        if misaligned != 0 {
            self.code.nop(8 - misaligned);
        }
        for (at, address) in std::mem::take(&mut self.returns) {
            let rel = (self.code.bytes.len() - (at + 4)) as u32;
            self.code.bytes[at..at + 4].copy_from_slice(&rel.to_le_bytes());
            self.code.quad(address);
        }
    }

    fn finish(self) -> Translation {
        let descriptors = size_of_val(self.descriptors.as_slice());
        let (marks, call_marks) = (as_bytes(&self.buffer.marks), as_bytes(&self.call_marks));
        let mut arena = emptied(&mut self.spare.arena);
        for part in [as_bytes(&self.descriptors), as_bytes(&self.map), as_bytes(&self.block_calls), marks, call_marks] {
            arena.extend_from_slice(part);
        }
        let map_len = self.map.len() as u32;
        (self.spare.usages, self.spare.live_flags) = (self.usages, self.live_flags);
        (self.spare.map, self.spare.pending, self.spare.descriptors) = (self.map, self.pending, self.descriptors);
        Translation {
            code: self.code.bytes,
            stubs: self.stubs.bytes,
            exits: self.exits,
            arena,
            map: self.site.arena + descriptors as u32,
            map_len,
            block_calls: self.block_calls.len() as u32,
            buffer_marks: self.buffer.marks.len() as u32,
            call_marks: self.call_marks.len() as u32,
            inspects: self.inspects,
        }
    }
}

/// Bytes of a stub whose jump is direct, and of one whose jump isn't.
const NEAR_STUB: usize = 11;
const FAR_STUB: usize = 14;

/// What a stub writes to `ThreadState::exit`.
pub fn exit_id(space: SpaceId, number: u32) -> i32 {
    ((space as u32) << 30 | number) as i32
}

/// Undoes [`exit_id`].
pub fn exit_of(id: u64) -> (SpaceId, u32) {
    let space = if id >> 30 & 1 == 1 { SpaceId::Shared } else { SpaceId::Own };
    (space, id as u32 & 0x3fff_ffff)
}
