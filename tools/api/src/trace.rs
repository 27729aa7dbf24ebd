//! What instrumentation looks at: a trace, its blocks, their instructions.
//!
//! A trace is a contiguous run of app code with one entry; a block ends at each branch, call, return and system
//! call. If a block is entered, then all of its instructions are executed, unless one raises a signal.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use isa::Kind;
use machine::AppPc;
use translator::trace::{AnalysisCall, Buffered, Point};

use crate::arguments::{Arg, Arguments, Routine, Test};
use crate::branch::BranchKind;

pub use isa::{MNEMONICS, MemoryOperand};

/// The mnemonic with this number, see [`Instruction::mnemonic_number`].
pub fn mnemonic_name(number: usize) -> Option<&'static str> {
    isa::mnemonics().get(number).copied()
}

/// Where a call is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Before the instruction; for a block, before its first.
    Before,
    /// Once for each execution of the block, wherever it costs least. For an instruction: before it.
    ///
    /// A counter belongs here, and to be exact it adds up [`crate::Arg::BlockInstructions`].
    Anywhere,
    /// After an instruction, if the app goes on at the next one: see [`Instruction::has_after`]. Of a conditional branch, if it isn't taken. Not
    /// after an instruction that faults; after one that repeats, once. Only for instructions.
    After,
    /// After a branch, call or return that is taken, before the first instruction there: see [`Instruction::branch`]. Only for instructions.
    Taken,
}

/// A trace that is about to be translated, for a tool whose local state is `L`.
pub struct Trace<'t, L> {
    instructions: &'t [isa::Instruction],
    block_ends: &'t [usize],
    calls: RefCell<Vec<AnalysisCall>>,
    buffered: RefCell<Vec<Buffered>>,
    local: u64,
    types: PhantomData<fn(&mut L)>,
}

impl<'t, L: 'static> Trace<'t, L> {
    /// The engine's trace as a tool sees it, whose local state lies at `local`.
    pub(crate) fn new(instructions: &'t [isa::Instruction], block_ends: &'t [usize], local: u64) -> Self {
        let (calls, buffered) = (RefCell::default(), RefCell::default());
        Self { instructions, block_ends, calls, buffered, local, types: PhantomData }
    }

    /// What was inserted, in order.
    pub(crate) fn into_inserted(self) -> (Vec<AnalysisCall>, Vec<Buffered>) {
        let mut buffered = self.buffered.into_inner();
        buffered.sort_by_key(|buffered| buffered.index);
        (self.calls.into_inner(), buffered)
    }

    /// Address of the first instruction.
    pub fn address(&self) -> AppPc {
        self.instructions[0].pc()
    }

    /// Its blocks, in order.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block<'_, L>> + ExactSizeIterator {
        (0..self.block_ends.len()).map(move |index| {
            let start = if index == 0 { 0 } else { self.block_ends[index - 1] };
            Block { trace: self, index, range: start..self.block_ends[index] }
        })
    }

    /// Its instructions, in order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = Instruction<'_, L>> + ExactSizeIterator {
        self.instructions_in(0..self.instructions.len())
    }

    fn instructions_in(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Instruction<'_, L>> + ExactSizeIterator {
        range.map(move |index| Instruction { trace: self, index })
    }

    fn insert_with(&self, point: Point, routine: usize, args: &[Arg], predicated: bool) {
        let args = args.iter().map(|arg| arg.to_engine()).collect();
        let call = AnalysisCall::new(point, routine, self.local, args);
        self.calls.borrow_mut().push(AnalysisCall { predicated, ..call });
    }
}

/// A basic block.
pub struct Block<'a, L> {
    trace: &'a Trace<'a, L>,
    index: usize,
    range: Range<usize>,
}

#[allow(clippy::len_without_is_empty)] // no block is empty
impl<'a, L: 'static> Block<'a, L> {
    /// Address of its first instruction.
    pub fn address(&self) -> AppPc {
        self.trace.instructions[self.range.start].pc()
    }

    /// The address after its last instruction.
    pub fn end_address(&self) -> AppPc {
        self.trace.instructions[self.range.end - 1].next_pc()
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Its instructions, in order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = Instruction<'a, L>> + ExactSizeIterator {
        self.trace.instructions_in(self.range.clone())
    }

    /// Its first instruction.
    pub fn first(&self) -> Instruction<'a, L> {
        Instruction { trace: self.trace, index: self.range.start }
    }

    /// Its last instruction: the only one that may be a branch.
    pub fn last(&self) -> Instruction<'a, L> {
        Instruction { trace: self.trace, index: self.range.end - 1 }
    }

    /// Inserts a call of `routine` with the local state and `args`.
    ///
    /// Calls at one place run in the order of insertion.
    ///
    /// # Panics
    /// If `args` has [`Arg::BlockInstructions`] and `at` isn't [`At::Anywhere`]: a call before the first instruction is that instruction's.
    /// If `at` is [`At::After`] or [`At::Taken`].
    #[track_caller]
    pub fn call<A: Arguments, R: Routine<L, A>>(&self, at: At, routine: R, args: A) {
        match at {
            At::Before => {
                let args = args.into_args();
                let counts = args.contains(&Arg::BlockInstructions);
                assert!(!counts, "a block's instructions are counted by a call At::Anywhere, not At::Before");
                for arg in &args {
                    self.first().check(At::Before, *arg);
                }
                self.trace.insert_with(self.first().point(at), routine.named_address(), &args, false);
            }
            At::Anywhere => {
                let args = args.into_args();
                for arg in &args {
                    self.first().check(At::Before, *arg);
                }
                self.trace.insert_with(Point::Anywhere(self.index), routine.named_address(), &args, false);
            }
            At::After | At::Taken => panic!("calls At::{at:?} belong to an instruction: the block's last(), say"),
        }
    }
}

