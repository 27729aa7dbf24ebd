//! What a tool inserts into a trace: calls of its routines, and values for the buffer.

use isa::{Instruction, Kind, Segment};
use machine::Gpr;

/// Values that are written into the buffer before an instruction, see [`ThreadState`](crate::abi::ThreadState).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffered {
    /// Index of the instruction.
    pub index: usize,
    /// The values, one word each.
    pub words: Vec<Arg>,
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the instruction with this index.
    Before(usize),
    /// Anywhere in the block with this index, once for each execution of the block.
    Anywhere(usize),
    /// After the instruction with this index, if the app goes on at the next one: see [`has_after`].
    After(usize),
    /// After the branch, call or return with this index, if it goes elsewhere.
    Taken(usize),
}

impl Point {
    /// Index of the instruction, if it is a point at one.
    pub fn index(self) -> Option<usize> {
        match self {
            Point::Before(index) | Point::After(index) | Point::Taken(index) => Some(index),
            Point::Anywhere(_) => None,
        }
    }
}

/// Whether there can be calls after this instruction: it runs from the cache, and the app may go on at the next one.
pub fn has_after(instruction: &Instruction) -> bool {
    match instruction.kind() {
        Kind::Plain => instruction.unrepeatable().is_none(),
        Kind::SegmentBase { .. } | Kind::Branch { .. } | Kind::CountBranch { .. } => true,
        _ => false,
    }
}

/// Whether this instruction may go elsewhere than to the next one.
pub fn may_branch(instruction: &Instruction) -> bool {
    matches!(
        instruction.kind(),
        Kind::Jump { .. }
            | Kind::Branch { .. }
            | Kind::CountBranch { .. }
            | Kind::Call { .. }
            | Kind::JumpIndirect
            | Kind::CallIndirect
            | Kind::Return { .. }
    )
}

/// An argument of an analysis routine, passed in the C convention after the local state's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A constant.
    Const(u64),
    /// The number of instructions that the call stands for: those of the block for [`Point::Anywhere`], 1 for
    /// [`Point::Before`]. For routines that add it up.
    ///
    /// If a fault, a signal or code that changes stops the app before all of them were executed, the routine is called once
    /// more, with minus the number of those that were not (two's complement), so that sums are exact.
    BlockInstructions,
    /// The instruction's app pc.
    InstructionPointer,
    /// An app register's value at the point.
    Register(Gpr),
    /// Effective address of the instruction's memory operand with this index (see
    /// [`Instruction::memory_operands`]).
    MemoryAddress(usize),
    /// Whether a conditional branch is taken: 1 or 0. Not after it; 1 for any other branch.
    BranchTaken,
    /// Whether the instruction takes effect: 0 for a cmov whose condition doesn't hold and a REP instruction with rcx 0, else 1.
    TakesEffect,
    /// Where a branch goes if it is taken. Of an indirect one only at [`Point::Taken`].
    BranchTarget,
    /// A word that the tool has kept before in the same block, see [`Cpu::kept`](crate::abi::Cpu::kept).
    Kept(u8),
    /// Where that word lies: each thread has its own.
    KeptAt(u8),
    /// Number of the app's thread, see [`Cpu::thread`](crate::abi::Cpu::thread).
    Thread,
    /// The flags. Exact only if flags aren't looked up across traces ([`FlagLookahead`](bubble::switches::Optimisation::FlagLookahead)).
    Flags,
    /// The base of a segment.
    SegmentBase(Segment),
    /// A word of 64 bits of a vector register.
    Vector {
        /// `zmm0` to `zmm31`.
        register: u8,
        /// From 0, the lowest one, to 7.
        word: u8,
    },
    /// A mask register.
    Mask(u8),
    /// 1 at the first step of a repeated string instruction and at all other instructions, 0 at further steps.
    FirstRepetition,
    /// Address of an element of a memory operand, see [`Instruction::elements`].
    ElementAddress {
        /// The operand.
        operand: usize,
        /// The element.
        element: usize,
    },
    /// Bytes of it that are accessed: none if a mask leaves it out.
    ElementSize {
        /// The operand.
        operand: usize,
        /// The element.
        element: usize,
    },
}

