//! The bytes of instructions with ordinary operands: prefixes, opcode, ModRM, SIB, displacement.

use machine::Gpr;

use super::code::Code;
use crate::decode::Segment;

/// A memory operand to encode.
#[derive(Clone, Copy, Default)]
pub(crate) struct Address {
    pub(crate) base: Option<Gpr>,
    pub(crate) index: Option<Gpr>,
    pub(crate) scale: u8,
    pub(crate) displacement: i64,
    /// 32-bit address arithmetic.
    pub(crate) short: bool,
    pub(crate) segment: Option<Segment>,
}

impl Address {
    pub(crate) fn at(base: Gpr, displacement: i32) -> Address {
        Address { base: Some(base), displacement: i64::from(displacement), ..Address::default() }
    }
}

/// The REX prefix; its low bits are W, R, X and B.
pub(crate) const REX: u8 = 0x40;

/// Low three bits, as in ModRM and SIB.
pub(crate) fn low(r: Gpr) -> u8 {
    r as u8 & 7
}

/// The fourth bit, as in REX.
pub(crate) fn high(r: Gpr) -> u8 {
    r as u8 >> 3
}

/// Encoding.
impl Code {
    /// `opcode` with a register (or opcode extension) and a memory operand.
    pub(crate) fn with_address(&mut self, wide: bool, opcode: &[u8], reg: u8, address: &Address) {
        match address.segment {
            Some(Segment::Fs) => self.put(&[0x64]),
            Some(Segment::Gs) => self.put(&[0x65]),
            None => {}
        }
        if address.short {
            self.put(&[0x67]);
        }
        let rex =
            u8::from(wide) << 3 | (reg >> 3) << 2 | address.index.map_or(0, high) << 1 | address.base.map_or(0, high);
        if rex != 0 {
            self.put(&[REX | rex]);
        }
        self.put(opcode);
        self.address_bytes(reg & 7, address);
    }

    fn address_bytes(&mut self, reg: u8, address: &Address) {
        let displacement = i32::try_from(address.displacement).expect("a displacement has 32 bits");
        let Some(base) = address.base else {
            // Without base: SIB with base 101 and mod 00 is a plain 32-bit displacement.
            let index = address.index.map_or(4, low);
            self.put(&[reg << 3 | 4, scale_bits(address.scale) << 6 | index << 3 | 5]);
            self.put_i32(displacement);
            return;
        };
        let mode = match displacement {
            0 if low(base) != 5 => 0,
            -128..=127 => 1,
            _ => 2,
        };
        if address.index.is_some() || low(base) == 4 {
            let index = address.index.map_or(4, low);
            self.put(&[mode << 6 | reg << 3 | 4, scale_bits(address.scale) << 6 | index << 3 | low(base)]);
        } else {
            self.put(&[mode << 6 | reg << 3 | low(base)]);
        }
        match mode {
            0 => {}
            1 => self.put(&[displacement as u8]),
            _ => self.put_i32(displacement),
        }
    }

    /// `opcode` with a register (or opcode extension) and an operand naming `address`, RIP-relative or [`Code::through_gs`]; `after` bytes of immediate follow.
    pub(crate) fn with_memory(&mut self, wide: bool, opcode: &[u8], reg: u8, address: u64, after: usize) {
        self.segment_of(address);
        let rex = u8::from(wide) << 3 | (reg >> 3) << 2;
        if rex != 0 {
            self.put(&[REX | rex]);
        }
        self.put(opcode);
        self.memory(reg & 7, address, after);
    }

    /// The prefix of an instruction whose operand names `address`, if it needs one for that. It stands before all others.
    pub(crate) fn segment_of(&mut self, address: u64) {
        if self.gs_offset(address).is_some() {
            self.put(&[0x65]);
        }
    }

    /// ModRM and what follows it, for an operand naming `address`.
    pub(crate) fn memory(&mut self, reg: u8, address: u64, after: usize) {
        match self.gs_offset(address) {
            Some(offset) => self.address_bytes(reg, &gs_at(offset)),
            None => {
                self.put(&[reg << 3 | 5]);
                let displacement = self.displacement(address, 4 + after);
                self.put_i32(displacement);
            }
        }
    }

    /// `opcode` with two registers: `reg` field and `rm` field.
    pub(crate) fn with_registers(&mut self, wide: bool, opcode: &[u8], reg: u8, rm: u8) {
        let rex = u8::from(wide) << 3 | (reg >> 3) << 2 | rm >> 3;
        if rex != 0 {
            self.put(&[REX | rex]);
        }
        self.put(opcode);
        self.put(&[0xc0 | (reg & 7) << 3 | rm & 7]);
    }

    /// `opcode` with a register and `gs:[offset]`.
    pub(crate) fn with_gs(&mut self, opcode: &[u8], reg: u8, offset: u32) {
        self.with_address(true, opcode, reg, &gs_at(offset));
    }
}

/// `gs:[offset]`.
pub(super) fn gs_at(offset: u32) -> Address {
    let displacement = i64::from(i32::try_from(offset).expect("offsets from GS are small"));
    Address { displacement, segment: Some(Segment::Gs), ..Address::default() }
}

fn scale_bits(scale: u8) -> u8 {
    match scale {
        2 => 1,
        4 => 2,
        8 => 3,
        _ => 0,
    }
}

/// `gs:[index * 8 + offset]`.
pub(super) fn gs_indexed(index: Gpr, offset: u32) -> Address {
    debug_assert!(index != Gpr::Rsp);
    let segment = Some(Segment::Gs);
    Address { index: Some(index), scale: 8, displacement: i64::from(offset), segment, ..Address::default() }
}
