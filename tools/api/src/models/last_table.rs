//! Small tables that are overwritten, for routines that are called often.

use serde::{Deserialize, Serialize};

use crate::tool::SliceInfo;

/// What a place had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The same value.
    Same,
    /// Another one, or none.
    Other,
    /// The slices before know: `append` will tell.
    Open,
}

/// Like [`super::LastValues`], with places from 0 on and numbers other than 0 in them: a direct-mapped cache, a table of branch targets.
///
/// [`Self::replace`] neither allocates nor panics: so a routine that does little besides is called from the code cache, in some nanoseconds. A part takes 16 bytes for each place, and so does a result.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::models::{Before, LastTable};
///
/// let mut cache = LastTable::begin(512, SliceInfo { number: 0 });
/// assert_eq!(cache.replace(17, 0x5011), Before::Other);
/// assert_eq!(cache.replace(17, 0x5011), Before::Same);
/// let mut next = LastTable::begin(512, SliceInfo { number: 1 });
/// assert_eq!(next.replace(17, 0x5011), Before::Open);
/// cache.append(next, |_, before| assert_eq!(before, Before::Same));
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LastTable {
    begins_empty: bool,
    /// The first value of each place and the last; 0 if there was none.
    places: Vec<(u64, u64)>,
}

impl LastTable {
    /// A table with so many places, as a slice begins: empty in the first one, unknown in all others.
    pub fn begin(places: usize, slice: SliceInfo) -> Self {
        Self { begins_empty: slice.number == 0, places: vec![(0, 0); places] }
    }

    /// A place gets a value, which isn't 0. Where there is no such place nothing happens.
    #[inline]
    pub fn replace(&mut self, place: usize, value: u64) -> Before {
        let Some((first, last)) = self.places.get_mut(place) else { return Before::Other };
        let before = std::mem::replace(last, value);
        if before == value {
            Before::Same
        } else if before == 0 && !self.begins_empty {
            *first = value;
            Before::Open
        } else {
            Before::Other
        }
    }

    /// Adds the part that was executed behind this one. `told` gets the places of which is known now what they had before the first value of that part: `Same` or `Other`.
    pub fn append(&mut self, next: Self, mut told: impl FnMut(usize, Before)) {
        if self.places.is_empty() {
            *self = next;
            return;
        }
        for (place, (first, last)) in next.places.into_iter().enumerate() {
            if first != 0 {
                match self.replace(place, first) {
                    Before::Open => {}
                    before => told(place, before),
                }
            }
            if let Some(here) = self.places.get_mut(place).filter(|_| last != 0) {
                here.1 = last;
            }
        }
    }

    /// For `Tool::warmed_up`: the places keep what they have. What is open is told nobody: before the warm-up they had nothing.
    pub fn end_warm_up(&mut self) {
        let mut from_nothing = Self::begin(self.places.len(), SliceInfo { number: 0 });
        from_nothing.append(std::mem::take(self), |_, _| {});
        *self = from_nothing;
    }

    /// The execution is over, and it began with nothing: all that is open was `Other`.
    pub fn end(self, mut told: impl FnMut(usize, Before)) {
        let open = self.places.iter().enumerate().filter(|(_, (first, _))| *first != 0);
        open.for_each(|(place, _)| told(place, Before::Other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::random::{Random, folded};

    #[test]
    fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let stream: Vec<(usize, u64)> =
                (0..300).map(|_| (random.below(20) as usize, 1 + random.below(3))).collect();
            let (mut table, mut expected) = ([0; 20], [0_u32; 20]);
            for &(place, value) in &stream {
                expected[place] += u32::from(std::mem::replace(&mut table[place], value) != value);
            }
            let mut others = [0_u32; 20];
            let first = random.below(2);
            let mut parts = Vec::new();
            for (number, part) in (first..).zip(random.cut(&stream)) {
                let mut values = LastTable::begin(20, SliceInfo { number });
                for &(place, value) in part {
                    others[place] += u32::from(values.replace(place, value) == Before::Other);
                }
                parts.push(values);
            }
            let mut tell = |place: usize, before| others[place] += u32::from(before == Before::Other);
            let all = folded(parts, &mut random, |left: &mut LastTable, right| left.append(right, &mut tell));
            all.end(tell);
            assert!(others == expected, "seed {seed}");
        }
    }
}
