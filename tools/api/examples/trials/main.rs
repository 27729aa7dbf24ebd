//! A tool image for the tests of this crate: tools that check what they are told, and tools that fail.

#![no_main]

mod arguments;
mod behind;
mod blocks;
mod changing;
mod executed;
mod functions;
mod inclusive;
mod order;
mod places;
mod routines;
mod state;
mod whole;
mod wrong;

superpin_tool::image!(
    arguments::Arguments,
    behind::Behind,
    blocks::Blocks,
    changing::calls::ChangesCalls,
    changing::calls::Faults,
    changing::leaves::Leaves,
    changing::replaced::Replaces,
    changing::signals::ChangesSignals,
    changing::state::ChangesState,
    changing::wraps::Wraps,
    executed::Executed,
    functions::Functions,
    inclusive::Inclusive,
    order::Intervals,
    order::Ordered,
    order::Told,
    places::Places,
    state::Registers,
    routines::Routines,
    wrong::slow::Slow::<1>,
    wrong::slow::Slow::<10_000>,
    order::Written,
    state::Keeping,
    state::Reading,
    state::Recording,
    state::ReadsInDrain,
    state::Tested,
    state::VersionsOf,
    order::Deepest,
    order::LastBlock,
    order::ToldOfThreads,
    whole::Whole,
    wrong::failing::PanicInRoutine,
    wrong::failing::PanicInInstrument,
    wrong::failing::PanicInFirstPass,
    wrong::failing::LoopInRoutine,
    wrong::failing::Refuses,
    wrong::failing::WrongOperand,
    wrong::failing::AsksForFlags,
    wrong::failing::WrongOperandOfBlock,
    wrong::failing::RarelyPrints,
    wrong::failing::WrongArgument,
    wrong::failing::WrongReturnValue,
    wrong::failing::UsesUnkept,
    wrong::failing::KeepsTooLong,
    wrong::failing::Prints,
    wrong::failing::LeavesASlice,
    wrong::failing::Opens,
    wrong::failing::StartsAThread,
    wrong::failing::Crashes,
    wrong::impure::StoresToApp,
    wrong::impure::ClearsTheStack,
    wrong::impure::LooksAtTheClock,
    wrong::impure::NumbersBlocks,
    wrong::impure::RemembersTheFirst,
    wrong::impure::CountsElsewhere,
    wrong::impure::FoldsByHash,
    wrong::impure::Rounds,
    wrong::impure::CountsSlices,
    wrong::impure::AddsWhatWasBefore,
    wrong::impure::FinishesTwice,
    wrong::impure::NumbersLines
);
