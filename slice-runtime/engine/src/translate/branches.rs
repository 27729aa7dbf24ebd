//! Calls, returns and indirect branches.
//!
//! The indirect-branch protocol, where targets aren't looked up in the map of [`crate::targets`]: the target is put into r10, its place in a table (see `crate::landings`) into r9, and
//! `jmp gs:[r9 * 8 + table]` goes to the *landing* of a trace that was found for such a target. That compares the target with its own pc, in rcx
//! whose value is meanwhile in r9 (moving costs nothing; a store and the load after it would). r10 and r9 are loaded from their mirrors where something
//! needs them (or here, with `no-late`). If it is another one, the next landing of the same table entry is tried, or the landing that a further
//! table has (see `crate::templates`); at last the runtime looks the target up. Each branch has its own indirect jump, so the hardware predicts them separately.

use bubble::switches::{Off, Optimisation};
use isa::Instruction;
use machine::{AppPc, CachePc, Gpr};

use super::{Lookup, Site, Translation, Translator, bit, exit_id};
use crate::gateway;
use crate::instrument::Point;
use crate::landings;
use crate::space::SpaceId;
use crate::statemap::{IN_R9, MapEntry, NOT_BORROWED, Place, R11, as_bytes, borrowed, mirrored};
use crate::tables::{Exit, ExitKind, TraceId};
use crate::targets;
use crate::thread::{Level, MIRROR_R9, MIRROR_R10, ThreadState};

const R10_AT: u64 = ThreadState::spill_address(MIRROR_R10);
const R9_AT: u64 = ThreadState::spill_address(MIRROR_R9);

impl Translator<'_> {
    /// Pushes the app's return address, without touching flags. `free` needn't hold anything; without it a literal is needed, which costs a cache line.
    fn push_return(&mut self, address: u64, free: Option<Gpr>) {
        if self.off.leaves(Optimisation::Prefetch) && matches!(self.lookup, Lookup::Landings) {
            self.code.prefetch_mem(ThreadState::indirect_address(landings::index_of(AppPc(address), self.off)));
        }
        if let Ok(immediate) = i32::try_from(address as i64) {
            return self.code.push_imm32(immediate);
        }
        if let Some(r) = free {
            self.code.mov_imm(r, address);
            return self.code.push(r);
        }
        let here = self.code.here();
        self.code.push_rip_literal(CachePc(here.0));
        self.returns.push((self.code.bytes.len() - 4, address));
    }

    /// Pushes the return address of a direct call.
    pub(super) fn call_pushes(&mut self, index: usize) {
        let instruction = &self.trace.instructions[index];
        let free = self.absent_at_ends() != 0 && !self.has_calls(Point::Taken(index));
        if free {
            let asked = if let Lookup::Targets { ask_for } = self.lookup { ask_for } else { None };
            self.absent |= bit(Gpr::R10) | if asked.is_some() { bit(Gpr::R9) } else { 0 };
            self.mark(instruction.pc().0);
            if let Some(place) = asked {
                self.code.mov_imm(Gpr::R9, place);
                self.code.prefetch(Gpr::R9);
            }
        }
        self.push_return(instruction.next_pc().0, free.then_some(Gpr::R10));
    }

    /// From here on r10 and r9 are borrowed.
    fn borrow_for_indirect(&mut self, pc: u64) {
        self.mark_with(pc, Place::Static, mirrored());
    }

    /// The branch has taken effect; its target is in r10.
    fn go_to_r10(&mut self, index: usize, block: usize) {
        self.mark_with(0, Place::InR10, mirrored());
        let gone = self.offset();
        if self.has_calls(Point::Taken(index)) {
            self.code.store_mem(ThreadState::TARGET, Gpr::R10);
            self.mark_with(0, Place::InTarget, mirrored());
            self.code.load_mem(Gpr::R10, R10_AT);
            self.code.load_mem(Gpr::R9, R9_AT);
            self.absent = 0;
            self.calls_taken(index, block, None, gone);
            self.code.load_mem(Gpr::R10, ThreadState::TARGET);
            self.mark_with(0, Place::InR10, mirrored());
        }
        if self.once {
            return self.code.jmp_gs(ThreadState::MISS_AT);
        }
        match self.lookup {
            Lookup::Landings => jump_to_landing(&mut self.code, self.off, Level::First),
            Lookup::Targets { .. } => targets::go(&mut self.code),
        }
    }

    fn load_target(&mut self, instruction: &Instruction) {
        if instruction.segment() == Some(isa::Segment::Gs) {
            self.code.lea_operand(Gpr::R10, instruction);
            self.code.load_gs(Gpr::R9, ThreadState::APP_GS_AT);
            self.code.load_indexed(Gpr::R10, Gpr::R10, Gpr::R9, 1, 0);
        } else {
            self.code.load_branch_target(Gpr::R10, instruction);
        }
    }

    pub(super) fn indirect_jump(&mut self, index: usize, block: usize) {
        let instruction = &self.trace.instructions[index];
        self.borrow_for_indirect(instruction.pc().0);
        self.load_target(instruction);
        self.take_r11();
        self.go_to_r10(index, block);
    }

    pub(super) fn indirect_call(&mut self, index: usize, block: usize) {
        let instruction = &self.trace.instructions[index];
        self.borrow_for_indirect(instruction.pc().0);
        self.load_target(instruction);
        self.take_r11();
        self.push_return(instruction.next_pc().0, Some(Gpr::R9));
        self.go_to_r10(index, block);
    }

    pub(super) fn indirect_return(&mut self, index: usize, block: usize, extra_pop: u16) {
        let instruction = &self.trace.instructions[index];
        self.borrow_for_indirect(instruction.pc().0);
        if extra_pop == 0 {
            self.code.pop(Gpr::R10);
        } else {
            // rsp moves in one step: it is the app's at every place.
            self.code.load(Gpr::R10, Gpr::Rsp, 0);
            self.code.lea(Gpr::Rsp, Gpr::Rsp, 8 + i32::from(extra_pop));
        }
        self.go_to_r10(index, block);
    }
}

