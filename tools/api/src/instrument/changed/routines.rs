//! Routines that change the app's state.

use engine::StateMut;

use crate::instrument::arguments::{Arg, conjure};

/// A routine that changes the app's state: `fn(&mut Local, &mut StateMut, u64, …)` with one `u64` for each element of the tuple `A`, six at most.
///
/// What holds for a [`crate::AnalysisRoutine`] holds for it, and it leaves the code cache.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't change the app's state with the local state `{L}` and the arguments `{A}`",
    label = "must be a `fn(&mut {L}, &mut StateMut, u64, …)` with one `u64` for each argument, and capture nothing"
)]
pub trait ChangeRoutine<L, A>: Copy + 'static {
    /// Address of a C function that does the same.
    fn change_address(self) -> usize;
}

/// A routine that gets a register by reference: `fn(&mut Local, &mut u64)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't change a register with the local state `{L}`",
    label = "must be a `fn(&mut {L}, &mut u64)`, and capture nothing"
)]
pub trait RegisterRoutine<L>: Copy + 'static {
    /// Address of a C function that does the same.
    fn register_address(self) -> usize;
}

impl<L: 'static, F: Fn(&mut L, &mut u64) + Copy + 'static> RegisterRoutine<L> for F {
    fn register_address(self) -> usize {
        extern "C" fn thunk<L, F: Fn(&mut L, &mut u64) + Copy>(
            local: &mut L,
            state: &mut StateMut<'_>,
            args: *const u64,
            _: usize,
        ) {
            // SAFETY: it is inserted with one argument.
            let register = machine::Gpr::ALL[unsafe { *args } as usize];
            let mut value = state.gpr(register);
            conjure::<F>()(local, &mut value);
            state.set_gpr(register, value);
        }
        named::<F>(thunk::<L, F> as *const () as usize)
    }
}

/// The address, with the name that messages are to tell.
pub(super) fn named<F>(address: usize) -> usize {
    engine::routines::name(address, std::any::type_name::<F>());
    address
}

/// Implements, for functions with so many words behind others, a trait whose routine gets them as a list.
macro_rules! with_words {
    ($with:ident) => {
        $with! {}
        $with! { A 0 }
        $with! { A 0, B 1 }
        $with! { A 0, B 1, C 2 }
        $with! { A 0, B 1, C 2, D 3 }
        $with! { A 0, B 1, C 2, D 3, E 4 }
        $with! { A 0, B 1, C 2, D 3, E 4, G 5 }
    };
}
pub(super) use with_words;

macro_rules! changes {
    ($($element:ident $n:literal),*) => {
        impl<L: 'static, F, $($element: Into<Arg>),*> ChangeRoutine<L, ($($element,)*)> for F
        where
            F: Fn(&mut L, &mut StateMut<'_>, $(changes!(@word $element)),*) + Copy + 'static,
        {
            fn change_address(self) -> usize {
                extern "C" fn thunk<L, F>(local: &mut L, state: &mut StateMut<'_>, args: *const u64, _: usize)
                where
                    F: Fn(&mut L, &mut StateMut<'_>, $(changes!(@word $element)),*) + Copy,
                {
                    let _ = args;
                    // SAFETY: it is inserted with so many arguments.
                    conjure::<F>()(local, state, $(unsafe { *args.add($n) }),*);
                }
                named::<F>(thunk::<L, F> as *const () as usize)
            }
        }
    };
    (@word $element:ident) => { u64 };
}
with_words!(changes);
