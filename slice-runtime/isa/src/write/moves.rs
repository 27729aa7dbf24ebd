//! Moves that the translator writes itself. All are 64-bit unless they say otherwise, and none touches a flag.

use machine::Gpr;

use super::code::Code;
use super::encode::{Address, REX, gs_at, gs_indexed, high, low};

const REX_W: u8 = REX | 8;
const LOAD: u8 = 0x8b;
const STORE: u8 = 0x89;
const LEA: u8 = 0x8d;

/// Moves.
impl Code {
    pub(crate) fn lea_address(&mut self, dst: Gpr, address: &Address) {
        // With 32-bit address arithmetic a 32-bit destination, so that the upper half is cleared.
        self.with_address(!address.short, &[LEA], dst as u8, address);
    }

    pub(crate) fn load_address(&mut self, dst: Gpr, address: &Address) {
        self.with_address(true, &[LOAD], dst as u8, address);
    }

    /// `dst = value`, in the shortest form.
    pub fn mov_imm(&mut self, dst: Gpr, value: u64) {
        if u32::try_from(value).is_ok() {
            if high(dst) != 0 {
                self.put(&[REX | 1]);
            }
            self.put(&[0xb8 | low(dst)]);
            self.put(&(value as u32).to_le_bytes());
        } else if let Ok(signed) = i32::try_from(value as i64) {
            self.put(&[REX_W | high(dst), 0xc7, 0xc0 | low(dst)]);
            self.put_i32(signed);
        } else {
            self.put(&[REX_W | high(dst), 0xb8 | low(dst)]);
            self.put(&value.to_le_bytes());
        }
    }

    /// `dst = src`.
    pub fn mov(&mut self, dst: Gpr, src: Gpr) {
        self.with_registers(true, &[STORE], src as u8, dst as u8);
    }

    /// `dst = low 16 bits of src`.
    pub fn movzx16(&mut self, dst: Gpr, src: Gpr) {
        self.with_registers(false, &[0x0f, 0xb7], dst as u8, src as u8);
    }

    /// `dst` = low 32 bits of `src`, rotated right by `bits`: `rorx`, an instruction of BMI2.
    pub fn rotate_right32(&mut self, dst: Gpr, src: Gpr, bits: u8) {
        const VEX_MAP_0F3A: u8 = 3;
        // The fourth bits of the registers, inverted; the one in the middle belongs to an index.
        let extended = 0xe0 ^ (high(dst) << 7 | high(src) << 5);
        self.put(&[0xc4, extended | VEX_MAP_0F3A, 0x7b, 0xf0, 0xc0 | low(dst) << 3 | low(src), bits]);
    }

    /// `dst` = the bits of `src` that are set in `gs:[offset]`, packed together: `pext`, an instruction of BMI2.
    pub fn extract_bits_gs(&mut self, dst: Gpr, src: Gpr, offset: u32) {
        const VEX_MAP_0F38: u8 = 2;
        // VEX has some bits inverted: the fourth ones of `dst`, of an index and of a base, and `src`. An address without base and index follows.
        let extended = 0xe0 ^ high(dst) << 7;
        let source = (!(src as u8) & 15) << 3;
        self.put(&[0x65, 0xc4, extended | VEX_MAP_0F38, 0x80 | source | 2, 0xf5, low(dst) << 3 | 4, 0x25]);
        self.put(&offset.to_le_bytes());
    }

    /// `dst = low 32 bits of src`.
    pub fn movzx32(&mut self, dst: Gpr, src: Gpr) {
        self.with_registers(false, &[STORE], src as u8, dst as u8);
    }

    /// `dst = base + displacement`.
    pub fn lea(&mut self, dst: Gpr, base: Gpr, displacement: i32) {
        self.lea_address(dst, &Address::at(base, displacement));
    }

    /// `dst = base + index`; `index` isn't rsp.
    pub fn lea_sum(&mut self, dst: Gpr, base: Gpr, index: Gpr) {
        debug_assert!(index != Gpr::Rsp);
        self.lea_address(dst, &Address { index: Some(index), scale: 1, ..Address::at(base, 0) });
    }

    /// `dst = low 32 bits of base + displacement`, zero-extended.
    pub fn lea32(&mut self, dst: Gpr, base: Gpr, displacement: i32) {
        self.with_address(false, &[LEA], dst as u8, &Address::at(base, displacement));
    }

