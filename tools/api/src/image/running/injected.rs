//! A tool in a taken-over process.

use std::cell::RefCell;
use std::ffi::OsStr;

use engine::block_counts::{self, Told};
use engine::{routines, safe_reads};
use machine::AppPc;
use slice_runtime::{
    AppImage, AppThread, CallChange, Happened, OwnSlot, RunningTool, SignalArrival, SignalChange, SystemCall,
    ThreadChange, requests, stream,
};
use translator::abi::State;
use translator::trace::{AnalysisCall, Buffered, Counted};

use super::locals::{Locals, are_each};
use super::share::Share;
use crate::instrument::{Repeat, Trace, TraceMut};
use crate::kernel::{Signal, SignalEvent, SignalMut, Syscall, SyscallEvent, SyscallMut};
use crate::names::{self, ImageEvent};
use crate::threads::{ThreadEvent, ThreadInfo, Threads};
use crate::tool::{ChangeSignal, ChangeSyscall, Configured, Prefix, SerialTool, SliceInfo, Tool, configure, packed};

/// A tool with its local state.
pub struct Injected<T: Tool> {
    /// The tool.
    pub tool: T,
    pub(super) locals: Locals<T>,
    share: Share,
    pub(super) slice: SliceInfo,
    /// Blocks that were counted before the slice's last part began.
    pub(super) told: RefCell<Told>,
    /// The address of its `drain`, which is told of like a routine.
    pub(super) drain: u64,
    /// What it changes, if it is a tool that changes the app.
    changes: Option<Changes<T>>,
}

/// What a tool changes.
struct Changes<T: Tool> {
    instrument: fn(&T, &TraceMut<'_, T::Local>),
    syscall: Option<ChangeSyscall<T>>,
    signal: Option<ChangeSignal<T>>,
}

impl<T: SerialTool> Injected<T> {
    /// It changes the app.
    pub fn changing(self) -> Self {
        let changes = Changes { instrument: T::instrument_mut, syscall: T::CHANGE_SYSCALL, signal: T::CHANGE_SIGNAL };
        Self { changes: Some(changes), ..self }
    }
}

impl<T: Tool> Injected<T> {
    /// Where its local state lies.
    pub fn local(&self) -> *mut T::Local {
        self.locals.place()
    }

    /// Does something that asks for counts of blocks: those since the slice began, or the part of it that the tool has begun.
    pub fn since_begun<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut told = self.told.borrow_mut();
        let (result, before) = block_counts::since(std::mem::take(&mut told), work);
        *told = before;
        result
    }
}

/// Has a tool look at code: no memory of the app's is to be read.
fn instrumenting(look: impl FnOnce()) {
    routines::while_instrumenting(false, || safe_reads::without(look));
}

/// Has a tool look at a trace: what it inserts.
pub fn inserted<T: Tool>(tool: &T, trace: &translator::trace::Trace, share: Share) -> Inserted {
    let view = view_of(tool, trace, T::READS_FLAGS, share);
    instrumenting(|| tool.instrument(&view));
    of_tool(view.into_inserted(), share)
}

/// Calls in the order of insertion, words by instruction, blocks that are counted.
pub type Inserted = (Vec<AnalysisCall>, Vec<Buffered>, Vec<Counted>);

fn of_tool((calls, words, blocks): (Vec<AnalysisCall>, Vec<Buffered>, Vec<usize>), share: Share) -> Inserted {
    (calls, words, blocks.into_iter().map(|block| Counted { block, tools: share.tool }).collect())
}

fn view_of<'t, T: Tool>(
    tool: &T,
    trace: &'t translator::trace::Trace,
    reads_flags: bool,
    share: Share,
) -> Trace<'t, T::Local> {
    let view = Trace::new(&trace.instructions, &trace.block_ends, share.local);
    let view = view.keeping(share.first_register, share.registers);
    view.reading_flags(reads_flags).repeating(tool.repeat()).in_files(trace.files)
}

