//! The trait of a tool that changes the app.

use super::tool::Tool;
use crate::instrument::TraceMut;
use crate::kernel::{SignalMut, SyscallMut};

/// What [`SerialTool::CHANGE_SYSCALL`] is.
pub type ChangeSyscall<T> = fn(&T, &mut <T as Tool>::Local, &mut SyscallMut<'_, '_>);
/// What [`SerialTool::CHANGE_SIGNAL`] is.
pub type ChangeSignal<T> = fn(&T, &mut <T as Tool>::Local, &mut SignalMut<'_, '_, '_>);

/// A tool that changes the app: registers and memory, where the app goes on, its routines, instructions, system calls and signals. Nothing of that is there for other tools.
///
/// In slices such a tool can't be: they repeat what the app did without them. `-sp 1` is refused before the app starts, and so is `-check-tool 1`. Traces are translated so that
/// flags are at each place what they are natively, as with [`Tool::READS_FLAGS`].
///
/// ```compile_fail,E0599
/// fn delete_all(trace: &superpin_tool::Trace<'_, u64>) {
///     trace.instructions().for_each(|instruction| instruction.delete());
/// }
/// ```
///
/// [`crate::image!`] sees that a tool is one; nothing is to be said but `impl SerialTool`.
pub trait SerialTool: Tool {
    /// Looks at a trace that is about to be translated, after [`Tool::instrument`] has, and inserts what changes the app. What holds for that holds for this: it is a pure function of
    /// the trace and of the options.
    fn instrument_mut(&self, trace: &TraceMut<'_, Self::Local>) {
        let _ = trace;
    }

    /// Called before each system call of the app's, which it can make another one or skip, and after it, when its result can be changed. [`Tool::ON_SYSCALL`] is told of what is made
    /// and of what the app gets. A call that is begun again after a signal is asked about once.
    ///
    /// `Some(Self::change_syscall)`, for a function of the tool's own with that name. Calls that don't come back have no exit; neither has the return from a signal's handler. The functions
    /// of the vsyscall page aren't asked about. As an analysis routine it makes no system calls.
    const CHANGE_SYSCALL: Option<ChangeSyscall<Self>> = None;

    /// Called when a signal has arrived for the app, before it leads to anything, and when an instruction of the app's raises one. Not of those that the app ignores, and of those that
    /// stop it. A call that it has broken off has failed with `EINTR`, or is made again, also if it is swallowed.
    ///
    /// `Some(Self::change_signal)`. It makes no system calls but by [`crate::StateMut`].
    const CHANGE_SIGNAL: Option<ChangeSignal<Self>> = None;
}
