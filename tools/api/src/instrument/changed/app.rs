//! Routines that call routines of the app's.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use engine::StateMut;
use machine::AppPc;

use super::routines::{named, with_words};
use crate::instrument::arguments::{Arg, conjure};

/// The app, for a routine that may call the app's own ([`crate::InstructionMut::call_app`]).
///
/// The routine has a stack of 256 KiB for itself. While it waits for one of the app's, the app runs as ever: with all that is inserted into its code, also before and behind the
/// tool's other routines, with signals and other threads. So [`Self::local`] lends the local state, and not for longer than until then.
pub struct App<'a, L> {
    port: &'a mut engine::App,
    local: *mut L,
    types: PhantomData<&'a mut L>,
}

impl<L> App<'_, L> {
    /// The tool's local state.
    pub fn local(&mut self) -> &mut L {
        // SAFETY: the tool's routines run one at a time, and another one while this one waits only: then nothing that this has lent is alive.
        unsafe { &mut *self.local }
    }

    /// The app's state, to be read and changed.
    pub fn state(&mut self) -> &mut StateMut<'_> {
        self.port.state()
    }

    /// Calls a routine of the app's by the convention of System V with integers and pointers, as many as one likes, and says what it leaves in rax (Pin's
    /// `PIN_CallApplicationFunction`). The app's registers are then what they were before; what it has written to memory stays.
    ///
    /// It runs on the app's stack, below what the app has in use. If it doesn't return (a long jump, an exception, the end of the thread), neither does this routine.
    ///
    /// Cost: some microseconds.
    ///
    /// # Panics
    /// If the app's stack has no room for it.
    pub fn call(&mut self, routine: AppPc, args: &[u64]) -> u64 {
        self.port.call(Some(routine), args)
    }
}

/// The app, for a routine that is in place of one of the app's ([`crate::InstructionMut::replace`]).
pub struct Replaced<'a, L>(App<'a, L>);

impl<L> Replaced<'_, L> {
    /// Calls the app's routine that is replaced, with these as its first integer arguments and the others as they are, and says what it leaves in rax. What it leaves in other registers,
    /// as a floating-point result, is what the caller finds there.
    ///
    /// # Panics
    /// If there are more than six.
    pub fn original(&mut self, args: &[u64]) -> u64 {
        assert!(args.len() <= 6, "{} arguments of the original: it has six in registers", args.len());
        self.0.port.call(None, args)
    }
}

impl<'a, L> Deref for Replaced<'a, L> {
    type Target = App<'a, L>;

    fn deref(&self) -> &App<'a, L> {
        &self.0
    }
}

impl<L> DerefMut for Replaced<'_, L> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// A routine that may call the app's: `fn(&mut App<Local>, u64, …)` with one `u64` for each element of the tuple `A`, six at most.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't call the app's routines with the local state `{L}` and the arguments `{A}`",
    label = "must be a `fn(&mut App<{L}>, u64, …)` with one `u64` for each argument, and capture nothing"
)]
pub trait AppRoutine<L, A>: Copy + 'static {
    /// Address of a C function that does the same.
    fn app_address(self) -> usize;
}

/// A routine in place of one of the app's: `fn(&mut Replaced<Local>, u64, …) -> u64`, whose result is what that would have returned.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be in place of a routine of the app's with the local state `{L}` and the arguments `{A}`",
    label = "must be a `fn(&mut Replaced<{L}>, u64, …) -> u64` with one `u64` for each argument, and capture nothing"
)]
pub trait ReplacementRoutine<L, A>: Copy + 'static {
    /// Address of a C function that does the same.
    fn replacement_address(self) -> usize;
}

macro_rules! apps {
    ($($element:ident $n:literal),*) => {
        impl<L: 'static, F, $($element: Into<Arg>),*> AppRoutine<L, ($($element,)*)> for F
        where
            F: Fn(&mut App<'_, L>, $(apps!(@word $element)),*) + Copy + 'static,
        {
            fn app_address(self) -> usize {
                extern "C" fn thunk<L, F>(local: *mut L, port: &mut engine::App, args: *const u64, _: usize)
                where
                    F: Fn(&mut App<'_, L>, $(apps!(@word $element)),*) + Copy,
                {
                    let _ = args;
                    // SAFETY: it is inserted with so many arguments.
                    conjure::<F>()(&mut App { port, local, types: PhantomData }, $(unsafe { *args.add($n) }),*);
                }
                named::<F>(thunk::<L, F> as *const () as usize)
            }
        }

        impl<L: 'static, F, $($element: Into<Arg>),*> ReplacementRoutine<L, ($($element,)*)> for F
        where
            F: Fn(&mut Replaced<'_, L>, $(apps!(@word $element)),*) -> u64 + Copy + 'static,
        {
            fn replacement_address(self) -> usize {
                extern "C" fn thunk<L, F>(local: *mut L, port: &mut engine::App, args: *const u64, _: usize)
                where
                    F: Fn(&mut Replaced<'_, L>, $(apps!(@word $element)),*) -> u64 + Copy,
                {
                    let _ = args;
                    let mut app = Replaced(App { port, local, types: PhantomData });
                    // SAFETY: it is inserted with so many arguments.
                    let result = conjure::<F>()(&mut app, $(unsafe { *args.add($n) }),*);
                    if app.state().goes_to().is_none() {
                        assert!(app.state().return_with(result), "a routine that was replaced has no stack to return by");
                    }
                }
                named::<F>(thunk::<L, F> as *const () as usize)
            }
        }
    };
    (@word $element:ident) => { u64 };
}
with_words!(apps);
