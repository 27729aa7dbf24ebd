//! What is kept around a call, or told a routine: vector and mask registers, MXCSR, the base of FS.

use machine::{CachePc, Gpr};

use super::code::Code;
use super::encode::{high, low};

impl Code {
    /// `[address]` = the lower 128 bits of a vector register.
    pub fn store_vector(&mut self, address: u64, vector: u8) {
        self.with_memory(false, &[0x0f, 0x11], vector, address, 0);
    }

    /// The lower 128 bits of a vector register = `[address]`. Those above them stay.
    pub fn load_vector(&mut self, vector: u8, address: u64) {
        self.with_memory(false, &[0x0f, 0x10], vector, address, 0);
    }

    /// `[address]` = a register of 256 bits, `ymm0` to `ymm15`: `vmovdqu`, an instruction of AVX.
    pub fn store_ymm(&mut self, address: u64, vector: u8) {
        debug_assert!(vector < 16);
        // Two-byte VEX prefix: the register's fourth bit inverted, no second source, 256 bits, F3.
        self.segment_of(address);
        self.put(&[0xc5, !vector >> 3 << 7 | 0x7e, 0x7f]);
        self.memory(vector & 7, address, 0);
    }

    /// `[address]` = a register of 512 bits, `zmm0` to `zmm31`: `vmovdqu64`, an instruction of AVX-512.
    pub fn store_zmm(&mut self, address: u64, vector: u8) {
        debug_assert!(vector < 32);
        // EVEX prefix: the register's fourth and fifth bit inverted, map 0F; W, no second source, F3; 512 bits, no mask.
        let extended = !vector >> 3 << 7 | 0x60 | (!vector >> 4 & 1) << 4;
        self.segment_of(address);
        self.put(&[0x62, extended | 1, 0xfe, 0x48, 0x7f]);
        self.memory(vector & 7, address, 0);
    }

    /// `dst` = a mask register, `k0` to `k7`: `kmovq`, an instruction of AVX-512BW.
    pub fn mov_mask(&mut self, dst: Gpr, mask: u8) {
        debug_assert!(mask < 8);
        // Three-byte VEX prefix: the register's fourth bit inverted, map 0F; W, no second source, F2.
        self.put(&[0xc4, !high(dst) << 7 | 0x61, 0xfb, 0x93, 0xc0 | low(dst) << 3 | mask]);
    }

    /// `[address]` = MXCSR.
    pub fn store_mxcsr(&mut self, address: u64) {
        self.with_memory(false, &[0x0f, 0xae], 3, address, 0);
    }

    /// MXCSR = `[address]`.
    pub fn load_mxcsr(&mut self, address: u64) {
        self.with_memory(false, &[0x0f, 0xae], 2, address, 0);
    }

    /// FS base = `src`.
    pub fn write_fs_base(&mut self, src: Gpr) {
        self.put(&[0xf3, 0x48 | (src as u8) >> 3, 0x0f, 0xae, 0xd0 | src as u8 & 7]);
    }

    /// `dst |= [address]`.
    pub fn or_mem(&mut self, dst: Gpr, address: u64) {
        self.with_memory(true, &[0x0b], dst as u8, address, 0);
    }

    /// `[address] = value`, 32 bits. Flags stay.
    pub fn store_mem32_imm(&mut self, address: u64, value: u32) {
        self.with_memory(false, &[0xc7], 0, address, 4);
        self.put(&value.to_le_bytes());
    }

    /// Takes a word from the stack to `[address]`.
    pub fn pop_mem(&mut self, address: u64) {
        self.with_memory(false, &[0x8f], 0, address, 0);
    }

    /// A jump to anywhere, without a register.
    pub fn jmp_far(&mut self, target: u64) {
        if self.reaches(target) {
            self.jmp(CachePc(target));
        } else {
            self.put(&[0xff, 0x25, 0, 0, 0, 0]);
            self.put(&target.to_le_bytes());
        }
    }

    /// A call of anything, without a register.
    pub fn call_far(&mut self, target: u64) {
        if self.reaches(target) {
            self.call(CachePc(target));
        } else {
            // The word lies behind a jump over it.
            self.put(&[0xff, 0x15, 2, 0, 0, 0, 0xeb, 8]);
            self.put(&target.to_le_bytes());
        }
    }
}