/// An instruction of the app.
pub struct Instruction<'a, L> {
    trace: &'a Trace<'a, L>,
    index: usize,
}

impl<L: 'static> Instruction<'_, L> {
    fn decoded(&self) -> &isa::Instruction {
        &self.trace.instructions[self.index]
    }

    /// Its address.
    pub fn address(&self) -> AppPc {
        self.decoded().pc()
    }

    /// The address after it.
    pub fn next_address(&self) -> AppPc {
        self.decoded().next_pc()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.decoded().bytes()
    }

    /// Its mnemonic in lower case, as a manual spells it. For the whole instruction, print it.
    pub fn mnemonic(&self) -> &'static str {
        self.decoded().mnemonic()
    }

    /// Number of its mnemonic, below [`MNEMONICS`]: an index for tables in the local state. [`mnemonic_name`] undoes it. The numbers are those of one
    /// build of a tool image, so they don't belong into its output.
    pub fn mnemonic_number(&self) -> usize {
        self.decoded().mnemonic_number()
    }

    /// The memory it accesses, implicit operands (of push, call, string instructions …) included.
    /// [`crate::Arg::MemoryAddress`] takes an index into this.
    pub fn memory_operands(&self) -> Vec<MemoryOperand> {
        self.decoded().memory_operands().to_vec()
    }

    /// Whether and how it branches.
    pub fn branch(&self) -> Option<BranchKind> {
        match self.decoded().kind() {
            Kind::Jump { .. } => Some(BranchKind::Jump),
            Kind::Branch { .. } | Kind::CountBranch { .. } => Some(BranchKind::Conditional),
            Kind::JumpIndirect => Some(BranchKind::IndirectJump),
            Kind::Call { .. } => Some(BranchKind::Call),
            Kind::CallIndirect => Some(BranchKind::IndirectCall),
            Kind::Return { .. } => Some(BranchKind::Return),
            _ => None,
        }
    }

    /// Where a direct jump, branch or call goes.
    pub fn branch_target(&self) -> Option<AppPc> {
        self.decoded().kind().target()
    }

    /// Whether it is a call, direct or not.
    pub fn is_call(&self) -> bool {
        matches!(self.branch(), Some(BranchKind::Call | BranchKind::IndirectCall))
    }

    /// Whether it is a `syscall`.
    pub fn is_syscall(&self) -> bool {
        self.decoded().kind() == Kind::Syscall
    }

    /// Whether it is a string instruction that repeats. It counts as one instruction, however often it repeats.
    pub fn is_rep(&self) -> bool {
        self.decoded().is_rep()
    }

    /// Whether there can be calls [`At::After`] it: the app may go on at the next instruction, and it gets there without a system call or
    /// another instruction that superpin executes for the app (`cpuid`, `rdtsc`, `rdrand` …).
    pub fn has_after(&self) -> bool {
        translator::trace::has_after(self.decoded())
    }

    /// Inserts a call of `routine` with the local state and `args`.
    ///
    /// Calls at one place run in the order of insertion. Each is made once, even if a signal comes between them; those before an instruction that
    /// faults are made again if the app starts it again, and so are those before a system call that the kernel makes again after a signal.
    ///
    /// # Panics
    /// If there is no such place or argument at this instruction: see [`At`] and [`Arg`].
    #[track_caller]
    pub fn call<A: Arguments, R: Routine<L, A>>(&self, at: At, routine: R, args: A) {
        self.insert(at, routine, args, false);
    }

    /// Like [`Self::call`], but the routine runs only if the instruction takes effect: a conditional move whose
    /// condition holds, a REP instruction with rcx not 0.
    #[track_caller]
    pub fn call_predicated<A: Arguments, R: Routine<L, A>>(&self, at: At, routine: R, args: A) {
        self.insert(at, routine, args, true);
    }

    #[track_caller]
    fn insert<A: Arguments, R: Routine<L, A>>(&self, at: At, routine: R, args: A, predicated: bool) {
        let args = args.into_args();
        assert!(
            !predicated || self.is_before(at),
            "a predicated call At::{at:?}: what is predicated is the instruction"
        );
        for arg in &args {
            self.check(at, *arg);
        }
        self.trace.insert_with(self.point(at), routine.named_address(), &args, predicated);
    }

    fn is_before(&self, at: At) -> bool {
        matches!(at, At::Before | At::Anywhere)
    }

    /// Whether there is such an argument at this place.
    #[track_caller]
    fn check(&self, at: At, arg: Arg) {
        match arg {
            Arg::MemoryAddress(index) => {
                assert!(self.is_before(at), "no address At::{at:?}: {self} may have changed its registers");
                let operands = self.decoded().memory_operands().len();
                assert!(
                    index < operands,
                    "there is no Arg::MemoryAddress({index}) at `{self}` ({:#x}): it has {operands} memory operands, \
                     see Instruction::memory_operands",
                    self.address().0
                );
            }
            Arg::BranchTarget => {
                let known = self.branch_target().is_some() || at == At::Taken && self.branch().is_some();
                assert!(known, "the target of `{self}` isn't known At::{at:?}: take At::Taken, if it branches");
            }
            Arg::BlockInstructions => {
                assert!(self.is_before(at), "Arg::BlockInstructions belongs to calls At::Before and At::Anywhere");
            }
            Arg::Const(_) | Arg::Pc | Arg::Register(_) | Arg::BranchTaken => {}
        }
    }

    /// Inserts a call of `routine` that is made only if `test` returns true, which is called each time.
    ///
    /// This is the cheap way to do seldom what takes long: a short test without loops, calls and stack use is put in
    /// place and costs a few instructions, even if the routine is large. Nothing comes between the two.
    ///
    /// # Panics
    /// If an argument is [`Arg::BlockInstructions`]: what a test has decided isn't taken back. If `at` isn't before the instruction, or there is no such argument.
    #[track_caller]
    pub fn call_if<A: Arguments, T: Test<L, A>, B: Arguments, R: Routine<L, B>>(
        &self,
        at: At,
        test: T,
        test_args: A,
        routine: R,
        args: B,
    ) {
        let (test_args, args) = (test_args.into_args(), args.into_args());
        let counts = test_args.contains(&Arg::BlockInstructions) || args.contains(&Arg::BlockInstructions);
        assert!(!counts, "a call that a test decides about can't count with Arg::BlockInstructions");
        assert!(self.is_before(at), "a call that a test decides about is made before an instruction");
        for arg in test_args.iter().chain(&args) {
            self.check(at, *arg);
        }
        let to_engine = |args: Vec<Arg>| args.into_iter().map(Arg::to_engine).collect();
        let test = translator::trace::Test { routine: test.named_address(), args: to_engine(test_args) };
        let call = AnalysisCall::new(self.point(at), routine.named_address(), self.trace.local, to_engine(args));
        self.trace.calls.borrow_mut().push(AnalysisCall { test: Some(test), ..call });
    }

    /// Writes `values` into the buffer, one word each, each time before the instruction is executed. [`crate::Tool::drain`] gets them
    /// in bulk.
    ///
    /// This is the cheap way to see many addresses: a few instructions each, and no call. The words of an instruction stay
    /// together and stand behind those of instructions executed earlier; what is written at one instruction is in the order of insertion, before
    /// the instruction's calls. An instruction that faults leaves no words. A REP instruction leaves its words once,
    /// with the addresses of the first step, even if rcx is 0; a conditional one whether its condition holds or not.
    /// [`crate::Arg::BlockInstructions`] is 1 here.
    ///
    /// # Panics
    /// If there is no such argument at this instruction: see [`Arg`]. [`Arg::BranchTaken`] isn't known of `loop` and `jrcxz` here.
    #[track_caller]
    pub fn buffer<A: Arguments>(&self, values: A) {
        let values = values.into_args();
        for arg in &values {
            self.check(At::Before, *arg);
            let counts = *arg == Arg::BranchTaken && matches!(self.decoded().kind(), Kind::CountBranch { .. });
            assert!(!counts, "whether `{self}` is taken can't be written into the buffer");
        }
        let words = values.into_iter().map(Arg::to_engine).collect();
        self.trace.buffered.borrow_mut().push(Buffered { index: self.index, words });
    }

    #[track_caller]
    fn point(&self, at: At) -> Point {
        match at {
            At::Before | At::Anywhere => Point::Before(self.index),
            At::After => {
                assert!(self.has_after(), "nothing comes after {self}: see Instruction::has_after");
                Point::After(self.index)
            }
            At::Taken => {
                assert!(self.branch().is_some(), "{self} doesn't branch: see Instruction::branch");
                Point::Taken(self.index)
            }
        }
    }
}

impl<L: 'static> fmt::Display for Instruction<'_, L> {
    /// As a disassembler prints it, in AT&T syntax.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decoded().fmt(f)
    }
}

#[cfg(test)]
mod tests;
