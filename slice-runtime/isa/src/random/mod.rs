//! Random programs, to compare a native run with a translated one.
//!
//! Problem: a translator is right only if it is right about every instruction in every form, and about what they do to
//! each other. Approach: instructions are made from iced's own description of every encoding ([`Catalogue`]), with random
//! operands of the kinds that it names; a short preparation before each points its addresses into a data area.
//! A program ([`Program`]) strings them together with branches, loops, calls and indirect jumps that end, and ends itself
//! with `syscall`. It may fault earlier: then both runs must fault alike.

mod catalogue;
mod collisions;
mod generator;
mod rng;
mod shapes;
mod stack_and_state;

pub use catalogue::{Catalogue, Form};
pub use generator::{Generator, Island, Layout, PLANE, Program};
pub use rng::Rng;
