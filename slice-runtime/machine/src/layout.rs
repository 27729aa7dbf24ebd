//! Extended state that carries its layout.
//!
//! Where a component lies in an XSAVE area differs between processors, of one vendor even. So whatever is kept of such an area for others, in a
//! boundary's state, in a slice's end or in a log, says where its components are: whoever reads it has them at other places, perhaps, or lacks one.

use std::ops::Range;
use std::sync::OnceLock;

use crate::{ComponentPlace, EXTENDED_AT, XSTATE_CAPACITY, XState, component};

/// Components have bits below this. x87 and SSE, the first two, are at the same places everywhere.
const BITS: usize = 10;
const FIRST: usize = 2;

/// Where the components of an area in the standard form are that are kept.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Offset and length, from the third component on; both 0 where there is none.
    places: [[u32; 2]; BITS - FIRST],
}

impl Layout {
    /// Words of it.
    pub const WORDS: usize = BITS - FIRST;

    /// This processor's.
    pub fn own() -> &'static Self {
        static OWN: OnceLock<Layout> = OnceLock::new();
        OWN.get_or_init(|| {
            let mut own = Self::default();
            for (place, bit) in own.places.iter_mut().zip(FIRST as u32..) {
                let there = ComponentPlace::own(bit);
                if component::KEPT >> bit & 1 != 0 && there.range().end <= XSTATE_CAPACITY {
                    *place = [there.start as u32, there.len as u32];
                }
            }
            own
        })
    }

    /// Where the component with this bit is, from the third on. `None` if there is none.
    pub fn place(&self, bit: u32) -> Option<Range<usize>> {
        let [start, len] = *self.places.get((bit as usize).checked_sub(FIRST)?)?;
        let range = start as usize..start as usize + len as usize;
        (len != 0 && range.end <= XSTATE_CAPACITY).then_some(range)
    }

    /// As words of a log.
    pub fn words(&self) -> [u64; Self::WORDS] {
        self.places.map(|[start, len]| u64::from(len) << 32 | u64::from(start))
    }

    /// From words of a log.
    pub fn of_words(words: [u64; Self::WORDS]) -> Self {
        Self { places: words.map(|word| [word as u32, (word >> 32) as u32]) }
    }
}

/// The start of an area whose rest is zero, and where its components are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaidOut<'a> {
    /// Where.
    pub layout: Layout,
    /// The area.
    pub bytes: &'a [u8],
}

impl<'a> LaidOut<'a> {
    /// An area of this processor.
    pub fn own(bytes: &'a [u8]) -> Self {
        Self { layout: *Layout::own(), bytes }
    }

    /// The same state on this processor. `None` if it has no place for it.
    pub fn load(&self) -> Option<XState> {
        let mut state = XState { bytes: [0; XSTATE_CAPACITY] };
        if self.layout == *Layout::own() {
            state.bytes.get_mut(..self.bytes.len())?.copy_from_slice(self.bytes);
            return Some(state);
        }
        let common = self.bytes.len().min(EXTENDED_AT);
        state.bytes[..common].copy_from_slice(&self.bytes[..common]);
        let in_use = state.xstate_bv() & !(component::X87 | component::SSE);
        for bit in (0..u64::BITS).filter(|bit| in_use >> bit & 1 != 0) {
            let (from, to) = (self.layout.place(bit)?, Layout::own().place(bit)?);
            if from.len() != to.len() {
                return None;
            }
            // What isn't there is zero.
            let there = self.bytes.get(from.start..from.end.min(self.bytes.len())).unwrap_or_default();
            state.bytes[to][..there.len()].copy_from_slice(there);
        }
        Some(state)
    }
}

/// A whole area that carries its layout.
#[repr(C)]
#[derive(Clone)]
pub struct SavedXState {
    /// Where its components are.
    pub layout: Layout,
    /// The area.
    pub state: XState,
}

impl SavedXState {
    /// The same state on this processor. `None` if it has no place for it.
    pub fn load(&self) -> Option<XState> {
        LaidOut { layout: self.layout, bytes: &self.state.bytes }.load()
    }
}

impl From<&XState> for SavedXState {
    /// This processor's.
    fn from(state: &XState) -> Self {
        Self { layout: *Layout::own(), state: state.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVX: u32 = 2;

    /// This processor's layout with one component elsewhere, and a state that has it in use there.
    fn elsewhere() -> Option<SavedXState> {
        let own = Layout::own().place(AVX)?;
        let mut saved = SavedXState::from(&XState::initial());
        saved.layout.places[0][0] = 3000;
        saved.state.bytes[512..520].copy_from_slice(&(component::SSE | component::AVX).to_le_bytes());
        saved.state.bytes[160] = 1;
        saved.state.bytes[3000..3000 + own.len()].fill(7);
        saved.state.bytes[own].fill(9);
        Some(saved)
    }

    #[test]
    fn components_come_to_their_own_places() {
        let Some(saved) = elsewhere() else { return };
        let state = saved.load().unwrap();
        let own = Layout::own().place(AVX).unwrap();
        assert_eq!((state.bytes[160], state.xstate_bv()), (1, component::SSE | component::AVX));
        assert!(state.bytes[own.clone()].iter().all(|&byte| byte == 7));
        assert!(state.bytes[own.end..].iter().all(|&byte| byte == 0));
        // The start of the area is as good, where the rest is zero.
        let start = LaidOut { layout: saved.layout, bytes: &saved.state.bytes[..3001] }.load().unwrap();
        assert_eq!(start.bytes[own][..2], [7, 0]);
    }

    #[test]
    fn what_has_no_place_here_is_refused() {
        let Some(mut saved) = elsewhere() else { return };
        saved.layout.places[0][1] -= 8;
        assert!(saved.load().is_none(), "it has another length");
        saved.layout.places[0] = [0; 2];
        assert!(saved.load().is_none(), "it doesn't say where");
        saved.state.bytes[512..520].fill(0);
        assert!(saved.load().is_some(), "it isn't in use");
    }

    #[test]
    fn a_layout_survives_a_log() {
        assert_eq!(Layout::of_words(Layout::own().words()), *Layout::own());
        assert_ne!(*Layout::own(), Layout::default());
        assert_eq!((Layout::own().place(0), Layout::own().place(9999)), (None, None));
        let words = [u64::MAX; Layout::WORDS];
        assert_eq!(Layout::of_words(words).place(AVX), None, "outside of any area");
    }
}
