//! What the app itself stores of its extended state, and what of that is not determined by the app.
//!
//! The dynamic linker saves vector registers with `xsavec` around each lazy binding, so such images end up as old
//! data on many a stack. The processor stores only components that it takes to be in use (XINUSE), and that may differ between the app and a
//! slice for registers that hold their initial values: AMD's processors take these out of use whenever the kernel gives them to somebody
//! else. So where a component had its initial value, a word of the image holds either that or what was there before, and neither is wrong. Nothing
//! computes with the difference but `xrstor`, to which both mean the same; yet old data may come to lie in a later stack frame, and a part of a word may be
//! written meanwhile: so halves of words are looked at.
//!
//! The same processors lose, at such a moment, what the x87 unit knows of its last instruction ([`machine::x87`]): an environment that `fnstenv` stores has it, or zeros.
//!
//! [`Images`] keeps what was in the place of each image before it was stored, and which components had their initial values; and what each environment
//! holds. Two states agree in a half if both hold values that such an instruction may have left there.

use std::collections::VecDeque;

use machine::{ComponentPlace, Memory, XState, component};

use crate::extended::initial_components;
use crate::xsave_layout::{Form, MXCSR, places};

/// Images, and environments, that are kept.
const MOST: usize = 256;

/// Places in an image.
const FCW: usize = 0;
const MXCSR_MASK: usize = 28;
const XSTATE_BV: usize = 512;

/// Values of these words if nothing is in use.
const INITIAL_FCW: u32 = 0x37f;
const INITIAL_MXCSR: u32 = 0x1f80;

/// Where an environment tells of the last instruction, in four halves.
const LAST_INSTRUCTION: u64 = 12;

#[derive(PartialEq, Eq)]
struct XsaveImage {
    start: u64,
    /// Components that may be stored or not.
    open: u64,
    /// Where they lie, and what lay there before.
    parts: Vec<(usize, Vec<u8>)>,
}

struct Environment {
    start: u64,
    /// What it holds of the last instruction, once that is known.
    holds: Option<[u32; 4]>,
}

/// Images and environments that were stored since the start of a slice.
#[derive(Default)]
pub struct Images {
    images: VecDeque<XsaveImage>,
    environments: VecDeque<Environment>,
}

impl Images {
    /// None yet.
    pub const fn new() -> Self {
        Self { images: VecDeque::new(), environments: VecDeque::new() }
    }

    /// An image of the components `requested`, all of which the kernel has enabled, of `state` is about to be stored at `start`.
    pub fn note(&mut self, start: u64, form: Form, requested: u64, state: &XState, memory: &dyn Memory) {
        let open = requested & component::KEPT & initial_components(state);
        if open == 0 {
            return;
        }
        let places = (0..64)
            .filter(|bit| open >> bit & 1 != 0)
            .flat_map(|bit| places(bit, form, requested, &ComponentPlace::own));
        let parts = places.map(|(at, len)| {
            let mut before = vec![0; len];
            let readable = memory.read_prefix(start.wrapping_add(at as u64), &mut before);
            before.truncate(readable);
            (at, before)
        });
        let image = XsaveImage { start, open, parts: parts.collect() };
        if !self.images.contains(&image) {
            keep(&mut self.images, image);
        }
    }

    /// An environment of the x87 unit is about to be stored at `start`. What the one before holds was `last`.
    pub fn note_environment(&mut self, start: u64, last: [u32; 4]) {
        self.complete(last);
        keep(&mut self.environments, Environment { start, holds: None });
    }

    /// The last environment holds this of the last instruction.
    pub fn complete(&mut self, last: [u32; 4]) {
        let Some(start) = self.environments.back().filter(|newest| newest.holds.is_none()).map(|newest| newest.start)
        else {
            return;
        };
        self.environments.pop_back();
        let known = |kept: &Environment| kept.start == start && kept.holds == Some(last);
        if !self.environments.iter().any(known) {
            self.environments.push_back(Environment { start, holds: Some(last) });
        }
    }

