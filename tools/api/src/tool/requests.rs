//! What a routine asks of the run.

use engine::safe_reads;
use slice_runtime::requests;

/// The tool has seen enough: nothing that the app does from here on is looked at, by no routine, in no slice, and by none of the programs that it becomes. What was seen until here is the result.
/// The app goes on as without a tool, or ends (`-then end`). Where several tools look at the run, no other one does any more either.
///
/// "Here" is behind the instruction at which the routine was called: other calls at the instruction are made, also those after it; its system call, if it is one, isn't told. It is the same place serially
/// and in slices, if the routine asks for it at the same place; what the app itself does meanwhile in a sliced run, it has done. Slices behind it that have run already are discarded.
/// So a tool that stops at what was before (the millionth access) needs [`crate::Tool::PREFIX`] or [`crate::Tool::FIRST_PASS`] to know that in each slice. A routine that is called [`crate::At::Anywhere`] in a block
/// isn't at a place that is the same everywhere.
///
/// From analysis routines, `ON_IMAGE`, `ON_SYSCALL` and `ON_SIGNAL` (Pin: `PIN_Detach`; with `-then end`: `PIN_ExitApplication`). Called again, and in the collector, it does nothing.
///
/// # Panics
/// In `drain` and whatever else isn't called at a place of the app's execution.
pub fn stop() {
    if may_ask("stop") {
        requests::stop();
    }
}

/// The slice ends here, for the tool: [`crate::Tool::finish`] hands in what was seen, it is folded in its turn, and what remains of the slice is a slice of its own that [`crate::Tool::begin`] begins, so
/// nothing is lost and the total is what it would have been (SuperPin: `SP_EndSlice`). For a tool whose `Local` has become large, or that has results for parts of a run.
///
/// "Here" is where [`stop`] stops. Images that are there are told as `Present` then, and what was executed before is told again. The new slice has the number of the one that ends, but 1 behind
/// the first: none but the first has 0. Serially it is the same.
///
/// From where, and panics, as [`stop`].
pub fn end_slice() {
    if may_ask("end_slice") {
        requests::end_slice();
    }
}

/// The slice is left here: what the tool has seen of it is handed in, and the rest isn't executed. For a tool that samples ([`crate::Tool::SAMPLES`], without which the run fails): what slices cost is then
/// their samples' cost, however much the tool does at each instruction (Moseley and others, *Shadow Profiling*, CGO 2007, with SuperPin's `SP_EndSlice`).
///
/// "Here" is where [`stop`] stops. What is left out depends on where slices begin, which is a matter of time: two runs see other samples, and the result says that it is one.
///
/// From where, and other panics, as [`stop`].
pub fn leave_slice() {
    if may_ask("leave_slice") {
        requests::leave_slice();
    }
}

fn may_ask(what: &str) -> bool {
    let is_on = requests::may_be_asked();
    assert!(
        !is_on || !safe_reads::are_forbidden(),
        "superpin_tool::{what} means a place of the app's execution: call it in an analysis routine, not in drain, instrument, begin or finish"
    );
    is_on
}
