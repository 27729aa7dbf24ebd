//! A tool that is checked (`-check-tool 1`), in a taken-over process.
//!
//! There are two of each: another tool of the same options, which looks at code in another order, and a second local state, which gets the same calls and is cut into parts
//! at places of the app's execution that chance chooses. Routines themselves are checked by the engine ([`engine::check`]).

use std::alloc::Layout;
use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;

use engine::block_counts::{self, Told};
use engine::safe_reads;
use slice_runtime::{
    AppImage, AppThread, Happened, RunningTool, SignalChange, SystemCall, ThreadChange, requests, stream,
};
use translator::trace::{AnalysisCall, Arg};

use super::asked::Asked;
use super::injected::{self, Injected, begins, of_call, of_signal, or_fail, tell_of_thread};
use super::locals::Locals;
use super::parts::{self, Encoded, Part, join};
use super::share::Share;
use crate::names::{self, ImageEvent};
use crate::threads::{ThreadEvent, ThreadInfo};
use crate::tool::{SliceInfo, Tool, configure};

/// Bytes of parts after which nothing is cut any more.
const MOST: usize = 64 << 20;

/// A tool, and what it is compared with.
struct Checked<T: Tool> {
    own: Injected<T>,
    other: T,
    slice: Cell<SliceInfo>,
    asked: Asked,
    /// The second local state, or those of the threads.
    second: Locals<T>,
    cuts: RefCell<Cuts>,
    /// Whether words in the buffer have what the first local state has kept in tool registers: then the second can't be compared.
    has_words_of_first: Cell<bool>,
}

/// The parts of the second local state's execution that are over.
#[derive(Default)]
struct Cuts {
    parts: Vec<Part>,
    /// Blocks that were counted in them.
    told: Told,
    /// The thread that is executed, if the tool wants to know, and those that it was told of since the last cut.
    thread: Option<AppThread>,
    threads: BTreeSet<u64>,
}

/// Makes a tool from its options and its local state for this slice, to be checked if the run is to check it.
///
/// # Errors
/// If the options are wrong.
///
/// # Safety
/// As for [`injected::inject`].
pub unsafe fn inject<T: Tool>(
    options: &[&OsStr],
    slice: SliceInfo,
    first: &AppThread,
    share: Share,
) -> Result<Box<dyn RunningTool>, String> {
    // SAFETY: the caller's promise.
    let own = unsafe { injected::inject::<T>(options, slice, first, share) }?;
    if !engine::check::is_on() {
        return Ok(Box::new(own));
    }
    name::<T>(drain::<T> as *const () as usize, "drain");
    let other = configure::<T>(options)?.tool;
    // SAFETY: the layout isn't empty; a state that has no size lies anywhere.
    let place = unsafe { std::alloc::alloc(Layout::new::<(T::Local, u64)>()) }.cast::<T::Local>();
    assert!(!place.is_null(), "no memory for a second local state");
    // SAFETY: there is room for it.
    let new = || unsafe { Locals::new(&own.tool, place, parts::as_slice(slice, 0), ThreadInfo::of(first), false) };
    let second = engine::check::with(place as u64, new);
    engine::check::set_second(place as u64);
    Ok(Box::new(Checked {
        own,
        other,
        slice: Cell::new(slice),
        asked: Asked::default(),
        second,
        cuts: RefCell::default(),
        has_words_of_first: Cell::new(false),
    }))
}

/// Says what people call a function of the tool's.
fn name<T: Tool>(routine: usize, what: &str) {
    engine::routines::name_with(routine, || format!("{} ({what})", type_name::<T>()));
}

/// [`Tool::drain`] as a routine that can be checked.
extern "C" fn drain<T: Tool>(tool: &T, local: &mut T::Local, words: *const u64, len: usize) {
    // SAFETY: `Checked::drain` passes a slice on.
    tool.drain(local, unsafe { std::slice::from_raw_parts(words, len) });
}

/// The same of a function that is told of events, as [`Tool::ON_IMAGE`] is.
#[expect(improper_ctypes_definitions, reason = "it is called from here alone, and a function is a word")]
extern "C" fn told<T: Tool, E: Copy>(tool: &T, local: &mut T::Local, event: &E, on: fn(&T, &mut T::Local, E)) {
    on(tool, local, *event);
}

impl<T: Tool> Checked<T> {
    fn tool(&self) -> u64 {
        &raw const self.own.tool as u64
    }

    /// Has a function of the tool's told of an event.
    fn tell<E: Copy>(&self, local: *mut T::Local, event: E, on: fn(&T, &mut T::Local, E)) {
        let routine = told::<T, E> as *const () as usize;
        name::<T>(routine, type_name::<E>());
        let args = [self.tool(), local as u64, &raw const event as u64, on as usize as u64];
        // SAFETY: `told` has these arguments; no routine runs, so nobody else uses the local state.
        unsafe { engine::check::call(routine, args) };
    }

