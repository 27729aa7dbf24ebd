//! Calls of routines that allocate: which blocks there come to be, in the order of accesses.
//!
//! ```text
//!   in code:    entered(number) ─► mark in the buffer, and `Entries`: who is returned to
//!               a return        ─► mark in the buffer
//!   by drain:   the marks, between accesses ─► Calls ─► blocks
//! ```
//! A mark is in the buffer before the routine at the same place is called: where that finds the buffer drained already, it is waited for.

use std::collections::{BTreeMap, VecDeque};

use superpin_tool::merge::Merge;
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{Arg, BranchKind, CallStack, Gpr, Instruction};

use crate::caches::words::{Mark, mark};
use crate::heap::{Call, Kind};

/// The number of marks at returns; those at entries have the kind's, or [`WRAPPER`].
const RETURN: u64 = 100;
/// That of a routine that gives out what another one has allocated.
const WRAPPER: u64 = 99;

/// A block that was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it is.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// To where the outermost of these routines is to return.
    pub owner: u64,
}

/// A call that the app is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Entered {
    /// None of a wrapper.
    call: Option<Call>,
    returns_to: u64,
}

/// Calls that the app is in, by thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Calls {
    threads: BTreeMap<u64, CallStack<Entered>>,
    /// The thread that has entered or left one last, and 1; 0: none.
    last: u64,
    /// Its returns with this stack pointer or a higher one leave some.
    ending: u64,
}

impl Calls {
    /// A routine is entered. `number`: of its mark.
    pub fn enter(&mut self, thread: u64, place: u64, number: u64, arguments: [u64; 3], returns_to: u64) {
        let [a, b, c] = arguments;
        let call = (number != WRAPPER).then(|| Call::new(number, a, b, c));
        let stack = self.threads.entry(thread).or_default();
        stack.enter(place, Entered { call, returns_to }, |_, _| {});
        self.note(thread);
    }

    /// Whether a return may leave one.
    #[inline]
    pub fn may_leave(&self, thread: u64, place: u64) -> bool {
        // Without a branch it can be put in place.
        (self.last != thread + 1) | (place >= self.ending)
    }

    /// A thread returns: the call that is over, and to where the outermost one is to return.
    pub fn leave(&mut self, thread: u64, place: u64) -> Option<(Call, u64)> {
        let stack = self.threads.entry(thread).or_default();
        let outermost = stack.frames().first().map(|frame| frame.data.returns_to);
        let returning = stack.frames().iter().rev().find(|frame| frame.stack_pointer == place);
        let found = returning.and_then(|frame| frame.data.call).zip(outermost);
        stack.leave(place, |_, _| {});
        self.note(thread);
        found
    }

    fn note(&mut self, thread: u64) {
        self.last = thread + 1;
        let Some(stack) = self.threads.get(&thread) else { return };
        // What it was in before is left further up than ever.
        self.ending = stack.frames().last().map_or(stack.unwound_to() + 1, |frame| frame.stack_pointer);
    }

    /// Of a thread, the routine that writes its block's address to memory and returns there: that address.
    fn pointer(&self, thread: u64, place: u64) -> Option<u64> {
        let frames = self.threads.get(&thread)?.frames();
        let returning = frames.iter().rev().find(|frame| frame.stack_pointer == place)?;
        returning.data.call.and_then(|call| call.points_to())
    }
}

impl Merge for Calls {
    fn merge(&mut self, next: Self) {
        Merge::merge(&mut self.threads, next.threads);
        self.last = 0;
    }
}

/// What a slice knows of calls.
#[derive(Clone, Default)]
pub struct Allocations {
    /// Those that the marks so far have entered and not left.
    calls: Calls,
    /// Those that code has: ahead of the marks.
    ahead: Calls,
    /// To where those are to return that were entered, of which the mark wasn't read yet.
    returns: VecDeque<(u64, u64)>,
    /// Blocks that were written to memory, in the same way.
    written: VecDeque<(u64, u64)>,
    /// A mark that was read before it was known what belongs to it.
    waits: Option<Mark>,
}

impl Allocations {
    /// Of a slice before which these were entered.
    pub fn begin(before: &Calls) -> Self {
        Self { calls: before.clone(), ahead: before.clone(), ..Self::default() }
    }