    /// `dst = address`, which is in reach of RIP, and not one that GS is for.
    pub fn lea_rip(&mut self, dst: Gpr, address: u64) {
        debug_assert!(self.gs_offset(address).is_none(), "no instruction computes an address from GS");
        self.with_memory(true, &[LEA], dst as u8, address, 0);
    }

    /// `dst = [base + displacement]`.
    pub fn load(&mut self, dst: Gpr, base: Gpr, displacement: i32) {
        self.load_address(dst, &Address::at(base, displacement));
    }

    /// `dst = 32 bits at [base + displacement]`, zero-extended.
    pub fn load32(&mut self, dst: Gpr, base: Gpr, displacement: i32) {
        self.with_address(false, &[LOAD], dst as u8, &Address::at(base, displacement));
    }

    /// `dst = 16 bits at [base + displacement]`, zero-extended.
    pub fn load16(&mut self, dst: Gpr, base: Gpr, displacement: i32) {
        self.with_address(false, &[0x0f, 0xb7], dst as u8, &Address::at(base, displacement));
    }

    /// `dst = 8 bits at [base + displacement]`, zero-extended.
    pub fn load8(&mut self, dst: Gpr, base: Gpr, displacement: i32) {
        self.with_address(false, &[0x0f, 0xb6], dst as u8, &Address::at(base, displacement));
    }

    /// `dst = [base + index * scale + displacement]`.
    pub fn load_indexed(&mut self, dst: Gpr, base: Gpr, index: Gpr, scale: u8, displacement: i32) {
        debug_assert!(index != Gpr::Rsp);
        self.load_address(dst, &Address { index: Some(index), scale, ..Address::at(base, displacement) });
    }

    /// `[base + displacement] = src`.
    pub fn store(&mut self, base: Gpr, displacement: i32, src: Gpr) {
        self.with_address(true, &[STORE], src as u8, &Address::at(base, displacement));
    }

    /// `dst = [address]`.
    pub fn load_mem(&mut self, dst: Gpr, address: u64) {
        self.with_memory(true, &[LOAD], dst as u8, address, 0);
    }

    /// `[base + displacement] = value`, sign-extended to 64 bits.
    pub fn store_imm32(&mut self, base: Gpr, displacement: i32, value: i32) {
        self.with_address(true, &[0xc7], 0, &Address::at(base, displacement));
        self.put_i32(value);
    }

    /// `dst` = FS base.
    pub fn read_fs_base(&mut self, dst: Gpr) {
        self.put(&[0xf3, REX_W | high(dst), 0x0f, 0xae, 0xc0 | low(dst)]);
    }

    /// Asks for the cache line at `address`, in all caches.
    pub fn prefetch_mem(&mut self, address: u64) {
        self.with_memory(false, &[0x0f, 0x18], 1, address, 0);
    }

    /// `[address] = src`.
    pub fn store_mem(&mut self, address: u64, src: Gpr) {
        self.with_memory(true, &[STORE], src as u8, address, 0);
    }

    /// `gs:[offset] = src`.
    pub fn store_gs(&mut self, offset: u32, src: Gpr) {
        self.with_gs(&[STORE], src as u8, offset);
    }

    /// `dst = gs:[offset]`.
    pub fn load_gs(&mut self, dst: Gpr, offset: u32) {
        self.with_gs(&[LOAD], dst as u8, offset);
    }

    /// `dst = gs:[index * 8 + offset]`; `index` isn't rsp.
    pub fn load_gs_indexed(&mut self, dst: Gpr, index: Gpr, offset: u32) {
        self.load_address(dst, &gs_indexed(index, offset));
    }

    /// Asks for the cache line at `[base]`, in all caches.
    pub fn prefetch(&mut self, base: Gpr) {
        self.with_address(false, &[0x0f, 0x18], 1, &Address::at(base, 0));
    }

    /// `gs:[offset] = value`, sign-extended to 64 bits.
    pub fn store_gs_imm32(&mut self, offset: u32, value: i32) {
        self.with_gs(&[0xc7], 0, offset);
        self.put_i32(value);
    }

    /// `gs:[offset] = value`, in two halves.
    pub fn store_gs_imm64(&mut self, offset: u32, value: u64) {
        for (at, half) in [(offset, value as i32), (offset + 4, (value >> 32) as i32)] {
            self.with_address(false, &[0xc7], 0, &gs_at(at));
            self.put_i32(half);
        }
    }
}
