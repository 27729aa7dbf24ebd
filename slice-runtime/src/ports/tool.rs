//! What the runtime wants from a tool, without the tool's types.

use bubble::region::Progress;
use translator::trace::{AnalysisCall, Trace};

use super::app_events::{SignalChange, SystemCall};
use super::app_image::{AppImage, Happened};
use super::app_thread::{AppThread, ThreadChange};
use super::changes::{CallChange, SignalArrival};

/// Why other calls are to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Something is to be looked for more closely.
    Nearer,
    /// The tool begins to look at the run.
    Begins,
    /// It has looked already, to warm up: what it has counted is dropped.
    Counts,
    /// It goes on looking, or not looking, or has looked until here.
    GoesOn,
}

/// A tool in a taken-over process: its options and its local state for this slice.
///
/// The local state lies at [`bubble::map::LOCAL`]'s start in every process, so that translated code, which all
/// slices share, may hold its address.
pub trait RunningTool {
    /// Inserts analysis calls into a trace that is about to be translated.
    ///
    /// The translation is used by other slices too: what is inserted may depend on the trace and on the tool's
    /// options and on nothing else.
    fn instrument(&self, trace: &mut Trace);

    /// A call of its own has had the host asked, before the instruction at `pc`: other calls are to be inserted from here on.
    fn asked(&self, pc: u64) -> Asked {
        unreachable!("nothing has asked at {pc:#x}")
    }

    /// So many instructions were executed before here, where the slice begins, or a part of the run that the tool looks at.
    fn begins(&self, executed: u64) {
        let _ = executed;
    }

    /// Calls by which the tool counts things of its own, for what it is told at [`Self::begins`].
    fn count(&self, trace: &Trace) -> Vec<AnalysisCall> {
        let _ = trace;
        Vec::new()
    }

    /// These were counted before, encoded; none: nothing was.
    fn were_counted(&self, before: &[u8]) -> Result<(), String> {
        let _ = before;
        Ok(())
    }

    /// Encodes what was counted until now into `out`, with what was before, and returns how many bytes it took.
    ///
    /// # Errors
    /// If it doesn't fit; the text says so.
    fn counted(&self, out: &mut [u8]) -> Result<usize, String> {
        let _ = out;
        Ok(0)
    }

    /// How far the run has come before the instruction at `pc`, if that is counted.
    fn progress(&self, pc: u64) -> Option<Progress> {
        let _ = pc;
        None
    }

    /// Whether it looks at nothing any more, whatever comes.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether it may leave a slice before its end.
    fn samples(&self) -> bool {
        false
    }

    /// How many times longer than with other tools a slice may take.
    fn patience(&self) -> u32 {
        1
    }

    /// Whether analysis routines are told of the app's flags.
    fn reads_flags(&self) -> bool;

    /// Whether analysis routines are told of each repetition of a string instruction.
    fn wants_each_repetition(&self) -> bool;

    /// Whether the tool wants to be told of images.
    fn wants_images(&self) -> bool;

    /// What became of an image. Words that were written before were taken.
    fn image(&self, image: AppImage, what: Happened);

    /// Whether the tool wants to be told of system calls.
    fn wants_calls(&self) -> bool;

    /// The app is about to make a call, or has made one: then it has a result. Words that were written before were taken.
    fn call(&self, call: &SystemCall);

    /// Whether the tool wants to be told of signals.
    fn wants_signals(&self) -> bool;

    /// A signal has changed where the app goes on. Words that were written before were taken.
    fn signal(&self, what: SignalChange);

    /// The slice begins with this thread, not with the app's first one. Before anything is executed, and before the tool is told of anything.
    fn begins_with(&self, thread: &AppThread);

    /// Each of the app's threads is to have what is its own in a window of its own ([`bubble::map::WINDOWS`]). False: this tool's can't. Asked at most once, when the second
    /// one is about to start. `first`: the only one up to now.
    fn takes_windows(&self, first: &AppThread) -> bool {
        let _ = first;
        false
    }

    /// What follows is executed by this thread, what was before by another one, which may have ended. Where threads have windows it is that thread which calls this.
    fn switch(&self, to: &AppThread);

    /// The thread that is executed has executed its last instruction, and others go on.
    fn thread_ends(&self);

    /// Whether the tool wants to be told of threads.
    fn wants_threads(&self) -> bool;

    /// What became of a thread, whose turn it is. Words that were written before were taken.
    fn thread(&self, thread: &AppThread, what: ThreadChange<'_>);

    /// Whether it changes system calls. Serially only, as all that follows.
    fn changes_calls(&self) -> bool {
        false
    }

    /// The app is about to make a call, or has made one. Words that were written before were taken.
    fn change_call(&self, call: &mut CallChange<'_>) {
        let _ = call;
    }

    /// Whether it changes signals.
    fn changes_signals(&self) -> bool {
        false
    }

    /// A signal has arrived for the app. Words that were written before were taken.
    fn change_signal(&self, signal: &mut SignalArrival<'_, '_>) {
        let _ = signal;
    }

    /// Takes the next words that translated code wrote into the buffer.
    fn drain(&self, words: &[u64]);

    /// A tool is checked, and a slice could end here, before the app's instruction at `pc`, which starts a block. These images are there, and so many instructions were executed before, if the tool wants
    /// to know.
    fn cut(&self, pc: u64, images: &[AppImage], executed: u64) {
        let _ = (pc, images, executed);
    }

    /// What was seen has been handed in: looking begins anew here, in a slice that begins in the middle.
    fn begin_anew(&self);

    /// Encodes the slice's result into `out` and returns how many bytes it took.
    ///
    /// May be asked more than once: a serial run asks before each exec, which may fail. The last answer counts.
    ///
    /// # Errors
    /// If the result doesn't fit; the text says so.
    fn finish(&self, out: &mut [u8]) -> Result<usize, String>;
}