    /// A mark was read: the block that has come to be.
    pub fn take(&mut self, mark: Mark) -> Option<Block> {
        let Mark { number, stack_pointer: place, words: [a, b, c, thread] } = mark;
        if number != RETURN {
            match next(&mut self.returns, place) {
                Some(returns_to) => self.calls.enter(thread, place, number, [a, b, c], returns_to),
                None => self.waits = Some(mark),
            }
            return None;
        }
        if !self.calls.may_leave(thread, place) {
            return None;
        }
        let writes = self.calls.pointer(thread, place).is_some();
        if writes && self.written.is_empty() {
            self.waits = Some(mark);
            return None;
        }
        let written = if writes { next(&mut self.written, place) } else { None };
        let (call, owner) = self.calls.leave(thread, place)?;
        let address = written.unwrap_or_else(|| call.allocates(a));
        (address != 0).then_some(Block { address, size: call.size(), owner })
    }

    fn waited(&mut self) -> Option<Block> {
        let mark = self.waits.take()?;
        self.take(mark)
    }

    /// In code, where a routine is entered that is to return to `returns_to`: a block that was waited for.
    #[must_use]
    pub fn enters(
        &mut self,
        thread: u64,
        place: u64,
        number: u64,
        arguments: [u64; 3],
        returns_to: u64,
    ) -> Option<Block> {
        self.ahead.enter(thread, place, number, arguments, returns_to);
        self.returns.push_back((place, returns_to));
        self.waited()
    }

    /// In code, whether a return may be of one of them.
    #[inline]
    pub fn may_return(&self, thread: u64, place: u64) -> bool {
        self.ahead.may_leave(thread, place)
    }

    /// In code, at a return: a block that was waited for. `read` reads the app's memory.
    #[must_use]
    pub fn returns(&mut self, thread: u64, place: u64, result: u64, read: impl Fn(u64) -> u64) -> Option<Block> {
        if let Some(pointer) = self.ahead.pointer(thread, place) {
            let block = if result as i32 == 0 { read(pointer) } else { 0 };
            self.written.push_back((place, block));
        }
        self.ahead.leave(thread, place);
        self.waited()
    }
}

/// The first of them that was at this place. Those before it were at instructions that have faulted, and left no marks.
fn next(found: &mut VecDeque<(u64, u64)>, place: u64) -> Option<u64> {
    while let Some((at, value)) = found.pop_front() {
        if at == place {
            return Some(value);
        }
    }
    None
}

/// The number of the mark where such a routine is entered. `wrappers`: names of some that give out what others have allocated.
pub fn entered<L: 'static>(instruction: &Instruction<'_, L>, wrappers: &[String]) -> Option<u64> {
    let name = instruction.enters()?.name();
    is_wrapper(name, wrappers).then_some(WRAPPER).or_else(|| Kind::named(name))
}

/// C++'s `operator new` and `operator new[]`, and those that were named.
fn is_wrapper(name: &str, wrappers: &[String]) -> bool {
    name.starts_with("_Znwm") || name.starts_with("_Znam") || wrappers.iter().any(|wrapper| wrapper == name)
}

/// Whether such a routine may return here: any return in its library, since it may end by a jump to another one.
pub fn may_be_left<L: 'static>(instruction: &Instruction<'_, L>, wrappers: &[String]) -> bool {
    let is_return = instruction.branch() == Some(BranchKind::Return);
    is_return
        && (instruction.image().is_some_and(|image| image.routine("malloc").is_some())
            || instruction.routine().is_some_and(|routine| is_wrapper(routine.name(), wrappers)))
}

/// Writes a mark where a routine is entered.
pub fn mark_entry<L: 'static>(instruction: &Instruction<'_, L>, number: u64) {
    let [a, b, c] = [0, 1, 2].map(Arg::Argument);
    instruction.buffer((Gpr::Rsp, mark(number), a, b, c, Arg::ThreadId));
}

