//! App code, and whether it can change.
//!
//! ```text
//!   /proc/self/maps ─► Region ─► AppCode ─► bytes of code     what may be read
//!                                        ─► constants         what may be relied on, until a call of the app's changes it
//!                                        ─► shared?           what is the same in all slices
//!   writes to code  ─► protection ─► which pages are write-protected, and which are compared instead
//! ```
//!
//! Invariant *relied on*: whatever [`AppCode`] gave out as constant is named again by [`AppCode::take_looked_at`] before it stops being so.

mod app_code;
mod code_bytes;
mod constants;
mod protection;
mod region;

pub(crate) use app_code::AppCode;
pub(crate) use code_bytes::code_at;
pub(crate) use region::mapping_at;
