//! What a tool that changes the app may change of the kernel's side.

use engine::StateMut;
use machine::SignalOrigin;

/// A system call of the app's that is about to be made, or was made.
pub struct CallChange<'a> {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub args: [u64; 6],
    /// Where the instruction is.
    pub pc: u64,
    /// Whether it was made.
    pub is_made: bool,
    /// What the app gets in rax: once it was made, or instead of being made.
    pub result: Option<u64>,
    /// Writes to the app's memory, and says how many bytes it has written.
    pub write: &'a mut dyn FnMut(u64, &[u8]) -> usize,
}

/// A signal that has arrived for the app, or that its instruction has raised.
pub struct SignalArrival<'a, 's> {
    /// Its number.
    pub signal: i32,
    /// Where it came from.
    pub origin: SignalOrigin,
    /// Whether the instruction at hand has raised it.
    pub is_fault: bool,
    /// Whether the app gets it.
    pub is_wanted: bool,
    /// The app's state.
    pub state: &'a mut StateMut<'s>,
}
