//! The recorder inside the app: recording without stops.
//!
//! ```text
//!   control process                          master
//!   arm: patch, hand over ────────────────►  jmp → stub → code: makes the call, writes the record
//!   take_back: unpatch, count records ◄────  first stop, whatever its reason
//! ```
//!
//! A stop costs some hundred bare calls, so a master that makes many small calls is handed over. `recorder` says which invariant holds when.
//!
//! ```text
//!   code ◄─ descriptors, shared ◄─ files, install, patching ◄─ logs, take_back ◄─ recorder ◄─ care
//! ```
//!
//! * [`code`]: its assembly, and the layout of its memory.
//! * [`patching`]: how an instruction is made to lead there.
//! * `descriptors`: what may be read and written without waiting. `files`: which descriptors of the app's that is known of.
//! * `shared`: the memory that both sides have. `install`, `logs`: how it gets into the app.
//! * `protection`: memory whose protection, or contents, the app changes often by calls.
//! * `policy`: when it is worth while.
//! * `care`: several threads in its care, which pass the turn on.
//! * `aside`: calls that it mustn't see. `take_back`: the stop of a master that was handed over, told as if it had never been. `recorder`: handing over, and taking back.

mod aside;
mod care;
mod code;
mod descriptors;
mod files;
mod install;
mod logs;
mod patching;
mod policy;
mod protection;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod recorder;
mod shared;
mod take_back;

pub use care::{Holder, Waits, can_pass_turns};
pub use code::table::passes_turn_on;
pub use logs::Room;
pub use protection::{Changes, Shows, Terms};
pub use recorder::InProcess;
pub use take_back::Came;
