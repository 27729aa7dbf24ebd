//! A tool image for the tests of this crate: tools that check what they are told, and tools that fail.

#![no_main]

mod arguments;
mod behind;
mod blocks;
mod executed;
mod failing;
mod ordered;
mod registers;
mod tested;

superpin_tool::image!(
    arguments::Arguments,
    behind::Behind,
    blocks::Blocks,
    executed::Executed,
    ordered::Ordered,
    registers::Registers,
    tested::Tested,
    failing::PanicInRoutine,
    failing::PanicInInstrument,
    failing::LoopInRoutine,
    failing::Refuses,
    failing::WrongOperand,
    failing::WrongOperandOfBlock,
    failing::RarelyPrints,
    failing::Prints,
    failing::Opens,
    failing::StartsAThread,
    failing::Crashes
);
