//! The app's state while the code cache is left.

use machine::{Registers, XState};

/// The app's state while the code cache is left.
#[repr(C)]
#[derive(Clone)]
pub struct Cpu {
    /// General registers, `rip`, flags, segment bases: all the app's own.
    pub registers: Registers,
    /// Extended state.
    pub xstate: XState,
}