/// Writes a mark at a return.
pub fn mark_return<L: 'static>(instruction: &Instruction<'_, L>) {
    instruction.buffer((Gpr::Rsp, mark(RETURN), Arg::ReturnValue, 0_u64, 0_u64, Arg::ThreadId));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MALLOC: u64 = 0;

    /// What an app does: entries with their number and first argument, and returns with their result.
    #[derive(Clone, Copy)]
    enum Step {
        Enter { place: u64, number: u64, argument: u64, returns_to: u64 },
        Return { place: u64, result: u64 },
    }

    const MEMALIGN_WRITES: u64 = 0x7000;

    /// Blocks that come of steps, if the buffer is drained behind the marks that `is_drained` says, and else at the end. `before`: calls from before.
    fn blocks(steps: &[Step], before: &Calls, mut is_drained: impl FnMut() -> bool) -> (Vec<Block>, Calls) {
        let (mut allocations, mut found, mut buffer) = (Allocations::begin(before), Vec::new(), Vec::new());
        for step in steps {
            let (number, stack_pointer, a) = match *step {
                Step::Enter { place, number, argument, .. } => (number, place, argument),
                Step::Return { place, result } => (RETURN, place, result),
            };
            // posix_memalign has its size as the third argument.
            buffer.push(Mark { number, stack_pointer, words: [a, 0, a, 1] });
            if is_drained() {
                found.extend(buffer.drain(..).filter_map(|mark| allocations.take(mark)));
            }
            found.extend(match *step {
                Step::Enter { place, number, argument, returns_to } => {
                    allocations.enters(1, place, number, [argument, 0, argument], returns_to)
                }
                Step::Return { place, result } if allocations.may_return(1, place) => {
                    allocations.returns(1, place, result, |_| MEMALIGN_WRITES)
                }
                Step::Return { .. } => None,
            });
        }
        found.extend(buffer.drain(..).filter_map(|mark| allocations.take(mark)));
        (found, allocations.ahead)
    }

    /// main calls malloc; get, which calls malloc and returns; posix_memalign; a function that has nothing to do with it.
    fn steps() -> Vec<Step> {
        let memalign = Kind::named("posix_memalign").unwrap();
        let enter = |place, number, argument, returns_to| Step::Enter { place, number, argument, returns_to };
        let back = |place, result| Step::Return { place, result };
        vec![
            enter(800, MALLOC, 32, 1),
            back(700, 0),
            back(800, 0x5000),
            enter(800, WRAPPER, 0, 2),
            enter(700, MALLOC, 48, 99),
            back(700, 0x6000),
            back(800, 0x6000),
            enter(600, memalign, 64, 3),
            back(600, 0),
            back(900, 0),
        ]
    }

    #[test]
    fn blocks_are_those_of_the_outermost_caller_wherever_the_buffer_is_drained() {
        let block = |address, size, owner| Block { address, size, owner };
        let expected = [block(0x5000, 32, 1), block(0x6000, 48, 2), block(MEMALIGN_WRITES, 64, 3)];
        for drained in 0..1 << steps().len() {
            let mut marks = 0..;
            let (found, _) = blocks(&steps(), &Calls::default(), || drained >> marks.next().unwrap() & 1 != 0);
            assert_eq!(found, expected, "{drained:b}");
        }
    }

    #[test]
    fn parts_go_on_with_the_calls_of_those_before() {
        let (whole, _) = blocks(&steps(), &Calls::default(), || true);
        for cut in 0..steps().len() {
            let (mut found, before) = blocks(&steps()[..cut], &Calls::default(), || false);
            found.extend(blocks(&steps()[cut..], &before, || false).0);
            assert_eq!(found, whole, "{cut}");
        }
    }

    #[test]
    fn what_an_instruction_has_left_that_faulted_is_passed_over() {
        let mut allocations = Allocations::default();
        assert_eq!(allocations.enters(1, 700, MALLOC, [8, 0, 0], 5), None);
        assert_eq!(allocations.enters(1, 800, MALLOC, [8, 0, 0], 6), None);
        allocations.take(Mark { number: MALLOC, stack_pointer: 800, words: [8, 0, 0, 1] });
        let block = allocations.take(Mark { number: RETURN, stack_pointer: 800, words: [0x5000, 0, 0, 1] });
        assert_eq!(block.map(|block| block.owner), Some(6));
    }
}
