//! Extended state: x87, MXCSR, vector and mask registers, PKRU, in the standard (uncompacted) XSAVE layout.

use crate::x87;

/// Bytes that are kept of an XSAVE area. Holds everything up to and including PKRU; AMX tiles lie beyond
/// and are hidden from apps.
pub const XSTATE_CAPACITY: usize = 4096;

/// Bits of XCR0 and of the area's XSTATE_BV.
pub mod component {
    /// x87 and MMX.
    pub const X87: u64 = 1 << 0;
    /// XMM registers.
    pub const SSE: u64 = 1 << 1;
    /// Upper halves of YMM0-15.
    pub const AVX: u64 = 1 << 2;
    /// Bound registers and their configuration (MPX). Nothing uses them any more, but where the processor has them the kernel's
    /// signal frames do.
    pub const MPX: u64 = 3 << 3;
    /// AVX-512: mask registers, upper ZMM0-15, ZMM16-31.
    pub const AVX512: u64 = 7 << 5;
    /// Protection keys.
    pub const PKRU: u64 = 1 << 9;
    /// Everything that is saved, restored and compared.
    pub const KEPT: u64 = X87 | SSE | AVX | MPX | AVX512 | PKRU;

    /// Those that the kernel has enabled.
    pub fn enabled() -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: XGETBV with ecx = 0 is available wherever the kernel enabled XSAVE.
        unsafe {
            std::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
        }
        u64::from(high) << 32 | u64::from(low)
    }
}

/// Where the address of the last x87 instruction is, in the layout of XSAVE64.
const FIP: usize = 8;

/// Its opcode.
const FOP: usize = 6;

/// An XSAVE area.
#[repr(C, align(64))]
#[derive(Clone)]
pub struct XState {
    /// Legacy region (512 bytes), header (64 bytes), extended region.
    pub bytes: [u8; XSTATE_CAPACITY],
}

impl XState {
    /// The initial state of every component, as after exec: x87 control word 0x37f, MXCSR 0x1f80.
    pub fn initial() -> Self {
        let mut bytes = [0; XSTATE_CAPACITY];
        bytes[0..2].copy_from_slice(&0x37f_u16.to_le_bytes());
        bytes[24..28].copy_from_slice(&0x1f80_u32.to_le_bytes());
        bytes[28..32].copy_from_slice(&0xffff_u32.to_le_bytes());
        Self { bytes }
    }

    /// Address of the last x87 instruction that wasn't a control instruction (FIP), if x87 is in use.
    pub fn x87_pc(&self) -> u64 {
        u64::from_le_bytes(self.bytes[FIP..FIP + 8].try_into().expect("eight bytes"))
    }

    /// Sets [`Self::x87_pc`].
    pub fn set_x87_pc(&mut self, pc: u64) {
        self.bytes[FIP..FIP + 8].copy_from_slice(&pc.to_le_bytes());
    }

    /// Low half of the address of the last x87 instruction as the gateway noted it, if it may be one in the code cache: see [`crate::x87`].
    pub fn noted_x87_pc(&self) -> Option<u32> {
        let half = |at: usize| u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"));
        let noted = half(x87::LAST_AT);
        let is_app = half(x87::IS_APP_AT) != 0 && half(x87::IS_APP_AT + 4) == noted;
        (noted != 0 && !is_app).then_some(noted)
    }

    /// What the gateway noted: the last sixteen bytes of an environment, as `fnstenv` stores them.
    pub fn last_x87(&self) -> [u32; 4] {
        let half = |at: usize| u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"));
        [0, 4, 8, 12].map(|at| half(x87::LAST_AT + at) | if at == 12 { 0xffff_0000 } else { 0 })
    }

    /// Makes the opcode of the last x87 instruction `opcode`, if it differs from that only in how the operand is named.
    pub fn correct_x87_opcode(&mut self, opcode: u16) {
        correct_opcode(&mut self.bytes[FOP..FOP + 2], opcode);
    }

    /// Makes that the app's own address `pc`, and corrects the opcode.
    pub fn note_app_x87_pc(&mut self, pc: u64, opcode: u16) {
        correct_opcode(&mut self.bytes[x87::LAST_AT + 6..x87::LAST_AT + 8], opcode);
        let low = (pc as u32).to_le_bytes();
        self.bytes[x87::LAST_AT..x87::LAST_AT + 4].copy_from_slice(&low);
        self.bytes[x87::IS_APP_AT..x87::IS_APP_AT + 4].copy_from_slice(&1_u32.to_le_bytes());
        self.bytes[x87::IS_APP_AT + 4..x87::IS_APP_AT + 8].copy_from_slice(&low);
        if !self.has_x87_exception() {
            self.set_x87_pc(pc);
        }
        self.correct_x87_opcode(opcode);
    }

    /// Whether an x87 exception is pending.
    pub fn has_x87_exception(&self) -> bool {
        self.bytes[2] & 0x80 != 0
    }

    /// Takes out what the gateway noted (see [`crate::x87`]): the image is then what XSAVE makes of this state on this processor.
    pub fn forget_notes(&mut self) {
        if x87::lost() != x87::Lost::Nothing && !self.has_x87_exception() {
            // Selectors are in none of these images; what else is lost is stored as zeros.
            if x87::lost() != x87::Lost::Selectors {
                self.bytes[6..24].fill(0);
            }
        }
        self.bytes[x87::LAST_AT..512].fill(0);
    }

    /// Components that are not in their initial state; the area's bytes of the others mean nothing.
    pub fn xstate_bv(&self) -> u64 {
        u64::from_le_bytes(self.bytes[512..520].try_into().expect("eight bytes"))
    }
}

fn correct_opcode(bytes: &mut [u8], opcode: u16) {
    /// Bits that tell how a memory operand is addressed (mod and rm).
    const ADDRESSING: u16 = 0xc7;
    let kept = u16::from_le_bytes([bytes[0], bytes[1]]);
    if kept != 0 && (kept ^ opcode) & !ADDRESSING == 0 {
        bytes.copy_from_slice(&opcode.to_le_bytes());
    }
}
