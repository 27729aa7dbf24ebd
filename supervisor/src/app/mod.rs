//! What is known of an app's process from outside, in serial runs and in sliced ones.
//!
//! ```text
//!   /proc/PID/maps ────► mappings ──► mutable_files: what changes under a slice's copy
//!   /proc/PID/status ──► signals: blocked, ignored, caught, waiting
//!   a stopped process ─► entry: where it can make calls for us
//! ```
//!
//! * `entry`: a program before its first instruction. `attached`: one that was running by itself.
//! * `limits`: resource limits that it has set for itself.
//! * `mappings`, `mutable_files`, `mapped_files`: its memory, and the files behind it.
//! * `places`: where it has code, for tools.
//! * `holders`, `notices`: who has a file, opens or writes it.
//! * `company`: which pages of memory that followed processes have in common were stored to, and by whom.
//! * `signals`: what a signal will do to it; sending one. `actions`: its handlers, asked for and set from outside.
//! * `name`: what it executes, for people.

mod actions;
mod attached;
mod company;
mod entry;
mod holders;
mod limits;
mod mapped_files;
mod mappings;
mod mutable_files;
mod name;
mod notices;
mod places;
mod signals;

pub use actions::{Setting, handler_of};
pub use attached::{Borrowed, Standing, Taken, check_attachable, find_running, prepare_running, registered};
pub use company::{Company, Layers, LayersOfObjects, chunks, is_swapping, leaves_locks, write};
pub use entry::{Prepared, clear_bubble, gadget_of, prepare, unmap_bubble};
pub use holders::others_have;
pub use limits::{OwnLimits, give_back_first};
pub use mapped_files::{Kept, KeptFiles, Key, all_kept, is_kept_for_the_ended};
pub(crate) use mappings::{Mapping, can_change, mappings, written_by_others};
pub use mappings::{is_shared_with_children, others_attach};
pub use mutable_files::{MutableFiles, is_reshaped};
pub use name::name_of;
pub use notices::{Notice, Notices, Watch};
pub use places::{maps_code, note_all};
pub use signals::{
    Delivery, Dispositions, OF_INSTRUCTIONS, PendingSignals, SignalStatus, delivery, is_dropped, is_running_child,
    is_synchronous, kill, send, wait_for_killed,
};
