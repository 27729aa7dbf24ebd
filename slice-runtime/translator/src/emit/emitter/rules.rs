//! What a translation is made by: where it will lie, and the rules that hold for it.

use bubble::switches::Off;
use machine::{AppPc, CachePc, Gpr};

use crate::abi::{Counters, Doors, SpaceId};
use crate::routines::RoutineFacts;

/// Where a translation will lie.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The space.
    pub space: SpaceId,
    /// Cache offset of its first byte.
    pub offset: u32,
    /// The same as a cache pc.
    pub pc: CachePc,
    /// Where its stubs end.
    pub stubs_end: CachePc,
    /// Number of its first exit.
    pub first_exit: u32,
    /// Arena offset of its first byte.
    pub arena: u32,
    /// Number of its first counter of blocks.
    pub first_counter: u32,
}

/// Something that must hold at a slice's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickCondition {
    /// A register has a value.
    Register(Gpr, u64),
    /// The 64-bit word at an address, which is mapped, has a value.
    Word(u64, u64),
    /// A quadword of the vector registers, numbered two for each of xmm0 to xmm15, the lower one first, has a value.
    Vector(u8, u64),
}

impl QuickCondition {
    /// The register that it is about.
    pub fn register(self) -> Option<Gpr> {
        match self {
            Self::Register(r, _) => Some(r),
            _ => None,
        }
    }

    /// The value that it asks for.
    #[inline]
    pub fn value(self) -> u64 {
        let (Self::Register(_, value) | Self::Word(_, value) | Self::Vector(_, value)) = self;
        value
    }
}

/// What is compared at a slice's end before the host is asked.
#[derive(Clone, Debug)]
pub struct Check {
    /// All of these must hold.
    pub conditions: Vec<QuickCondition>,
    /// Whether the app reads no flags after it that it doesn't set.
    pub may_change_flags: bool,
}

/// How an indirect branch finds the translation of its target.
#[derive(Clone, Copy, Debug)]
pub enum Lookup {
    /// By IBL stubs, see `branches::ibl_stub`.
    IblStubs,
    /// By the target map, see `branches::target_map`.
    TargetMap {
        /// Where the word of the call's return is, if it is to be asked for.
        ask_for: Option<u64>,
    },
}

/// What holds for all translations of a run.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Optimisations that are off.
    pub off: Off,
    /// Flags are exact wherever an instruction may fault.
    pub exact_faults: bool,
    /// Whether the results of instructions that aren't determined by the app's state come from whoever runs it.
    pub replays: bool,
    /// Whether calls and words of a string instruction that repeats are for each repetition.
    pub each_repetition: bool,
    /// Counters that have shards.
    pub counters: &'a Counters,
    /// Where code leaves to the runtime.
    pub doors: Doors,
    /// What was found out about routines.
    pub known: &'a RoutineFacts,
}

/// What holds for one trace, decided by whoever makes it.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// Whether the trace may jump back to its own head without passing its entry.
    pub loops: bool,
    /// Whether the trace is left behind its only instruction, wherever that goes, see [`crate::trace::leave_out`].
    pub once: bool,
    /// Whether it is a part of what a tool has instrumented, and used once.
    pub part: bool,
    /// The trace's app code, if it is to be compared when the trace is entered, see `checks::self_check`.
    pub self_checked: Option<&'a [u8]>,
    /// The trace's app code, if its own stores may change it, see `checks::rewritten`.
    pub rewritten: Option<&'a [u8]>,
    /// What is compared before the instruction with this index, if that is an end.
    pub check: Option<(usize, &'a Check)>,
    /// Before the instruction with this index it leaves to the runtime.
    pub stop: Option<usize>,
    /// How an indirect branch finds its target.
    pub lookup: Lookup,
    /// How the trace's last instruction goes where it goes, if it is a branch through a constant pointer, see `branches::constant`.
    pub through_pointer: Option<ThroughPointer>,
}

impl Shape<'_> {
    /// A trace of which nothing special holds.
    pub fn new(lookup: Lookup) -> Self {
        Self {
            loops: false,
            once: false,
            part: false,
            self_checked: None,
            rewritten: None,
            check: None,
            stop: None,
            lookup,
            through_pointer: None,
        }
    }
}

/// How a branch through a constant pointer goes where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThroughPointer {
    /// Directly.
    To(AppPc),
    /// Where the link word of this number says, see [`crate::abi::LINK_WORDS`]. A jump.
    ByLinkWord(u32),
}
