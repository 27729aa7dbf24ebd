//! Extended state: x87, MXCSR, vector and mask registers, PKRU, in the standard (uncompacted) XSAVE layout.

use std::ops::Range;
use std::sync::OnceLock;

use crate::component_place::ComponentPlace;
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

/// What the x87 unit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct X87 {
    /// Control word.
    pub control: u16,
    /// Status word; bits 11 to 13 are the number of the register that is the stack's top.
    pub status: u16,
    /// One bit for each of the unit's registers, by number (not from the top): whether it holds a value.
    pub in_use: u8,
    /// The stack from its top on, ten bytes each: a mantissa of eight bytes, then exponent and sign. MMX registers are the mantissas, by number.
    pub stack: [[u8; 10]; 8],
}

/// Where the components are that aren't at the same places everywhere: upper halves of ymm0 to ymm15, mask registers, upper halves of zmm0 to zmm15, zmm16 to zmm31.
fn places() -> &'static [ComponentPlace; 4] {
    static PLACES: OnceLock<[ComponentPlace; 4]> = OnceLock::new();
    PLACES.get_or_init(|| [2, 5, 6, 7].map(ComponentPlace::own))
}

const CONTROL: usize = 0;
const STATUS: usize = 2;
const IN_USE: usize = 4;
const MXCSR: usize = 24;
const STACK: usize = 32;
const XMM: usize = 160;

impl XState {
    /// The bytes at `start`, or zeros where their component, which has this bit, isn't in use or doesn't exist.
    fn value<const N: usize>(&self, bit: u64, start: usize) -> [u8; N] {
        let bytes = self.bytes.get(start..start + N).filter(|_| self.xstate_bv() & bit != 0);
        bytes.map_or([0; N], |bytes| bytes.try_into().expect("as many"))
    }

