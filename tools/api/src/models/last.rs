//! Tables that are overwritten.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

use machine::AddressHasher;
use serde::{Deserialize, Serialize};

use crate::tool::SliceInfo;

/// For each key the value that it had last: where a branch went, what an address was loaded with, which instruction wrote a word, which line a direct-mapped cache holds.
///
/// A slice keeps of each key the first value, which is compared when it is known what was before, and the last. This is what SuperPin's paper does for a data cache.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::models::LastValues;
///
/// // How often an indirect branch goes where it went the last time.
/// let mut right = 0;
/// let mut compare = |_branch: u64, before: Option<u64>, now: u64| right += u64::from(before == Some(now));
///
/// let mut targets = LastValues::begin(SliceInfo { number: 0 });
/// targets.replace(0x4000, 0x5000, &mut compare);
///
/// let mut next = LastValues::begin(SliceInfo { number: 1 });
/// next.replace(0x4000, 0x5000, |_, _, _| unreachable!("it isn't known where it went before"));
/// targets.append(next, &mut compare);
/// targets.end(compare);
/// assert_eq!(right, 1);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize, V: Serialize",
    deserialize = "K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>"
))]
pub struct LastValues<K, V> {
    /// Whether it is known that there was nothing before.
    begins_empty: bool,
    /// In the order of execution.
    first: Vec<(K, V)>,
    last: HashMap<K, V, BuildHasherDefault<AddressHasher>>,
}

/// Of an execution that began with anything.
impl<K, V> Default for LastValues<K, V> {
    fn default() -> Self {
        Self { begins_empty: false, first: Vec::new(), last: HashMap::default() }
    }
}

impl<K: Copy + Eq + Hash, V: Copy> LastValues<K, V> {
    /// The table as a slice begins: empty in the first one, unknown in all others.
    pub fn begin(slice: SliceInfo) -> Self {
        Self { begins_empty: slice.number == 0, ..Self::default() }
    }

    /// A key gets a value. `compare` is told the key, the value before, `None` if there was none, and this one: now, or when the slices before are known.
    #[inline]
    pub fn replace(&mut self, key: K, value: V, compare: impl FnOnce(K, Option<V>, V)) {
        let before = self.last.insert(key, value);
        if before.is_some() || self.begins_empty {
            compare(key, before, value);
        } else {
            self.first.push((key, value));
        }
    }

    /// The value of a key, as far as this part has set it.
    pub fn get(&self, key: K) -> Option<V> {
        self.last.get(&key).copied()
    }

    /// Adds the part that was executed behind this one.
    pub fn append(&mut self, next: Self, mut compare: impl FnMut(K, Option<V>, V)) {
        for (key, value) in next.first {
            self.replace(key, value, &mut compare);
        }
        self.last.extend(next.last);
    }

    /// The execution is over, and it began with nothing.
    pub fn end(self, mut compare: impl FnMut(K, Option<V>, V)) {
        for (key, value) in self.first {
            compare(key, None, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::models::random::{Random, folded};

    type Compared = Vec<(u64, Option<u64>, u64)>;

    #[test]
    fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let stream: Vec<(u64, u64)> = (0..300).map(|now| (random.below(30), now)).collect();
            let (mut expected, mut table) = (Compared::new(), BTreeMap::new());
            for &(key, value) in &stream {
                expected.push((key, table.insert(key, value), value));
            }
            expected.sort_unstable();
            let mut compared = Compared::new();
            let first = random.below(2);
            let mut parts = Vec::new();
            for (number, part) in (first..).zip(random.cut(&stream)) {
                let mut values = LastValues::begin(SliceInfo { number });
                for &(key, value) in part {
                    values.replace(key, value, |key, before, now| compared.push((key, before, now)));
                }
                parts.push(values);
            }
            let all = folded(parts, &mut random, |left, right| {
                left.append(right, |key, before, now| compared.push((key, before, now)));
            });
            assert!(table.iter().all(|(key, value)| all.get(*key) == Some(*value)));
            all.end(|key, before, now| compared.push((key, before, now)));
            compared.sort_unstable();
            assert!(compared == expected, "seed {seed}");
        }
    }
}