impl Arg {
    /// Whether only the runtime computes it, never translated code.
    pub(crate) fn is_for_runtime(self, instruction: &Instruction) -> bool {
        match self {
            Arg::Flags | Arg::SegmentBase(_) | Arg::Vector { .. } | Arg::Mask(_) => true,
            Arg::ElementAddress { .. } | Arg::ElementSize { .. } | Arg::FirstRepetition => true,
            Arg::MemoryAddress(n) => instruction.memory_operands()[n].index_8,
            Arg::TakesEffect => instruction.is_rep(),
            Arg::Const(_) | Arg::BlockInstructions | Arg::InstructionPointer | Arg::Register(_) => false,
            Arg::BranchTaken | Arg::BranchTarget | Arg::Kept(_) | Arg::KeptAt(_) | Arg::Thread => false,
        }
    }
}

/// Arguments of a call at most, the local state not counted.
pub const MAX_ARGS: usize = 12;

/// Words of a list at most, and words that are written for an instruction if the runtime has to compute any of them.
pub const MAX_LIST: usize = 255;

/// How a routine gets its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One after the other.
    #[default]
    Words,
    /// As a list: its address and its length.
    List,
    /// After the address of a [`State`](crate::abi::State), one after the other.
    State,
    /// One after the other. The routine is the runtime's, and looks at the app's state as it is when translated code was left.
    Runtime,
    /// As a list, behind the app's state, which it may change: see the engine's `StateMut`.
    Change,
    /// As a list, behind what lets it change that and call routines of the app's. Before the instruction, of which then nothing has begun, and before all other calls there: the engine's `App`.
    App,
}

impl Form {
    /// All there are, by their numbers.
    pub const ALL: [Form; 6] = [Form::Words, Form::List, Form::State, Form::Runtime, Form::Change, Form::App];

    /// Whether the routine may change the app's state, so that translated code is left for it.
    pub fn changes(self) -> bool {
        matches!(self, Form::Change | Form::App)
    }
}

/// A call of an analysis routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisCall {
    /// Where.
    pub point: Point,
    /// Address of an `extern "C"` function; its first argument is the local state's address.
    pub routine: usize,
    /// First argument: address of the tool's local state, the same in every slice.
    pub local: u64,
    /// Further arguments, at most [`MAX_ARGS`], or [`MAX_LIST`] in a list.
    pub args: Vec<Arg>,
    /// How the routine gets them.
    pub form: Form,
    /// Only if the instruction takes effect: a cmov whose condition holds, a REP instruction with rcx not 0.
    pub predicated: bool,
    /// Only if this says so. With `predicated` it isn't asked if the instruction takes no effect.
    pub test: Option<Test>,
    /// Whether it has the host asked before the instruction, of which then nothing has begun: see [`AnalysisCall::asking`].
    pub asks: bool,
}

/// A routine that decides whether a call is made. It is put in place where possible, while the call itself is not: so
/// what is done seldom costs little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Address of an `extern "C"` function that returns a 64-bit number: 0 for no. Its first argument is the local state's address.
    pub routine: usize,
    /// Further arguments, at most [`MAX_ARGS`].
    pub args: Vec<Arg>,
}

impl AnalysisCall {
    /// A call that is always made.
    pub fn new(point: Point, routine: usize, local: u64, args: Vec<Arg>) -> Self {
        Self { point, routine, local, args, form: Form::Words, predicated: false, test: None, asks: false }
    }

    /// Has the host asked before the instruction with index `index` if a test says so, which changes nothing and may be made again. Before all others of the trace.
    pub fn asking(index: usize, routine: usize, local: u64, test: Test) -> Self {
        let call = Self::new(Point::Before(index), routine, local, Vec::new());
        Self { test: Some(test), asks: true, ..call }
    }

    /// The call's test as a call of its own.
    pub(crate) fn of_test(&self) -> Option<AnalysisCall> {
        let Test { routine, args } = self.test.as_ref()?;
        let test = AnalysisCall::new(self.point, *routine, self.local, args.clone());
        Some(AnalysisCall { predicated: self.predicated, ..test })
    }

    /// Whether an argument is something else before each instruction of a block.
    pub(crate) fn depends_on_place(&self) -> bool {
        !self
            .args
            .iter()
            .all(|arg| matches!(arg, Arg::Const(_) | Arg::KeptAt(_) | Arg::BlockInstructions | Arg::Thread))
    }

    /// Whether the call is made again with a negative number if the app leaves the block early: see [`Arg::BlockInstructions`].
    pub fn is_compensated(&self) -> bool {
        self.args.contains(&Arg::BlockInstructions) && !self.predicated && self.test.is_none()
    }

    /// Whether the app's flags are to be there when it is made.
    pub(crate) fn reads_flags(&self) -> bool {
        let of_test = self.test.iter().flat_map(|test| &test.args);
        self.form == Form::State || self.form.changes() || self.args.iter().chain(of_test).any(|arg| *arg == Arg::Flags)
    }
}
