//! Images of extended state that the app itself stores, and what of them is not determined by the app.
//!
//! The dynamic linker saves vector registers with `xsavec` around each lazy binding, so such images end up as old
//! data on many a stack. The processor stores only components that it takes to be in use (XINUSE), and that varies from run to
//! run: registers with their initial values may count as used or not. So after such an instruction a word of the image
//! holds either the initial value or what was there before, and neither is wrong. Nothing computes with the
//! difference but `xrstor`, to which both mean the same; yet old data may come to lie in a later stack frame.
//!
//! [`Images`] keeps what was in the place of each image before it was stored. Two states agree in a word if both hold values that
//! such an instruction may have left there.

use std::arch::x86_64::__cpuid_count;
use std::collections::VecDeque;
use std::sync::OnceLock;

use machine::Memory;

/// Last component that may be in use or not by chance (PKRU); AMX tiles, which follow, are used on purpose only.
const LAST: u32 = 9;
/// Legacy region and header, before the first extended component.
const SHORTEST: u32 = 576;
/// Images that are kept.
const MOST: usize = 256;

/// Places in an image.
const FCW: u64 = 0;
const MXCSR: u64 = 24;
const XSTATE_BV: u64 = 512;

/// Values of these words if nothing is in use.
const INITIAL_FCW: u64 = 0x37f;
const INITIAL_MXCSR: u32 = 0x1f80;
/// Components that XSTATE_BV may name.
const COMPONENTS: u64 = 0x3ff;

struct Image {
    start: u64,
    before: Vec<u8>,
}

/// Images that were stored since the start of a slice.
#[derive(Default)]
pub struct Images(VecDeque<Image>);

impl Images {
    /// None yet.
    pub const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// An image is about to be stored at `start`.
    pub fn note(&mut self, start: u64, memory: &dyn Memory) {
        let mut before = vec![0; longest()];
        let len = memory.read_prefix(start, &mut before);
        before.truncate(len);
        if self.0.iter().any(|image| image.start == start && image.before == before) {
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Image { start, before });
    }

    /// Whether the word at `address`, a multiple of 8, may be one of these as well as the other.
    pub fn leave_open(&self, address: u64, one: u64, other: u64) -> bool {
        let covering = || self.0.iter().filter_map(|image| Some((image, word(image, address)?)));
        let possible = |value: u64| covering().any(|(image, before)| value == before || image.initial(address, value));
        possible(one) && possible(other)
    }
}

impl Image {
    /// Whether storing the image may leave `value` at `address` where components are not in use.
    fn initial(&self, address: u64, value: u64) -> bool {
        match address - self.start {
            FCW => value == INITIAL_FCW || value == 0,
            MXCSR => value as u32 == INITIAL_MXCSR,
            XSTATE_BV => value & !COMPONENTS == 0,
            _ => value == 0,
        }
    }
}

/// Bytes of an image with all components up to [`LAST`]. What lies behind it is the app's live stack.
fn longest() -> usize {
    static LONGEST: OnceLock<usize> = OnceLock::new();
    *LONGEST.get_or_init(|| {
        let end = |component| {
            let place = __cpuid_count(0xd, component);
            (place.eax != 0).then_some(place.ebx + place.eax)
        };
        (2..=LAST).rev().find_map(end).unwrap_or(SHORTEST) as usize
    })
}

fn word(image: &Image, address: u64) -> Option<u64> {
    let at = usize::try_from(address.checked_sub(image.start)?).ok()?;
    let bytes = image.before.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
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

    fn images() -> Images {
        let mut images = Images::new();
        images.note(AT, &Addresses);
        images.note(AT, &Addresses);
        assert_eq!(images.0.len(), 1);
        images
    }

    #[test]
    fn a_word_is_initial_or_as_before() {
        let images = images();
        let word = AT + 160;
        assert!(images.leave_open(word, word, 0) && images.leave_open(word, 0, word));
        assert!(!images.leave_open(word, 1, 0) && !images.leave_open(word, word, 1));
        assert!(images.leave_open(AT + XSTATE_BV, 0xa0, 0xa2));
        assert!(!images.leave_open(AT + XSTATE_BV, 0xa0, 0xffff));
        assert!(images.leave_open(AT + MXCSR, AT + MXCSR, 0x2_ffff_0000_1f80));
        assert!(images.leave_open(AT, AT, INITIAL_FCW));
    }

    #[test]
    fn other_words_are_determined() {
        let images = images();
        assert!(!images.leave_open(AT - 8, AT - 8, 0));
        assert!(!images.leave_open(AT + longest() as u64, AT + longest() as u64, 0));
        assert!(!Images::new().leave_open(AT, AT, 0));
    }

    #[test]
    fn the_number_of_images_is_bounded() {
        let mut images = Images::new();
        for n in 0..2 * MOST as u64 {
            images.note(AT + n * 64, &Addresses);
        }
        assert_eq!(images.0.len(), MOST);
    }
}
