//! Instructions by kind and place.
//!
//! ```text
//!   keys ─┐
//!    sde ─┴─► tool
//! ```
//!
//! * `tool`: `mix`. `keys`: by what instructions are told apart. `sde`: sections as SDE's mix writes them.

mod keys;
mod sde;
mod tool;

pub use tool::Mix;
