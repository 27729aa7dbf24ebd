//! Registers by their full width, and sets of them.

use std::fmt;

use machine::Gpr;

/// A register by its full width: `al`, `ax` and `eax` are [`Gpr::Rax`], `xmm3` and `ymm3` are the third vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Register {
    /// A general register.
    Gpr(Gpr),
    /// The flags (`rflags`).
    Flags,
    /// The instruction pointer (`rip`).
    Ip,
    /// A segment register, with its base.
    Segment(SegmentRegister),
    /// A vector register, `zmm0` to `zmm31`.
    Vector(u8),
    /// A mask register, `k0` to `k7`.
    Mask(u8),
    /// A register of the x87 stack, counted from its top before the instruction: `st(0)` to `st(7)`.
    X87(u8),
    /// An MMX register, `mm0` to `mm7`. Each shares its bits with one of the x87 unit's registers.
    Mmx(u8),
    /// A tile register (AMX), `tmm0` to `tmm7`.
    Tile(u8),
    /// A bounds register (MPX), `bnd0` to `bnd3`.
    Bound(u8),
    /// The control and status register of SSE. Only for instructions that load or store it: that others round by it and note exceptions isn't told.
    Mxcsr,
    /// A register that only the kernel can use: of control, debugging or testing.
    System,
}

/// A segment register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names are the hardware's
pub enum SegmentRegister {
    Es,
    Cs,
    Ss,
    Ds,
    Fs,
    Gs,
}

const SEGMENTS: [SegmentRegister; 6] = {
    use SegmentRegister::{Cs, Ds, Es, Fs, Gs, Ss};
    [Es, Cs, Ss, Ds, Fs, Gs]
};

/// A kind of registers that are numbered: how many there are, and how one is made.
type Numbered = (u8, fn(u8) -> Register);

const NUMBERED: [Numbered; 6] = [
    (32, Register::Vector),
    (8, Register::Mask),
    (8, Register::X87),
    (8, Register::Mmx),
    (8, Register::Tile),
    (4, Register::Bound),
];

impl Register {
    /// All there are, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Register> {
        let gprs = Gpr::ALL.into_iter().map(Register::Gpr);
        let segments = SEGMENTS.into_iter().map(Register::Segment);
        let numbered = NUMBERED.into_iter().flat_map(|(count, make)| (0..count).map(make));
        let single = [Register::Flags, Register::Ip, Register::Mxcsr, Register::System];
        gprs.chain(single).chain(segments).chain(numbered)
    }

    /// What iced calls so or a part of it.
    pub(super) fn from_iced(register: iced_x86::Register) -> Option<Register> {
        use iced_x86::Register as R;
        let full = register.full_register();
        let from = |first: R| (full as u32).checked_sub(first as u32).map_or(u8::MAX, |n| n.min(255) as u8);
        let system = register.is_cr() || register.is_dr() || register.is_tr();
        Some(match full {
            R::None => return None,
            R::RIP | R::EIP => Register::Ip,
            _ if full.is_segment_register() => Register::Segment(SEGMENTS[usize::from(from(R::ES))]),
            _ if full.is_gpr64() => Register::Gpr(Gpr::ALL[usize::from(from(R::RAX))]),
            _ if full.is_vector_register() => Register::Vector(from(R::ZMM0)),
            _ if full.is_k() => Register::Mask(from(R::K0)),
            _ if full.is_st() => Register::X87(from(R::ST0)),
            _ if full.is_mm() => Register::Mmx(from(R::MM0)),
            _ if full.is_tmm() => Register::Tile(from(R::TMM0)),
            _ if full.is_bnd() => Register::Bound(from(R::BND0)),
            _ if system => Register::System,
            _ => return None,
        })
    }

    /// Its bit in a set: those of [`Self::all`], one after the other. None for a number that no register has.
    fn bit(self) -> Option<u128> {
        let numbered = |kind: usize, n: u8| {
            let before: u8 = NUMBERED[..kind].iter().map(|(count, _)| count).sum();
            if n < NUMBERED[kind].0 { 26 + before + n } else { u8::MAX }
        };
        let bit = match self {
            Register::Gpr(r) => r as u8,
            Register::Flags => 16,
            Register::Ip => 17,
            Register::Mxcsr => 18,
            Register::System => 19,
            Register::Segment(segment) => 20 + segment as u8,
            Register::Vector(n) => numbered(0, n),
            Register::Mask(n) => numbered(1, n),
            Register::X87(n) => numbered(2, n),
            Register::Mmx(n) => numbered(3, n),
            Register::Tile(n) => numbered(4, n),
            Register::Bound(n) => numbered(5, n),
        };
        1_u128.checked_shl(bit.into())
    }
}

