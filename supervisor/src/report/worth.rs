//! What a result is worth: whether its number is right, and if not, what is known of it.
//!
//! All that makes a result less than exact is noted in [`Doubts`], and [`Worth`] is what is said of it: in the result itself, in the
//! report, and by the exit status.

use std::fmt;

/// What a result is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// It is that of a serial run.
    Exact,
    /// It is that of a sample, as the tool wants it: another run has another one.
    Sample,
    /// All that it counts was executed, but perhaps more was.
    AtLeast,
    /// The app may have seen what the run didn't: more or less may have been executed.
    Uncertain,
    /// There is no result.
    None,
}

impl Worth {
    /// How it is written, in results, reports and messages alike.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sample => "a sample",
            Self::AtLeast => "at least",
            Self::Uncertain => "uncertain",
            Self::None => "none",
        }
    }

    /// Whether it is what the tool is to give.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Exact | Self::Sample)
    }

    /// That of a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Exact, Self::Sample, Self::AtLeast, Self::Uncertain, Self::None]
            .into_iter()
            .find(|worth| worth.name() == name)
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was met that a result may not have right.
#[derive(Default)]
pub struct Doubts {
    /// Whether the tool looks at a sample.
    pub is_sample: bool,
    /// Where slices ended in a state that recurs: the app's instruction pointers there.
    pub recurring: Vec<u64>,
    /// Of each of these the slice.
    pub recurring_in: Vec<u64>,
    /// Slices during which other processes wrote to memory of the app's.
    pub written_by_others: Vec<u64>,
}

impl Doubts {
    /// Nothing of these slices matters, from `first` on, and of that only what was before its end.
    pub fn forget_from(&mut self, first: u64) {
        let mut slices = self.recurring_in.iter();
        self.recurring.retain(|_| slices.next().is_none_or(|slice| *slice < first));
        self.recurring_in.retain(|slice| *slice < first);
        self.written_by_others.retain(|slice| *slice < first);
    }

    /// What the result is worth.
    pub fn worth(&self) -> Worth {
        match (self.written_by_others.is_empty(), self.recurring.is_empty()) {
            (false, _) => Worth::Uncertain,
            (true, false) => Worth::AtLeast,
            (true, true) if self.is_sample => Worth::Sample,
            (true, true) => Worth::Exact,
        }
    }

    /// Why it isn't exact, in a run of so many slices.
    pub fn reasons(&self, slices: u64) -> String {
        let reasons = [self.loops(slices), self.foreign_writes(slices)];
        reasons.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn loops(&self, slices: u64) -> Option<String> {
        let mut places = self.recurring.clone();
        places.sort_unstable();
        places.dedup();
        let listed: Vec<String> = places.iter().map(|pc| format!("{pc:#x}")).collect();
        (!places.is_empty()).then(|| {
            format!(
                "{} of {slices} slices ended in a loop that changes nothing and waits for a signal or another thread, at {}. \
                 How often the app went round can't be told; each such loop is counted up to the first return of its state.",
                self.recurring.len(),
                listed.join(", ")
            )
        })
    }

    fn foreign_writes(&self, slices: u64) -> Option<String> {
        (!self.written_by_others.is_empty()).then(|| {
            format!(
                "During {} of {slices} slices other processes wrote to memory that they share with the app and that it looked at. \
                 A slice has the contents of its start.",
                self.written_by_others.len()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weakest_counts_and_each_is_told() {
        let mut doubts = Doubts::default();
        assert_eq!((doubts.worth(), doubts.reasons(3)), (Worth::Exact, String::new()));
        let sample = Doubts { is_sample: true, ..Doubts::default() };
        assert!(sample.worth() == Worth::Sample && sample.worth().is_right());
        doubts.recurring = vec![0x20, 0x10, 0x20];
        assert_eq!(doubts.worth(), Worth::AtLeast);
        assert!(doubts.reasons(4).starts_with("3 of 4 slices ended in a loop"), "{}", doubts.reasons(4));
        assert!(doubts.reasons(4).contains("at 0x10, 0x20."));
        doubts.written_by_others = vec![2];
        assert_eq!(doubts.worth(), Worth::Uncertain);
        assert!(doubts.reasons(4).contains("3 of 4 slices") && doubts.reasons(4).contains("During 1 of 4 slices"));
    }

    #[test]
    fn each_is_found_by_its_name() {
        for worth in [Worth::Exact, Worth::AtLeast, Worth::Uncertain, Worth::None] {
            assert_eq!(Worth::named(worth.name()), Some(worth));
        }
        assert_eq!(Worth::named("certain"), None);
    }
}
