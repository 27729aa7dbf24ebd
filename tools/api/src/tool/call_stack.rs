//! The routines that the app is in, by stack pointer; parts of an execution put together.

use serde::{Deserialize, Serialize};

/// A routine that was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame<F> {
    /// The stack pointer at its first instruction: where its return address lies.
    pub stack_pointer: u64,
    /// When it was entered, by [`CallStack::now`].
    pub entered: u64,
    /// What the tool has noted with it.
    pub data: F,
}

/// Which routines the app is in: entered, and not left yet.
///
/// A routine is left as soon as the app returns to above where its return address lies, or enters another routine there or above. So it doesn't matter how: by a return
/// instruction, a jump to another routine in place of a call and a return, a long jump or an exception. It is told when the next entry or return is, which is when
/// [`Self::enter`] and [`Self::leave`] are called: at [`crate::Instruction::enters`] and at all return instructions, both with `Gpr::Rsp`.
///
/// A slice doesn't know which routines the app was in when it began. What it does to them it keeps: `fold` puts its part behind those before it by [`Self::append`], which
/// tells of the routines that were entered in one slice and left in another. What comes out is the same wherever slices end.
///
/// One of these is for one stack. A signal handler on a stack of its own is taken for called if that lies below the interrupted one. Programs that switch between stacks
/// (coroutines, threads) need one for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStack<F> {
    /// From the outermost to the innermost: their stack pointers descend.
    frames: Vec<Frame<F>>,
    /// How far up the app came to where routines may lie that were entered before, and when: both ascend.
    unwound: Vec<(u64, u64)>,
    now: u64,
}

impl<F> Default for CallStack<F> {
    fn default() -> Self {
        Self { frames: Vec::new(), unwound: Vec::new(), now: 0 }
    }
}

impl<F> CallStack<F> {
    /// The time goes on by so much: instructions, say, or whatever the tool counts.
    pub fn advance(&mut self, by: u64) {
        self.now = self.now.wrapping_add(by);
    }

    /// The time since the part began.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The routines that the app is in, as far as they were entered in this part, the innermost last.
    pub fn frames(&self) -> &[Frame<F>] {
        &self.frames
    }

    /// How far up the app came in this part to where routines may lie that were entered before it: of those that lie above this stack pointer it is still in all. 0 if it came nowhere.
    pub fn unwound_to(&self) -> u64 {
        self.unwound.last().map_or(0, |(highest, _)| *highest)
    }

    /// A routine is entered. `left` gets those that were left since, the innermost first, and the time.
    pub fn enter(&mut self, stack_pointer: u64, data: F, left: impl FnMut(Frame<F>, u64)) {
        self.leave(stack_pointer, left);
        self.frames.push(Frame { stack_pointer, entered: self.now, data });
    }

    /// The app is about to return, or otherwise known to be done with all routines that were entered with this stack pointer or a lower one.
    pub fn leave(&mut self, stack_pointer: u64, left: impl FnMut(Frame<F>, u64)) {
        self.unwind(stack_pointer, self.now, left);
    }

    /// Adds the part that was executed behind this one. `left` gets the routines of this part that are left in that one, and when, by this part's time.
    pub fn append(&mut self, next: Self, mut left: impl FnMut(Frame<F>, u64)) {
        let before = self.now;
        for (stack_pointer, when) in next.unwound {
            self.unwind(stack_pointer, before.wrapping_add(when), &mut left);
        }
        let entered = |frame: Frame<F>| Frame { entered: before.wrapping_add(frame.entered), ..frame };
        self.frames.extend(next.frames.into_iter().map(entered));
        self.now = before.wrapping_add(next.now);
    }

    /// The same with something else noted.
    pub fn map<G>(self, mut change: impl FnMut(F) -> G) -> CallStack<G> {
        let change = |Frame { stack_pointer, entered, data }| Frame { stack_pointer, entered, data: change(data) };
        CallStack { frames: self.frames.into_iter().map(change).collect(), unwound: self.unwound, now: self.now }
    }

