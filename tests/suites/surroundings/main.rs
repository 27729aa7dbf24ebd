//! What is around a run: environment, signals, terminals, and processes that superpin knows nothing of.

mod environment;
mod signals;
mod strangers;
mod terminal;
