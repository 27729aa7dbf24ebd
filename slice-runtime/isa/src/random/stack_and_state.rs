//! Shapes of code about the stack, flags, control words and segment bases.

use iced_x86::{Code, Instruction as Iced, MemoryOperand, Register};
use machine::{Gpr, flags};

use super::generator::Generator;

impl Generator<'_> {
    /// `popfq` of arithmetic flags and direction, or a look at all of them.
    pub(super) fn flags(&mut self) {
        if self.rng.once_in(2) {
            self.set_flags();
        } else {
            self.bytes(&[0x9c, 0x58]);
        }
    }

    pub(super) fn set_flags(&mut self) {
        let value = self.rng.bits() & (flags::ARITHMETIC | flags::DF) | 0x202;
        let iced = Iced::with1(Code::Pushq_imm32, value as i32).expect("a valid form");
        assert!(self.put(&iced));
        self.bytes(&[0x9d]);
    }

    /// MXCSR and the x87 control word with all exceptions masked.
    pub(super) fn control_words(&mut self) {
        let (mxcsr, control) =
            (0x1f80 | (self.rng.below(4) << 13) | (self.rng.below(2) << 15), 0x37f | (self.rng.below(4) << 10));
        let (slot, sse) = (self.slot(), self.rng.once_in(2));
        self.mov_imm(Gpr::R10, if sse { mxcsr } else { control });
        self.mov_mem(slot, Gpr::R10, false);
        let memory = MemoryOperand::with_base_displ(Register::RIP, slot as i64);
        let code = if sse { Code::Ldmxcsr_m32 } else { Code::Fldcw_m2byte };
        assert!(self.put(&Iced::with1(code, memory).expect("a valid form")));
    }

    /// Reads FS or GS base, or writes GS base's own value.
    pub(super) fn segment_bases(&mut self) {
        let r = self.scratch_not_rsp();
        let (wide, narrow) = (Register::RAX + r as u32, Register::EAX + r as u32);
        let iced = match self.rng.below(4) {
            0 => Iced::with1(Code::Rdfsbase_r64, wide),
            1 => Iced::with1(Code::Rdgsbase_r64, wide),
            2 => Iced::with1(Code::Rdgsbase_r32, narrow),
            _ => {
                self.mov_imm(r, self.layout.gs_base);
                Iced::with1(Code::Wrgsbase_r64, wide)
            }
        };
        assert!(self.put(&iced.expect("a valid form")));
    }

    /// `enter` and `leave`.
    pub(super) fn frame(&mut self) {
        let size = self.rng.below(64) as u8;
        self.bytes(&[0xc8, size, 0, 0]);
        let slot = self.slot();
        self.mov_mem(slot, Gpr::Rbp, false);
        self.body();
        self.mov_mem(slot, Gpr::Rbp, true);
        self.bytes(&[0xc9]);
    }

    pub(super) fn push_pop(&mut self) {
        let (a, b) = (self.scratch_not_rsp(), self.scratch_not_rsp());
        let push = Iced::with1(Code::Push_r64, Register::RAX + a as u32).expect("a valid form");
        let pop = Iced::with1(Code::Pop_r64, Register::RAX + b as u32).expect("a valid form");
        assert!(self.put(&push));
        self.body_without_stack();
        assert!(self.put(&pop));
    }

    /// Instructions after which rsp is what it was.
    pub(super) fn body_without_stack(&mut self) {
        let slot = self.slot();
        self.mov_mem(slot, Gpr::Rsp, false);
        self.body();
        self.mov_mem(slot, Gpr::Rsp, true);
    }

    pub(super) fn pop_to_memory(&mut self) {
        self.bytes(&[0x6a, 0x55]);
        let iced = match self.rng.below(3) {
            // The address is computed after rsp has moved.
            0 => Iced::with1(Code::Pop_rm64, MemoryOperand::with_base_displ(Register::RSP, 64)),
            1 => {
                let place = self.place();
                Iced::with1(Code::Pop_rm64, MemoryOperand::with_base_displ(Register::RIP, place as i64))
            }
            _ => {
                let place = self.place();
                self.mov_imm(Gpr::Rdi, place.wrapping_sub(self.layout.gs_base));
                let memory = MemoryOperand::new(Register::RDI, Register::None, 1, 0, 0, false, Register::GS);
                Iced::with1(Code::Pop_rm64, memory)
            }
        };
        assert!(self.put(&iced.expect("a valid form")));
    }
}
