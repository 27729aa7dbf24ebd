//! Where indirect branches go, and who may come back.
//!
//! ```text
//!   indirect branch ─► target_map      a word for each byte of app code: long slices and serial runs
//!                   ─► ibl_table       or a table of IBL stubs, this process's own,
//!                      ─► shared_table     and tables that slices have in common, looked at through a `view`
//!   by a pointer    ─► link_words      a word of this process's own for each such branch of shared code
//!   into code that changes ─►         incoming     who jumps there
//! ```
//!
//! `lookup` chooses between them: [`Links`]. Invariant *same mappings*: every IBL stub in the view leads to code whose mapping is, in this process, the registered one.
//! Invariant *exact*: see `target_map`.

mod grain;
mod ibl_table;
mod incoming;
mod link_words;
mod lookup;
mod shared_table;
mod target_map;
mod view;

pub(crate) use ibl_table::New;
pub(crate) use lookup::Links;
pub(crate) use target_map::WINDOW_BITS;
pub use target_map::{mapped_later, may_map_more};
