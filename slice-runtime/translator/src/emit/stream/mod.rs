//! Values for the buffer, and emptying it.

mod by_runtime;
mod drain;
mod words;
