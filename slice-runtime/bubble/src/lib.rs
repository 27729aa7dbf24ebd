//! The bubble: the one address range that belongs to the system in every process it touches, what lies
//! where in it, and the structures that several processes read there.
//!
//! The control process reserves the range in the master as one `PROT_NONE` mapping before the app's first
//! instruction, so neither the kernel nor the app ever places anything there. A slice (a fork of the master)
//! or a serial run then finds the range free and maps the regions of [`map`] into it, at the same addresses in
//! every process, so that a pointer means the same thing everywhere.
//!
//! * [`map`]: the drawing. Every address of the bubble is decided there and nowhere else.
//! * [`shared`]: what lies in the *run memory*, one memfd that the control process and all slices map.
//! * [`routines`]: how a tool's routines are called. [`stream`]: what a tool writes in order.
//! * [`switches`]: the engine's optimisations by name, since the control process reads them.
//! * [`snapshot`]: what a started image's memory holds, for slices to go on from.
//! * [`code_files`]: which files the shared code is from. [`files`]: where those are that the app maps.
//! * [`app_images`]: where programs and libraries were mapped. [`modules`]: what they have in them.
//! * [`region`]: which part of a run the tool looks at. [`values`]: what it counts of the run before.
//! * [`events`]: what a run tells those who work on it.
//! * [`departure`]: how an app leaves the image to live on natively. [`adoption`]: how threads come into it.
//! * [`boot`]: what a taken-over process finds when its image starts. [`behind`]: what the app has just come from there.

pub mod app_images;
mod border;
pub mod code_files;
pub mod events;
pub mod files;
pub mod map;
pub mod modules;
pub mod shared;
pub mod snapshot;
pub mod stream;
pub mod switches;
mod tool;

pub use border::{adoption, behind, boot, departure, end};
pub use tool::{region, routines, values};