/// Goes where a table leads for the target in r10. r9 is borrowed.
fn jump_to_landing(code: &mut isa::Code, off: Off, level: Level) {
    match landings::dropped_bits(off) {
        0 => code.movzx16(Gpr::R9, Gpr::R10),
        bits => {
            code.rotate_right32(Gpr::R9, Gpr::R10, bits);
            code.movzx16(Gpr::R9, Gpr::R9);
        }
    }
    code.jmp_gs_indexed(Gpr::R9, ThreadState::indirect_at(level));
}

/// Where an indirect branch to another target goes on from a landing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// To the landing of a target with the same place in the table.
    Next(CachePc),
    /// To what this table says.
    Table(Level),
    /// To the runtime.
    Miss,
}

/// The landing of indirect branches to `target`, whose translation starts at `entry` or else right behind. Other targets go on
/// elsewhere: whoever comes here on the way to another target may need the flags, so they
/// aren't changed even where this one overwrites them at once.
pub fn landing(target: AppPc, entry: Option<CachePc>, otherwise: Otherwise, site: Site, off: Off) -> Translation {
    let mut landing = Landing { code: isa::Code::new(site.pc), map: Vec::new(), off };
    landing.compare(target, entry, otherwise);
    landing.finish(site)
}

/// Bytes of a landing's first instruction, which puts rcx into r9.
const RCX_ASIDE: u64 = 3;

struct Landing {
    code: isa::Code,
    map: Vec<MapEntry>,
    off: Off,
}

