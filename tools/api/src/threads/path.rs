//! A name of a thread.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A name of a thread that doesn't depend on which thread runs when: that of the thread that has started it, and the how manieth it was that this one has started.
///
/// The first thread is `0`, those that it starts are `0.1`, `0.2`, …, and the first one that `0.2` starts is `0.2.1`. So it is the same in each run of a program whose threads each start the same ones in
/// the same order; [`crate::ThreadInfo::number`] and the kernel's number are not. Paths are ordered: who starts before whom is started, then by the order in which one thread has started them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadPath(Vec<u32>);

impl ThreadPath {
    pub(crate) fn new(path: Vec<u32>) -> Self {
        Self(path)
    }

    /// Which child each thread was of the one before, counted from 1: `[2, 1]` of `0.2.1`. Empty for the first thread.
    pub fn steps(&self) -> &[u32] {
        &self.0
    }

    /// That of the thread that has started it. `None` for the first one.
    pub fn parent(&self) -> Option<Self> {
        let (_, parent) = self.0.split_last()?;
        Some(Self(parent.to_vec()))
    }
}

impl fmt::Display for ThreadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.iter().fold("0".to_owned(), |text, step| format!("{text}.{step}"));
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_starts_comes_before_whom_is_started() {
        let paths = [&[][..], &[1], &[1, 1], &[2], &[2, 1], &[10]].map(|steps| ThreadPath::new(steps.to_vec()));
        assert!(paths.is_sorted());
        let texts = paths.each_ref().map(ToString::to_string);
        assert_eq!(texts, ["0", "0.1", "0.1.1", "0.2", "0.2.1", "0.10"]);
        assert_eq!((paths[4].parent().as_ref(), paths[0].parent()), (Some(&paths[3]), None));
    }
}
