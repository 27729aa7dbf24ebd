//! Where components lie in an XSAVE image, for whichever set of them a processor has.

use machine::{ComponentPlace, EXTENDED_AT};

/// Where MXCSR and its mask are.
pub(crate) const MXCSR: usize = 24;

/// How an instruction lays out an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// XSAVE, XSAVEOPT: each component has its place.
    Standard,
    /// XSAVEC: one after the other.
    Compacted,
}

/// Where a component lies in an image, and its length, on a processor that tells this of the extended ones.
pub(crate) fn places(
    bit: u32,
    form: Form,
    requested: u64,
    place: &dyn Fn(u32) -> ComponentPlace,
) -> Vec<(usize, usize)> {
    match bit {
        0 => vec![(0, 24), (32, 128)],
        1 => vec![(MXCSR, 8), (160, 256)],
        _ => {
            let there = place(bit);
            let start = if form == Form::Standard { there.start } else { compacted(bit, requested, place) };
            vec![(start, there.len)]
        }
    }
}

/// Where a component begins in the compacted form.
fn compacted(bit: u32, requested: u64, place: &dyn Fn(u32) -> ComponentPlace) -> usize {
    let aligned = |at: usize, place: &ComponentPlace| if place.is_aligned { at.next_multiple_of(64) } else { at };
    let before = (2..bit).filter(|bit| requested >> bit & 1 != 0).map(place);
    let at = before.fold(EXTENDED_AT, |at, place| aligned(at, &place) + place.len);
    aligned(at, &place(bit))
}

#[cfg(test)]
mod tests {
    use machine::{XSTATE_CAPACITY, XState, component};

    use super::*;

    const ALL: u64 = component::X87 | component::SSE;

    /// What processors tell of their components: size, place in the standard form, and whether it is aligned in the compacted one. The layout is Intel's.
    fn of_a_processor(bit: u32) -> ComponentPlace {
        let (len, start, is_aligned) = match bit {
            2 => (256, 576, false),
            3 => (64, 960, false),
            4 => (64, 1024, false),
            5 => (64, 1088, false),
            6 => (512, 1152, false),
            7 => (1024, 1664, false),
            9 => (8, 2688, false),
            // Shadow stacks are the kernel's: they have no place in the standard form.
            11 => (16, 0, false),
            17 => (64, 2752, true),
            18 => (8192, 2816, true),
            _ => (0, 0, false),
        };
        ComponentPlace { start, len, is_aligned }
    }

    const AMX: u64 = 3 << 17;
    const SHADOW_STACK: u64 = 1 << 11;

    #[test]
    fn compacted_components_follow_each_other_whichever_there_are() {
        let at = |bit, requested| compacted(bit, ALL | requested, &of_a_processor);
        assert_eq!(at(2, component::AVX), EXTENDED_AT);
        assert_eq!(at(5, component::AVX512), EXTENDED_AT);
        assert_eq!(at(5, component::AVX | component::AVX512), EXTENDED_AT + 256);
        assert_eq!(at(7, component::AVX | component::AVX512), EXTENDED_AT + 256 + 64 + 512);
        // Without AVX and with it, with the bounds of some processors, and with shadow stacks.
        assert_eq!(at(9, component::PKRU), EXTENDED_AT);
        assert_eq!(at(9, component::AVX | component::PKRU), EXTENDED_AT + 256);
        assert_eq!(at(9, component::AVX | component::MPX | component::PKRU), EXTENDED_AT + 256 + 128);
        assert_eq!(at(11, component::PKRU | SHADOW_STACK), EXTENDED_AT + 8);
        // Tiles begin at a multiple of 64.
        assert_eq!(at(17, component::PKRU | SHADOW_STACK | AMX), EXTENDED_AT + 64);
        assert_eq!(at(18, component::PKRU | SHADOW_STACK | AMX), EXTENDED_AT + 128);
        assert_eq!(at(18, component::KEPT | AMX), (EXTENDED_AT + 256 + 128 + 1600 + 8).next_multiple_of(64) + 64);
    }

    #[test]
    fn components_have_their_places_in_the_standard_form_whichever_are_requested() {
        for requested in [ALL, ALL | component::AVX, component::KEPT, component::KEPT | AMX] {
            let at = |bit| places(bit, Form::Standard, requested, &of_a_processor);
            assert_eq!(at(0), [(0, 24), (32, 128)]);
            assert_eq!(at(1), [(MXCSR, 8), (160, 256)]);
            assert_eq!((at(2), at(9)), (vec![(576, 256)], vec![(2688, 8)]));
        }
    }

    #[test]
    fn this_processor_has_its_components_where_it_stores_them() {
        let enabled = component::enabled() & component::KEPT;
        let (mut stored, bits) =
            (XState { bytes: [0x5a; XSTATE_CAPACITY] }, (2..10).filter(|bit| enabled >> bit & 1 != 0));
        // The header must be zeros.
        stored.bytes[512..EXTENDED_AT].fill(0);
        // SAFETY: the area is aligned and has room for all of the components; the processor has XSAVE.
        unsafe {
            std::arch::asm!("xsave64 [{area}]", area = in(reg) &raw mut stored, in("eax") enabled as u32, in("edx") (enabled >> 32) as u32);
        }
        let end = bits
            .flat_map(|bit| places(bit, Form::Standard, enabled, &ComponentPlace::own))
            .map(|(at, len)| at + len)
            .max();
        assert!(end.is_none_or(|end| stored.bytes[end..].iter().all(|byte| *byte == 0x5a)), "{end:?}");
    }
}
