//! Translations that outlive a run (`-persist FOLDER`).
//!
//! ```text
//!   run 1:  translates into TABLES and CACHE of the run memory  ── save ──►  FOLDER/PROGRAM-KEY.code
//!   run 2:  TABLES and CACHE of its run memory  ◄── load ──  the same; goes on from there
//! ```
//!
//! * `kept_code`: loading and saving; what must not have changed.
//! * `key`: what made the translations: image, tool, settings, processor.
//! * `origins`: what they were made from: the files of mappings.
//! * `file`, `folder`: how they lie on disk, and whom a folder belongs to.

mod file;
mod folder;
mod kept_code;
mod key;
mod origins;

pub use kept_code::KeptCode;
