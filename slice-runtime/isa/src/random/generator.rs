//! Single random instructions with what prepares them, and the programs made of them.

use iced_x86::{Code, Encoder, EncodingKind, Instruction as Iced, Mnemonic, OpKind, Register, RoundingControl};
use machine::{AppPc, Gpr};

use super::catalogue::{Catalogue, Form, Operand, is_makeable, set_operand};
use super::rng::Rng;
use crate::decode::Instruction;
use crate::facts::Usage;

/// Where a program and its data lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// First byte of the program.
    pub code: u64,
    /// Bytes that it may have, islands included: a multiple of [`PLANE`].
    pub code_len: usize,
    /// First byte of the data that instructions use; 64-byte aligned.
    pub data: u64,
    /// Its size: at least 8 KiB.
    pub data_len: u64,
    /// A page for loop counters and jump targets, which no random operand touches.
    pub control: u64,
    /// A page that can't be written while a program runs: it has [`Program::constants`].
    pub constants: u64,
    /// An address that can't be accessed.
    pub hole: u64,
    /// FS base.
    pub fs_base: u64,
    /// GS base.
    pub gs_base: u64,
    /// Whether the code can be written, and programs change themselves.
    pub writable_code: bool,
}

/// Two addresses that are so far apart have equal low 20 bits.
pub const PLANE: usize = 1 << 20;

/// A random program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its main part; starts at [`Layout::code`] and ends with the `syscall` at `end`.
    pub code: Vec<u8>,
    /// Offset of the final `syscall`.
    pub end: usize,
    /// Code elsewhere, which the main part branches to.
    pub islands: Vec<Island>,
    /// Words at [`Layout::constants`]: targets of indirect branches.
    pub constants: Vec<u64>,
}

/// A piece of code behind the first [`PLANE`].
#[derive(Clone, Debug)]
pub struct Island {
    /// Offset from [`Layout::code`].
    pub offset: usize,
    /// Its code.
    pub code: Vec<u8>,
}

impl Program {
    /// Its instructions as text, one to a line.
    pub fn listing(&self, layout: &Layout) -> String {
        let mut text = String::new();
        self.visit(|offset, bytes| {
            let pc = AppPc(layout.code + offset as u64);
            match Instruction::decode(bytes, pc) {
                Ok(instruction) => text.push_str(&format!("{instruction:?}\n")),
                Err(_) => text.push_str(&format!("{pc}: data {:02x}\n", bytes[0])),
            }
        });
        text
    }

    /// The parts that it consists of, with their offsets.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let islands = self.islands.iter().map(|island| (island.offset, island.code.as_slice()));
        std::iter::once((0, self.code.as_slice())).chain(islands)
    }

    /// Calls `each` with the offset of each instruction and what follows there.
    pub fn visit(&self, mut each: impl FnMut(usize, &[u8])) {
        for (offset, code) in self.parts() {
            let mut at = 0;
            while at < code.len() {
                each(offset + at, &code[at..]);
                at += Instruction::decode(&code[at..], AppPc(0)).map_or(1, |i| i.len());
            }
        }
    }
}

/// What an element takes at most, with its subroutines.
const ROOM: usize = 8192;

/// Makes programs.
pub struct Generator<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) layout: Layout,
    pub(super) rng: Rng,
    pub(super) code: Vec<u8>,
    /// Offset of `code` from the program's first byte: 0 unless an island is being made.
    pub(super) origin: usize,
    pub(super) islands: Vec<Island>,
    pub(super) constants: Vec<u64>,
    /// Slots of the control page used so far.
    pub(super) slots: u64,
    /// Shapes around the one that is being made.
    pub(super) depth: u32,
}

