//! Copies of routines that put the rest of the app's state aside where they come to what changes it.

use std::collections::BTreeMap;
use std::mem::offset_of;

use bubble::map::THREADS;
use isa::routine::{Act, Plan, Text, Touched, Way};
use isa::{Code, Kind};
use machine::CachePc;
use translator::abi::ThreadState;

use super::partly;

/// Instructions that are copied at most, of a routine and what it calls.
const MOST: usize = 1000;

/// What is said of a copy.
pub struct Copied {
    /// Where it begins, in the code.
    pub entry: CachePc,
    /// What it touches before all is aside.
    pub touched: Touched,
    /// Where instructions of the routine lie in it.
    pub places: Vec<(u64, u64)>,
}

/// Jumps whose displacements are filled in at last: where they end, in the code, and where they go.
type Jumps = Vec<(usize, u64)>;

/// Writes a copy of the routine at `routine_pc`.
pub fn copy(routine_pc: u64, plan: &Plan<impl Text>, code: &mut Code) -> Copied {
    let mut copier = Copier {
        code,
        places: BTreeMap::new(),
        open: vec![routine_pc],
        jumps: Vec::new(),
        escapes: Vec::new(),
        touched: Touched::default(),
    };
    let entry = copier.code.here();
    while let Some(start) = copier.open.pop() {
        let mut pc = start;
        while let Some(next) = copier.instruction(pc, pc == start, plan) {
            pc = next;
        }
    }
    copier.finish();
    let places = copier.places.into_iter().map(|(pc, place)| (place.0, pc)).collect();
    Copied { entry, touched: copier.touched, places }
}

struct Copier<'a> {
    code: &'a mut Code,
    places: BTreeMap<u64, CachePc>,
    open: Vec<u64>,
    /// To what is copied.
    jumps: Jumps,
    /// To functions that are called with all aside.
    escapes: Jumps,
    touched: Touched,
}

impl Copier<'_> {
    /// Copies the instruction at `pc`, and says where its copy falls through to. `is_first`: nothing falls into it.
    fn instruction(&mut self, pc: u64, is_first: bool, plan: &Plan<impl Text>) -> Option<u64> {
        if let Some(place) = self.places.get(&pc) {
            if !is_first {
                self.code.jmp(*place);
            }
            return None;
        }
        self.places.insert(pc, self.code.here());
        let (act, next) = plan.act(pc);
        match act {
            _ if self.places.len() > MOST => self.escape(pc),
            Act::Aside => self.escape(pc),
            Act::Plain(instruction, touched) => {
                let is_copied = match instruction.rip_target() {
                    Some(target) => self.code.reaches(target) && self.code.copy_rip_relative(&instruction),
                    None => {
                        self.code.copy(&instruction);
                        true
                    }
                };
                if is_copied {
                    self.touched = self.touched.and(touched);
                    return next;
                }
                self.escape(pc);
            }
            Act::Jump(target, branch) => {
                match branch.map(|branch| branch.kind()) {
                    Some(Kind::Branch { condition, .. }) => self.code.jcc(condition, self.code.here()),
                    _ => self.code.jmp(self.code.here()),
                };
                self.leads_to_copy(target);
                return next;
            }
            Act::Function { target, way: Way::Itself(touched), calls } => {
                self.touched = self.touched.and(touched);
                if calls {
                    self.code.call_far(target)
                } else {
                    self.code.jmp_far(target)
                }
                return next;
            }
            Act::Function { target, way, calls } => {
                if calls {
                    self.code.call(self.code.here());
                } else {
                    self.code.jmp(self.code.here());
                }
                if way == Way::Copy {
                    self.leads_to_copy(target);
                } else {
                    self.escapes.push((self.code.bytes.len(), target));
                }
                return next;
            }
            Act::End(instruction) => self.code.copy(&instruction),
        }
        None
    }

    /// What was just written goes to the copy of what is at `target`.
    fn leads_to_copy(&mut self, target: u64) {
        self.jumps.push((self.code.bytes.len(), target));
        self.open.push(target);
    }

    /// Goes on at `pc`, with all aside.
    fn escape(&mut self, pc: u64) {
        let word = THREADS.start + offset_of!(ThreadState, escape_to) as u64;
        self.code.store_mem32_imm(word, pc as u32);
        self.code.store_mem32_imm(word + 4, (pc >> 32) as u32);
        self.code.jmp_far(partly::escape());
    }

    fn finish(&mut self) {
        let mut stubs: BTreeMap<u64, CachePc> = BTreeMap::new();
        for (end, target) in std::mem::take(&mut self.escapes) {
            let stub = stubs.get(&target).copied().unwrap_or_else(|| {
                let stub = self.code.here();
                self.escape(target);
                stub
            });
            stubs.insert(target, stub);
            self.bind(end, stub);
        }
        for (end, target) in std::mem::take(&mut self.jumps) {
            self.bind(end, self.places[&target]);
        }
    }

    /// Has the jump that ends there go to `place`.
    fn bind(&mut self, end: usize, place: CachePc) {
        let displacement = place.0.wrapping_sub(self.code.base.0 + end as u64) as i32;
        self.code.bytes[end - 4..end].copy_from_slice(&displacement.to_le_bytes());
    }
}