    /// A vector register, `zmm0` to `zmm31`, the lowest byte first. What the processor doesn't have of it is zero.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn vector(&self, number: usize) -> [u8; 64] {
        assert!(number < 32, "there is no vector register {number}");
        let [ymm, _, zmm, more] = *places();
        let (avx, upper, last) = (component::AVX, 1 << 6, 1 << 7);
        let at = |place: ComponentPlace, n: usize, size: usize| {
            if place.len == 0 { usize::MAX / 2 } else { place.start + n * size }
        };
        if number >= 16 {
            return self.value(last, at(more, number - 16, 64));
        }
        let mut bytes = [0; 64];
        bytes[..16].copy_from_slice(&self.value::<16>(component::SSE, XMM + 16 * number));
        bytes[16..32].copy_from_slice(&self.value::<16>(avx, at(ymm, number, 16)));
        bytes[32..].copy_from_slice(&self.value::<32>(upper, at(zmm, number, 32)));
        bytes
    }

    /// A mask register, `k0` to `k7`.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn mask(&self, number: usize) -> u64 {
        assert!(number < 8, "there is no mask register {number}");
        let place = places()[1];
        if place.len == 0 { 0 } else { u64::from_le_bytes(self.value(1 << 5, place.start + 8 * number)) }
    }

    /// The control and status register of SSE.
    pub fn mxcsr(&self) -> u32 {
        u32::from_le_bytes(self.bytes[MXCSR..MXCSR + 4].try_into().expect("four bytes"))
    }

    /// Makes the bytes at `start`, of the component with this bit that lies in `whole`, these. One that isn't in use stays so if they are zeros.
    fn set_value(&mut self, bit: u64, whole: Range<usize>, start: usize, value: &[u8]) {
        if whole.is_empty() || whole.end > self.bytes.len() {
            return;
        }
        if self.xstate_bv() & bit == 0 {
            if value.iter().all(|byte| *byte == 0) {
                return;
            }
            self.bytes[whole].fill(0);
            let in_use = self.xstate_bv() | bit;
            self.bytes[512..520].copy_from_slice(&in_use.to_le_bytes());
        }
        self.bytes[start..start + value.len()].copy_from_slice(value);
    }

    /// Makes a vector register this, as far as the processor has it.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn set_vector(&mut self, number: usize, value: &[u8; 64]) {
        assert!(number < 32, "there is no vector register {number}");
        let [ymm, _, zmm, more] = *places();
        if number >= 16 {
            return self.set_value(1 << 7, more.range(), more.start + (number - 16) * 64, value);
        }
        self.set_value(component::SSE, XMM..XMM + 16 * 16, XMM + 16 * number, &value[..16]);
        self.set_value(component::AVX, ymm.range(), ymm.start + 16 * number, &value[16..32]);
        self.set_value(1 << 6, zmm.range(), zmm.start + 32 * number, &value[32..]);
    }

    /// Makes a mask register this, if the processor has one.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn set_mask(&mut self, number: usize, value: u64) {
        assert!(number < 8, "there is no mask register {number}");
        let place = places()[1];
        self.set_value(1 << 5, place.range(), place.start + 8 * number, &value.to_le_bytes());
    }

    /// Makes what protection keys forbid (PKRU) this, if the processor has such keys.
    pub fn set_protection_keys(&mut self, value: u32) {
        let place = ComponentPlace::own(component::PKRU.trailing_zeros());
        self.set_value(component::PKRU, place.range(), place.start, &value.to_le_bytes());
    }

    /// Makes the control and status register of SSE this. Bits that there aren't are left out.
    pub fn set_mxcsr(&mut self, value: u32) {
        let mask = u32::from_le_bytes(self.bytes[MXCSR + 4..MXCSR + 8].try_into().expect("four bytes"));
        let known = if mask == 0 { 0xffbf } else { mask };
        self.bytes[MXCSR..MXCSR + 4].copy_from_slice(&(value & known).to_le_bytes());
    }

    /// The x87 unit.
    pub fn x87(&self) -> X87 {
        if self.xstate_bv() & component::X87 == 0 {
            return X87 { control: 0x37f, status: 0, in_use: 0, stack: [[0; 10]; 8] };
        }
        let word = |at: usize| u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]);
        let stack = std::array::from_fn(|n| self.value(component::X87, STACK + 16 * n));
        X87 { control: word(CONTROL), status: word(STATUS), in_use: self.bytes[IN_USE], stack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_there() {
        let mut state = XState::initial();
        // What was there before it came into use means nothing.
        state.bytes[XMM..XMM + 256].fill(0x77);
        let value: [u8; 64] = std::array::from_fn(|n| n as u8 + 1);
        state.set_vector(3, &value);
        assert_eq!(state.vector(3)[..16], value[..16]);
        assert_eq!((state.vector(4), state.xstate_bv() & 2), ([0; 64], 2));
        if places()[0].len != 0 {
            assert_eq!(state.vector(3)[..32], value[..32]);
        }
        state.set_vector(3, &[0; 64]);
        assert_eq!(state.vector(3), [0; 64]);
        state.set_mask(2, 5);
        assert_eq!(state.mask(2), if places()[1].len == 0 { 0 } else { 5 });
        state.set_mxcsr(0x9fc0_1f80);
        assert_eq!(state.mxcsr() & 0xffff_0000, 0);
    }

    /// As the processor stores them.
    #[test]
    fn registers_are_where_the_processor_stores_them() {
        let mut state = XState::initial();
        let value: [u8; 32] = std::array::from_fn(|n| n as u8 + 1);
        let mask = component::enabled() & component::KEPT & !component::PKRU;
        let has_avx = mask & component::AVX != 0;
        // SAFETY: the area is large enough for the components in the mask and aligned; the registers that are written are told.
        unsafe {
            std::arch::asm!(
                "movups xmm13, [{value}]",
                "fldpi",
                "xsave64 [{area}]",
                "fstp st(0)",
                value = in(reg) value.as_ptr(), area = in(reg) state.bytes.as_mut_ptr(),
                in("eax") mask as u32, in("edx") (mask >> 32) as u32,
                out("xmm13") _, out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            );
        }
        assert_eq!(state.vector(13)[..16], value[..16]);
        let x87 = state.x87();
        assert_eq!(x87.in_use.count_ones(), 1);
        assert_eq!(x87.stack[0], [0x35, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f, 0xc9, 0x00, 0x40]);
        assert_eq!((x87.control, state.mxcsr() & 0x1f80), (0x37f, 0x1f80));
        if has_avx {
            // SAFETY: as above, and the processor has the registers.
            unsafe {
                std::arch::asm!(
                    "vmovups ymm13, [{value}]",
                    "xsave64 [{area}]",
                    "vzeroupper",
                    value = in(reg) value.as_ptr(), area = in(reg) state.bytes.as_mut_ptr(),
                    in("eax") mask as u32, in("edx") (mask >> 32) as u32, out("ymm13") _,
                );
            }
            assert_eq!(state.vector(13)[..32], value);
            assert_eq!(state.vector(13)[32..], [0; 32]);
        }
        if mask & component::AVX512 == component::AVX512 {
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(
                    "kmovw k6, {number:e}",
                    "vpbroadcastd zmm29, {number:e}",
                    "vpbroadcastd zmm2, {number:e}",
                    "xsave64 [{area}]",
                    "vzeroupper",
                    number = in(reg) 0x1234, area = in(reg) state.bytes.as_mut_ptr(),
                    in("eax") mask as u32, in("edx") (mask >> 32) as u32, out("xmm2") _, out("xmm29") _, out("k6") _,
                );
            }
            let words = std::array::from_fn(|n| [0x34, 0x12, 0, 0][n % 4]);
            assert_eq!((state.vector(29), state.vector(2), state.mask(6)), (words, words, 0x1234));
        }
        assert_eq!(XState::initial().vector(31), [0; 64]);
        assert_eq!(XState::initial().x87().control, 0x37f);
    }
}
