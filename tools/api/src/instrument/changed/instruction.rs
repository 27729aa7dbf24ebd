//! An instruction, for a tool that changes the app.

use std::ops::Deref;

use machine::{AppPc, Gpr};
use translator::trace::{AnalysisCall, Form, Test as EngineTest};

use super::app::{AppRoutine, ReplacementRoutine};
use super::routines::{ChangeRoutine, RegisterRoutine};
use crate::instrument::{Arg, Arguments, At, Instruction, Test};

/// An instruction of the app, for a tool that changes the app. All that an [`Instruction`] can do, it can.
pub struct InstructionMut<'a, L> {
    instruction: Instruction<'a, L>,
}

impl<'a, L: 'static> InstructionMut<'a, L> {
    pub(super) fn new(instruction: Instruction<'a, L>) -> Self {
        Self { instruction }
    }

    /// Inserts a call of `routine` with the local state, the app's state and `args`. What the routine makes of the app's registers and memory is what the app goes on with
    /// (Pin's `IARG_CONTEXT` with `PIN_SetContextReg`, DynamoRIO's `dr_set_mcontext`), at another address if it says [`crate::StateMut::execute_at`].
    ///
    /// Cost: it leaves the code cache, about as much as a system call.
    ///
    /// # Panics
    /// If there is no such place or argument at this instruction: see [`At`] and [`Arg`].
    #[track_caller]
    pub fn change<A: Arguments, R: ChangeRoutine<L, A>>(&self, at: At, routine: R, args: A) {
        self.insert_change(at, routine.change_address(), &args.into_args(), None);
    }

    /// Like [`Self::change`], but only if `test` says so, which is cheap: see [`Instruction::call_if`].
    ///
    /// # Panics
    /// As [`Self::change`]; if `at` isn't before the instruction.
    #[track_caller]
    pub fn change_if<A: Arguments, T: Test<L, A>, B: Arguments, R: ChangeRoutine<L, B>>(
        &self,
        at: At,
        test: T,
        test_args: A,
        routine: R,
        args: B,
    ) {
        assert!(matches!(at, At::Before | At::Anywhere), "what a test decides about is done before an instruction");
        let test_args = test_args.into_args();
        self.check_all(at, &test_args);
        let test_args = test_args.into_iter().map(Arg::to_engine).collect();
        let test = EngineTest { routine: test.named_address(), args: test_args };
        self.insert_change(at, routine.change_address(), &args.into_args(), Some(test));
    }

    /// Inserts a call of `routine` with the local state and a register by reference (Pin's `IARG_REG_REFERENCE`). Cost: as [`Self::change`].
    ///
    /// # Panics
    /// If there is no such place at this instruction.
    #[track_caller]
    pub fn change_register<R: RegisterRoutine<L>>(&self, at: At, register: Gpr, routine: R) {
        self.insert_change(at, routine.register_address(), &[Arg::Const(register as u64)], None);
    }

    /// Inserts a call of a routine that may call routines of the app's ([`crate::App::call`]), before the instruction and all else that is inserted there.
    ///
    /// Cost: as [`Self::change`]; if it calls one of the app's, some microseconds, and the block ends here: the instruction begins another one.
    ///
    /// # Panics
    /// If there is such a routine at this instruction already. If there is no such argument here.
    #[track_caller]
    pub fn call_app<A: Arguments, R: AppRoutine<L, A>>(&self, routine: R, args: A) {
        self.insert_app(routine.app_address(), &args.into_args());
    }

    /// Replaces the routine of the app's that begins with this instruction (Pin's `RTN_ReplaceSignature`, DynamoRIO's `drwrap_replace`): whenever the app comes to it, `routine`
    /// is called with `args` (most often [`Arg::Argument`]) instead, and what that returns goes to the caller. It may call the routine that it replaces: [`crate::Replaced::original`].
    ///
    /// Nothing else that is inserted at this instruction is done then, unless the original is called.
    ///
    /// Cost: as [`Self::change`]; a call of the original some microseconds.
    ///
    /// # Panics
    /// As [`Self::call_app`].
    #[track_caller]
    pub fn replace<A: Arguments, R: ReplacementRoutine<L, A>>(&self, routine: R, args: A) {
        self.insert_app(routine.replacement_address(), &args.into_args());
    }

    /// The app doesn't execute the instruction, and goes on behind it (Pin's `INS_Delete`). What is inserted before it is done; what is inserted after it isn't. A block ends with it,
    /// and it counts as executed. It costs nothing.
    ///
    /// # Panics
    /// If the instruction was replaced by a jump already.
    #[track_caller]
    pub fn delete(&self) {
        self.jump(self.next_address());
    }

    /// The app goes on at `target` instead of executing the instruction (Pin's `INS_InsertDirectJump` with `INS_Delete`). Otherwise as [`Self::delete`].
    ///
    /// # Panics
    /// As [`Self::delete`].
    #[track_caller]
    pub fn jump(&self, target: AppPc) {
        let fresh = self.draft().jump(self.index(), target);
        assert!(fresh, "`{}` ({:#x}) is deleted, or replaced by a jump, twice", self.instruction, self.address().0);
    }

    #[track_caller]
    fn insert_change(&self, at: At, routine: usize, args: &[Arg], test: Option<EngineTest>) {
        self.check_all(at, args);
        let call = self.draft().call(self.point(at), routine, args);
        self.draft().insert(AnalysisCall { form: Form::Change, test, ..call });
    }

    #[track_caller]
    fn insert_app(&self, routine: usize, args: &[Arg]) {
        self.check_all(At::Before, args);
        let fresh = !self.draft().has(self.point(At::Before), Form::App);
        assert!(
            fresh,
            "two routines that may call the app's (`replace`, `call_app`) at `{}` ({:#x}): one can be there",
            self.instruction,
            self.address().0
        );
        let call = self.draft().call(self.point(At::Before), routine, args);
        self.draft().insert(AnalysisCall { form: Form::App, ..call });
    }

    #[track_caller]
    fn check_all(&self, at: At, args: &[Arg]) {
        let counts = args.contains(&Arg::BlockInstructions);
        assert!(!counts, "what changes the app can't count with Arg::BlockInstructions: it isn't taken back");
        args.iter().for_each(|arg| self.check(at, *arg));
    }
}

impl<'a, L> Deref for InstructionMut<'a, L> {
    type Target = Instruction<'a, L>;

    fn deref(&self) -> &Instruction<'a, L> {
        &self.instruction
    }
}