impl From<Gpr> for Register {
    fn from(r: Gpr) -> Register {
        Register::Gpr(r)
    }
}

impl fmt::Display for Register {
    /// The name of its full width in lower case: `rax`, `zmm3`, `rflags`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Register::Gpr(r) => f.write_str(r.name()),
            Register::Flags => f.write_str("rflags"),
            Register::Ip => f.write_str("rip"),
            Register::Segment(segment) => f.write_str(["es", "cs", "ss", "ds", "fs", "gs"][segment as usize]),
            Register::Vector(n) => write!(f, "zmm{n}"),
            Register::Mask(n) => write!(f, "k{n}"),
            Register::X87(n) => write!(f, "st{n}"),
            Register::Mmx(n) => write!(f, "mm{n}"),
            Register::Tile(n) => write!(f, "tmm{n}"),
            Register::Bound(n) => write!(f, "bnd{n}"),
            Register::Mxcsr => f.write_str("mxcsr"),
            Register::System => f.write_str("system"),
        }
    }
}

/// A set of registers. A few bits: cheap to copy.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RegisterSet(u128);

impl RegisterSet {
    /// Adds one.
    ///
    /// # Panics
    /// If there is no register with that number.
    pub fn insert(&mut self, register: Register) {
        self.0 |= register.bit().unwrap_or_else(|| panic!("there is no {register:?}"));
    }

    /// Whether this is one of them; a number that no register has isn't.
    pub fn contains(self, register: impl Into<Register>) -> bool {
        register.into().bit().is_some_and(|bit| self.0 & bit != 0)
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of either.
    pub fn union(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 | other.0)
    }

    /// Those of both.
    pub fn intersection(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 & other.0)
    }

    /// All of them: general ones first, then flags and the like, segments, vectors, masks and others.
    pub fn iter(self) -> impl Iterator<Item = Register> {
        Register::all().filter(move |&register| self.contains(register))
    }
}

impl FromIterator<Register> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = Register>>(registers: I) -> Self {
        let mut set = RegisterSet::default();
        registers.into_iter().for_each(|register| set.insert(register));
        set
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|register| register.to_string())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_register_has_a_bit_of_its_own() {
        let all: RegisterSet = Register::all().collect();
        assert_eq!(all.len(), Register::all().count());
        assert_eq!(all.iter().collect::<Vec<_>>(), Register::all().collect::<Vec<_>>());
        assert!(all.contains(Gpr::R15) && all.contains(Register::Bound(3)) && !all.contains(Register::Mask(8)));
    }

    #[test]
    fn parts_are_their_full_registers() {
        use iced_x86::Register as R;
        for (part, full) in [
            (R::AH, Register::Gpr(Gpr::Rax)),
            (R::R11D, Register::Gpr(Gpr::R11)),
            (R::XMM31, Register::Vector(31)),
            (R::YMM0, Register::Vector(0)),
            (R::K7, Register::Mask(7)),
            (R::ST3, Register::X87(3)),
            (R::MM1, Register::Mmx(1)),
            (R::GS, Register::Segment(SegmentRegister::Gs)),
            (R::EIP, Register::Ip),
            (R::CR3, Register::System),
            (R::TMM7, Register::Tile(7)),
            (R::BND2, Register::Bound(2)),
        ] {
            assert_eq!(Register::from_iced(part), Some(full), "{part:?}");
        }
        assert_eq!(Register::from_iced(R::None), None);
    }
}
