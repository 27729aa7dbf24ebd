//! The trait that a tool implements. All of it is contract: who calls what, where and when.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::out::Out;
use super::prefix::{CountsBefore, Prefix};
use crate::files::Images;
use crate::instrument::{Repeat, Trace};
use crate::kernel::{SignalEvent, SyscallEvent};
use crate::names::ImageEvent;
use crate::threads::{ThreadEvent, ThreadInfo, Threads};

/// A part of the app's execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceInfo {
    /// Its number in the order of execution, from 0. In a serial run, a new one starts with each exec of the app.
    ///
    /// The first one begins with the execution: what it knows of the state before is that there is none. All others begin in the middle.
    pub number: u64,
}

impl SliceInfo {
    /// What follows where a tool ends a slice.
    pub(crate) fn following(self) -> Self {
        Self { number: self.number.max(1) }
    }
}

/// What [`Tool::PREFIX`] is.
pub type OnPrefix<T> = fn(&T, &mut <T as Tool>::Local, Prefix);

/// What [`Tool::FIRST_PASS`] is: a [`crate::FirstPass`].
pub type OnFirstPass<T> = &'static dyn CountsBefore<T, <T as Tool>::Local>;

/// What [`Tool::ON_IMAGE`] is.
pub type OnImage<T> = fn(&T, &mut <T as Tool>::Local, ImageEvent<'static>);

/// What [`Tool::ON_SYSCALL`] is.
pub type OnSyscall<T> = fn(&T, &mut <T as Tool>::Local, SyscallEvent<'_>);
/// What [`Tool::ON_SIGNAL`] is.
pub type OnSignal<T> = fn(&T, &mut <T as Tool>::Local, SignalEvent);

/// What [`Tool::ON_THREAD`] is.
pub type OnThread<T> = fn(&T, &mut <T as Tool>::Local, ThreadEvent<'_>);

/// A tool. See the crate's documentation for a whole one.
///
/// What makes a sliced run print exactly what a serial run prints: [`Self::instrument`] is a pure function, all that
/// analysis routines learn goes into [`Self::Local`], and [`Self::fold`] is such that folding the parts of an execution
/// in order gives what the whole would give.
pub trait Tool: Sized + 'static {
    /// What `-t` takes.
    const NAME: &'static str;
    /// One line for `-t help`.
    const ABOUT: &'static str;
    /// Whether it writes a [`crate::Stream`]: then it needs `-o FILE`, which is where that goes.
    const STREAM: bool = false;
    /// Whether it looks at samples: a part of each slice, which it then leaves ([`crate::leave_slice`]). It runs in slices only, alone, over whole runs, and results say that they are samples.
    const SAMPLES: bool = false;
    /// How many times longer than with other tools a slice may take, until it is said not to come to its end: at 1 that is a hundred times the CPU time that the app has used
    /// for it, and `-spgrace`. For tools that are slower than that.
    const PATIENCE: u32 = 1;
    /// The tool's options: what stands between the tool's name and `--`. [`crate::NoOptions`] if it has none.
    /// `-o FILE` belongs to every tool and needs no field.
    type Options: clap::Args;
    /// What analysis routines work on. Each slice has one of its own, at the same address in all of them.
    type Local: 'static;
    /// What a slice hands in.
    type Result: Serialize + DeserializeOwned;
    /// What the results add up to. Exists in the collector only.
    type Total: Default;

    /// Whether routines see the app's flags: [`crate::Arg::Flags`], [`crate::Instruction::call_with_state`]. Then flags are kept where the app doesn't read them any
    /// more, which costs a few percent; else asking for them is refused.
    const READS_FLAGS: bool = false;

    /// Makes the tool from its options. Called once in each process that needs it: in every slice and in the
    /// collector, so it must have no effect outside the process; opening files belongs into [`Self::fini`].
    ///
    /// # Errors
    /// If the options contradict each other. Checked before the app starts; the text goes to the user.
    fn new(options: Self::Options) -> Result<Self, String>;

    /// Whether a string instruction that repeats (REP) is one execution, or one for each repetition: for all calls, words and counts of this tool. It may depend on the
    /// options and on nothing else. Whoever prints a count says which.
    fn repeat(&self) -> Repeat {
        Repeat::Once
    }

    /// What it wants to see of the app's threads: one stream of all, or each by itself. It may depend on the options and on nothing else.
    ///
    /// A tool that writes a [`crate::Stream`] sees one stream.
    fn threads(&self) -> Threads {
        Threads::OneStream
    }

    /// What the output begins with, before all that slices append to their [`crate::Stream`]: the head of a format that has one. Called once, in the collector. A slice can't know whether the
    /// region begins in it, so none can append that.
    fn stream_head(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Looks at a trace that is about to be translated and inserts calls of analysis routines.
    ///
    /// Called in whichever slice comes first to this code, and possibly again; the translation is shared by all.
    /// So it must be a pure function of the trace and of the options: no counting here, no state, no clock. What is inserted into a block may depend on that block and on no other
    /// one of the trace: how blocks are put together differs, and where the app is stopped in the middle of a block it goes on in another trace.
    fn instrument(&self, trace: &Trace<'_, Self::Local>);

    /// Makes the local state of a slice that is about to start. Called once a slice, in its process, before the
    /// first analysis call. It starts from nothing: the state of earlier slices can't be known here.
    fn begin(&self, slice: SliceInfo) -> Self::Local;

    /// Makes the local state of a thread in a slice, where [`Self::threads`] says [`Threads::Each`]: called once for each thread that is executed in the slice, before its first analysis call there, in place of
    /// [`Self::begin`].
    fn begin_thread(&self, slice: SliceInfo, thread: &ThreadInfo) -> Self::Local {
        let _ = thread;
        self.begin(slice)
    }

    /// Told of threads that begin, go on and end, before all else that they do, or behind it. All words that were written to the buffer before were taken. Like an analysis routine it makes no system
    /// calls. Where each thread has a local state of its own it is told of that thread only.
    ///
    /// `Some(Self::on_thread)`, for a function of the tool's own. It costs nothing while threads don't change.
    const ON_THREAD: Option<OnThread<Self>> = None;

    /// Called in each slice when images come and go: those that are there as it begins, by address, before its first analysis call, then what the app loads and unloads,
    /// between the instruction that did it and the next. All words that were written to the buffer before were taken. Like an analysis routine it makes no system calls.
    ///
    /// `Some(Self::on_image)`, for a function of the tool's own with that name. It costs some microseconds for each call that maps or unmaps memory.
    const ON_IMAGE: Option<OnImage<Self>> = None;

    /// Called before each system call of the app's and after it, in the order of execution: behind the analysis calls before the instruction, and before those of the
    /// next one. All words that were written to the buffer before were taken. Like an analysis routine it makes no system calls.
    ///
    /// In slices the calls come from the log, with what the app's own run got. A slice that ends at a call is told of its entry, and the next one of its exit: each is
    /// told once. What a tool keeps from entry to exit is then part of its result.
    ///
    /// `Some(Self::on_syscall)`, for a function of the tool's own with that name. It costs a microsecond for each call, in slices some; nothing if a tool doesn't ask.
    const ON_SYSCALL: Option<OnSyscall<Self>> = None;

    /// Called before the first instruction of each of the app's signal handlers, and when one has returned, behind the exit of the call that was interrupted or by which it
    /// returns; and of the signal that ends the app, as the last thing. In slices as in a serial run, though a signal from outside comes at another place in each run. As above, all words were taken, and it makes no system calls.
    ///
    /// `Some(Self::on_signal)`. Nothing is told of a signal that the app ignores, nor of `SIGKILL`: how the app has ended [`Out::exit_status`] and [`Out::killed_by`] say.
    const ON_SIGNAL: Option<OnSignal<Self>> = None;

    /// Told in each slice what was executed before it, after [`Self::begin`] and before anything else of the slice, and again where a region begins (docs/options.md). Like an analysis routine it makes no system calls.
    ///
    /// `Some(Self::on_prefix)`, for a function of the tool's own. In slices it costs what `icount2` costs: each is run twice, first to count. Serially it is told once
    /// for each program, 0 for the first, and the run is counted at the same cost.
    const PREFIX: Option<OnPrefix<Self>> = None;

    /// What the tool counts itself for that: a pass of its own, cheap if its calls are. `Some(&FirstPass { counts: Self::counts, begins: Self::begins })`, see
    /// [`crate::FirstPass`]. It costs what `PREFIX` costs, and its calls.
    const FIRST_PASS: Option<OnFirstPass<Self>> = None;

    /// Takes words that [`crate::Instruction::buffer`] has written, in the order of execution: all those of some executed
    /// instructions, since the last time. Called when the buffer is full and before [`Self::finish`], which may be at other places in a
    /// sliced run than in a serial one: the local state must be the same however the stream is cut. Like an analysis
    /// routine it makes no system calls.
    fn drain(&self, local: &mut Self::Local, words: &[u64]) {
        let _ = (local, words);
    }

    /// Makes the slice's result when its end is reached, in its process.
    ///
    /// In a serial run it is called before each exec too; if that exec fails the app goes on with the same local
    /// state and this is called again later: the last result counts. That is why it can't change the state.
    fn finish(&self, local: &Self::Local) -> Self::Result;

    /// Adds a slice's result to the total. Called in the collector, once a slice, in order of slice numbers.
    fn fold(&self, total: &mut Self::Total, slice: SliceInfo, result: Self::Result);

    /// Adds a thread's result of a slice to the total, where [`Self::threads`] says [`Threads::Each`]: in place of [`Self::fold`], for each thread that was executed in the slice, in the order of
    /// [`ThreadInfo::path`]. As threads may be folded in any order, the total must not depend on that order.
    fn fold_thread(&self, total: &mut Self::Total, slice: SliceInfo, thread: &ThreadInfo, result: Self::Result) {
        let _ = thread;
        self.fold(total, slice, result);
    }

    /// A warm-up is over (`-warm-up`, docs/options.md): what was folded until now is to count no more. A tool that simulates keeps what its model has learnt, and drops its counts, also
    /// those of accesses whose outcome isn't known: the models' `end_warm_up` does that. All others need nothing of their own: the total begins anew.
    ///
    /// Called in the collector, at most once, between two folds: what follows is a slice that begins in the middle.
    fn warmed_up(&self, total: &mut Self::Total) {
        *total = Self::Total::default();
    }

    /// Prints the total. Called once, in the collector, after the last fold; not at all if the run failed.
    ///
    /// # Errors
    /// If writing fails: the run then fails too.
    fn fini(&self, total: Self::Total, out: &mut Out<'_>) -> std::io::Result<()>;

    /// The total for programs, an object of names and values: with `--json` it is printed instead of what [`Self::fini`] prints, with the
    /// tool's name and what the result is worth. `None`: the tool has no such form, and `--json` is refused.
    fn values(&self, total: &Self::Total) -> Option<serde_json::Value> {
        let _ = total;
        None
    }

    /// Like [`Self::values`], and called in its place, for a tool whose values have names of the app's code in them. It is also asked, with an empty total and without images,
    /// whether the tool has such a form.
    fn values_with(&self, total: &Self::Total, images: &Images) -> Option<serde_json::Value> {
        let _ = images;
        self.values(total)
    }
}
