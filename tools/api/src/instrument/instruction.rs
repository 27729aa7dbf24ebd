//! An instruction of a trace.

use std::fmt;
use std::marker::PhantomData;

use isa::Kind;
use machine::AppPc;
use translator::trace::{AnalysisCall, Buffered, Point};

use super::arguments::{Arg, Arguments, Routine, Test};
use super::at::At;
use super::draft::Draft;
use super::repeat::Repeat;
use crate::code::BranchKind;
use crate::names::Image;

pub use isa::{
    Class, Extension, MNEMONICS, MemoryOperand, Operand, OperandKind, Property, Register, RegisterSet, SegmentRegister,
};

/// The mnemonic with this number, see [`Instruction::mnemonic_number`].
pub fn mnemonic_name(number: usize) -> Option<&'static str> {
    isa::mnemonics().get(number).copied()
}

/// An instruction of the app.
pub struct Instruction<'a, L> {
    draft: &'a Draft<'a>,
    index: usize,
    types: PhantomData<fn(&mut L)>,
}

impl<'a, L: 'static> Instruction<'a, L> {
    /// The trace's instruction with this number.
    pub(in crate::instrument) fn new(draft: &'a Draft<'a>, index: usize) -> Self {
        Self { draft, index, types: PhantomData }
    }

    pub(in crate::instrument) fn draft(&self) -> &'a Draft<'a> {
        self.draft
    }

    /// Its number in the trace.
    pub(in crate::instrument) fn index(&self) -> usize {
        self.index
    }

    pub(in crate::instrument) fn decoded(&self) -> &isa::Instruction {
        &self.draft.instructions()[self.index]
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

    /// Its operands: explicit ones in the order of Intel's manuals, then implicit ones. Cost, as of the questions below: a fraction of a microsecond
    /// at instrumentation time, nothing later.
    pub fn operands(&self) -> Vec<Operand> {
        self.decoded().operands()
    }

    /// The registers that it reads, by their full width: those of addresses and implicit ones, the flags and the instruction pointer among them. In the set are also
    /// those that it reads only if a condition or a mask says so.
    pub fn registers_read(&self) -> RegisterSet {
        self.decoded().registers_read()
    }

    /// The registers that it writes, or may write, any part of: see [`Self::registers_read`].
    pub fn registers_written(&self) -> RegisterSet {
        self.decoded().registers_written()
    }

    /// The class that it belongs to: Pin's category.
    pub fn class(&self) -> Class {
        self.decoded().class()
    }

    /// The extension of the instruction set that it belongs to: the CPUID feature that it needs.
    pub fn extension(&self) -> Extension {
        self.decoded().extension()
    }

    /// Whether it has a property.
    pub fn is(&self, property: Property) -> bool {
        self.decoded().is(property)
    }

    /// The image that it is of, see [`crate::Trace::image`].
    pub fn image(&self) -> Option<Image<'a>> {
        self.draft.image(self.address())
    }

    /// The routine that it is of.
    pub fn routine(&self) -> Option<crate::names::Routine<'a>> {
        self.image()?.routine_at(self.address())
    }

    /// Whether and how it branches.
    pub fn branch(&self) -> Option<BranchKind> {
        BranchKind::of(self.decoded().kind())
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

    /// Whether it is a string instruction that repeats. How often it counts, [`crate::Tool::repeat`] says.
    pub fn is_rep(&self) -> bool {
        self.decoded().is_rep()
    }

    /// Whether there can be calls [`At::After`] it: the app may go on at the next instruction, and it gets there without a system call or
    /// another instruction that superpin executes for the app (`cpuid`, `rdtsc`, `rdrand` …). Not after one that repeats, if each repetition counts ([`Repeat`]).
    pub fn has_after(&self) -> bool {
        let repeats = self.is_rep() && self.draft.repeat == Repeat::Each;
        translator::trace::has_after(self.decoded()) && !repeats
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
        let (routine, args) = (routine.named_address(), args.into_args());
        assert!(
            !predicated || self.is_before(at),
            "a predicated call At::{at:?}: what is predicated is the instruction"
        );
        for arg in &args {
            self.check(at, *arg);
        }
        let call = self.draft.call(self.point(at), routine, &args);
        self.draft.insert(AnalysisCall { predicated, ..call });
    }

    fn is_before(&self, at: At) -> bool {
        matches!(at, At::Before | At::Anywhere)
    }

    /// Whether there is such an argument at this place.
    #[track_caller]
    pub(in crate::instrument) fn check(&self, at: At, arg: Arg) {
        match arg {
            Arg::MemoryAddress(index) => self.check_operand(at, arg, index),
            Arg::ElementAddress { operand, element } | Arg::ElementSize { operand, element } => {
                self.check_operand(at, arg, operand);
                let elements = self.decoded().elements(operand).count;
                assert!(
                    element < elements.into(),
                    "there is no {arg:?} at `{self}` ({:#x}): the operand has {elements} elements, see Instruction::elements",
                    self.address().0
                );
            }
            Arg::Flags => assert!(
                self.draft.reads_flags,
                "flags are asked for at `{self}` ({:#x}): the tool must say so, `const READS_FLAGS: bool = true` in its `impl Tool`",
                self.address().0
            ),
            Arg::Vector { register, word } => assert!(register < 32 && word < 8, "there is no {arg:?}"),
            Arg::Mask(register) => assert!(register < 8, "there is no {arg:?}"),
            Arg::Argument(_) | Arg::ReturnValue => self.check_convention(at, arg),
            Arg::BranchTarget => {
                let known = self.branch_target().is_some() || at == At::Taken && self.branch().is_some();
                assert!(known, "the target of `{self}` isn't known At::{at:?}: take At::Taken, if it branches");
            }
            Arg::BlockInstructions => {
                assert!(self.is_before(at), "Arg::BlockInstructions belongs to calls At::Before and At::Anywhere");
            }
            Arg::Executing => assert!(self.is_before(at), "Arg::Executing belongs to calls At::Before"),
            Arg::Const(_) | Arg::Pc | Arg::Register(_) | Arg::BranchTaken | Arg::SegmentBase(_) => {}
            Arg::FirstRepetition | Arg::ThreadId => {}
            Arg::Tool(register) => self.check_kept(Some(at), register),
        }
    }

    #[track_caller]
    fn check_operand(&self, at: At, arg: Arg, operand: usize) {
        assert!(self.is_before(at), "no address At::{at:?}: {self} may have changed its registers");
        let operands = self.decoded().memory_operands().len();
        assert!(
            operand < operands,
            "there is no Arg::{arg:?} at `{self}` ({:#x}): it has {operands} memory operands, see Instruction::memory_operands",
            self.address().0
        );
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
        self.insert_tested(at, (test, test_args), (routine, args), false);
    }

    /// Like [`Self::call_if`], but neither the test nor the routine is called if the instruction takes no effect, see [`Self::call_predicated`].
    ///
    /// # Panics
    /// As [`Self::call_if`].
    #[track_caller]
    pub fn call_if_predicated<A: Arguments, T: Test<L, A>, B: Arguments, R: Routine<L, B>>(
        &self,
        at: At,
        test: T,
        test_args: A,
        routine: R,
        args: B,
    ) {
        self.insert_tested(at, (test, test_args), (routine, args), true);
    }

    #[track_caller]
    fn insert_tested<A: Arguments, T: Test<L, A>, B: Arguments, R: Routine<L, B>>(
        &self,
        at: At,
        (test, test_args): (T, A),
        (routine, args): (R, B),
        predicated: bool,
    ) {
        let (test, routine) = (test.named_address(), routine.named_address());
        let (test_args, args) = (test_args.into_args(), args.into_args());
        let counts = test_args.contains(&Arg::BlockInstructions) || args.contains(&Arg::BlockInstructions);
        assert!(!counts, "a call that a test decides about can't count with Arg::BlockInstructions");
        assert!(self.is_before(at), "a call that a test decides about is made before an instruction");
        for arg in test_args.iter().chain(&args) {
            self.check(at, *arg);
        }
        let test_args = test_args.into_iter().map(Arg::to_engine).collect();
        let test = translator::trace::Test { routine: test, args: test_args };
        let call = self.draft.call(self.point(at), routine, &args);
        self.draft.insert(AnalysisCall { test: Some(test), predicated, ..call });
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
        self.insert_words(values.into_args());
    }

    #[track_caller]
    pub(in crate::instrument) fn insert_words(&self, values: Vec<Arg>) {
        for arg in &values {
            if let Arg::Tool(register) = *arg {
                self.check_kept(None, register);
            }
            self.check(At::Before, *arg);
            let counts = *arg == Arg::BranchTaken && matches!(self.decoded().kind(), Kind::CountBranch { .. });
            assert!(!counts, "whether `{self}` is taken can't be written into the buffer");
        }
        let words = values.into_iter().map(Arg::to_engine).collect();
        self.draft.insert_words(Buffered { index: self.index, words });
    }

    #[track_caller]
    pub(in crate::instrument) fn point(&self, at: At) -> Point {
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
