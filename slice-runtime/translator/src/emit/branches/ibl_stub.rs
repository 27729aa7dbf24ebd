//! IBL stubs: what an indirect branch comes to by the tables; and the stubs of traces that are no longer valid.

use bubble::switches::{Off, Optimisation};
use machine::{AppPc, CachePc, Gpr};

use crate::abi::{
    Doors, ExitKind, HOME_R9, HOME_R10, IN_R9, Level, MapEntry, NOT_BORROWED, PcSource, R11, SpaceId, ThreadState,
    TraceExit, TraceId, as_bytes, borrowed, dropped_bits, exit_id, in_home_slots,
};
use crate::emit::emitter::{Field, Fields, Site, Translation, code_at};

/// Where the home slots of r10 and r9 are.
pub(super) const R10_AT: Field = Field::Spill(HOME_R10);
pub(super) const R9_AT: Field = Field::Spill(HOME_R9);

/// Goes where a table leads for the target in r10. r9 is borrowed.
pub(super) fn jump_to_ibl_stub(code: &mut isa::Code, off: Off, level: Level) {
    match dropped_bits(off) {
        0 => code.movzx16(Gpr::R9, Gpr::R10),
        bits => {
            code.rotate_right32(Gpr::R9, Gpr::R10, bits);
            code.movzx16(Gpr::R9, Gpr::R9);
        }
    }
    code.jmp_gs_indexed(Gpr::R9, ThreadState::indirect_at(level));
}

/// Where an indirect branch to another target goes on from an IBL stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// To the IBL stub of a target with the same place in the table.
    Next(CachePc),
    /// To what this table says.
    Table(Level),
    /// To the runtime.
    Miss,
}

/// The IBL stub of indirect branches to `target`, whose translation starts at `entry` or else right behind. Other targets go on
/// elsewhere: whoever comes here on the way to another target may need the flags, so they
/// aren't changed even where this one overwrites them at once.
pub fn ibl_stub(
    target: AppPc,
    entry: Option<CachePc>,
    otherwise: Otherwise,
    site: Site,
    off: Off,
    doors: Doors,
) -> Translation {
    let mut ibl_stub = IblStub { code: code_at(site.pc, off), map: Vec::new(), off, doors };
    ibl_stub.compare(target, entry, otherwise);
    ibl_stub.finish(site)
}

/// Bytes of an IBL stub's first instruction, which puts rcx into r9.
const RCX_ASIDE: u64 = 3;

struct IblStub {
    code: isa::Code,
    map: Vec<MapEntry>,
    off: Off,
    doors: Doors,
}

impl IblStub {
    fn compare(&mut self, target: AppPc, entry: Option<CachePc>, otherwise: Otherwise) {
        let [r10, r9, free] = in_home_slots();
        // Recovered in this order: first what is in r9, then r9.
        let in_r9 = [borrowed(Gpr::Rcx, IN_R9), r10, r9];
        self.mark(0, PcSource::InR10, [r10, r9, free]);
        self.code.mov(Gpr::R9, Gpr::Rcx);
        debug_assert_eq!(self.code.bytes.len() as u64, RCX_ASIDE);
        self.mark(0, PcSource::InR10, in_r9);
        if let Ok(minus) = i32::try_from(target.0.wrapping_neg() as i64) {
            self.code.lea(Gpr::Rcx, Gpr::R10, minus);
        } else {
            self.code.mov_imm(Gpr::Rcx, target.0.wrapping_neg());
            self.code.lea_sum(Gpr::Rcx, Gpr::R10, Gpr::Rcx);
        }
        let same = self.code.jrcxz();
        let miss = self.doors.stub_miss;
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
                self.mark(0, PcSource::InR10, [r10, r9, free]);
                match otherwise {
                    Otherwise::Table(level) => jump_to_ibl_stub(&mut self.code, self.off, level),
                    _ => self.code.jmp_gs(ThreadState::MISS_AT),
                }
            }
        }
        self.code.bind(same);
        self.mark(0, PcSource::InR10, in_r9);
        self.code.mov(Gpr::Rcx, Gpr::R9);
        self.take_back(target, entry);
    }

    /// The target is this one.
    fn take_back(&mut self, target: AppPc, entry: Option<CachePc>) {
        self.mark(target.0, PcSource::Static, in_home_slots());
        if !self.off.leaves(Optimisation::Late) {
            self.code.load_field(Gpr::R10, R10_AT);
            self.code.load_field(Gpr::R9, R9_AT);
            self.mark(target.0, PcSource::Static, [NOT_BORROWED; 3]);
        }
        if let Some(entry) = entry {
            self.code.jmp(entry);
        }
    }

    fn mark(&mut self, pc: u64, source: PcSource, borrowed: [u8; 3]) {
        self.map.push(MapEntry::new(pc, self.code.bytes.len() as u32, source, R11::Reserved, borrowed));
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
            counted: Vec::new(),
            self_checks: false,
        }
    }
}

/// A stub that the entry of trace `id`, no longer valid, jumps to: the dispatcher goes on at `pc`.
pub fn invalid(pc: AppPc, space: SpaceId, id: TraceId, site: Site, off: Off) -> Translation {
    let mut code = code_at(site.pc, off);
    code.load_field(Gpr::R10, R10_AT);
    code.load_field(Gpr::R9, R9_AT);
    code.store_gs_imm32(ThreadState::EXIT_AT, exit_id(site.space, site.first_exit));
    code.jmp_gs(ThreadState::LEAVE_AT);
    let map = MapEntry::new(pc.0, 0, PcSource::Left, R11::Reserved, in_home_slots());
    let exit = TraceExit { pc, kind: ExitKind::Invalid, site: space as u32, argument: id.0, from: id };
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
        counted: Vec::new(),
        self_checks: false,
    }
}
