//! Jumps, calls and the stack, as the translator writes them. None touches a flag.

use machine::{CachePc, Gpr};

use super::code::{Code, Fixup};
use super::encode::{Address, REX, gs_indexed, high, low};
use crate::decode::{Condition, Segment};

/// Jumps, calls and the stack.
impl Code {
    /// `jmp target`. Returns the address of the 32-bit displacement.
    pub fn jmp(&mut self, target: CachePc) -> CachePc {
        self.put(&[0xe9]);
        self.relative(target)
    }

    /// `jcc target` in its long form. Returns the address of the 32-bit displacement.
    pub fn jcc(&mut self, condition: Condition, target: CachePc) -> CachePc {
        self.put(&[0x0f, 0x80 | condition as u8]);
        self.relative(target)
    }

    /// `call target`. Returns the address of the 32-bit displacement.
    pub fn call(&mut self, target: CachePc) -> CachePc {
        self.put(&[0xe8]);
        self.relative(target)
    }

    fn relative(&mut self, target: CachePc) -> CachePc {
        let at = self.here();
        let displacement = self.displacement(target.0, 4);
        self.put_i32(displacement);
        at
    }

    /// `jmp` to a target that is bound later, at most 127 bytes on.
    pub fn jmp_short(&mut self) -> Fixup {
        self.put(&[0xeb, 0]);
        self.fixup_before_here(1)
    }

    /// `jmp` to a target that is bound later.
    pub fn jmp_near(&mut self) -> Fixup {
        self.put(&[0xe9, 0, 0, 0, 0]);
        self.fixup_before_here(4)
    }

    /// `jcc` to a target that is bound later.
    pub fn jcc_near(&mut self, condition: Condition) -> Fixup {
        self.put(&[0x0f, 0x80 | condition as u8, 0, 0, 0, 0]);
        self.fixup_before_here(4)
    }

    /// `jcc` to a target that is bound later, at most 127 bytes on.
    pub fn jcc_short(&mut self, condition: Condition) -> Fixup {
        self.put(&[0x70 | condition as u8, 0]);
        self.fixup_before_here(1)
    }

    /// `jrcxz` to a target that is bound later, at most 127 bytes on.
    pub fn jrcxz(&mut self) -> Fixup {
        self.put(&[0xe3, 0]);
        self.fixup_before_here(1)
    }

    /// `jecxz` to a target that is bound later, at most 127 bytes on.
    pub fn jecxz(&mut self) -> Fixup {
        self.put(&[0x67, 0xe3, 0]);
        self.fixup_before_here(1)
    }

    /// A transaction that is over at once, or never begins: where there are transactions, eax may have changed behind it.
    pub fn empty_transaction(&mut self) {
        // xbegin, whose abort goes behind the xend.
        self.put(&[0xc7, 0xf8, 3, 0, 0, 0]);
        self.put(&[0x0f, 0x01, 0xd5]);
    }

    /// `jmp target`.
    pub fn jmp_reg(&mut self, target: Gpr) {
        self.with_registers(false, &[0xff], 4, target as u8);
    }

    /// `call target`.
    pub fn call_reg(&mut self, target: Gpr) {
        self.with_registers(false, &[0xff], 2, target as u8);
    }

    /// `jmp [address]`.
    pub fn jmp_mem(&mut self, address: u64) {
        self.with_memory(false, &[0xff], 4, address, 0);
    }

    /// `jmp gs:[offset]`.
    pub fn jmp_gs(&mut self, offset: u32) {
        let address = Address { displacement: i64::from(offset), segment: Some(Segment::Gs), ..Address::default() };
        self.with_address(false, &[0xff], 4, &address);
    }

    /// `jmp [base + index * 8]`; `index` isn't rsp.
    pub fn jmp_indexed(&mut self, base: Gpr, index: Gpr) {
        debug_assert!(index != Gpr::Rsp);
        self.with_address(false, &[0xff], 4, &Address { index: Some(index), scale: 8, ..Address::at(base, 0) });
    }

    /// `jmp gs:[index * 8 + offset]`; `index` isn't rsp.
    pub fn jmp_gs_indexed(&mut self, index: Gpr, offset: u32) {
        self.with_address(false, &[0xff], 4, &gs_indexed(index, offset));
    }

    /// `ret`.
    pub fn ret(&mut self) {
        self.put(&[0xc3]);
    }

    /// `push r`.
    pub fn push(&mut self, r: Gpr) {
        if high(r) != 0 {
            self.put(&[REX | 1]);
        }
        self.put(&[0x50 | low(r)]);
    }

    /// `pop r`.
    pub fn pop(&mut self, r: Gpr) {
        if high(r) != 0 {
            self.put(&[REX | 1]);
        }
        self.put(&[0x58 | low(r)]);
    }

    /// Pushes `value`, sign-extended to 64 bits.
    pub fn push_imm32(&mut self, value: i32) {
        self.put(&[0x68]);
        self.put_i32(value);
    }

    /// Pushes the 64-bit literal that lies at `address`, RIP-relative. One store, so that the `ret` that
    /// reads it back is forwarded from it.
    pub fn push_rip_literal(&mut self, address: CachePc) {
        self.with_memory(false, &[0xff], 6, address.0, 0);
    }
}
