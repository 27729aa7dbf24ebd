//! Arithmetic, flags and the rest, as the translator writes them. Those named as arithmetic instructions change the flags.

use machine::Gpr;

use super::code::Code;
use super::encode::{Address, REX, high, low};
use crate::decode::Condition;

/// Arithmetic, flags and the rest. Those named as arithmetic instructions change the flags.
impl Code {
    /// `add qword [address], value`. Changes flags.
    pub fn add_mem_imm(&mut self, address: u64, value: i32) {
        self.group1_mem(0, address, value);
    }

    /// `add [address], src`. Changes flags.
    pub fn add_mem(&mut self, address: u64, src: Gpr) {
        self.with_memory(true, &[0x01], src as u8, address, 0);
    }

    /// `sub qword [address], value`. Changes flags.
    pub fn sub_mem_imm(&mut self, address: u64, value: i32) {
        self.group1_mem(5, address, value);
    }

    /// `cmp qword [address], value`. Changes flags.
    pub fn cmp_mem_imm(&mut self, address: u64, value: i32) {
        self.group1_mem(7, address, value);
    }

    /// `test dword [address], mask`. Changes flags.
    pub fn test_mem32(&mut self, address: u64, mask: u32) {
        self.with_memory(false, &[0xf7], 0, address, 4);
        self.put(&mask.to_le_bytes());
    }

    /// `test r, mask` of the low 32 bits. Changes flags.
    pub fn test32(&mut self, r: Gpr, mask: u32) {
        self.with_registers(false, &[0xf7], 0, r as u8);
        self.put(&mask.to_le_bytes());
    }

    fn group1_mem(&mut self, operation: u8, address: u64, value: i32) {
        if let Ok(short) = i8::try_from(value) {
            self.with_memory(true, &[0x83], operation, address, 1);
            self.put(&[short as u8]);
        } else {
            self.with_memory(true, &[0x81], operation, address, 4);
            self.put_i32(value);
        }
    }

    /// `add dst, src`. Changes flags.
    pub fn add(&mut self, dst: Gpr, src: Gpr) {
        self.with_registers(true, &[0x01], src as u8, dst as u8);
    }

    /// `add dst, value`. Changes flags.
    pub fn add_imm(&mut self, dst: Gpr, value: i32) {
        self.group1_reg(0, dst, value);
    }

    /// `cmp a, value`. Changes flags.
    pub fn cmp_imm(&mut self, a: Gpr, value: i32) {
        self.group1_reg(7, a, value);
    }

    /// `cmp a, gs:[offset]`. Changes flags.
    pub fn cmp_gs(&mut self, a: Gpr, offset: u32) {
        self.with_gs(&[0x3b], a as u8, offset);
    }

    /// `cmp a, [address]`. Changes flags.
    pub fn cmp_mem(&mut self, a: Gpr, address: u64) {
        self.with_memory(true, &[0x3b], a as u8, address, 0);
    }

    /// `dst` = a quadword of xmm0 to xmm15: two for each register, the lower one first. `pextrq` of the upper one is an instruction of SSE4.1.
    pub fn vector_quadword(&mut self, dst: Gpr, quadword: u8) {
        let register = quadword / 2;
        assert!(register < 16, "no register holds quadword {quadword}");
        let rex = 0x48 | (register & 8) >> 1 | high(dst);
        let registers = 0xc0 | (register & 7) << 3 | low(dst);
        match quadword % 2 {
            0 => self.put(&[0x66, rex, 0x0f, 0x7e, registers]),
            _ => self.put(&[0x66, rex, 0x0f, 0x3a, 0x16, registers, 1]),
        }
    }

    /// `test a, b`. Changes flags.
    pub fn test(&mut self, a: Gpr, b: Gpr) {
        self.with_registers(true, &[0x85], b as u8, a as u8);
    }

    fn group1_reg(&mut self, operation: u8, r: Gpr, value: i32) {
        if let Ok(short) = i8::try_from(value) {
            self.with_registers(true, &[0x83], operation, r as u8);
            self.put(&[short as u8]);
        } else {
            self.with_registers(true, &[0x81], operation, r as u8);
            self.put_i32(value);
        }
    }

    /// `lahf`: ah = SF ZF AF PF CF.
    pub fn lahf(&mut self) {
        self.put(&[0x9f]);
    }

    /// `sahf`: SF ZF AF PF CF = ah.
    pub fn sahf(&mut self) {
        self.put(&[0x9e]);
    }

    /// `seto al`.
    pub fn seto_al(&mut self) {
        self.put(&[0x0f, 0x90, 0xc0]);
    }

    /// Makes OF what `seto al` saved: `add al, 127` overflows if al is 1. Changes the other flags: before `sahf`.
    pub fn restore_of_from_al(&mut self) {
        self.put(&[0x04, 0x7f]);
    }

    /// `test byte [rsp + displacement], bits`. Changes flags.
    pub fn test_stack_byte(&mut self, displacement: i32, bits: u8) {
        self.with_address(false, &[0xf6], 0, &Address::at(Gpr::Rsp, displacement));
        self.put(&[bits]);
    }

    /// `test word [rsp], bits`. Changes flags.
    pub fn test_stack_word(&mut self, bits: u16) {
        self.put(&[0x66]);
        self.with_address(false, &[0xf7], 0, &Address::at(Gpr::Rsp, 0));
        self.put(&bits.to_le_bytes());
    }

    /// `pushfq`.
    pub fn pushfq(&mut self) {
        self.put(&[0x9c]);
    }

    /// `popfq`.
    pub fn popfq(&mut self) {
        self.put(&[0x9d]);
    }

    /// `setcc` to the low byte of `dst`, then zero-extended to 64 bits.
    pub fn set_condition(&mut self, condition: Condition, dst: Gpr) {
        self.put(&[REX | high(dst), 0x0f, 0x90 | condition as u8, 0xc0 | low(dst)]);
        self.put(&[REX | high(dst) << 2 | high(dst), 0x0f, 0xb6, 0xc0 | low(dst) << 3 | low(dst)]);
    }

    /// `int3`, for places that must never be reached.
    pub fn int3(&mut self) {
        self.put(&[0xcc]);
    }

    /// Eight bytes of data.
    pub fn quad(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// `length` bytes that do nothing, in as few instructions as possible.
    pub fn nop(&mut self, length: usize) {
        const FORMS: [&[u8]; 9] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x0f, 0x1f, 0x40, 0x00],
            &[0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
            &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        ];
        let mut left = length;
        while left > 0 {
            let n = left.min(FORMS.len());
            self.put(FORMS[n - 1]);
            left -= n;
        }
    }
}