    fn tell_image(&self, local: *mut T::Local, image: &AppImage, what: Happened) {
        let Some(on_image) = T::ON_IMAGE.filter(|_| requests::tells()) else { return };
        let image = names::of(image);
        let event = match what {
            Happened::Present => ImageEvent::Present(image),
            Happened::Loaded => ImageEvent::Loaded(image),
            Happened::Unloaded => ImageEvent::Unloaded(image),
        };
        let tell = || self.tell(local, event, on_image);
        if matches!(what, Happened::Present) { safe_reads::without(tell) } else { tell() }
    }

    fn tell_thread(&self, local: *mut T::Local, thread: &AppThread, what: ThreadChange<'_>) {
        let Some(on_thread) = T::ON_THREAD else { return };
        tell_of_thread(self.own.tool.threads(), thread, what, |event| {
            let tell = || self.tell(local, event, on_thread);
            let is_at_begin = matches!(event, ThreadEvent::Present(_) | ThreadEvent::Turn(_));
            if is_at_begin { safe_reads::without(tell) } else { tell() }
        });
    }

    /// So much was executed before, if the tool wants to know.
    fn tell_begin(&self, local: *mut T::Local, executed: u64) {
        if T::PREFIX.is_none() && T::FIRST_PASS.is_none() {
            return;
        }
        let routine = begins::<T> as *const () as usize;
        name::<T>(routine, "Prefix");
        let args = [self.tool(), local as u64, executed, 0];
        // SAFETY: `begins` has these arguments; no routine runs, so nobody else uses the local state.
        safe_reads::without(|| unsafe { engine::check::call(routine, args) });
    }

    fn encode(&self, locals: &Locals<T>) -> Result<Encoded, String> {
        locals.encode(&self.own.tool)
    }

    /// What the second local state has seen since it was last cut.
    fn encode_part(&self, cuts: &mut Cuts) -> Result<Encoded, String> {
        let (encoded, told) = block_counts::since(std::mem::take(&mut cuts.told), || self.encode(&self.second));
        cuts.told = told;
        encoded
    }

    fn try_cut(&self, pc: u64, images: &[AppImage], executed: u64) -> Result<(), String> {
        let mut cuts = self.cuts.borrow_mut();
        if cuts.parts.len() > parts::MOST - 3 || cuts.parts.iter().map(|part| part.result.len()).sum::<usize>() > MOST {
            return Ok(());
        }
        self.end_part(&mut cuts, pc, images, executed)?;
        if cuts.parts.len() == 1 {
            // A slice in which nothing happens that the tool looks at changes nothing.
            self.end_part(&mut cuts, pc, images, executed)?;
        }
        Ok(())
    }

    /// Ends the second local state's part, and begins the next one.
    fn end_part(&self, cuts: &mut Cuts, pc: u64, images: &[AppImage], executed: u64) -> Result<(), String> {
        let result = self.encode_part(cuts)?;
        cuts.parts.push(Part { end: pc, result });
        let next = parts::as_slice(self.slice.get(), cuts.parts.len());
        cuts.told = block_counts::now();
        self.begin_second(next);
        self.tell_begin(self.second.place(), executed);
        cuts.threads.clear();
        if let Some(thread) = &cuts.thread {
            cuts.threads.insert(thread.number);
            for what in [ThreadChange::Present, ThreadChange::Turn] {
                self.tell_thread(self.second.place(), thread, what);
            }
        }
        images.iter().for_each(|image| self.tell_image(self.second.place(), image, Happened::Present));
        Ok(())
    }

    /// A part begins in the second local state.
    fn begin_second(&self, part: SliceInfo) {
        self.as_second(|| self.second.begin_again(&self.own.tool, part));
    }

    /// What the tool writes meanwhile is the second local state's.
    fn as_second<R>(&self, act: impl FnOnce() -> R) -> R {
        engine::check::with(self.second.place() as u64, act)
    }

    /// Both local states.
    fn both(&self) -> [*mut T::Local; 2] {
        [self.own.locals.place(), self.second.place()]
    }
}

impl<T: Tool> RunningTool for Checked<T> {
    fn instrument(&self, trace: &mut translator::trace::Trace) {
        self.own.instrument(trace);
        let mut words = trace.buffered.iter().flat_map(|buffered| &buffered.words);
        if words.any(|word| matches!(word, Arg::Kept(_))) {
            self.has_words_of_first.set(true);
        }
        or_fail(self.asked.note(trace, &self.own.tool, &self.other));
    }

    fn wants_each_repetition(&self) -> bool {
        self.own.wants_each_repetition()
    }

    fn patience(&self) -> u32 {
        self.own.patience()
    }

    fn reads_flags(&self) -> bool {
        self.own.reads_flags()
    }

    fn begins(&self, executed: u64) {
        for local in self.both() {
            self.tell_begin(local, executed);
        }
    }

    fn count(&self, trace: &translator::trace::Trace) -> Vec<AnalysisCall> {
        self.own.count(trace)
    }

    fn were_counted(&self, before: &[u8]) -> Result<(), String> {
        self.own.were_counted(before)
    }

    fn counted(&self, out: &mut [u8]) -> Result<usize, String> {
        self.own.counted(out)
    }

