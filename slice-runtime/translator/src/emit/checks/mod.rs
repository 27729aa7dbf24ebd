//! What is asked before an instruction: whether a slice's end is reached (`check`), whether the app's code is still what it was (`self_check` before a
//! trace's first instruction, `rewritten` behind stores in it).

mod check;
mod rewritten;
mod self_check;
