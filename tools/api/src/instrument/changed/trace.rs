//! A trace, for a tool that changes the app.

use std::ops::Deref;

use super::instruction::InstructionMut;
use crate::instrument::Trace;

/// A trace that is about to be translated, for a tool that changes the app. All that a [`Trace`] can do, it can.
pub struct TraceMut<'a, L> {
    trace: &'a Trace<'a, L>,
}

impl<'a, L: 'static> TraceMut<'a, L> {
    pub(crate) fn new(trace: &'a Trace<'a, L>) -> Self {
        Self { trace }
    }

    /// Its instructions, in order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = InstructionMut<'a, L>> + ExactSizeIterator {
        self.trace.instructions().map(InstructionMut::new)
    }
}

impl<'a, L> Deref for TraceMut<'a, L> {
    type Target = Trace<'a, L>;

    fn deref(&self) -> &Trace<'a, L> {
        self.trace
    }
}