impl<'a> Generator<'a> {
    /// A generator whose programs the seed determines.
    pub fn new(catalogue: &'a Catalogue, layout: Layout, seed: u64) -> Generator<'a> {
        let (code, islands, constants) = (Vec::new(), Vec::new(), Vec::new());
        Generator { catalogue, layout, rng: Rng(seed), code, origin: 0, islands, constants, slots: 0, depth: 0 }
    }

    /// A program of about `length` instructions.
    pub fn program(mut self, length: usize) -> Program {
        for _ in 0..length {
            if self.code.len() + ROOM > PLANE.min(self.layout.code_len) {
                break;
            }
            self.element();
        }
        self.end()
    }

    /// A program of one instruction of this form and its preparation; `None` if it can't be made.
    pub fn single(mut self, form: Form) -> Option<Program> {
        self.form(form)?;
        Some(self.end())
    }

    fn end(mut self) -> Program {
        let end = self.code.len();
        self.code.extend_from_slice(&[0x0f, 0x05]);
        Program { code: self.code, end, islands: self.islands, constants: self.constants }
    }

    pub(super) fn here(&self) -> u64 {
        self.layout.code + (self.origin + self.code.len()) as u64
    }

    /// Appends an instruction; false if it has no encoding.
    pub(super) fn put(&mut self, iced: &Iced) -> bool {
        let before = self.code.len();
        let rip = self.here();
        let mut encoder = Encoder::new(64);
        encoder.set_buffer(std::mem::take(&mut self.code));
        let encoded = encoder.encode(iced, rip).is_ok();
        self.code = encoder.take_buffer();
        if !encoded {
            self.code.truncate(before);
        }
        encoded
    }

    pub(super) fn mov_imm(&mut self, r: Gpr, value: u64) {
        let iced = Iced::with2(Code::Mov_r64_imm64, Register::RAX + r as u32, value).expect("a valid form");
        assert!(self.put(&iced));
    }

    /// An instruction that keeps the stack pointer, of any form.
    pub(super) fn plain(&mut self) {
        for _ in 0..50 {
            let form = self.catalogue.pick(&mut self.rng);
            if self.form(form).is_some() {
                return;
            }
        }
        self.code.push(0x90);
    }

    /// The same of those for which `wanted` holds. Some other one if none is found.
    pub(super) fn plain_that(&mut self, wanted: impl Fn(&Usage) -> bool) {
        for _ in 0..200 {
            let before = self.code.len();
            let form = self.catalogue.pick(&mut self.rng);
            let Some(start) = self.form(form) else { continue };
            let instruction = Instruction::decode(&self.code[start..], AppPc(0)).expect("it was just made");
            if wanted(&instruction.usage()) {
                return;
            }
            self.code.truncate(before);
        }
        self.plain();
    }

    /// An instruction of this form with its preparation; `None` and nothing written if that choice of operands makes no
    /// sense. Returns where the instruction itself starts.
    fn form(&mut self, form: Form) -> Option<usize> {
        let before = self.code.len();
        let made = self.try_form(form);
        if made.is_none() {
            self.code.truncate(before);
        }
        made
    }

    fn try_form(&mut self, form: Form) -> Option<usize> {
        if !is_makeable(form) {
            return None;
        }
        let mut iced = Iced::default();
        iced.set_code(form.0);
        let mut memory = None;
        for i in 0..form.info().op_count() {
            if let Operand::Memory(index) = set_operand(&mut iced, form, i, &mut self.rng) {
                memory = Some(index);
            }
        }
        self.decorate(&mut iced, form, memory.is_some());
        match memory {
            Some(Some(index)) => self.vector_address(&mut iced, index),
            Some(None) => self.address(&mut iced),
            None => {}
        }
        if bit_index(&iced).is_some_and(|r| r == Gpr::Rsp || uses_in_address(&iced, r)) {
            return None;
        }
        self.prepare(&iced);
        let start = self.code.len();
        if !self.put(&iced) {
            return None;
        }
        let made = Instruction::decode(&self.code[start..], AppPc(0)).ok()?;
        let moves_stack = made.usage().gpr_written & 1 << Gpr::Rsp as u16 != 0;
        let pushes = matches!(iced.mnemonic(), Mnemonic::Push | Mnemonic::Pushf | Mnemonic::Pushfq);
        (made.len() == self.code.len() - start && (!moves_stack || pushes)).then_some(start)
    }

    /// Masks, broadcast, rounding and prefixes, where the form has them.
    fn decorate(&mut self, iced: &mut Iced, form: Form, memory: bool) {
        let (info, rng) = (form.info(), &mut self.rng);
        if info.can_use_op_mask_register() && (info.require_op_mask_register() || rng.once_in(2)) {
            iced.set_op_mask(Register::K1 + rng.below(7) as u32);
            if info.can_use_zeroing_masking() && iced.op0_kind() == OpKind::Register {
                iced.set_zeroing_masking(rng.once_in(2));
            }
        }
        if memory {
            if info.can_broadcast() {
                iced.set_is_broadcast(rng.once_in(3));
            }
            if info.can_use_lock_prefix() && iced.op0_kind() == OpKind::Memory {
                iced.set_has_lock_prefix(rng.once_in(3));
            }
        } else if info.encoding() == EncodingKind::EVEX && rng.once_in(2) {
            if info.can_use_rounding_control() {
                use RoundingControl as R;
                iced.set_rounding_control(rng.pick(&[R::RoundToNearest, R::RoundDown, R::RoundUp, R::RoundTowardZero]));
            } else if info.can_suppress_all_exceptions() {
                iced.set_suppress_all_exceptions(true);
            }
        }
        if iced.is_string_instruction() && info.can_use_rep_prefix() && rng.once_in(2) {
            iced.set_has_rep_prefix(true);
        } else if iced.is_string_instruction() && info.can_use_repne_prefix() && rng.once_in(2) {
            iced.set_has_repne_prefix(true);
        }
    }

    /// A place in the middle of the data, mostly aligned.
    pub(super) fn place(&mut self) -> u64 {
        if self.rng.once_in(300) {
            return self.layout.hole;
        }
        let offset = 1024 + self.rng.below(self.layout.data_len - 4096);
        self.layout.data + if self.rng.once_in(8) { offset } else { offset & !63 }
    }

    fn scratch(&mut self) -> Gpr {
        loop {
            let r = self.rng.pick(&Gpr::ALL);
            if r != Gpr::Rsp {
                return r;
            }
        }
    }

    /// Gives the memory operand an address in the data, in one of the ways that there are.
    fn address(&mut self, iced: &mut Iced) {
        let place = self.place();
        if matches!(iced.code(), Code::Xlat_m8) {
            iced.set_memory_base(Register::RBX);
            iced.set_memory_index(Register::AL);
            self.mov_imm(Gpr::Rbx, place);
            return;
        }
        if crate::write::is_moffs(iced.code()) {
            set_address(iced, Register::None, Register::None, 1, place, 8);
            return;
        }
        let (base, index) = (self.scratch(), self.scratch());
        let scale = 1 << self.rng.below(4);
        let low = self.layout.data < 1 << 31;
        let (base64, index64) = (Register::RAX + base as u32, Register::RAX + index as u32);
        match self.rng.below(9) {
            0 => set_address(iced, Register::RIP, Register::None, 1, place, 8),
            1 => {
                // Not the return address of a subroutine, and what a body may have pushed below it.
                let depth = 64 + (self.rng.below(448) & !15);
                set_address(iced, Register::RSP, Register::None, 1, depth, 8);
            }
            2 => self.segment_address(iced, Register::FS, base, place),
            3 => self.segment_address(iced, Register::GS, base, place),
            4 if low => set_address(iced, Register::None, Register::None, 1, place, 8),
            5 if low => {
                let upper = self.rng.bits() << 32;
                self.mov_imm(base, place | upper);
                set_address(iced, Register::EAX + base as u32, Register::None, 1, 0, 0);
            }
            6 | 7 if base != index => {
                let count = self.rng.below(64);
                let displacement = self.rng.below(0x4000) as i64 - 0x2000;
                self.mov_imm(index, count);
                self.mov_imm(base, place.wrapping_sub(count * scale).wrapping_sub(displacement as u64));
                set_address(iced, base64, index64, scale as u32, displacement as u64, 8);
            }
            _ => {
                let displacement = self.rng.pick(&[0_i64, 8, -64, 0x1234, -0x7000_0000]);
                self.mov_imm(base, place.wrapping_sub(displacement as u64));
                set_address(iced, base64, Register::None, 1, displacement as u64, 8);
            }
        }
    }

    fn segment_address(&mut self, iced: &mut Iced, segment: Register, base: Gpr, place: u64) {
        let segment_base = if segment == Register::FS { self.layout.fs_base } else { self.layout.gs_base };
        self.mov_imm(base, place.wrapping_sub(segment_base));
        iced.set_segment_prefix(segment);
        set_address(iced, Register::RAX + base as u32, Register::None, 1, 0, 0);
    }

    /// Gather and scatter: all indices are zero.
    fn vector_address(&mut self, iced: &mut Iced, file: Register) {
        let base = self.scratch();
        let place = self.place();
        self.mov_imm(base, place);
        let index = file + self.rng.below(16) as u32;
        let number = Register::XMM0 + index.number() as u32;
        if let Ok(zero) = Iced::with3(Code::VEX_Vpxor_xmm_xmm_xmmm128, number, number, number) {
            assert!(self.put(&zero));
        }
        set_address(iced, Register::RAX + base as u32, index, 1 << self.rng.below(4), 0, 0);
    }

    /// What an instruction needs in registers that it doesn't name.
    fn prepare(&mut self, iced: &Iced) {
        if iced.is_string_instruction() || iced.op_kinds().any(|k| k == OpKind::MemorySegRDI) {
            let (from, to, count) = (self.place(), self.place(), self.rng.below(40));
            self.mov_imm(Gpr::Rsi, from);
            self.mov_imm(Gpr::Rdi, to);
            self.mov_imm(Gpr::Rcx, count);
        }
        let divides = matches!(iced.mnemonic(), Mnemonic::Div | Mnemonic::Idiv);
        if divides && !self.rng.once_in(10) {
            let small = self.rng.below(100);
            self.mov_imm(Gpr::Rdx, 0);
            self.mov_imm(Gpr::Rax, small);
        }
        if let Some(r) = bit_index(iced) {
            let bit = self.rng.below(200);
            self.mov_imm(r, bit);
        }
    }
}

/// The register whose value is the index of a bit in memory, also far beyond the operand.
fn bit_index(iced: &Iced) -> Option<Gpr> {
    let bits = matches!(iced.mnemonic(), Mnemonic::Bt | Mnemonic::Btc | Mnemonic::Btr | Mnemonic::Bts);
    let in_memory = bits && iced.op0_kind() == OpKind::Memory && iced.op1_kind() == OpKind::Register;
    if in_memory { crate::decode::gpr(iced.op1_register()) } else { None }
}

fn uses_in_address(iced: &Iced, r: Gpr) -> bool {
    [iced.memory_base(), iced.memory_index()].into_iter().any(|part| crate::decode::gpr(part) == Some(r))
}

pub(super) fn set_address(iced: &mut Iced, base: Register, index: Register, scale: u32, displacement: u64, size: u32) {
    iced.set_memory_base(base);
    iced.set_memory_index(index);
    iced.set_memory_index_scale(scale);
    iced.set_memory_displacement64(displacement);
    iced.set_memory_displ_size(if displacement == 0 && base != Register::None { 0 } else { size });
}
