//! Translated code, and what is known of it.
//!
//! ```text
//!   Cache ─┬─ own CodeSpace     ─ Tables     this process's: private memory
//!          └─ shared CodeSpace  ─ Tables     all slices': run memory, executed through a private view
//!
//!   Tables ─ lock ─► Locked: who holds it may add      Locator: from a place in the code to its trace
//! ```
//!
//! `layout` draws the tables; `tables` reads them, `locked` adds to them, `shared_tables` keeps what slices have in common of indirect branches.
//! `given_back` empties memory. A `space` is a stretch of code with its tables. The `cache` is both.

#[expect(clippy::module_inception, reason = "the file of the type Cache")]
mod cache;
mod given_back;
mod layout;
mod locate;
mod locked;
mod region_set;
mod shared_tables;
mod space;
mod tables;

pub(crate) use cache::{Cache, Found};
pub(crate) use given_back::give_back;
pub(crate) use locate::{Locator, Records};
pub(crate) use locked::Locked;
pub(crate) use region_set::RegionSet;
pub(crate) use shared_tables::SHARED_IBL_AT;
pub(crate) use space::CodeSpace;
pub(crate) use tables::Tables;
