//! What is put into tool registers, and by what.

use translator::abi::KEPT;

use crate::instrument::arguments::{Arg, Arguments, conjure};
use crate::instrument::at::At;
use crate::instrument::block::Block;
use crate::instrument::instruction::Instruction;
use crate::instrument::tool_register::ToolRegister;

impl<L: 'static> Block<'_, L> {
    /// A tool register, free until the block's end: sixteen a block at most.
    ///
    /// # Panics
    /// If the block has had so many.
    #[track_caller]
    pub fn tool_register(&self) -> ToolRegister {
        let claimed = self.draft().kept.borrow_mut().claim(self.index());
        claimed.unwrap_or_else(|| {
            panic!("the block at {:#x} has no more tool registers: {KEPT} at most", self.address().0)
        })
    }
}

/// A routine with a result: `fn(&mut Local, u64, …) -> u64`, with a `u64` for each element of the tuple, eleven at most. What holds for [`crate::AnalysisRoutine`] holds for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't give a value with the local state `{L}` and the arguments `{A}`",
    label = "must be a `fn(&mut {L}, u64, …) -> u64` with one `u64` for each argument, and capture nothing"
)]
pub trait ValueRoutine<L, A>: Copy + 'static {
    /// Address of a C function that stores what it gives at the address which is its second argument.
    fn value_address(self) -> usize;
}

macro_rules! arities {
    ($(($($element:ident $word:ident),*))*) => {$(
        impl<L: 'static, R, $($element),*> ValueRoutine<L, ($($element,)*)> for R
        where
            R: Fn(&mut L, $(arities!(@word $element)),*) -> u64 + Copy + 'static,
        {
            fn value_address(self) -> usize {
                #[allow(clippy::too_many_arguments)] // as many as routines have
                extern "C" fn thunk<L, R: Fn(&mut L, $(arities!(@word $element)),*) -> u64 + Copy>(
                    local: &mut L,
                    into: &mut u64,
                    $($word: u64),*
                ) {
                    *into = conjure::<R>()(local, $($word),*);
                }
                let address = thunk::<L, R> as *const () as usize;
                engine::routines::name(address, std::any::type_name::<R>());
                address
            }
        }
    )*};
    (@word $element:ident) => { u64 };
}

arities! {
    ()
    (A a)
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
    (A a, B b, C c, D d, E e, F f)
    (A a, B b, C c, D d, E e, F f, G g)
    (A a, B b, C c, D d, E e, F f, G g, H h)
    (A a, B b, C c, D d, E e, F f, G g, H h, I i)
    (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j)
    (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k)
}

/// What [`Instruction::keep`] inserts.
fn itself<L>(_: &mut L, value: u64) -> u64 {
    value
}

impl<L: 'static> Instruction<'_, L> {
    /// Keeps a value in a tool register, each time that the app comes here: an address before an instruction, for a call after it.
    ///
    /// ```no_run
    /// # use superpin_tool::{Arg, At, Trace};
    /// # fn wrote(_: &mut u64, _address: u64) {}
    /// # fn instrument(trace: &Trace<'_, u64>) {
    /// for block in trace.blocks() {
    ///     for instruction in block.instructions().filter(|i| i.has_after()) {
    ///         if let Some(n) = instruction.memory_operands().iter().position(|operand| operand.write) {
    ///             let address = block.tool_register();
    ///             instruction.keep(At::Before, address, Arg::MemoryAddress(n));
    ///             instruction.call(At::After, wrote, (address,));
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// A value is there for calls and words that are inserted after it, at places that the app comes to after it in the same block; words before an instruction are written before calls
    /// there. Other uses are refused. One or two machine instructions.
    ///
    /// # Panics
    /// If the register is of another block. If there is no such place or argument, see [`At`] and [`Arg`].
    #[track_caller]
    pub fn keep(&self, at: At, register: ToolRegister, value: impl Into<Arg>) {
        self.call_into(at, register, itself::<L>, (value.into(),));
    }

    /// Inserts a call of a routine that gives a value, which is kept in a tool register as by [`Self::keep`]. It costs what [`Self::call`] does.
    ///
    /// # Panics
    /// As [`Self::keep`]; and if an argument is [`Arg::BlockInstructions`]: what was kept isn't taken back.
    #[track_caller]
    pub fn call_into<A: Arguments, R: ValueRoutine<L, A>>(&self, at: At, register: ToolRegister, routine: R, args: A) {
        let routine = routine.value_address();
        self.check_block(register);
        let args = args.into_args();
        let counts = args.contains(&Arg::BlockInstructions);
        assert!(!counts, "a value that is kept can't count with Arg::BlockInstructions: it isn't taken back");
        for arg in &args {
            self.check(at, *arg);
        }
        let point = self.point(at);
        self.draft().insert(self.draft().call_into(point, routine, register, &args));
        self.draft().kept.borrow_mut().put(register, point);
    }

    /// Whether a tool register has a value at this place; of words (`at` is `None`): before all calls.
    #[track_caller]
    pub(in crate::instrument) fn check_kept(&self, at: Option<At>, register: ToolRegister) {
        self.check_block(register);
        let kept = self.draft().kept.borrow();
        let has = match at {
            Some(at) => kept.has(register, self.point(at)),
            None => kept.has_before_calls(register, self.index()),
        };
        let place = at.map_or("in the words before".to_owned(), |at| format!("At::{at:?}"));
        assert!(
            has,
            "a tool register is used {place} `{self}` ({:#x}) before anything is kept in it: Instruction::keep at an earlier place of the block comes first",
            self.address().0
        );
    }

    #[track_caller]
    fn check_block(&self, register: ToolRegister) {
        let block = self.draft().block_of(self.index());
        assert!(
            register.is_of(block),
            "a tool register is used at `{self}` ({:#x}) that is another block's: its value ends with its block (a value that is to live longer is a field of Local)",
            self.address().0
        );
    }
}
