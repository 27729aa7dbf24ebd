//! What routines of a tool's ask for: that their slice ends here, is left, or that nothing more is looked at. What was seen is handed in in parts where a warm-up ends, too.
//!
//! A routine is in the midst of an instruction, of which other calls may follow. So the engine is interrupted: it goes on to the instruction's end, and there asks its host, who has it done (`granting`). Events that
//! follow before that aren't told any more by a tool that has looked its last.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use bubble::map::RESULT;
use bubble::values::{LENGTH, MOST_RESULT, WARMED_UP};

use super::tool::RunningTool;

/// The slice ends.
const SLICE: u32 = 1;
/// All looking ends.
const ALL: u32 = 2;
/// What is looked at counts from here on.
const COUNTS: u32 = 4;
/// What is left of the slice isn't executed.
const LEAVES: u32 = 8;

/// Whether there is a run that could be asked for anything.
static IS_ON: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Nothing more is looked at: what was seen is handed in, and what routines see now is nobody's.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// What is left of the slice isn't executed.
static IS_LEFT: AtomicBool = AtomicBool::new(false);
/// Bytes of results that were handed in before the slice's end.
static HANDED_IN: AtomicU64 = AtomicU64::new(0);
/// No more calls are inserted.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// From now on there is an app.
pub(crate) fn begin() {
    IS_ON.store(true, Relaxed);
}

/// Has the slice end behind the instruction at hand: what was seen is handed in, and looking begins anew.
pub fn end_slice() {
    ask(SLICE);
}

/// Has the slice be left behind the instruction at hand: what was seen is handed in, and the rest isn't executed. For a tool that samples, which has no serial runs.
pub fn leave_slice() {
    ask(LEAVES);
}

/// Has all looking end behind the instruction at hand.
pub fn stop() {
    ask(ALL);
}

/// A warm-up is over where the host has been asked: to be granted at once.
pub(crate) fn end_warm_up() {
    ASKED.fetch_or(COUNTS, Relaxed);
}

// Not in place in translated code, which looks behind calls alone whether it was interrupted.
#[inline(never)]
fn ask(what: u32) {
    // A tool that asks again and again, as it isn't to be asked any more, isn't to cost an interruption each time.
    if IS_ON.load(Relaxed) && !IS_OVER.load(Relaxed) {
        ASKED.fetch_or(what, Relaxed);
        engine::interrupt();
    }
}

/// Whether routines can ask: there is an app, and not only the tool.
pub fn may_be_asked() -> bool {
    IS_ON.load(Relaxed)
}

/// Whether anything was asked for and not answered.
pub(crate) fn are_there() -> bool {
    ASKED.load(Relaxed) != 0
}

/// Whether the tool is told of events: not if it has looked its last.
pub fn tells() -> bool {
    !ends_all()
}

/// Whether calls are inserted.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Relaxed)
}

/// What was seen until here is handed in, if that was asked for: whether it was the last.
pub(super) fn hand_in(tool: &dyn RunningTool) -> Result<Option<bool>, String> {
    let asked = ASKED.swap(0, Relaxed);
    if asked == 0 || IS_OVER.load(Relaxed) {
        return Ok(None);
    }
    if asked & LEAVES != 0 && !tool.samples() {
        return Err("the tool leaves a slice, which only one may do that samples: `const SAMPLES: bool = true`".into());
    }
    let mark = if asked & COUNTS != 0 { WARMED_UP } else { 0 };
    HANDED_IN.store(encode(tool, mark)?, Relaxed);
    let is_last = asked & (ALL | LEAVES) != 0;
    if is_last {
        IS_OVER.store(true, Relaxed);
    }
    IS_LEFT.store(is_last && asked & ALL == 0, Relaxed);
    Ok(Some(is_last))
}

/// Whether what is left of the slice isn't executed.
pub(crate) fn is_left() -> bool {
    IS_LEFT.load(Relaxed)
}

/// No more calls are inserted.
pub(super) fn make_quiet() {
    IS_QUIET.store(true, Relaxed);
}

/// Encodes what is to be handed in, if that isn't done. How many bytes it is.
pub(super) fn encoded(tool: &dyn RunningTool) -> Result<u64, String> {
    if IS_OVER.load(Relaxed) { Ok(HANDED_IN.load(Relaxed)) } else { encode(tool, 0) }
}

/// Encodes the tool's result behind those that were handed in, each with its length before it, and this mark in that. How many bytes all are.
fn encode(tool: &dyn RunningTool, mark: u64) -> Result<u64, String> {
    let at = HANDED_IN.load(Relaxed);
    // SAFETY: RESULT is mapped for this process alone, and no other reference to it exists.
    let out = unsafe { std::slice::from_raw_parts_mut(RESULT.start as *mut u8, MOST_RESULT as usize) };
    let room = out.get_mut(at as usize..).unwrap_or_default();
    let (head, body) = room.split_at_mut_checked(LENGTH).ok_or("all results of a slice don't fit into its memory")?;
    let len = tool.finish(body)?;
    head.copy_from_slice(&(len as u64 | mark).to_le_bytes());
    Ok(at + (LENGTH + len) as u64)
}

/// Whether nothing is looked at behind this process's slice.
pub(super) fn ends_all() -> bool {
    IS_OVER.load(Relaxed) && !IS_LEFT.load(Relaxed) || ASKED.load(Relaxed) & ALL != 0
}