/// Makes the tool from its options and its local state for this slice.
///
/// # Errors
/// If the options are wrong.
///
/// # Panics
/// If the local state doesn't fit into its region.
///
/// # Safety
/// This is a taken-over process: LOCAL is mapped, and the share of it unused. Called once for a share.
pub unsafe fn inject<T: Tool>(
    options: &[&OsStr],
    slice: SliceInfo,
    first: &AppThread,
    share: Share,
) -> Result<Injected<T>, String> {
    const {
        assert!(size_of::<T::Local>() as u64 <= Share::ROOM, "the tool's Local is too large: box its large parts");
        assert!(align_of::<T::Local>() <= 4096, "the tool's Local needs more than a page's alignment");
    }
    let Configured { tool, compress, .. } = configure::<T>(options)?;
    if T::STREAM {
        stream::open(compress.then_some(packed));
    }
    let place = share.local as *mut T::Local;
    // SAFETY: the region is mapped, large and aligned enough, and nothing else lives there.
    let locals = unsafe { Locals::new(&tool, place, slice, ThreadInfo::of(first), share.switches_counts) };
    let drain = T::drain as *const () as u64;
    Ok(Injected { tool, locals, share, slice, drain, told: RefCell::default(), changes: None })
}

/// Has a function of the tool's told what became of a thread, if that is for this tool.
pub(super) fn tell_of_thread(
    threads: Threads,
    thread: &AppThread,
    what: ThreadChange<'_>,
    tell: impl FnOnce(ThreadEvent<'_>),
) {
    let thread = &ThreadInfo::of(thread);
    match what {
        ThreadChange::Present => tell(ThreadEvent::Present(thread)),
        ThreadChange::Begins(cpu) => tell(ThreadEvent::Begin { thread, state: &State::between(cpu) }),
        ThreadChange::Turn if threads != Threads::OneStream => {}
        ThreadChange::Turn => tell(ThreadEvent::Turn(thread)),
        ThreadChange::Ends { code, cpu } => tell(ThreadEvent::End { thread, code, state: &State::between(cpu) }),
    }
}

/// Ends the run if there is no result.
pub(super) fn or_fail<R>(result: Result<R, String>) -> R {
    result.unwrap_or_else(|why| {
        let slot = OwnSlot::current().expect("this is a taken-over process");
        // It would be so again.
        slot.give_up();
        slot.fail(&why)
    })
}

/// What a tool is told of a system call.
pub(super) fn of_call(call: &SystemCall) -> SyscallEvent<'_> {
    let told = Syscall::new(call);
    if call.result.is_some() { SyscallEvent::Exit(told) } else { SyscallEvent::Entry(told) }
}

/// What a tool is told of a signal.
pub(super) fn of_signal(what: SignalChange) -> SignalEvent {
    match what {
        SignalChange::Return { pc } => SignalEvent::Return(AppPc(pc)),
        SignalChange::Fatal { signal, origin, pc } => {
            SignalEvent::Fatal(Signal { number: signal, origin, pc, handler: 0 })
        }
        SignalChange::Handler { signal, origin, pc, handler } => {
            SignalEvent::Handler(Signal { number: signal, origin, pc, handler })
        }
    }
}

/// Tells a tool that asks for it what was executed before, and what was counted, here where a slice begins or a part of the run that it looks at.
pub(super) extern "C" fn begins<T: Tool>(tool: &T, local: &mut T::Local, executed: u64) {
    if let Some(on_prefix) = T::PREFIX {
        on_prefix(tool, local, Prefix::new(executed));
    }
    if let Some(pass) = T::FIRST_PASS {
        let told = pass.tell(tool, local, Prefix::new(executed));
        told.unwrap_or_else(|why| panic!("tool {}: {why}", T::NAME));
    }
}

