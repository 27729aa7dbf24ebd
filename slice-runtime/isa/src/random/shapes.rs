//! Elements of a program that aren't single instructions: branches, loops, calls, and instructions that need a certain
//! state before or after them.
//!
//! Every loop ends: its counter lies in the control page, which random operands don't touch.

use iced_x86::{Code, Instruction as Iced, MemoryOperand, Register};
use machine::Gpr;

use super::generator::Generator;
use crate::facts::Usage;

impl Generator<'_> {
    /// One instruction, or now and then a shape.
    pub(super) fn element(&mut self) {
        if self.layout.writable_code && self.rng.once_in(8) {
            return if self.rng.once_in(2) { self.change_ahead() } else { self.change_behind() };
        }
        if !self.rng.once_in(4) {
            return self.plain();
        }
        match self.rng.below(19) {
            0 | 1 => self.branch(),
            2 => self.short_branch(),
            3 => self.counted_loop(),
            4 => self.call(),
            5 => self.indirect_jump(),
            6 => self.indirect_call(),
            7 => self.push_pop(),
            8 => self.flags(),
            9 => self.control_words(),
            10 => self.segment_bases(),
            11 => self.frame(),
            12 => self.pop_to_memory(),
            13 => self.flags_from_afar(),
            14 => self.loop_without_flags(),
            15 => self.jump_by_constant(),
            16 => self.call_by_constant(),
            _ => self.colliding_targets(),
        }
    }

    pub(super) fn body(&mut self) {
        for _ in 0..1 + self.rng.below(3) {
            if self.depth < 2 && self.rng.once_in(8) { self.nested() } else { self.plain() }
        }
    }

    /// A shape inside of another one. No calls: operands of a subroutine's subroutine could reach return addresses.
    fn nested(&mut self) {
        self.depth += 1;
        match self.rng.below(6) {
            0 => self.branch(),
            1 => self.short_branch(),
            2 => self.counted_loop(),
            3 => self.indirect_jump(),
            4 => self.loop_without_flags(),
            _ => self.flags_from_afar(),
        }
        self.depth -= 1;
    }

    /// Flags that are used some instructions, and blocks, after they were set.
    fn flags_from_afar(&mut self) {
        if self.rng.once_in(2) {
            self.set_flags();
        } else {
            self.plain_that(|usage| usage.flags_written != 0);
        }
        for _ in 0..self.rng.below(6) {
            self.keep_flags();
        }
        self.look_at_flags();
    }

    /// Something that leaves flags alone.
    pub(super) fn keep_flags(&mut self) {
        let keeps = |usage: &Usage| usage.flags_written == 0;
        match self.rng.below(6) {
            0 => {
                let condition = self.rng.below(16) as u8;
                self.bytes(&[0x70 | condition, 0]);
                let end = self.code.len();
                self.plain_that(keeps);
                self.code[end - 1] = u8::try_from(self.code.len() - end).expect("an instruction is short");
            }
            1 => {
                let r = self.scratch_not_rsp();
                let end = self.lea_ahead(r);
                self.transfer(r, 4);
                self.plain_that(keeps);
                self.bind(end);
            }
            2 => {
                self.bytes(&[0xe9, 0, 0, 0, 0]);
                let end = self.code.len();
                self.plain();
                self.bind(end);
            }
            _ => self.plain_that(keeps),
        }
    }

    /// An instruction that reads flags.
    pub(super) fn look_at_flags(&mut self) {
        if self.rng.once_in(3) {
            // pushfq; pop rax
            self.bytes(&[0x9c, 0x58]);
        } else {
            self.plain_that(|usage| usage.flags_read != 0);
        }
    }

    /// A loop that neither changes flags where it is closed nor reads them there.
    pub(super) fn loop_without_flags(&mut self) {
        let (slot, count) = (self.slot(), 1 + self.rng.below(5));
        self.mov_imm(Gpr::Rcx, count);
        self.mov_mem(slot, Gpr::Rcx, false);
        let top = self.code.len();
        self.body();
        self.mov_mem(slot, Gpr::Rcx, true);
        // lea rcx, [rcx - 1]
        self.bytes(&[0x48, 0x8d, 0x49, 0xff]);
        self.mov_mem(slot, Gpr::Rcx, false);
        // jrcxz over the jump back
        self.bytes(&[0xe3, 5, 0xe9]);
        let back = (top as i64 - self.code.len() as i64 - 4) as i32;
        self.bytes(&back.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// Makes the 32-bit displacement that ends at `end` lead to here.
    pub(super) fn bind(&mut self, end: usize) {
        let distance = (self.code.len() - end) as u32;
        self.code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
    }

    pub(super) fn slot(&mut self) -> u64 {
        self.slots(1)
    }

    /// So many slots side by side.
    pub(super) fn slots(&mut self, count: u64) -> u64 {
        const SLOTS: u64 = 4096 / 8;
        if self.slots + count > SLOTS {
            self.slots = 0;
        }
        self.slots += count;
        self.layout.control + (self.slots - count) * 8
    }

    /// `jcc` over some instructions.
    pub(super) fn branch(&mut self) {
        let condition = self.rng.below(16) as u8;
        self.bytes(&[0x0f, 0x80 | condition, 0, 0, 0, 0]);
        let end = self.code.len();
        self.body();
        self.bind(end);
    }

    /// `jcc`, `loop`, `loope`, `loopne` or `jrcxz` in their short forms over one instruction.
    fn short_branch(&mut self) {
        let opcode = match self.rng.below(3) {
            0 => 0xe0 + self.rng.below(4) as u8,
            _ => 0x70 + self.rng.below(16) as u8,
        };
        if opcode >= 0xe0 {
            let count = self.rng.below(3);
            self.mov_imm(Gpr::Rcx, count);
            if self.rng.once_in(4) {
                self.bytes(&[0x67]);
            }
        }
        self.bytes(&[opcode, 0]);
        let end = self.code.len();
        self.plain();
        self.code[end - 1] = u8::try_from(self.code.len() - end).expect("an instruction and its preparation are short");
    }

    /// Some instructions, a few times.
    fn counted_loop(&mut self) {
        let (slot, count) = (self.slot(), 1 + self.rng.below(5));
        let counter = self.scratch_not_rsp();
        self.mov_imm(counter, count);
        self.mov_mem(slot, counter, false);
        let top = self.code.len();
        self.body();
        self.loop_back(slot, top);
    }

    /// `sub qword [slot], 1; jnz top`.
    pub(super) fn loop_back(&mut self, slot: u64, top: usize) {
        let counter = MemoryOperand::with_base_displ(Register::RIP, slot as i64);
        assert!(self.put(&Iced::with2(Code::Sub_rm64_imm8, counter, 1).expect("a valid form")));
        let back = (top as i64 - self.code.len() as i64 - 6) as i32;
        self.bytes(&[0x0f, 0x85]);
        self.bytes(&back.to_le_bytes());
    }

    /// `mov byte [rip + x], value` with the displacement to be set; returns where it ends.
    fn store_to_code(&mut self) -> usize {
        let value = self.rng.bits() as u8;
        self.bytes(&[0xc6, 0x05, 0, 0, 0, 0, value]);
        self.code.len() - 1
    }

    /// Makes the store whose displacement ends at `end` go to the byte at offset `target` of the code.
    fn aim(&mut self, end: usize, target: usize) {
        let distance = (target as i64 - (end as i64 + 1)) as i32;
        self.code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
    }

    /// A `mov r, value` of which a byte can be changed; returns that byte's offset.
    pub(super) fn changeable(&mut self) -> usize {
        let (r, value) = (self.scratch_not_rsp(), self.rng.bits());
        self.mov_imm(r, value);
        self.code.len() - 1 - self.rng.below(8) as usize
    }

    /// Changes an instruction that comes later, perhaps next.
    fn change_ahead(&mut self) {
        let end = self.store_to_code();
        for _ in 0..self.rng.below(3) {
            self.plain();
        }
        let target = self.changeable();
        self.aim(end, target);
    }

    /// A loop that changes its own first instruction.
    fn change_behind(&mut self) {
        let slot = self.slot();
        self.mov_imm(Gpr::Rbx, 4);
        self.mov_mem(slot, Gpr::Rbx, false);
        let top = self.code.len();
        let target = self.changeable();
        self.body();
        let end = self.store_to_code();
        self.aim(end, target);
        self.loop_back(slot, top);
    }

    pub(super) fn scratch_not_rsp(&mut self) -> Gpr {
        let r = self.rng.pick(&Gpr::ALL);
        if r == Gpr::Rsp { Gpr::R13 } else { r }
    }

    /// `mov [slot], r` or `mov r, [slot]`, RIP-relative.
    pub(super) fn mov_mem(&mut self, slot: u64, r: Gpr, load: bool) {
        let memory = MemoryOperand::with_base_displ(Register::RIP, slot as i64);
        let register = Register::RAX + r as u32;
        let iced = if load {
            Iced::with2(Code::Mov_r64_rm64, register, memory)
        } else {
            Iced::with2(Code::Mov_rm64_r64, memory, register)
        };
        assert!(self.put(&iced.expect("a valid form")));
    }

    /// A subroutine that is jumped over: `entry` gets the displacement that leads to it.
    fn subroutine(&mut self, to_entry: usize) {
        self.bytes(&[0xe9, 0, 0, 0, 0]);
        let over = self.code.len();
        self.bind(to_entry);
        let start = self.code.len();
        self.body_that_returns();
        debug_assert!(self.code.len() > start);
        self.bind(over);
    }

    /// Ends with `ret`, or pops two quadwords that were pushed before the call.
    fn body_that_returns(&mut self) {
        // lea rsp, [rsp + 0] marks nothing: pushes of the body are undone by a frame pointer in the control page.
        let slot = self.slot();
        self.mov_mem(slot, Gpr::Rsp, false);
        self.body();
        self.mov_mem(slot, Gpr::Rsp, true);
        if self.rng.once_in(3) {
            self.bytes(&[0xc2, 16, 0]);
        } else {
            self.bytes(&[0xc3]);
        }
    }

    fn call(&mut self) {
        self.bytes(&[0x6a, 0x11, 0x6a, 0x22]);
        self.bytes(&[0xe8, 0, 0, 0, 0]);
        let to_entry = self.code.len();
        self.subroutine(to_entry);
    }

    /// `lea r, [rip + x]` with the displacement to be bound; returns where it ends.
    fn lea_ahead(&mut self, r: Gpr) -> usize {
        self.bytes(&[0x48 | (r as u8 >> 3) << 2, 0x8d, 0x05 | (r as u8 & 7) << 3, 0, 0, 0, 0]);
        self.code.len()
    }

    /// `jmp` or `call` (`extension` 4 or 2) through the register or through a slot that holds it.
    pub(super) fn transfer(&mut self, r: Gpr, extension: u8) {
        let register = Register::RAX + r as u32;
        let code = if extension == 4 { Code::Jmp_rm64 } else { Code::Call_rm64 };
        let slot = self.slot();
        let iced = match self.rng.below(4) {
            0 => {
                self.mov_mem(slot, r, false);
                let memory = MemoryOperand::with_base_displ(Register::RIP, slot as i64);
                Iced::with1(code, memory)
            }
            1 => {
                self.mov_mem(slot, r, false);
                self.mov_imm(Gpr::R11, slot.wrapping_sub(self.layout.gs_base));
                let memory = MemoryOperand::new(Register::R11, Register::None, 1, 0, 0, false, Register::GS);
                Iced::with1(code, memory)
            }
            2 => {
                self.mov_mem(slot, r, false);
                self.mov_imm(Gpr::Rcx, slot - 8 * 7);
                self.mov_imm(Gpr::Rax, 7);
                let memory = MemoryOperand::new(Register::RCX, Register::RAX, 8, 0, 0, false, Register::None);
                Iced::with1(code, memory)
            }
            _ => Iced::with1(code, register),
        };
        assert!(self.put(&iced.expect("a valid form")));
    }

    fn indirect_jump(&mut self) {
        let r = self.scratch_not_rsp();
        let end = self.lea_ahead(r);
        if self.rng.once_in(4) {
            // push r; ret
            let iced = Iced::with1(Code::Push_r64, Register::RAX + r as u32).expect("a valid form");
            assert!(self.put(&iced));
            self.bytes(&[0xc3]);
        } else {
            self.transfer(r, 4);
        }
        self.body();
        self.bind(end);
    }

    fn indirect_call(&mut self) {
        self.bytes(&[0x6a, 0x33, 0x6a, 0x44]);
        let r = self.scratch_not_rsp();
        let end = self.lea_ahead(r);
        self.transfer(r, 2);
        self.subroutine(end);
    }

    /// `jmp` or `call` through a constant, whose number is returned.
    fn transfer_by_constant(&mut self, code: Code) -> usize {
        let number = self.constants.len();
        let memory = MemoryOperand::with_base_displ(Register::RIP, (self.layout.constants + 8 * number as u64) as i64);
        assert!(self.put(&Iced::with1(code, memory).expect("a valid form")));
        self.constants.push(0);
        number
    }

    fn jump_by_constant(&mut self) {
        let number = self.transfer_by_constant(Code::Jmp_rm64);
        self.body();
        self.constants[number] = self.here();
    }

    fn call_by_constant(&mut self) {
        self.bytes(&[0x6a, 0x33, 0x6a, 0x44]);
        let number = self.transfer_by_constant(Code::Call_rm64);
        self.bytes(&[0xe9, 0, 0, 0, 0]);
        let over = self.code.len();
        self.constants[number] = self.here();
        self.body_that_returns();
        self.bind(over);
    }
}
