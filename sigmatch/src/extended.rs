//! Extended state by value: which bytes of an XSAVE area mean something, and what a component in its initial
//! configuration would hold.

use std::sync::OnceLock;

use machine::{Layout, SavedXState, XSTATE_CAPACITY, XState, component};

/// A run of bytes of the area that belongs to one component and is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    name: &'static str,
    /// Bit of XSTATE_BV; 0 for what is always valid.
    component: u64,
    place: Place,
    /// What an absent component holds: the bytes of an all-initial area.
    initial: Initial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Offset and length, the same in each area.
    At(usize, usize),
    /// Where an area's layout has the component with this bit.
    Component(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Initial {
    Zero,
    ControlWord,
}

/// Bits of XSTATE_BV beyond the legacy region, with their names; where they lie an area's layout says.
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
        let zero = |name, component, start, len| Part {
            name,
            component,
            place: Place::At(start, len),
            initial: Initial::Zero,
        };
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
            parts.push(Part { place: Place::Component(bit), ..zero(name, 1 << bit, 0, 0) });
        }
        parts
    })
}

impl Part {
    /// What an area holds of it; nothing if it has no place for it.
    fn value<'a>(&self, layout: &Layout, state: &'a XState) -> &'a [u8] {
        static ZERO: [u8; XSTATE_CAPACITY] = [0; XSTATE_CAPACITY];
        const CONTROL_WORD: [u8; 2] = 0x37f_u16.to_le_bytes();
        let range = match self.place {
            Place::At(start, len) => start..start + len,
            Place::Component(bit) => layout.place(bit).unwrap_or_default(),
        };
        if self.component == 0 || state.xstate_bv() & self.component != 0 {
            return &state.bytes[range];
        }
        match self.initial {
            Initial::Zero => &ZERO[range],
            Initial::ControlWord => &CONTROL_WORD,
        }
    }
}

impl Part {
    /// Whether it is the same in both, the second of which is this processor's. What one has no place for is zero in the other.
    fn is_equal(&self, saved: &SavedXState, own: &XState) -> bool {
        let (a, b) = (self.value(&saved.layout, &saved.state), self.value(Layout::own(), own));
        a == b || (a.is_empty() || b.is_empty()) && a.iter().chain(b).all(|&byte| byte == 0)
    }
}

/// Whether two extended states are the same to the app.
pub(crate) fn extended_equal(saved: &SavedXState, own: &XState) -> bool {
    parts().iter().all(|part| part.is_equal(saved, own))
}

/// Components whose values are the initial ones, whether or not the processor takes them to be in use.
pub(crate) fn initial_components(state: &XState) -> u64 {
    let initial = SavedXState::from(&XState::initial());
    let differing = parts().iter().filter(|part| !part.is_equal(&initial, state));
    differing.fold(component::KEPT, |left, part| left & !part.component)
}

/// Names of the parts in which two extended states differ, each once.
pub fn extended_differences(saved: &SavedXState, own: &XState) -> Vec<&'static str> {
    let mut names: Vec<_> = parts().iter().filter(|part| !part.is_equal(saved, own)).map(|part| part.name).collect();
    names.dedup();
    names
}

/// The first quadword of xmm0 to xmm15 that differs, two for each register, the lower one first, and what `expected` has there.
pub fn vector_difference(expected: &SavedXState, got: &XState) -> Option<(u8, u64)> {
    let vectors = parts().iter().find(|part| part.component == component::SSE)?;
    // Their place is the same in each area.
    let quadwords = |state| vectors.value(&expected.layout, state).chunks_exact(8);
    let differing = (0..).zip(quadwords(&expected.state).zip(quadwords(got))).find(|(_, (a, b))| a != b);
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
        assert_eq!(vector_difference(&(&a).into(), &b), None);
        set_bv(&mut a, component::SSE);
        a.bytes[160 + 3 * 16 + 9] = 2;
        assert_eq!(vector_difference(&(&a).into(), &b), Some((7, 0x200)));
        assert_eq!(vector_difference(&(&b).into(), &a), Some((7, 0)));
        set_bv(&mut b, component::SSE);
        b.bytes[160..416].copy_from_slice(&a.bytes[160..416]);
        assert_eq!(vector_difference(&(&a).into(), &b), None);
    }

    #[test]
    fn an_absent_component_equals_its_initial_value() {
        let absent = XState::initial();
        let mut explicit = XState::initial();
        set_bv(&mut explicit, component::X87 | component::SSE | component::AVX);
        assert!(extended_equal(&(&absent).into(), &explicit));
        explicit.bytes[0] = 0x7f;
        explicit.bytes[1] = 0;
        assert_eq!(extended_differences(&(&absent).into(), &explicit), ["x87 control word"]);
    }

    #[test]
    fn bytes_of_an_absent_component_mean_nothing() {
        let mut stale = XState::initial();
        stale.bytes[160..416].fill(0xaa);
        assert!(extended_equal(&(&stale).into(), &XState::initial()));
        set_bv(&mut stale, component::SSE);
        assert_eq!(extended_differences(&(&stale).into(), &XState::initial()), ["xmm registers"]);
    }

    #[test]
    fn where_the_last_x87_instruction_was_is_not_compared() {
        let mut other = XState::initial();
        set_bv(&mut other, component::X87);
        other.bytes[6..24].fill(0x55);
        assert!(extended_equal(&(&other).into(), &XState::initial()));
        other.bytes[32 + 16] = 1;
        assert_eq!(extended_differences(&(&other).into(), &XState::initial()), ["x87 registers"]);
    }

    #[test]
    fn rounding_mode_is_always_compared() {
        let mut other = XState::initial();
        other.bytes[25] = 0x3f;
        assert_eq!(extended_differences(&(&other).into(), &XState::initial()), ["mxcsr"]);
    }

    #[test]
    fn every_kept_component_of_this_processor_is_compared() {
        assert_eq!(parts().iter().fold(0, |bits, part| bits | part.component), component::KEPT);
        for bit in (2..64).filter(|bit| (component::enabled() & component::KEPT) >> bit & 1 != 0) {
            assert!(Layout::own().place(bit).is_some(), "component {bit}");
        }
    }

    #[test]
    fn a_component_that_lies_elsewhere_is_the_same() {
        let Some(place) = Layout::own().place(2) else { return };
        let mut own = XState::initial();
        set_bv(&mut own, component::AVX);
        own.bytes[place].fill(7);
        let mut words = Layout::own().words();
        words[0] = words[0] & !0xffff_ffff | 3000;
        let mut saved = SavedXState { layout: Layout::of_words(words), state: own.clone() };
        assert_eq!(extended_differences(&saved, &own), ["ymm upper halves"]);
        saved.state.bytes[3000..3256].fill(7);
        assert!(extended_equal(&saved, &own));
        words[0] = 0;
        saved.layout = Layout::of_words(words);
        assert_eq!(extended_differences(&saved, &own), ["ymm upper halves"], "it has none");
        assert!(extended_equal(&saved, &XState::initial()));
    }
}
