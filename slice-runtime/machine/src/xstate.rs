//! Extended state: x87, MXCSR, vector and mask registers, PKRU, in the standard (uncompacted) XSAVE layout.

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
}

/// Where the address of the last x87 instruction is, in the layout of XSAVE64.
const FIP: usize = 8;

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

    /// Components that are not in their initial state; the area's bytes of the others mean nothing.
    pub fn xstate_bv(&self) -> u64 {
        u64::from_le_bytes(self.bytes[512..520].try_into().expect("eight bytes"))
    }
}
