//! Any machine: run from an assumed state, and again where that was wrong.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::tool::SliceInfo;
use crate::tool::merge::Merge;

/// Something that goes from state to state by what the app does: a set of a cache with another replacement than LRU, a prefetcher, a predictor with long histories. What implements it is the state.
/// States that do the same from now on are to be equal: lines by age, not a circle of them and an index.
pub trait Machine: Clone + PartialEq + Serialize + DeserializeOwned {
    /// What it goes by.
    type Input: Copy + Serialize + DeserializeOwned;
    /// What is wanted of it: hits and misses, say.
    type Output: Merge + Default + Clone + Serialize + DeserializeOwned;

    /// Takes an input, and adds to the output what comes of it. It must depend on nothing else.
    fn step(&mut self, input: Self::Input, output: &mut Self::Output);
}

/// Inputs that are run again at once.
const PIECE: usize = 1024;

/// Some inputs, what came of them, and in which state they left the machine.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
struct Piece<M: Machine> {
    inputs: Vec<M::Input>,
    output: M::Output,
    end: M,
}

/// A machine of which a slice assumes that it is in its first state: `append` compares that with the state in which the slice before has left it, and runs it again where they differ, until they don't any more.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::merge::Sum;
/// use superpin_tool::models::{Assumed, Machine};
/// use superpin_tool::serde::{Deserialize, Serialize};
///
/// /// A page that is open in a bank of memory, until another one is accessed.
/// #[derive(Clone, PartialEq, Serialize, Deserialize)]
/// #[serde(crate = "superpin_tool::serde")]
/// struct Bank(Option<u64>);
///
/// impl Machine for Bank {
///     type Input = u64;
///     type Output = Sum;
///
///     fn step(&mut self, address: u64, opened: &mut Sum) {
///         let page = Some(address >> 13);
///         opened.0 += u64::from(std::mem::replace(&mut self.0, page) != page);
///     }
/// }
///
/// let mut bank = Assumed::begin(Bank(None), SliceInfo { number: 0 });
/// bank.step(0x4000);
/// let mut next = Assumed::begin(Bank(None), SliceInfo { number: 1 });
/// next.step(0x4008);
/// next.step(0x8000);
/// bank.append(next);
/// assert_eq!(bank.end().0, 2);
/// ```
///
/// For caches with LRU, two-bit counters and tables there is better in [`crate::models`]: what a slice doesn't know, it doesn't assume there, and what it keeps is bounded.
/// **Cost.** This keeps all inputs of a slice, except of the first one, and a state for each 1,024. In the collector a state that was assumed wrongly costs as many steps as it
/// takes to come to what was assumed: [`Self::reconciled`] tells how many. So of large machines keep one for each set, which forgets soon.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Assumed<M: Machine> {
    /// The state that was assumed, that at the end, and whether it isn't assumed but known. None: nothing is there yet.
    ends: Option<(M, M, bool)>,
    /// Of a part that begins as the execution does.
    known: M::Output,
    pieces: Vec<Piece<M>>,
    reconciled: u64,
}

/// Nothing yet: takes over what is appended.
impl<M: Machine> Default for Assumed<M> {
    fn default() -> Self {
        Self { ends: None, known: M::Output::default(), pieces: Vec::new(), reconciled: 0 }
    }
}

impl<M: Machine> Assumed<M> {
    /// The machine as a slice begins, in the state in which it is at the start of the execution.
    pub fn begin(machine: M, slice: SliceInfo) -> Self {
        Self { ends: Some((machine.clone(), machine, slice.number == 0)), ..Self::default() }
    }

    /// The machine takes an input.
    ///
    /// # Panics
    /// If this is a `Default`, which has no machine.
    #[inline]
    pub fn step(&mut self, input: M::Input) {
        let (_, machine, is_known) = self.ends.as_mut().expect("there is a machine: begin() gives one");
        if *is_known {
            machine.step(input, &mut self.known);
            return;
        }
        if self.pieces.last().is_none_or(|piece| piece.inputs.len() == PIECE) {
            let piece = Piece { inputs: Vec::new(), output: M::Output::default(), end: machine.clone() };
            self.pieces.push(piece);
        }
        let piece = self.pieces.last_mut().expect("there is one now");
        machine.step(input, &mut piece.output);
        piece.inputs.push(input);
        piece.end.clone_from(machine);
    }

    /// Adds the part that was executed behind this one.
    pub fn append(&mut self, mut next: Self) {
        let Some((_, state, is_known)) = &mut self.ends else {
            *self = next;
            return;
        };
        let Some((assumed, end, _)) = next.ends else { return };
        self.reconciled += next.reconciled;
        if *state == assumed {
            *state = end;
        } else {
            let mut machine = state.clone();
            let mut differ = true;
            for piece in &mut next.pieces {
                let mut output = M::Output::default();
                piece.inputs.iter().for_each(|input| machine.step(*input, &mut output));
                self.reconciled += piece.inputs.len() as u64;
                piece.output = output;
                if machine == piece.end {
                    differ = false;
                    break;
                }
                piece.end.clone_from(&machine);
            }
            *state = if differ { machine } else { end };
        }
        if *is_known {
            next.pieces.into_iter().for_each(|piece| self.known.merge(piece.output));
        } else {
            self.pieces.extend(next.pieces);
        }
    }

    /// How many inputs were run again, because the state was another than assumed.
    pub fn reconciled(&self) -> u64 {
        self.reconciled
    }

    /// The execution is over, and it began as was assumed: what came of it.
    pub fn end(self) -> M::Output {
        let mut output = self.known;
        self.pieces.into_iter().for_each(|piece| output.merge(piece.output));
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::random::{Random, folded};
    use crate::tool::merge::Append;

    /// A set with four lines, of which the oldest is replaced. The output has each miss.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct FirstInFirstOut {
        lines: [u64; 4],
    }

    impl Machine for FirstInFirstOut {
        type Input = (u64, u64);
        type Output = Append<u64>;

        fn step(&mut self, (line, number): (u64, u64), misses: &mut Append<u64>) {
            if !self.lines.contains(&line) {
                self.lines.copy_within(..3, 1);
                self.lines[0] = line;
                misses.0.push(number);
            }
        }
    }

    #[test]
    fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
        let (mut reconciled, mut inputs) = (0, 0);
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let stream: Vec<(u64, u64)> = (0..9000).map(|number| (1 + random.below(6), number)).collect();
            let (mut whole, mut expected) = (FirstInFirstOut::default(), Append::default());
            stream.iter().for_each(|input| whole.step(*input, &mut expected));
            let first = random.below(2);
            let mut parts = Vec::new();
            for (number, part) in (first..).zip(random.cut(&stream)) {
                let mut machine = Assumed::begin(FirstInFirstOut::default(), SliceInfo { number });
                part.iter().for_each(|input| machine.step(*input));
                let encoded = postcard::to_allocvec(&machine).unwrap();
                parts.push(postcard::from_bytes::<Assumed<FirstInFirstOut>>(&encoded).unwrap());
            }
            let all = folded(parts, &mut random, Assumed::append);
            reconciled += all.reconciled();
            inputs += stream.len() as u64;
            assert!(all.end() == expected, "seed {seed}");
        }
        // Some, and not nearly all: it comes to the assumed state soon.
        assert!(reconciled > 1000 && reconciled < inputs / 2, "{reconciled} of {inputs}");
    }
}
