//! Who is in which register.

use bubble::switches::{Off, Optimisation};
use machine::{CachePc, Gpr};

use crate::abi::{R11, Reserved};

/// A register in a set of registers.
pub(in crate::emit) const fn bit(r: Gpr) -> u16 {
    1 << r as u16
}

/// The registers with home slots, one bit for each.
pub(in crate::emit) const BOTH: u16 = bit(Gpr::R10) | bit(Gpr::R9);

/// Those of r10 and r9 that are not loaded at the start of a trace, and may be at the end of a block.
pub(in crate::emit) fn unloaded_at_ends(off: Off) -> u16 {
    if off.leaves(Optimisation::Late) { BOTH } else { 0 }
}

/// Who is in which register, where the emitter is.
///
/// Invariant *exact exits*: each change is followed by a mark that says the same.
pub(in crate::emit) struct Registers {
    /// Those of r10 and r9 whose values are only in their home slots: one bit for each register.
    pub(in crate::emit) unloaded: u16,
    /// Where a branch back to the trace's head goes if something was loaded there.
    pub(in crate::emit) top: Option<CachePc>,
    /// What r11 is for.
    pub(in crate::emit) reserved: Reserved,
    /// What r11 holds now, if it is reserved.
    pub(in crate::emit) r11: R11,
    /// Whether the app has changed its r11 since it has been there.
    pub(in crate::emit) r11_changed: bool,
}

impl Registers {
    /// As they are at the start of a trace.
    pub(in crate::emit) fn at_head(off: Off, reserved: Reserved) -> Self {
        Self { unloaded: unloaded_at_ends(off), top: None, reserved, r11: R11::Reserved, r11_changed: false }
    }
}
