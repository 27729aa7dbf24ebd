//! The processor state of a random program, and what of it must be the same.

use std::sync::OnceLock;

use isa::random::Rng;
use machine::{Gpr, Registers, XState, component, flags};

use crate::arena::Arena;

/// Where a component lies in an XSAVE area.
#[derive(Clone, Copy)]
struct Part {
    bit: u64,
    name: &'static str,
    at: usize,
    len: usize,
}

/// Components beyond the legacy region that this CPU has.
fn parts() -> &'static [Part] {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    PARTS.get_or_init(find_parts)
}

fn find_parts() -> Vec<Part> {
    let names = [(2, "ymm upper"), (5, "k"), (6, "zmm0-15 upper"), (7, "zmm16-31")];
    let find = |(number, name): (u32, &'static str)| {
        let [len, at, ..] = machine::cpuid::ask(0xd, number);
        (len != 0).then_some(Part { bit: 1 << number, name, at: at as usize, len: len as usize })
    };
    names.into_iter().filter_map(find).collect()
}

const CONTROL: usize = 0;
const STATUS: usize = 2;
const TAGS: usize = 4;
const MXCSR: usize = 24;
const ST: usize = 32;
const XMM: usize = 160;
const XMM_END: usize = 416;
const XSTATE_BV: usize = 512;

/// Registers and extended state.
#[derive(Clone)]
pub struct State {
    pub registers: Registers,
    pub xstate: XState,
}

impl State {
    /// A random state that a program of the arena can start with.
    pub fn random(rng: &mut Rng, arena: &Arena) -> State {
        let layout = arena.layout();
        let mut registers = Registers { rip: layout.code, ..Registers::default() };
        for r in Gpr::ALL {
            let value = if rng.once_in(4) { layout.data + rng.below(layout.data_len) } else { rng.value() };
            registers.set(r, value);
        }
        registers.set(Gpr::Rsp, arena.stack() - 8 * rng.below(4));
        registers.rflags = 0x202 | (rng.bits() & flags::ARITHMETIC);
        registers.fs_base = layout.fs_base;
        registers.gs_base = layout.gs_base;
        State { registers, xstate: random_xstate(rng) }
    }

    /// What differs in `other`, in words; nothing for what needn't be the same.
    pub fn differences(&self, other: &State) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |name: &str, a: u64, b: u64| {
            if a != b {
                found.push(format!("{name}: {a:#x} {b:#x}"));
            }
        };
        let (a, b) = (&self.registers, &other.registers);
        for r in Gpr::ALL {
            check(r.name(), a.get(r), b.get(r));
        }
        check("flags", a.rflags & flags::VISIBLE, b.rflags & flags::VISIBLE);
        check("fs base", a.fs_base, b.fs_base);
        check("gs base", a.gs_base, b.gs_base);
        let (a, b) = (normalized(&self.xstate), normalized(&other.xstate));
        let mut ranges = vec![("x87 control, status, tags", CONTROL..TAGS + 1), ("mxcsr", MXCSR..MXCSR + 4)];
        ranges.extend((0..8).map(|i| ("st", ST + 16 * i..ST + 16 * i + 10)));
        ranges.extend((0..16).map(|i| ("xmm", XMM + 16 * i..XMM + 16 * i + 16)));
        ranges.extend(parts().iter().map(|p| (p.name, p.at..p.at + p.len)));
        for (name, range) in ranges {
            if a[range.clone()] != b[range.clone()] {
                let at = range.clone().find(|&i| a[i] != b[i]).expect("they differ");
                let to = range.end.min(at + 16);
                found.push(format!("{name} (byte {at:#x} of the area): {:02x?} {:02x?}", &a[at..to], &b[at..to]));
            }
        }
        found
    }
}

fn random_xstate(rng: &mut Rng) -> XState {
    let mut xstate = XState::initial();
    let bytes = &mut xstate.bytes;
    let mut random = |range: std::ops::Range<usize>| {
        for chunk in bytes[range].chunks_mut(8) {
            let value = if rng.once_in(3) { rng.value() } else { rng.bits() };
            chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]);
        }
    };
    (0..8).for_each(|i| random(ST + 16 * i..ST + 16 * i + 10));
    random(XMM..XMM_END);
    let parts = parts();
    parts.iter().for_each(|p| random(p.at..p.at + p.len));
    bytes[TAGS] = rng.bits() as u8;
    let top = (rng.below(8) as u16) << 11;
    bytes[STATUS..STATUS + 2].copy_from_slice(&top.to_le_bytes());
    let mxcsr = 0x1f80 | (rng.below(4) << 13) as u32;
    bytes[MXCSR..MXCSR + 4].copy_from_slice(&mxcsr.to_le_bytes());
    let all = parts.iter().fold(component::X87 | component::SSE, |all, p| all | p.bit);
    bytes[XSTATE_BV..XSTATE_BV + 8].copy_from_slice(&all.to_le_bytes());
    xstate
}

/// The area with initial values in components that are said to be in their initial state.
fn normalized(xstate: &XState) -> Vec<u8> {
    let mut bytes = xstate.bytes.to_vec();
    let initial = XState::initial();
    let used = xstate.xstate_bv();
    if used & component::X87 == 0 {
        bytes[..MXCSR].copy_from_slice(&initial.bytes[..MXCSR]);
        bytes[ST..XMM].fill(0);
    }
    if used & component::SSE == 0 {
        bytes[XMM..XMM_END].fill(0);
    }
    for part in parts() {
        if used & part.bit == 0 {
            bytes[part.at..part.at + part.len].fill(0);
        }
    }
    bytes
}

/// Copies the components that programs use, and what says which are in use, from one area to another.
pub fn copy_components(from: &[u8], to: &mut [u8]) {
    to[..464].copy_from_slice(&from[..464]);
    let mut kept = component::X87 | component::SSE;
    for part in parts() {
        to[part.at..part.at + part.len].copy_from_slice(&from[part.at..part.at + part.len]);
        kept |= part.bit;
    }
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes[XSTATE_BV..XSTATE_BV + 8].try_into().expect("eight bytes"));
    let used = (word(to) & !kept) | (word(from) & kept);
    to[XSTATE_BV..XSTATE_BV + 8].copy_from_slice(&used.to_le_bytes());
}

#[test]
fn each_part_of_the_state_is_compared() {
    let start = State { registers: Registers::default(), xstate: random_xstate(&mut Rng(1)) };
    assert_eq!(start.differences(&start.clone()), [""; 0]);
    let mut places = vec![CONTROL, STATUS, TAGS, MXCSR, ST, ST + 16 * 7 + 9, XMM, XMM_END - 1];
    places.extend(parts().iter().flat_map(|p| [p.at, p.at + p.len - 1]));
    for place in places {
        let mut other = start.clone();
        other.xstate.bytes[place] ^= 1;
        assert_eq!(start.differences(&other).len(), 1, "byte {place:#x} of the area");
    }
    let changes: [fn(&mut Registers); 4] =
        [|r| r.gpr[13] ^= 1, |r| r.rflags ^= flags::AF, |r| r.gs_base ^= 1, |r| r.fs_base ^= 1];
    for change in changes {
        let mut other = start.clone();
        change(&mut other.registers);
        assert_eq!(start.differences(&other).len(), 1);
    }
    // The address of the last x87 instruction may differ.
    let mut other = start.clone();
    other.xstate.bytes[8] ^= 1;
    assert!(start.differences(&other).is_empty());
}
