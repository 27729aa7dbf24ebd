//! Instructions that were begun and are finished later.
//!
//! Translated code can be left at an instruction although the app can't see that: it writes to code that was translated, it is a repeated
//! string instruction that an interruption stopped halfway, or the interruption came behind some of its calls. What belongs before such an
//! instruction has been done, or a part of it: calls were made and words were written, and it is executed again, or goes on, in a trace of
//! its own. Named invariant *once*: neither is done a second time. Calls that were made aren't made again, except those that were corrected
//! when the trace was left; and the words are those that were written first, since the registers may already be others.

use bubble::map::BUFFER;
use machine::CachePc;
use translator::abi::{Place, SpaceId};
use translator::trace::{Trace, leave_out};

use crate::engine::{Engine, Next};

impl Engine {
    /// Whether `place`, where translated code was interrupted, lies before the end of an instruction that was begun already.
    pub(crate) fn is_unfinished(&self, place: CachePc) -> bool {
        self.locate(place).is_some_and(|(space, id, entry, _)| {
            let here = space == SpaceId::Own && self.finishing == Some(id);
            here && entry.place() == Place::Static && entry.pc == self.own.tables.trace(id).pc.0
        })
    }

    /// Whether the instruction at `place`, `made` of whose calls have been made, has begun and goes on before an interruption is answered.
    /// If it is a system call that is made for real, the guest sees to it that the app doesn't wait in it for the very signal.
    pub(crate) fn is_begun(&mut self, place: CachePc, made: usize) -> bool {
        if self.is_unfinished(place) {
            return true;
        }
        made > 0 && self.locate(place).is_some()
    }

    /// An instruction was interrupted that was begun, and `made` of its calls have been made: it goes on to its end before the
    /// interruption is answered. So nobody sees it begin twice.
    pub(crate) fn finish_first(&mut self, made: usize) -> Next {
        self.thread().interrupted = 0;
        self.postponed = true;
        self.single = true;
        self.calls_made = made;
        Next::Dispatch
    }

    /// Whether an interruption is to be answered before the app goes on at `next`. One that comes before the end of an instruction that
    /// was begun waits.
    pub(crate) fn is_interrupted(&mut self, next: &Next) -> bool {
        if self.thread().interrupted == 0 && !self.postponed {
            return false;
        }
        self.postponed = self.single || matches!(*next, Next::Cache(place) if self.is_unfinished(place));
        self.thread().interrupted = u64::from(!self.postponed);
        !self.postponed
    }

    /// What is left to be done in a trace whose only instruction was begun before.
    pub(crate) fn leave_out_what_was_done(&mut self, trace: &mut Trace) {
        let count = trace.buffered.iter().map(|buffered| buffered.words.len()).sum();
        let position = self.thread().buffer;
        assert!(position + 8 * count as u64 <= BUFFER.end(), "the words of {} were written", trace.head());
        // SAFETY: translated code wrote these words, where the position was taken back to, and hasn't run since.
        let written = unsafe { std::slice::from_raw_parts(position as *const u64, count) };
        leave_out(trace, self.calls_made, written);
    }
}
