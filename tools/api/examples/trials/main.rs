//! A tool image for the tests of this crate: tools that check what they are told, and tools that fail.

#![no_main]

mod arguments;
mod failing;
mod ordered;

superpin_tool::image!(
    arguments::Arguments,
    ordered::Ordered,
    failing::PanicInRoutine,
    failing::PanicInInstrument,
    failing::Refuses
);
