//! Calls of routines that get a list of words, or the app's whole state.

use translator::abi::State;
use translator::trace::{AnalysisCall, Form, MAX_LIST};

use crate::instrument::arguments::{Arg, conjure};
use crate::instrument::{At, Instruction};

/// A routine that gets a list: `fn(&mut Local, &[u64])`, with a word for each argument. What holds for [`crate::Routine`] holds for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be called with the local state `{L}` and a list",
    label = "must be a `fn(&mut {L}, &[u64])`, and capture nothing"
)]
pub trait ListRoutine<L>: Copy + 'static {
    /// Address of a C function that does the same.
    fn list_address(self) -> usize;
}

impl<L: 'static, F: Fn(&mut L, &[u64]) + Copy + 'static> ListRoutine<L> for F {
    fn list_address(self) -> usize {
        extern "C" fn thunk<L, F: Fn(&mut L, &[u64]) + Copy>(local: &mut L, words: *const u64, count: usize) {
            // SAFETY: whoever calls it passes so many words, which nobody writes meanwhile.
            conjure::<F>()(local, unsafe { std::slice::from_raw_parts(words, count) });
        }
        named::<F>(thunk::<L, F> as *const () as usize)
    }
}

/// A routine that gets the app's whole state: `fn(&mut Local, &State)`. What holds for [`crate::Routine`] holds for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be called with the local state `{L}` and the app's state",
    label = "must be a `fn(&mut {L}, &State)`, and capture nothing"
)]
pub trait StateRoutine<L>: Copy + 'static {
    /// Address of a C function that does the same.
    fn state_address(self) -> usize;
}

impl<L: 'static, F: Fn(&mut L, &State<'_>) + Copy + 'static> StateRoutine<L> for F {
    fn state_address(self) -> usize {
        extern "C" fn thunk<L, F: Fn(&mut L, &State<'_>) + Copy>(local: &mut L, state: &State<'_>) {
            conjure::<F>()(local, state);
        }
        named::<F>(thunk::<L, F> as *const () as usize)
    }
}

/// The address, with the name that messages are to tell.
fn named<F>(address: usize) -> usize {
    engine::routines::name(address, std::any::type_name::<F>());
    address
}

impl<L: 'static> Instruction<'_, L> {
    /// Inserts a call of `routine` with the local state and a list that is made here, at run time of the tool: as many words as there are in `args`, 255 at most.
    ///
    /// Cost: as [`Self::call`] with as many arguments, but the routine is never put in place.
    ///
    /// # Panics
    /// If there is no such place or argument at this instruction, see [`At`] and [`Arg`]; if the list is longer.
    #[track_caller]
    pub fn call_with<R: ListRoutine<L>>(&self, at: At, routine: R, args: &[Arg]) {
        let routine = routine.list_address();
        assert!(args.len() <= MAX_LIST, "a list of {} arguments at `{self}`: {MAX_LIST} at most", args.len());
        let counts = args.contains(&Arg::BlockInstructions);
        assert!(!counts, "a list can't count with Arg::BlockInstructions: what it has counted isn't taken back");
        for arg in args {
            self.check(at, *arg);
        }
        self.insert_as(at, Form::List, routine, args);
    }

    /// Inserts a call of `routine` with the local state and the app's whole [`State`], to be read. What it doesn't ask for costs nothing.
    ///
    /// Only in tools that say [`crate::Tool::READS_FLAGS`]. Cost: it leaves the code cache, which is about as much as a system call.
    ///
    /// # Panics
    /// If there is no such place at this instruction, see [`At`]; if the tool doesn't say so.
    #[track_caller]
    pub fn call_with_state<R: StateRoutine<L>>(&self, at: At, routine: R) {
        let routine = routine.state_address();
        self.check(at, Arg::Flags);
        self.insert_as(at, Form::State, routine, &[]);
    }

    #[track_caller]
    fn insert_as(&self, at: At, form: Form, routine: usize, args: &[Arg]) {
        let call = self.draft().call(self.point(at), routine, args);
        self.draft().insert(AnalysisCall { form, ..call });
    }

    /// How many elements its memory operand with this index has: those of a vector that it gathers, scatters, or moves by a mask, which
    /// [`Arg::ElementAddress`] and [`Arg::ElementSize`] tell of one by one. 1 for all others.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn elements(&self, operand: usize) -> usize {
        usize::from(self.decoded().elements(operand).count)
    }

    /// Of a masked move (AVX-512): the mask register each bit of which says of an element of this memory operand whether it is accessed, and the bytes of an element. They lie
    /// side by side from [`Arg::MemoryAddress`] on, so one word, [`Arg::Mask`], tells what [`Arg::ElementSize`] tells of 64 elements, in a fraction of the time. `None` for all others.
    pub fn opmask(&self, operand: usize) -> Option<(u8, u32)> {
        let elements = self.decoded().elements(operand);
        match elements.mask {
            isa::ElementMask::Opmask(register) if elements.indices.is_none() => Some((register, elements.size)),
            _ => None,
        }
    }
}