    fn wants_images(&self) -> bool {
        self.own.wants_images()
    }

    fn image(&self, image: AppImage, what: Happened) {
        engine::stream::take(|words| self.drain(words));
        self.tell_image(self.own.local(), &image, what);
        self.tell_image(self.second.place(), &image, what);
    }

    fn wants_calls(&self) -> bool {
        self.own.wants_calls()
    }

    fn call(&self, call: &SystemCall) {
        let Some(on_syscall) = T::ON_SYSCALL.filter(|_| requests::tells()) else { return };
        engine::stream::take(|words| self.drain(words));
        for local in self.both() {
            self.tell(local, of_call(call), on_syscall);
        }
    }

    fn wants_signals(&self) -> bool {
        self.own.wants_signals()
    }

    fn signal(&self, what: SignalChange) {
        let Some(on_signal) = T::ON_SIGNAL.filter(|_| requests::tells()) else { return };
        engine::stream::take(|words| self.drain(words));
        for local in self.both() {
            self.tell(local, of_signal(what), on_signal);
        }
    }

    fn begins_with(&self, thread: &AppThread) {
        self.own.begins_with(thread);
        self.as_second(|| self.second.begin_with(&self.own.tool, ThreadInfo::of(thread)));
    }

    fn switch(&self, to: &AppThread) {
        engine::stream::take(|words| self.drain(words));
        self.own.switch(to);
        self.as_second(|| self.second.switch(&self.own.tool, ThreadInfo::of(to)));
    }

    fn thread_ends(&self) {
        engine::stream::take(|words| self.drain(words));
        self.own.thread_ends();
        let mut cuts = self.cuts.borrow_mut();
        let (ended, told) = block_counts::since(std::mem::take(&mut cuts.told), || self.second.end(&self.own.tool));
        cuts.told = told;
        or_fail(ended);
    }

    fn wants_threads(&self) -> bool {
        self.own.wants_threads()
    }

    fn thread(&self, thread: &AppThread, what: ThreadChange<'_>) {
        engine::stream::take(|words| self.drain(words));
        self.tell_thread(self.own.local(), thread, what);
        let mut cuts = self.cuts.borrow_mut();
        let is_told = cuts.threads.contains(&thread.number);
        match what {
            ThreadChange::Ends { .. } => drop(cuts.threads.remove(&thread.number)),
            _ => drop(cuts.threads.insert(thread.number)),
        }
        cuts.thread = Some(thread.clone());
        drop(cuts);
        if matches!(what, ThreadChange::Turn) && !is_told {
            // A part has begun since its last turn.
            self.tell_thread(self.second.place(), thread, ThreadChange::Present);
        }
        self.tell_thread(self.second.place(), thread, what);
    }

    fn drain(&self, words: &[u64]) {
        for local in self.both() {
            let args = [self.tool(), local as u64, words.as_ptr() as u64, words.len() as u64];
            let routine = drain::<T> as *const () as usize;
            // SAFETY: `drain` has these arguments; no other routine runs, so nobody else uses the local state.
            safe_reads::without(|| unsafe { engine::check::call(routine, args) });
        }
    }

    fn cut(&self, pc: u64, images: &[AppImage], executed: u64) {
        engine::stream::take(|words| self.drain(words));
        or_fail(self.try_cut(pc, images, executed));
    }

    fn begin_anew(&self) {
        self.own.begin_anew();
        let mut cuts = self.cuts.borrow_mut();
        (cuts.parts, cuts.told) = (Vec::new(), block_counts::now());
        self.slice.set(self.slice.get().following());
        let next = parts::as_slice(self.slice.get(), 0);
        self.begin_second(next);
        cuts.threads.clear();
    }

    fn finish(&self, out: &mut [u8]) -> Result<usize, String> {
        self.asked.look_back(&self.other)?;
        engine::stream::take(|words| self.drain(words));
        stream::flush();
        let encode = || self.own.since_begun(|| self.encode(&self.own.locals));
        let whole = encode()?;
        if whole != encode()? {
            return Err(format!(
                "tool {} hands in two results for one local state: `finish` must not depend on anything else, and change nothing",
                T::NAME
            ));
        }
        if let Some(same) = stream::difference().filter(|_| !self.has_words_of_first.get()) {
            return Err(format!(
                "what tool {} appends to its stream depends on where slices begin: a slice, and the parts that it was cut into, have appended the same up to byte {same}",
                T::NAME
            ));
        }
        let mut cuts = self.cuts.borrow_mut();
        let last = self.encode_part(&mut cuts)?;
        let parts = match self.has_words_of_first.get() {
            true => vec![Part { end: 0, result: whole.clone() }],
            false => [&cuts.parts[..], &[Part { end: 0, result: last }]].concat(),
        };
        let all = join(&whole, &parts);
        let room = out.get_mut(..all.len()).ok_or_else(|| {
            format!(
                "the results of tool {}, {} bytes with those of its parts, don't fit: make slices shorter with -spmsec",
                T::NAME,
                all.len()
            )
        })?;
        room.copy_from_slice(&all);
        Ok(all.len())
    }
}
