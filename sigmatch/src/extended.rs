//! Extended state by value: which bytes of an XSAVE area mean something, and what a component in its initial
//! configuration would hold.

use std::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

use machine::{XSTATE_CAPACITY, XState, component};

/// A run of bytes of the area that belongs to one component and is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    name: &'static str,
    /// Bit of XSTATE_BV; 0 for what is always valid.
    component: u64,
    start: usize,
    len: usize,
    /// What an absent component holds: the bytes of an all-initial area.
    initial: Initial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Initial {
    Zero,
    ControlWord,
}

/// Bits of XSTATE_BV beyond the legacy region, with their names; where they lie is asked of the processor.
const EXTENDED: [(u32, &str); 7] = [
    (2, "ymm upper halves"),
    (3, "bound registers"),
    (4, "bound configuration"),
    (5, "mask registers"),
    (6, "zmm upper halves"),
    (7, "zmm16-31"),
    (9, "pkru"),
];

/// Parts in the order of the area. The legacy region's layout is architectural; FOP, FIP and FDP
/// (bytes 6 to 24) and the unused upper bytes of each x87 register are left out.
fn parts() -> &'static [Part] {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    PARTS.get_or_init(|| {
        let zero = |name, component, start, len| Part { name, component, start, len, initial: Initial::Zero };
        let mut parts = vec![
            Part { initial: Initial::ControlWord, ..zero("x87 control word", component::X87, 0, 2) },
            zero("x87 status word", component::X87, 2, 2),
            zero("x87 tags", component::X87, 4, 1),
            // MXCSR is saved and loaded whether or not SSE registers are in their initial configuration.
            zero("mxcsr", 0, 24, 4),
        ];
        parts.extend((0..8).map(|i| zero("x87 registers", component::X87, 32 + i * 16, 10)));
        parts.push(zero("xmm registers", component::SSE, 160, 256));
        for (bit, name) in EXTENDED {
            let place = __cpuid_count(0xd, bit);
            let (start, len) = (place.ebx as usize, place.eax as usize);
            if len != 0 && start + len <= XSTATE_CAPACITY {
                parts.push(zero(name, 1 << bit, start, len));
            }
        }
        parts
    })
}

impl Part {
    fn value<'a>(&self, state: &'a XState) -> &'a [u8] {
        static ZERO: [u8; XSTATE_CAPACITY] = [0; XSTATE_CAPACITY];
        const CONTROL_WORD: [u8; 2] = 0x37f_u16.to_le_bytes();
        if self.component == 0 || state.xstate_bv() & self.component != 0 {
            return &state.bytes[self.start..self.start + self.len];
        }
        match self.initial {
            Initial::Zero => &ZERO[..self.len],
            Initial::ControlWord => &CONTROL_WORD,
        }
    }
}

/// Whether two extended states are the same to the app.
pub(crate) fn extended_equal(a: &XState, b: &XState) -> bool {
    parts().iter().all(|part| part.value(a) == part.value(b))
}

/// Components whose values are the initial ones, whether or not the processor takes them to be in use.
pub(crate) fn initial_components(state: &XState) -> u64 {
    let initial = XState::initial();
    let differing = parts().iter().filter(|part| part.value(state) != part.value(&initial));
    differing.fold(component::KEPT, |left, part| left & !part.component)
}

/// Names of the parts in which two extended states differ, each once.
pub fn extended_differences(a: &XState, b: &XState) -> Vec<&'static str> {
    let mut names: Vec<_> =
        parts().iter().filter(|part| part.value(a) != part.value(b)).map(|part| part.name).collect();
    names.dedup();
    names
}

/// The first quadword of xmm0 to xmm15 that differs, two for each register, the lower one first, and what `expected` has there.
pub fn vector_difference(expected: &XState, got: &XState) -> Option<(u8, u64)> {
    let vectors = parts().iter().find(|part| part.component == component::SSE)?;
    let quadwords = |state| vectors.value(state).chunks_exact(8);
    let differing = (0..).zip(quadwords(expected).zip(quadwords(got))).find(|(_, (a, b))| a != b);
    differing.map(|(n, (a, _))| (n, u64::from_le_bytes(a.try_into().expect("eight bytes"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_bv(state: &mut XState, bv: u64) {
        state.bytes[512..520].copy_from_slice(&bv.to_le_bytes());
    }

    #[test]
    fn the_vector_quadword_that_differs_is_named() {
        let (mut a, mut b) = (XState::initial(), XState::initial());
        assert_eq!(vector_difference(&a, &b), None);
        set_bv(&mut a, component::SSE);
        a.bytes[160 + 3 * 16 + 9] = 2;
        assert_eq!(vector_difference(&a, &b), Some((7, 0x200)));
        assert_eq!(vector_difference(&b, &a), Some((7, 0)));
        set_bv(&mut b, component::SSE);
        b.bytes[160..416].copy_from_slice(&a.bytes[160..416]);
        assert_eq!(vector_difference(&a, &b), None);
    }

    #[test]
    fn an_absent_component_equals_its_initial_value() {
        let absent = XState::initial();
        let mut explicit = XState::initial();
        set_bv(&mut explicit, component::X87 | component::SSE | component::AVX);
        assert!(extended_equal(&absent, &explicit));
        explicit.bytes[0] = 0x7f;
        explicit.bytes[1] = 0;
        assert_eq!(extended_differences(&absent, &explicit), ["x87 control word"]);
    }

    #[test]
    fn bytes_of_an_absent_component_mean_nothing() {
        let mut stale = XState::initial();
        stale.bytes[160..416].fill(0xaa);
        assert!(extended_equal(&stale, &XState::initial()));
        set_bv(&mut stale, component::SSE);
        assert_eq!(extended_differences(&stale, &XState::initial()), ["xmm registers"]);
    }

    #[test]
    fn where_the_last_x87_instruction_was_is_not_compared() {
        let mut other = XState::initial();
        set_bv(&mut other, component::X87);
        other.bytes[6..24].fill(0x55);
        assert!(extended_equal(&other, &XState::initial()));
        other.bytes[32 + 16] = 1;
        assert_eq!(extended_differences(&other, &XState::initial()), ["x87 registers"]);
    }

    #[test]
    fn rounding_mode_is_always_compared() {
        let mut other = XState::initial();
        other.bytes[25] = 0x3f;
        assert_eq!(extended_differences(&other, &XState::initial()), ["mxcsr"]);
    }

    #[test]
    fn every_kept_component_of_this_processor_is_compared() {
        let supported = u64::from(__cpuid_count(0xd, 0).eax) & component::KEPT;
        let compared = parts().iter().fold(0, |bits, part| bits | part.component);
        assert_eq!(compared, supported);
    }
}