impl<T: Tool> RunningTool for Injected<T> {
    fn instrument(&self, trace: &mut translator::trace::Trace) {
        let (calls, buffered, counted) = match &self.changes {
            None => inserted(&self.tool, trace, self.share),
            Some(changes) => {
                let view = view_of(&self.tool, trace, true, self.share);
                instrumenting(|| {
                    self.tool.instrument(&view);
                    (changes.instrument)(&self.tool, &TraceMut::new(&view));
                });
                let jumps = view.jumps();
                let inserted = of_tool(view.into_inserted(), self.share);
                trace.jumps = jumps;
                inserted
            }
        };
        trace.counted = counted;
        trace.calls.extend(calls);
        trace.buffered.extend(buffered);
    }

    fn wants_each_repetition(&self) -> bool {
        self.tool.repeat() == Repeat::Each
    }

    fn samples(&self) -> bool {
        T::SAMPLES
    }

    fn patience(&self) -> u32 {
        T::PATIENCE
    }

    fn reads_flags(&self) -> bool {
        T::READS_FLAGS || self.changes.is_some()
    }

    fn changes_calls(&self) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.syscall.is_some())
    }

    fn change_call(&self, call: &mut CallChange<'_>) {
        let Some(change) = self.changes.as_ref().and_then(|changes| changes.syscall) else { return };
        engine::stream::take(|words| self.drain(words));
        // SAFETY: `inject` wrote it; analysis routines have it exclusively, and none runs while this is called.
        change(&self.tool, unsafe { &mut *self.local() }, &mut SyscallMut::new(call));
    }

    fn changes_signals(&self) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.signal.is_some())
    }

    fn change_signal(&self, signal: &mut SignalArrival<'_, '_>) {
        let Some(change) = self.changes.as_ref().and_then(|changes| changes.signal) else { return };
        engine::stream::take(|words| self.drain(words));
        // SAFETY: as above.
        change(&self.tool, unsafe { &mut *self.local() }, &mut SignalMut::new(signal));
    }

    fn begins(&self, executed: u64) {
        // SAFETY: `inject` wrote it, and nothing of the tool runs while this is called.
        safe_reads::without(|| begins(&self.tool, unsafe { &mut *self.local() }, executed));
    }

    fn count(&self, trace: &translator::trace::Trace) -> Vec<AnalysisCall> {
        T::FIRST_PASS.map_or_else(Vec::new, |pass| pass.insert(&self.tool, trace))
    }

    fn were_counted(&self, before: &[u8]) -> Result<(), String> {
        T::FIRST_PASS.map_or(Ok(()), |pass| pass.begin(before))
    }

    fn counted(&self, out: &mut [u8]) -> Result<usize, String> {
        let counted = T::FIRST_PASS.map_or_else(|| Ok(Vec::new()), |pass| pass.counted())?;
        let room = out.len();
        let too_much = || format!("what the first pass of tool {} counts doesn't fit into {room} bytes", T::NAME);
        out.get_mut(..counted.len()).ok_or_else(too_much)?.copy_from_slice(&counted);
        Ok(counted.len())
    }

    fn wants_images(&self) -> bool {
        T::ON_IMAGE.is_some()
    }

    fn image(&self, image: AppImage, what: Happened) {
        let Some(on_image) = T::ON_IMAGE.filter(|_| requests::tells()) else { return };
        engine::stream::take(|words| self.drain(words));
        let image = names::of(&image);
        let event = match what {
            Happened::Present => ImageEvent::Present(image),
            Happened::Loaded => ImageEvent::Loaded(image),
            Happened::Unloaded => ImageEvent::Unloaded(image),
        };
        // SAFETY: `inject` wrote it; analysis routines have it exclusively, and none runs while this is called.
        let tell = || on_image(&self.tool, unsafe { &mut *self.local() }, event);
        if matches!(what, Happened::Present) { safe_reads::without(tell) } else { tell() }
    }

    fn wants_calls(&self) -> bool {
        T::ON_SYSCALL.is_some()
    }

    fn call(&self, call: &SystemCall) {
        let Some(on_syscall) = T::ON_SYSCALL.filter(|_| requests::tells()) else { return };
        engine::stream::take(|words| self.drain(words));
        // SAFETY: `inject` wrote it; analysis routines have it exclusively, and none runs while this is called.
        on_syscall(&self.tool, unsafe { &mut *self.local() }, of_call(call));
    }

    fn wants_signals(&self) -> bool {
        T::ON_SIGNAL.is_some()
    }

    fn signal(&self, what: SignalChange) {
        let Some(on_signal) = T::ON_SIGNAL.filter(|_| requests::tells()) else { return };
        engine::stream::take(|words| self.drain(words));
        // SAFETY: as above.
        on_signal(&self.tool, unsafe { &mut *self.local() }, of_signal(what));
    }

    fn begins_with(&self, thread: &AppThread) {
        self.locals.begin_with(&self.tool, ThreadInfo::of(thread));
    }

    fn takes_windows(&self, first: &AppThread) -> bool {
        let is_alone = self.share == Share::ALONE && self.changes.is_none() && !engine::check::is_on();
        let is_plain = !T::STREAM && T::PREFIX.is_none() && T::FIRST_PASS.is_none() && !T::SAMPLES;
        let takes = is_alone && is_plain && self.tool.threads() != Threads::OneStream;
        if takes {
            self.locals.take_windows(self.slice, ThreadInfo::of(first));
        }
        takes
    }

    fn switch(&self, to: &AppThread) {
        if are_each(&self.tool) || self.locals.have_windows() {
            engine::stream::take(|words| self.drain(words));
            self.locals.switch(&self.tool, ThreadInfo::of(to));
        }
    }

    fn thread_ends(&self) {
        if are_each(&self.tool) || self.locals.have_windows() {
            engine::stream::take(|words| self.drain(words));
            or_fail(self.locals.end(&self.tool));
        }
    }

    fn wants_threads(&self) -> bool {
        T::ON_THREAD.is_some()
    }

    fn thread(&self, thread: &AppThread, what: ThreadChange<'_>) {
        let Some(on_thread) = T::ON_THREAD else { return };
        engine::stream::take(|words| self.drain(words));
        // SAFETY: as above.
        let tell = |event: ThreadEvent<'_>| on_thread(&self.tool, unsafe { &mut *self.local() }, event);
        tell_of_thread(self.tool.threads(), thread, what, |event| match event {
            ThreadEvent::Present(_) | ThreadEvent::Turn(_) => safe_reads::without(|| tell(event)),
            _ => tell(event),
        });
    }

    fn drain(&self, words: &[u64]) {
        // SAFETY: `inject` wrote it; analysis routines have it exclusively, and none runs while this is called.
        let take = || self.tool.drain(unsafe { &mut *self.local() }, words);
        routines::takes_words(self.drain, || safe_reads::without(take));
    }

    fn begin_anew(&self) {
        *self.told.borrow_mut() = block_counts::now();
        self.locals.begin_again(&self.tool, self.slice.following());
    }

    fn finish(&self, out: &mut [u8]) -> Result<usize, String> {
        engine::stream::take(|words| self.drain(words));
        stream::flush();
        let (bytes, head) = (out.len(), self.locals.head(&self.tool));
        let no_room = |why: &dyn std::fmt::Display| {
            let name = T::NAME;
            format!(
                "the result of tool {name} can't be encoded in {bytes} bytes ({why}): make slices shorter with -spmsec, or the result smaller"
            )
        };
        let (room, out) = out.split_at_mut_checked(head.len()).ok_or_else(|| no_room(&"no room"))?;
        room.copy_from_slice(head);
        if are_each(&self.tool) || self.locals.have_windows() {
            let all = self.since_begun(|| self.locals.encode(&self.tool))?;
            let by_thread = || no_room(&format_args!("{} bytes, by thread", all.len()));
            out.get_mut(..all.len()).ok_or_else(by_thread)?.copy_from_slice(&all);
            return Ok(head.len() + all.len());
        }
        // SAFETY: `inject` wrote it; analysis routines have it exclusively, and none runs while this is asked.
        let finish = || safe_reads::without(|| self.tool.finish(unsafe { &*self.local() }));
        let encoded = postcard::to_slice(&self.since_begun(finish), out).map_err(|error| no_room(&error))?;
        Ok(head.len() + encoded.len())
    }
}
