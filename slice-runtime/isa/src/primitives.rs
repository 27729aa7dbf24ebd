//! The instructions that the translator writes itself. All are 64-bit unless they say otherwise, and none touches
//! a flag unless its name is that of an arithmetic instruction.

use machine::{CachePc, Gpr};

use crate::code::{Code, Fixup};
use crate::condition::Condition;
use crate::encode::{Address, REX, high, low};
use crate::kind::Segment;

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

    /// `dst = address`, which is in reach of RIP.
    pub fn lea_rip(&mut self, dst: Gpr, address: u64) {
        self.with_rip(true, &[LEA], dst as u8, address, 0);
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

    /// `dst = [address]`, RIP-relative.
    pub fn load_mem(&mut self, dst: Gpr, address: u64) {
        self.with_rip(true, &[LOAD], dst as u8, address, 0);
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

    /// Asks for the cache line at `address`, RIP-relative, in all caches.
    pub fn prefetch_mem(&mut self, address: u64) {
        self.with_rip(false, &[0x0f, 0x18], 1, address, 0);
    }

    /// `[address] = src`, RIP-relative.
    pub fn store_mem(&mut self, address: u64, src: Gpr) {
        self.with_rip(true, &[STORE], src as u8, address, 0);
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
}

/// `gs:[index * 8 + offset]`.
fn gs_indexed(index: Gpr, offset: u32) -> Address {
    debug_assert!(index != Gpr::Rsp);
    let segment = Some(Segment::Gs);
    Address { index: Some(index), scale: 8, displacement: i64::from(offset), segment, ..Address::default() }
}

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

    /// `jmp [address]`, RIP-relative.
    pub fn jmp_mem(&mut self, address: u64) {
        self.with_rip(false, &[0xff], 4, address, 0);
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
        self.with_rip(false, &[0xff], 6, address.0, 0);
    }
}

/// Arithmetic, flags and the rest. Those named as arithmetic instructions change the flags.
impl Code {
    /// `add qword [address], value`, RIP-relative. Changes flags.
    pub fn add_mem_imm(&mut self, address: u64, value: i32) {
        self.group1_mem(0, address, value);
    }

    /// `add [address], src`, RIP-relative. Changes flags.
    pub fn add_mem(&mut self, address: u64, src: Gpr) {
        self.with_rip(true, &[0x01], src as u8, address, 0);
    }

    /// `sub qword [address], value`, RIP-relative. Changes flags.
    pub fn sub_mem_imm(&mut self, address: u64, value: i32) {
        self.group1_mem(5, address, value);
    }

    /// `cmp qword [address], value`, RIP-relative. Changes flags.
    pub fn cmp_mem_imm(&mut self, address: u64, value: i32) {
        self.group1_mem(7, address, value);
    }

    /// `test dword [address], mask`, RIP-relative. Changes flags.
    pub fn test_mem32(&mut self, address: u64, mask: u32) {
        self.with_rip(false, &[0xf7], 0, address, 4);
        self.put(&mask.to_le_bytes());
    }

    /// `test r, mask` of the low 32 bits. Changes flags.
    pub fn test32(&mut self, r: Gpr, mask: u32) {
        self.with_registers(false, &[0xf7], 0, r as u8);
        self.put(&mask.to_le_bytes());
    }

    fn group1_mem(&mut self, operation: u8, address: u64, value: i32) {
        if let Ok(short) = i8::try_from(value) {
            self.with_rip(true, &[0x83], operation, address, 1);
            self.put(&[short as u8]);
        } else {
            self.with_rip(true, &[0x81], operation, address, 4);
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

    /// `cmp a, [address]`, RIP-relative. Changes flags.
    pub fn cmp_mem(&mut self, a: Gpr, address: u64) {
        self.with_rip(true, &[0x3b], a as u8, address, 0);
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
