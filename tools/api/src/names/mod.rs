//! What the app's code is called: images, their sections, routines.
//!
//! ```text
//!   section ◄─ image ◄─ routine ─► demangle
//!                ▲
//!                └──── mapped, event ◄─ loaded
//! ```
//!
//! All of them are views of what the collector has read of a file, once ([`bubble::modules`]), at the place where it is mapped.
//!
//! * `image`: a program or a library. `section`, `routine`: parts of it. `variable`: its data. `demangle`: names as people write them.
//! * `event`: what becomes of an image. `mapped`: the image of a mapping. `loaded`: those that are there.

mod demangle;
mod event;
mod image;
mod loaded;
mod mapped;
mod routine;
mod section;
mod variable;

pub use event::ImageEvent;
pub use image::Image;
pub use loaded::LoadedImages;
pub use mapped::{mapped, of};
pub use routine::{Routine, RoutineKind};
pub use section::Section;
pub use variable::Variable;