    /// Whether the word at `address`, a multiple of 8, may be one of these as well as the other.
    pub fn leave_open(&self, address: u64, one: u64, other: u64) -> bool {
        let differing = one ^ other;
        if self.images.iter().any(|image| address == image.start + XSTATE_BV as u64 && differing & !image.open == 0) {
            return true;
        }
        (0..2).all(|half| {
            let (address, one, other) =
                (address + half * 4, (one >> (half * 32)) as u32, (other >> (half * 32)) as u32);
            one == other || self.half_is_open(address, one, other)
        })
    }

    /// Whether something of which the processor alone decides was stored over `address`.
    pub fn cover(&self, address: u64) -> bool {
        let image = |image: &XsaveImage| {
            image.parts.iter().any(|(at, before)| {
                (image.start + *at as u64..).contains(&address) && address < image.start + (*at + before.len()) as u64
            })
        };
        self.images.iter().any(image)
            || self.environments.iter().any(|kept| (kept.start..kept.start + 28).contains(&address))
    }

    /// Whether an environment may show what the x87 unit knows of its last instruction. On a processor that doesn't lose it none is kept.
    pub fn show_last_x87(&self) -> bool {
        self.environments.iter().any(|kept| kept.holds.is_none_or(|holds| holds[0] != 0))
    }

    fn half_is_open(&self, address: u64, one: u32, other: u32) -> bool {
        let possible = |value: u32| self.images.iter().any(|image| image.may_leave(address, value));
        possible(one) && possible(other) || self.environments.iter().any(|kept| kept.may_be(address, one, other))
    }
}

fn keep<T>(kept: &mut VecDeque<T>, new: T) {
    if kept.len() == MOST {
        kept.pop_front();
    }
    kept.push_back(new);
}

impl XsaveImage {
    /// Whether storing the image may leave `value` at `address`.
    fn may_leave(&self, address: u64, value: u32) -> bool {
        let Some(at) = address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok()) else { return false };
        let before = self.parts.iter().find_map(|(start, before)| {
            let inside = at.checked_sub(*start)?;
            before.get(inside..inside + 4)
        });
        let Some(before) = before else { return false };
        before == value.to_le_bytes()
            || match at {
                FCW => value & 0xffff == INITIAL_FCW,
                MXCSR => value == INITIAL_MXCSR,
                // Which bits of MXCSR there are.
                MXCSR_MASK => true,
                _ => value == 0,
            }
    }
}

