//! The ways into a process and out of it.
//!
//! * [`end`]: where a slice ends.
//! * [`boot`]: what a taken-over process finds when its image starts. [`behind`]: what the app has just come from there.
//! * [`departure`]: how an app leaves the image to live on natively. [`adoption`]: how the threads come into it that an app had before it was attached to.

pub mod adoption;
pub mod behind;
pub mod boot;
pub mod departure;
pub mod end;
