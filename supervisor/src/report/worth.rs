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
    /// Likewise of signals that came in such a state in the midst of a slice.
    pub recurring_points: Vec<u64>,
    /// Of each of these the slice.
    pub recurring_points_in: Vec<u64>,
    /// Slices during which other processes wrote to memory of the app's.
    pub written_by_others: Vec<u64>,
}

impl Doubts {
    /// Nothing of these slices matters, from `first` on, and of that only what was before its end.
    pub fn forget_from(&mut self, first: u64) {
        let doubts = [
            (&mut self.recurring, &mut self.recurring_in),
            (&mut self.recurring_points, &mut self.recurring_points_in),
        ];
        for (places, slices) in doubts {
            let mut of_each = slices.iter();
            places.retain(|_| of_each.next().is_none_or(|slice| *slice < first));
            slices.retain(|slice| *slice < first);
        }
        self.written_by_others.retain(|slice| *slice < first);
    }

    /// What the result is worth.
    pub fn worth(&self) -> Worth {
        let is_unique = self.recurring.is_empty() && self.recurring_points.is_empty();
        match (self.written_by_others.is_empty(), is_unique) {
            (false, _) => Worth::Uncertain,
            (true, false) => Worth::AtLeast,
            (true, true) if self.is_sample => Worth::Sample,
            (true, true) => Worth::Exact,
        }
    }

    /// Why it isn't exact, in a run of so many slices.
    pub fn reasons(&self, slices: u64) -> String {
        let reasons = [self.loops(slices), self.loops_at_points(), self.foreign_writes(slices)];
        reasons.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn loops(&self, slices: u64) -> Option<String> {
        (!self.recurring.is_empty()).then(|| {
            format!(
                "{} of {slices} slices ended in a loop that changes nothing and waits for a signal or another thread, at {}. {ROUNDS}",
                self.recurring.len(),
                listed(&self.recurring)
            )
        })
    }

    fn loops_at_points(&self) -> Option<String> {
        (!self.recurring_points.is_empty()).then(|| {
            format!(
                "{} signals came, or turns ended, in a loop that changes nothing and waits for a signal or another thread, at {}. {ROUNDS}",
                self.recurring_points.len(),
                listed(&self.recurring_points)
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

/// What is said of loops that change nothing.
const ROUNDS: &str =
    "How often the app went round can't be told; each such loop is counted up to the first return of its state.";

/// Places, each once.
fn listed(places: &[u64]) -> String {
    let mut places = places.to_vec();
    places.sort_unstable();
    places.dedup();
    places.iter().map(|pc| format!("{pc:#x}")).collect::<Vec<_>>().join(", ")
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
        doubts.recurring_points = vec![0x30];
        assert!(
            doubts.reasons(4).contains("1 signals came, or turns ended, in a loop that changes nothing and waits for a signal or another thread, at 0x30.")
        );
        doubts.written_by_others = vec![2];
        assert_eq!(doubts.worth(), Worth::Uncertain);
        assert!(doubts.reasons(4).contains("3 of 4 slices") && doubts.reasons(4).contains("During 1 of 4 slices"));
    }

    #[test]
    fn what_is_behind_the_end_is_no_doubt() {
        let places = || (vec![1, 2, 3], vec![4, 9, 5]);
        let ((recurring, recurring_in), (recurring_points, recurring_points_in)) = (places(), places());
        let mut doubts = Doubts { recurring, recurring_in, recurring_points, recurring_points_in, ..Doubts::default() };
        doubts.forget_from(6);
        assert_eq!((doubts.recurring, doubts.recurring_points), (vec![1, 3], vec![1, 3]));
    }

    #[test]
    fn each_is_found_by_its_name() {
        for worth in [Worth::Exact, Worth::AtLeast, Worth::Uncertain, Worth::None] {
            assert_eq!(Worth::named(worth.name()), Some(worth));
        }
        assert_eq!(Worth::named("certain"), None);
    }
}
