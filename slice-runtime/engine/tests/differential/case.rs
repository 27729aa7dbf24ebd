//! A program that is run both ways, and what differs then.

use isa::random::{Catalogue, Generator, Program, Rng};

use crate::arena::Arena;
use crate::state::State;
use crate::translated::{Interruptions, Translated};
use crate::{Outcome, native, stream};

/// One seed's program of the given length, with what it starts from.
pub struct Case<'a> {
    pub arena: &'a Arena,
    pub catalogue: &'a Catalogue,
    pub seed: u64,
    pub exact_faults: bool,
    /// What the instrument is compared with, if there is something.
    pub pair: Option<stream::Pair>,
}

impl Case<'_> {
    pub fn program(&self, length: usize) -> Program {
        Generator::new(self.catalogue, self.arena.layout(), self.seed).program(length)
    }

    /// Runs a program both ways; returns how it ends natively, and what differs.
    pub fn compare(&self, program: &Program, translated: &mut Translated) -> (Outcome, Vec<String>) {
        let start = State::random(&mut Rng(!self.seed), self.arena);
        self.arena.load(program);
        self.arena.fill(self.seed);
        let (expected, native) = native::run(self.arena, program, &start);
        let memory = self.arena.snapshot();
        let reference = self.pair.map(|pair| self.reference(program, &start, translated, pair));
        self.arena.load(program);
        self.arena.fill(self.seed);
        let end = translated.run(self.arena, program, &start);
        let mut differences = self.differences(&(expected, native.clone()), &memory, &end);
        let differs_from_reference = |translated: &Translated| {
            let (log, steps) = reference.as_ref()?;
            let counted = (translated.steps != *steps).then(|| format!("{} steps, by calls {steps}", translated.steps));
            counted.or_else(|| stream::difference(&translated.stream, log, matches!(expected, Outcome::Fault(..))))
        };
        differences.extend(differs_from_reference(translated));
        if translated.is_interrupted() {
            for n in 0..8 {
                let number = Rng(self.seed + n).bits();
                let way = if n < 4 { Interruptions::After(300 + number % 6000) } else { Interruptions::Steps(number) };
                self.arena.load(program);
                self.arena.fill(self.seed);
                if self.arena.layout().writable_code {
                    translated.forget(self.arena);
                }
                let end = translated.run_again(self.arena, program, &start, way);
                differences.extend(self.differences(&(expected, native.clone()), &memory, &end));
                differences.extend(differs_from_reference(translated));
            }
        }
        (expected, differences)
    }

    /// What calls get that are given the values which the buffer is to have, and how many instructions they count.
    fn reference(
        &self,
        program: &Program,
        start: &State,
        translated: &mut Translated,
        pair: stream::Pair,
    ) -> (Vec<u64>, u64) {
        self.arena.load(program);
        self.arena.fill(self.seed);
        translated.set_instrument(pair.reference);
        translated.run(self.arena, program, start);
        translated.set_instrument(pair.instrument);
        (std::mem::take(&mut *stream::LOG.lock().expect("no test panics here")), translated.steps)
    }

    fn differences(&self, native: &(Outcome, State), memory: &[u8], translated: &(Outcome, State)) -> Vec<String> {
        let ((expected, native), (got, mut end)) = (native, translated.clone());
        if !self.exact_faults && matches!(got, Outcome::Fault(..)) {
            // Nobody who looks at flags after a fault was promised them.
            end.registers.rflags = native.registers.rflags;
        }
        if matches!((expected, &got), (Outcome::Fault(..), Outcome::Fault(..))) && !is_canonical(end.registers.rip) {
            // Known difference: a branch to a non-canonical address faults at the branch natively, and at the address,
            // after the branch, under translation.
            return Vec::new();
        }
        let mut differences = native.differences(&end);
        if *expected != got {
            differences.insert(0, format!("natively {expected:x?}, translated {got:x?}"));
        }
        differences.extend(self.arena.differences(memory));
        differences
    }

    /// Says what differs in the shortest program of this seed that differs: it is a prefix of the others.
    pub fn fail(&self, name: &str, length: usize, first: &[String], translated: &mut Translated) -> ! {
        for length in 1..=length {
            let program = self.program(length);
            let (outcome, differences) = self.compare(&program, translated);
            if !differences.is_empty() {
                panic!(
                    "{name}: SUPERPIN_SEED={}, the first {length} elements (ends natively: {outcome:x?}):\n{}native, then translated:\n{}",
                    self.seed,
                    program.listing(&self.arena.layout()),
                    differences.join("\n"),
                );
            }
        }
        panic!(
            "{name}: SUPERPIN_SEED={} differed once, and not when it was run again:\n{}native, then translated:\n{}",
            self.seed,
            self.program(length).listing(&self.arena.layout()),
            first.join("\n"),
        );
    }
}

/// Whether bits 47 and up are equal.
fn is_canonical(address: u64) -> bool {
    (address << 16) as i64 >> 16 == address as i64
}
