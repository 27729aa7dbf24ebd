//! Results that merge by themselves: counters, extremes, logs, tables of them.
//!
//! A tool whose result is made of these folds with one line, `total.merge(result)`. Merging is done in the order of
//! execution, so [`Append`] yields what a serial run would have written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use serde::{Deserialize, Serialize};

use super::call_stack::CallStack;
use crate::code::Code;

/// A part of a total.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be merged: nothing says how two of it are put together",
    label = "is not a part of a total",
    note = "wrap a number in `Sum`, `Min`, `Max` or `Or`, a `Vec` in `Append`, as in `HashMap<u64, Sum>`; put several into `areas!`; or implement `Merge` for a type of yours"
)]
pub trait Merge {
    /// Adds what the next part of the execution yielded.
    fn merge(&mut self, next: Self);
}

/// Adds up, wrapping around at 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum(pub u64);

impl Merge for Sum {
    fn merge(&mut self, next: Self) {
        self.0 = self.0.wrapping_add(next.0);
    }
}

/// The least value, if there was any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Min(pub Option<u64>);

impl Merge for Min {
    fn merge(&mut self, next: Self) {
        self.0 = self.0.into_iter().chain(next.0).min();
    }
}

/// The greatest value, if there was any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Max(pub Option<u64>);

impl Merge for Max {
    fn merge(&mut self, next: Self) {
        self.0 = self.0.max(next.0);
    }
}

/// The bits that were ever set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Or(pub u64);

impl Merge for Or {
    fn merge(&mut self, next: Self) {
        self.0 |= next.0;
    }
}

/// All elements, in the order of execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append<T>(pub Vec<T>);

impl<T> Default for Append<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Merge for Append<T> {
    fn merge(&mut self, next: Self) {
        self.0.extend(next.0);
    }
}

/// The value that came first, if there was any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct First<T>(pub Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Merge for First<T> {
    fn merge(&mut self, next: Self) {
        self.0 = self.0.take().or(next.0);
    }
}

/// The value that came last, if there was any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last<T>(pub Option<T>);

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Merge for Last<T> {
    fn merge(&mut self, next: Self) {
        self.0 = next.0.or(self.0.take());
    }
}

/// Where it doesn't matter which routines were left.
impl<F> Merge for CallStack<F> {
    fn merge(&mut self, next: Self) {
        self.append(next, |_, _| {});
    }
}

impl Merge for Code {
    fn merge(&mut self, next: Self) {
        self.add_all(next);
    }
}

impl<K: Eq + Hash, V: Merge + Default, S: BuildHasher> Merge for HashMap<K, V, S> {
    fn merge(&mut self, next: Self) {
        for (key, value) in next {
            self.entry(key).or_default().merge(value);
        }
    }
}

impl<K: Ord, V: Merge + Default> Merge for BTreeMap<K, V> {
    fn merge(&mut self, next: Self) {
        for (key, value) in next {
            self.entry(key).or_default().merge(value);
        }
    }
}

/// What was ever in it.
impl<T: Eq + Hash, S: BuildHasher> Merge for HashSet<T, S> {
    fn merge(&mut self, next: Self) {
        self.extend(next);
    }
}

/// What was ever in it.
impl<T: Ord> Merge for BTreeSet<T> {
    fn merge(&mut self, next: Self) {
        self.extend(next);
    }
}

impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, next: Self) {
        self.0.merge(next.0);
        self.1.merge(next.1);
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, next: Self) {
        for (total, next) in self.iter_mut().zip(next) {
            total.merge(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged<M: Merge + Default>(parts: impl IntoIterator<Item = M>) -> M {
        let mut total = M::default();
        parts.into_iter().for_each(|part| total.merge(part));
        total
    }

    #[test]
    fn an_absent_extreme_does_not_count() {
        assert_eq!(merged([Min(None), Min(Some(7)), Min(None), Min(Some(9))]), Min(Some(7)));
        assert_eq!(merged([Max(None), Max(Some(7)), Max(None), Max(Some(9))]), Max(Some(9)));
        assert_eq!(merged::<Min>([]), Min(None));
    }

    #[test]
    fn order_is_kept_and_tables_merge_by_key() {
        assert_eq!(merged([Append(vec![1, 2]), Append(vec![]), Append(vec![0])]).0, [1, 2, 0]);
        let parts = [BTreeMap::from([("a", Sum(1)), ("b", Sum(2))]), BTreeMap::from([("b", Sum(u64::MAX))])];
        assert_eq!(merged(parts), BTreeMap::from([("a", Sum(1)), ("b", Sum(1))]));
        assert_eq!(merged([Or(1), Or(4)]), Or(5));
        assert_eq!(merged([(Sum(1), [Or(1)]), (Sum(2), [Or(2)])]).1, [Or(3)]);
        assert_eq!(merged([BTreeSet::from([1, 3]), BTreeSet::from([2, 3])]), BTreeSet::from([1, 2, 3]));
        let values = [None, Some(4), Some(5), None];
        assert_eq!((merged(values.map(First)).0, merged(values.map(Last)).0), (Some(4), Some(5)));
    }
}