impl Landing {
    fn compare(&mut self, target: AppPc, entry: Option<CachePc>, otherwise: Otherwise) {
        let [r10, r9, free] = mirrored();
        // Recovered in this order: first what is in r9, then r9.
        let in_r9 = [borrowed(Gpr::Rcx, IN_R9), r10, r9];
        self.mark(0, Place::InR10, [r10, r9, free]);
        self.code.mov(Gpr::R9, Gpr::Rcx);
        debug_assert_eq!(self.code.bytes.len() as u64, RCX_ASIDE);
        self.mark(0, Place::InR10, in_r9);
        if let Ok(minus) = i32::try_from(target.0.wrapping_neg() as i64) {
            self.code.lea(Gpr::Rcx, Gpr::R10, minus);
        } else {
            self.code.mov_imm(Gpr::Rcx, target.0.wrapping_neg());
            self.code.lea_sum(Gpr::Rcx, Gpr::R10, Gpr::Rcx);
        }
        let same = self.code.jrcxz();
        let miss = gateway::landing_miss_pc();
        match otherwise {
            // That one needn't put rcx aside: it is.
            Otherwise::Next(next) => {
                self.code.jmp(CachePc(next.0 + RCX_ASIDE));
            }
            Otherwise::Miss if self.code.reaches(miss) => {
                self.code.jmp(CachePc(miss));
            }
            Otherwise::Table(_) | Otherwise::Miss => {
                self.code.mov(Gpr::Rcx, Gpr::R9);
                self.mark(0, Place::InR10, [r10, r9, free]);
                match otherwise {
                    Otherwise::Table(level) => jump_to_landing(&mut self.code, self.off, level),
                    _ => self.code.jmp_gs(ThreadState::MISS_AT),
                }
            }
        }
        self.code.bind(same);
        self.mark(0, Place::InR10, in_r9);
        self.code.mov(Gpr::Rcx, Gpr::R9);
        self.take_back(target, entry);
    }

    /// The target is this one.
    fn take_back(&mut self, target: AppPc, entry: Option<CachePc>) {
        self.mark(target.0, Place::Static, mirrored());
        if !self.off.leaves(Optimisation::Late) {
            self.code.load_mem(Gpr::R10, R10_AT);
            self.code.load_mem(Gpr::R9, R9_AT);
            self.mark(target.0, Place::Static, [NOT_BORROWED; 3]);
        }
        if let Some(entry) = entry {
            self.code.jmp(entry);
        }
    }

    fn mark(&mut self, pc: u64, place: Place, borrowed: [u8; 3]) {
        self.map.push(MapEntry::new(pc, self.code.bytes.len() as u32, place, R11::Reserved, borrowed));
    }

    fn finish(self, site: Site) -> Translation {
        Translation {
            arena: as_bytes(&self.map).to_vec(),
            code: self.code.bytes,
            stubs: Vec::new(),
            exits: Vec::new(),
            map: site.arena,
            map_len: self.map.len() as u32,
            block_calls: 0,
            buffer_marks: 0,
            call_marks: 0,
            inspects: false,
        }
    }
}

/// A stub that the entry of trace `id`, no longer valid, jumps to: the dispatcher goes on at `pc`.
pub fn stale(pc: AppPc, space: SpaceId, id: TraceId, site: Site) -> Translation {
    let mut code = isa::Code::new(site.pc);
    code.load_mem(Gpr::R10, R10_AT);
    code.load_mem(Gpr::R9, R9_AT);
    code.store_gs_imm32(ThreadState::EXIT_AT, exit_id(site.space, site.first_exit));
    code.jmp_gs(ThreadState::LEAVE_AT);
    let map = MapEntry::new(pc.0, 0, Place::Left, R11::Reserved, mirrored());
    let exit = Exit { pc, kind: ExitKind::Stale, site: space as u32, argument: id.0, from: id };
    Translation {
        code: code.bytes,
        stubs: Vec::new(),
        exits: vec![exit],
        arena: as_bytes(&[map]).to_vec(),
        map: site.arena,
        map_len: 1,
        block_calls: 0,
        buffer_marks: 0,
        call_marks: 0,
        inspects: false,
    }
}