impl Environment {
    /// Whether one of these is what it holds at `address`, and the other zero.
    fn may_be(&self, address: u64, one: u32, other: u32) -> bool {
        let at = address.wrapping_sub(self.start.wrapping_add(LAST_INSTRUCTION));
        let Some(holds) = self.holds.and_then(|holds| holds.get(usize::try_from(at / 4).ok()?).copied()) else {
            return false;
        };
        // The upper half of the last one means nothing, and is all ones.
        let lost = if at / 4 == 3 { 0xffff_0000 } else { 0 };
        at.is_multiple_of(4) && ((one, other) == (holds, lost) || (one, other) == (lost, holds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::MemoryError;

    /// Memory in which each word holds its address.
    struct Addresses;

    impl Memory for Addresses {
        fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
            for (n, byte) in buf.iter_mut().enumerate() {
                let at = address + n as u64;
                *byte = (at & !7).to_le_bytes()[(at & 7) as usize];
            }
            Ok(())
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
            Err(MemoryError { address, len: bytes.len() })
        }
    }

    const AT: u64 = 0x1_0000;
    const ALL: u64 = component::X87 | component::SSE;

    /// After an image of registers with their initial values.
    fn images() -> Images {
        let mut images = Images::new();
        for _ in 0..2 {
            images.note(AT, Form::Compacted, ALL, &XState::initial(), &Addresses);
        }
        assert_eq!(images.images.len(), 1);
        images
    }

    #[test]
    fn a_word_is_initial_or_as_before() {
        let images = images();
        let word = AT + 160;
        assert!(images.leave_open(word, word, 0) && images.leave_open(word, 0, word));
        assert!(!images.leave_open(word, 1, 0) && !images.leave_open(word, word, 1));
        assert!(images.leave_open(AT + XSTATE_BV as u64, 0xa0, 0xa2));
        assert!(!images.leave_open(AT + XSTATE_BV as u64, 0xa0, 0xa4));
        assert!(images.leave_open(AT + MXCSR as u64, AT + MXCSR as u64, 0x2_ffff_0000_1f80));
        assert!(images.leave_open(AT, AT, INITIAL_FCW.into()));
    }

    #[test]
    fn a_part_of_a_word_may_have_been_written_since() {
        let mut images = Images::new();
        let start = 0x7fff_0000_1000;
        images.note(start, Form::Compacted, ALL, &XState::initial(), &Addresses);
        assert!(images.leave_open(start + 160, 0x7fff_0000_0001, 1));
        assert!(!images.leave_open(start + 160, 0x7fff_0000_0001, 2));
        assert!(!images.leave_open(start + 160, 0x7ffe_0000_0001, 1));
    }

    #[test]
    fn registers_that_hold_something_are_determined() {
        let mut images = Images::new();
        let mut state = XState::initial();
        state.bytes[512] = component::SSE as u8;
        state.bytes[160] = 1;
        images.note(AT, Form::Compacted, ALL, &state, &Addresses);
        assert!(!images.leave_open(AT + 168, AT + 168, 0));
        assert!(!images.leave_open(AT + XSTATE_BV as u64, component::SSE, 0));
        assert!(images.leave_open(AT + 32, AT + 32, 0));
    }

    #[test]
    fn other_words_are_determined() {
        let images = images();
        assert!(!images.leave_open(AT - 8, AT - 8, 0));
        assert!(!images.leave_open(AT + 416, AT + 416, 0));
        assert!(!Images::new().leave_open(AT, AT, 0));
        assert!(images.cover(AT + 415) && !images.cover(AT + 416));
    }

    #[test]
    fn an_environment_has_the_last_instruction_or_zeros() {
        let mut images = Images::new();
        images.note_environment(AT, [0; 4]);
        let holds = [0x40_1223, 0x31d_0033, 0x40_4120, 0xffff_002b];
        assert!(!images.leave_open(AT + 8, 0x40_1223 << 32 | 7, 7));
        images.complete(holds);
        assert!(images.leave_open(AT + 8, 0x40_1223 << 32 | 7, 7));
        assert!(images.leave_open(AT + 16, 0, 0x40_4120_031d_0033));
        assert!(images.leave_open(AT + 24, 0xffff_0000, 0xffff_002b));
        assert!(!images.leave_open(AT + 8, 0x40_1224 << 32 | 7, 7));
        assert!(!images.leave_open(AT + 8, 0x40_1223 << 32 | 7, 8));
        for _ in 0..2 {
            images.note_environment(AT, holds);
        }
        images.complete(holds);
        assert_eq!(images.environments.len(), 1);
    }

    #[test]
    fn an_environment_of_an_unused_unit_shows_no_instruction() {
        let mut images = Images::new();
        images.note_environment(AT, [0; 4]);
        images.complete([0; 4]);
        assert!(!images.show_last_x87());
        images.note_environment(AT, [0; 4]);
        images.complete([0x40_1223, 0, 0, 0]);
        assert!(images.show_last_x87());
    }

    #[test]
    fn the_number_of_images_is_bounded() {
        let mut images = Images::new();
        for n in 0..2 * MOST as u64 {
            images.note(AT + n * 64, Form::Standard, ALL, &XState::initial(), &Addresses);
            images.note_environment(AT + n * 64, [0; 4]);
        }
        assert_eq!((images.images.len(), images.environments.len()), (MOST, MOST));
    }
}
