//! Calls, returns and indirect branches.
//!
//! ```text
//!   indirect ─► target_map      looked up in the target map: three instructions
//!            ─► ibl_stub        or by a table, whose stub compares the target with its own
//!   constant                    through a pointer that can't change: nothing is looked up
//! ```

mod constant;
mod ibl_stub;
mod indirect;
mod target_map;

pub use constant::constant_pointer;
pub use ibl_stub::{Otherwise, ibl_stub, invalid};
pub use target_map::{is_lookup, look_up};
