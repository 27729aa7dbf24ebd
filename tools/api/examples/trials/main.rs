//! A tool image for the tests of this crate: tools that check what they are told, and tools that fail.

#![no_main]

mod arguments;
mod behind;
mod blocks;
mod executed;
mod failing;
mod functions;
mod impure;
mod inclusive;
mod intervals;
mod order;
mod places;
mod registers;
mod routines;
mod state;
mod whole;

superpin_tool::image!(
    arguments::Arguments,
    behind::Behind,
    blocks::Blocks,
    executed::Executed,
    functions::Functions,
    inclusive::Inclusive,
    intervals::Intervals,
    order::Ordered,
    order::Told,
    places::Places,
    registers::Registers,
    routines::Routines,
    order::Written,
    state::Keeping,
    state::Reading,
    state::Recording,
    state::ReadsInDrain,
    state::Tested,
    state::VersionsOf,
    whole::Whole,
    failing::PanicInRoutine,
    failing::PanicInInstrument,
    failing::LoopInRoutine,
    failing::Refuses,
    failing::WrongOperand,
    failing::AsksForFlags,
    failing::WrongOperandOfBlock,
    failing::RarelyPrints,
    failing::WrongArgument,
    failing::WrongReturnValue,
    failing::UsesUnkept,
    failing::KeepsTooLong,
    failing::Prints,
    failing::Opens,
    failing::StartsAThread,
    failing::Crashes,
    impure::StoresToApp,
    impure::ClearsTheStack,
    impure::LooksAtTheClock,
    impure::NumbersBlocks,
    impure::RemembersTheFirst,
    impure::CountsElsewhere,
    impure::FoldsByHash,
    impure::Rounds,
    impure::CountsSlices,
    impure::FinishesTwice
);
