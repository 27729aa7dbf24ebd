//! A tool in a taken-over process: it instruments the app, and hands in what its routines have seen.
//!
//! ```text
//!   entry ─┬─► checked ─► injected ─► locals       one tool, checked or not
//!          └─► together ──────┘                    several, each with its share of the process
//! ```
//!
//! * `injected`: a tool. `locals`: its local states, one or one for each thread, and how their results are folded.
//! * `share`: what of the process is a tool's: where its local state lies, which tool registers it has.
//! * `together`: several tools that look at one run. `joined`: how their results travel as one.
//! * `checked`: a tool that is checked: `asked`, that it asks for the same at the same code; and that its results add up however they are cut. `parts`: how these travel.

mod asked;
mod checked;
mod injected;
pub mod joined;
mod locals;
pub mod parts;
mod share;
mod together;

pub use checked::inject;
pub use injected::inject as inject_unchecked;
pub use locals::fold;
pub use share::Share;
pub use together::{Member, together};
