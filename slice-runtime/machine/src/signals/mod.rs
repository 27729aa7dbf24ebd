//! What the kernel tells of a signal.
//!
//! * [`signal_area`]: what a frame holds of the extended state.
//! * `signal_origin`: where a signal came from.

pub mod signal_area;
mod signal_origin;

pub use signal_origin::SignalOrigin;
