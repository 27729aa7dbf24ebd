//! What stands before a trace's first instruction: whether a slice's end is reached, whether the app's code is still what it was.

mod check;
mod self_check;
