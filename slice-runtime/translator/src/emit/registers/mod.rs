//! Who is in which register.
//!
//! * `demand`: which registers an instruction needs. Questions only.
//! * `home`: r10 and r9 also live in memory, so that they can be borrowed without being stored first.
//! * `r11`: what r11 is used for, and how the app gets it where it names it.
//! * `leave`: to the runtime, with all registers in place.

mod demand;
mod home;
mod leave;
mod r11;