    /// The app has ended: the routines that it was in are left.
    pub fn end(self, mut left: impl FnMut(Frame<F>, u64)) {
        let now = self.now;
        self.frames.into_iter().rev().for_each(|frame| left(frame, now));
    }

    fn unwind(&mut self, stack_pointer: u64, now: u64, mut left: impl FnMut(Frame<F>, u64)) {
        while let Some(frame) = self.frames.pop_if(|frame| frame.stack_pointer <= stack_pointer) {
            left(frame, now);
        }
        // Those that were entered before lie above all of these.
        let is_higher = self.unwound.last().is_none_or(|(highest, _)| *highest < stack_pointer);
        if self.frames.is_empty() && is_higher {
            self.unwound.push((stack_pointer, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some steps of an app: entries, returns and time, as chance has it.
    fn steps(seed: u64) -> Vec<(u64, u64)> {
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut depth: u64 = 500;
        let mut step = || {
            let kind = random() % 8;
            depth = match kind {
                0..=3 => depth - 1 - random() % 2,
                4..=6 => depth + 1,
                _ => depth + random() % 20,
            };
            depth = depth.clamp(10, 900);
            (kind, depth)
        };
        (0..400).map(|_| step()).collect()
    }

    type Left = Vec<(Frame<u64>, u64)>;

    fn execute(steps: &[(u64, u64)], left: &mut Left) -> CallStack<u64> {
        let mut stack = CallStack::default();
        for &(kind, depth) in steps {
            let tell = |frame, now| left.push((frame, now));
            if kind <= 3 {
                stack.enter(depth, depth, tell)
            } else {
                stack.leave(depth, tell)
            }
            stack.advance(kind + 1);
        }
        stack
    }

    #[test]
    fn parts_make_a_whole_wherever_they_are_cut() {
        for seed in 0..40 {
            let steps = steps(seed);
            let mut whole = Left::new();
            execute(&steps, &mut whole).end(|frame, now| whole.push((frame, now)));
            assert!(whole.len() > 50);
            whole.sort_by_key(|(frame, now)| (*now, frame.stack_pointer, frame.entered));
            for cut in [1, 7, 50, 399] {
                let mut found = Left::new();
                let mut total = CallStack::default();
                for part in steps.chunks(cut) {
                    let mut inside = Left::new();
                    let stack = execute(part, &mut inside);
                    let before = total.now();
                    let at = |(frame, now): (Frame<u64>, u64)| {
                        (Frame { entered: before + frame.entered, ..frame }, before + now)
                    };
                    found.extend(inside.into_iter().map(at));
                    total.append(stack, |frame, now| found.push((frame, now)));
                }
                total.end(|frame, now| found.push((frame, now)));
                found.sort_by_key(|(frame, now)| (*now, frame.stack_pointer, frame.entered));
                assert!(found == whole, "seed {seed}, parts of {cut}");
            }
        }
    }

    #[test]
    fn a_long_jump_leaves_all_below_it() {
        let mut stack = CallStack::default();
        let mut left = Vec::new();
        for (stack_pointer, name) in [(100, "main"), (90, "a"), (80, "b")] {
            stack.enter(stack_pointer, name, |_, _| unreachable!());
            stack.advance(10);
        }
        // Back in `main`, which calls `c`; `c` ends by a jump to `d`.
        stack.enter(90, "c", |frame, now| left.push((frame.data, now - frame.entered)));
        stack.advance(5);
        stack.enter(90, "d", |frame, now| left.push((frame.data, now - frame.entered)));
        assert_eq!(left, [("b", 10), ("a", 20), ("c", 5)]);
        assert_eq!(stack.frames().iter().map(|frame| frame.data).collect::<Vec<_>>(), ["main", "d"]);
    }
}
