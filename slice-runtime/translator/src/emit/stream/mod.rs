//! Values for the buffer, and emptying it.

mod drain;
mod words;
