//! What is left to be done of an instruction that was begun before.

use super::call::{Arg, Point};
use super::trace::Trace;

/// Leaves out what was done in a trace whose only instruction was begun before: the first `made` of its calls before it, except those that were compensated
/// when the trace was left, and the calls for whole blocks. Its words are `written`, in their order: the registers may already be others.
///
/// # Panics
/// If there are fewer words in `written` than the trace has.
pub fn leave_out(trace: &mut Trace, mut made: usize, written: &[u64]) {
    trace.calls.retain(|call| {
        if call.is_compensated() {
            return true;
        }
        match call.point {
            Point::Before(_) => {
                let left = made == 0;
                made = made.saturating_sub(1);
                left
            }
            // It stands for what was before, too.
            Point::Anywhere(_) => false,
            Point::After(_) | Point::Taken(_) => true,
        }
    });
    let words = trace.buffered.iter_mut().flat_map(|buffered| &mut buffered.words);
    for (n, word) in words.enumerate() {
        *word = Arg::Const(written[n]);
    }
}
