//! Indirect branches whose targets are alike in their low address bits.
//!
//! A translator finds the target of an indirect branch by some bits of its address. So those of one branch, and those of
//! different ones, are put where these bits are the same; and flags are live across the branch, or at some of its targets only.

use iced_x86::{Code, Instruction as Iced, MemoryOperand, Register};
use machine::Gpr;

use super::generator::{Generator, Island, PLANE};

/// How a branch goes to its targets, and how they come back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A jump there, a jump back.
    Jump,
    /// A call, a return.
    Call,
    /// Each target calls the same subroutine: its returns go to addresses with the same low bits.
    CallThere,
}

/// The targets of one branch.
struct Targets {
    way: Way,
    /// Offset in each plane.
    offset: usize,
    count: usize,
    /// The code of each, and where it has a displacement that leads back.
    made: Vec<(Vec<u8>, Option<usize>)>,
}

impl Targets {
    /// Offset of a target from the program's first byte.
    fn place(&self, n: usize) -> usize {
        (n + 1) * PLANE + self.offset
    }
}

impl Generator<'_> {
    /// A loop with a branch that goes to another target each time.
    pub(super) fn colliding_targets(&mut self) {
        let planes = self.layout.code_len / PLANE;
        let count = if planes > 4 && self.rng.once_in(2) { 4 } else { 2 };
        let used = self.islands.iter().map(|island| island.offset % PLANE + island.code.len()).max().unwrap_or(0);
        // Sometimes at the low bits of a place in the main part, which calls may return to.
        let offset = used.max(if self.rng.once_in(2) { self.code.len() } else { 0 }) + self.rng.below(40) as usize;
        if planes <= count || offset + 4096 > PLANE {
            return self.plain();
        }
        let way = self.rng.pick(&[Way::Jump, Way::Call, Way::CallThere]);
        let mut targets = Targets { way, offset, count, made: Vec::new() };
        let (counter, table, target) = (self.slot(), self.slots(count as u64), self.slot());
        let r = self.scratch_not_rsp();
        for n in 0..count {
            self.mov_imm(r, self.layout.code + targets.place(n) as u64);
            self.mov_mem(table + 8 * n as u64, r, false);
        }
        let subroutine = (way == Way::CallThere).then(|| self.jumped_over());
        let rounds = 1 + self.rng.below(9);
        self.mov_imm(r, rounds);
        self.mov_mem(counter, r, false);
        let changed = self.islands(&mut targets, subroutine);
        let top = self.code.len();
        self.choose_target(counter, table, target, count);
        if let Some(byte) = changed {
            self.store_there(byte);
        }
        self.body();
        self.go(way, target);
        let back = self.origin + self.code.len();
        self.loop_back(counter, top);
        self.keep(targets, back);
    }

    /// A subroutine in the main part; returns its offset.
    fn jumped_over(&mut self) -> usize {
        self.bytes(&[0xe9, 0, 0, 0, 0]);
        let over = self.code.len();
        let start = self.code.len();
        let slot = self.slot();
        self.mov_mem(slot, Gpr::Rsp, false);
        self.body();
        self.mov_mem(slot, Gpr::Rsp, true);
        self.bytes(&[0xc3]);
        self.bind(over);
        start
    }

    /// Makes the code of the targets. If it can be written: returns the offset of a byte in one of them that may be changed.
    fn islands(&mut self, targets: &mut Targets, subroutine: Option<usize>) -> Option<usize> {
        let main = (std::mem::take(&mut self.code), self.origin);
        let mut changed = None;
        for n in 0..targets.count {
            self.origin = targets.place(n);
            let byte = self.island(targets.way, subroutine);
            changed = changed.or(byte.map(|byte| self.origin + byte));
            let back = (targets.way != Way::Call).then(|| {
                self.bytes(&[0xe9, 0, 0, 0, 0]);
                self.code.len()
            });
            targets.made.push((std::mem::take(&mut self.code), back));
        }
        (self.code, self.origin) = main;
        changed
    }

    fn island(&mut self, way: Way, subroutine: Option<usize>) -> Option<usize> {
        if let Some(start) = subroutine {
            let distance = start as i64 - (self.origin as i64 + 5);
            self.bytes(&[0xe8]);
            self.bytes(&(distance as i32).to_le_bytes());
        }
        let changed = (self.layout.writable_code && self.rng.once_in(2)).then(|| self.changeable());
        if self.rng.once_in(3) {
            // Flags are dead at once.
            self.compare();
        }
        let slot = self.slot();
        self.mov_mem(slot, Gpr::Rsp, false);
        if self.rng.once_in(3) {
            self.look_at_flags();
        }
        self.body();
        self.mov_mem(slot, Gpr::Rsp, true);
        if way == Way::Call {
            self.bytes(&[0xc3]);
        }
        changed
    }

    /// `cmp` of two registers.
    fn compare(&mut self) {
        let (a, b) = (self.scratch_not_rsp(), self.scratch_not_rsp());
        let (a, b) = (Register::RAX + a as u32, Register::RAX + b as u32);
        assert!(self.put(&Iced::with2(Code::Cmp_rm64_r64, a, b).expect("a valid form")));
    }

    /// Puts the target that the counter stands for into `target`.
    fn choose_target(&mut self, counter: u64, table: u64, target: u64, count: usize) {
        let r = self.scratch_not_rsp();
        let other = if r == Gpr::Rdi { Gpr::R9 } else { Gpr::Rdi };
        let (wide, narrow, base) = (Register::RAX + r as u32, Register::EAX + r as u32, Register::RAX + other as u32);
        self.mov_mem(counter, r, true);
        assert!(self.put(&Iced::with2(Code::And_rm32_imm8, narrow, count as i32 - 1).expect("a valid form")));
        self.mov_imm(other, table);
        let entry = MemoryOperand::new(base, wide, 8, 0, 0, false, Register::None);
        assert!(self.put(&Iced::with2(Code::Mov_r64_rm64, wide, entry).expect("a valid form")));
        self.mov_mem(target, r, false);
    }

    /// `mov byte [rip + x], value`, to the byte at `offset` of the program.
    fn store_there(&mut self, offset: usize) {
        let value = self.rng.bits() as u8;
        let distance = offset as i64 - (self.origin + self.code.len() + 7) as i64;
        self.bytes(&[0xc6, 0x05]);
        self.bytes(&(distance as i32).to_le_bytes());
        self.bytes(&[value]);
    }

    fn go(&mut self, way: Way, target: u64) {
        let extension = if way == Way::Call { 2 } else { 4 };
        let r = self.scratch_not_rsp();
        match self.rng.below(3) {
            0 => {
                let code = if way == Way::Call { Code::Call_rm64 } else { Code::Jmp_rm64 };
                let memory = MemoryOperand::with_base_displ(Register::RIP, target as i64);
                assert!(self.put(&Iced::with1(code, memory).expect("a valid form")));
            }
            1 if way != Way::Call => {
                let memory = MemoryOperand::with_base_displ(Register::RIP, target as i64);
                assert!(self.put(&Iced::with1(Code::Push_rm64, memory).expect("a valid form")));
                self.bytes(&[0xc3]);
            }
            _ => {
                self.mov_mem(target, r, true);
                self.transfer(r, extension);
            }
        }
    }

    /// Adds the targets to the program; jumps back lead to offset `back`.
    fn keep(&mut self, targets: Targets, back: usize) {
        let places: Vec<_> = (0..targets.count).map(|n| targets.place(n)).collect();
        for (offset, (mut code, jump)) in places.into_iter().zip(targets.made) {
            if let Some(end) = jump {
                let distance = back as i64 - (offset + end) as i64;
                code[end - 4..end].copy_from_slice(&(distance as i32).to_le_bytes());
            }
            self.islands.push(Island { offset, code });
        }
    }
}
