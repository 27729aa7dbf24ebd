//! A tool that is checked (`-check-tool 1`), in a taken-over process.
//!
//! There are two of each: another tool of the same options, which looks at code in another order, and a second local state, which gets the same calls and is cut into parts
//! at places of the app's execution that chance chooses. Routines themselves are checked by the engine ([`engine::check`]).

use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::ffi::OsStr;

use engine::block_counts::{self, Told};
use engine::safe_reads;
use slice_runtime::{AppImage, Happened, OwnSlot, RunningTool, SignalChange, SystemCall, stream};
use translator::trace::{AnalysisCall, Arg};

use super::asked::Asked;
use super::injected::{self, Injected, of_call, of_signal};
use super::parts::{self, Encoded, Part, join};
use crate::names::{self, ImageEvent};
use crate::tool::{SliceInfo, Tool, configure};

/// Bytes of parts after which nothing is cut any more.
const MOST: usize = 64 << 20;

/// A tool, and what it is compared with.
struct Checked<T: Tool> {
    own: Injected<T>,
    other: T,
    slice: SliceInfo,
    asked: Asked,
    /// The second local state.
    second: *mut T::Local,
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
}

/// Makes a tool from its options and its local state for this slice, to be checked if the run is to check it.
///
/// # Errors
/// If the options are wrong.
///
/// # Safety
/// As for [`injected::inject`].
pub unsafe fn inject<T: Tool>(options: &[&OsStr], slice: SliceInfo) -> Result<Box<dyn RunningTool>, String> {
    // SAFETY: the caller's promise.
    let own = unsafe { injected::inject::<T>(options, slice) }?;
    if !engine::check::is_on() {
        return Ok(Box::new(own));
    }
    name::<T>(drain::<T> as *const () as usize, "drain");
    let other = configure::<T>(options)?.tool;
    let second = Box::into_raw(Box::new(safe_reads::without(|| own.tool.begin(parts::as_slice(slice, 0)))));
    engine::check::set_second(second as u64);
    Ok(Box::new(Checked {
        own,
        other,
        slice,
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
        let Some(on_image) = T::ON_IMAGE else { return };
        let image = names::of(image);
        let event = match what {
            Happened::Present => ImageEvent::Present(image),
            Happened::Loaded => ImageEvent::Loaded(image),
            Happened::Unloaded => ImageEvent::Unloaded(image),
        };
        let tell = || self.tell(local, event, on_image);
        if matches!(what, Happened::Present) { safe_reads::without(tell) } else { tell() }
    }

    fn encode(&self, local: *mut T::Local) -> Result<Encoded, String> {
        // SAFETY: it was made by `begin`; no routine runs, so nobody else uses it.
        let result = safe_reads::without(|| self.own.tool.finish(unsafe { &*local }));
        postcard::to_stdvec(&result)
            .map_err(|error| format!("the result of tool {} can't be encoded: {error}", T::NAME))
    }

    /// What the second local state has seen since it was last cut.
    fn encode_part(&self, cuts: &mut Cuts) -> Result<Encoded, String> {
        let (encoded, told) = block_counts::since(std::mem::take(&mut cuts.told), || self.encode(self.second));
        cuts.told = told;
        encoded
    }

    fn try_cut(&self, pc: u64, images: &[AppImage]) -> Result<(), String> {
        let mut cuts = self.cuts.borrow_mut();
        if cuts.parts.len() > parts::MOST - 3 || cuts.parts.iter().map(|part| part.result.len()).sum::<usize>() > MOST {
            return Ok(());
        }
        self.end_part(&mut cuts, pc, images)?;
        if cuts.parts.len() == 1 {
            // A slice in which nothing happens that the tool looks at changes nothing.
            self.end_part(&mut cuts, pc, images)?;
        }
        Ok(())
    }

    /// Ends the second local state's part, and begins the next one.
    fn end_part(&self, cuts: &mut Cuts, pc: u64, images: &[AppImage]) -> Result<(), String> {
        let result = self.encode_part(cuts)?;
        cuts.parts.push(Part { end: pc, result });
        let next = parts::as_slice(self.slice, cuts.parts.len());
        cuts.told = block_counts::now();
        // SAFETY: as in `encode`.
        unsafe { *self.second = safe_reads::without(|| self.own.tool.begin(next)) };
        images.iter().for_each(|image| self.tell_image(self.second, image, Happened::Present));
        Ok(())
    }

    fn or_fail<R>(&self, result: Result<R, String>) -> R {
        result.unwrap_or_else(|why| {
            let slot = OwnSlot::current().expect("this is a taken-over process");
            // It would be so again.
            slot.give_up();
            slot.fail(&why)
        })
    }
}

impl<T: Tool> RunningTool for Checked<T> {
    fn instrument(&self, trace: &mut translator::trace::Trace) {
        self.own.instrument(trace);
        let mut words = trace.buffered.iter().flat_map(|buffered| &buffered.words);
        if words.any(|word| matches!(word, Arg::Kept(_))) {
            self.has_words_of_first.set(true);
        }
        self.or_fail(self.asked.note(trace, &self.own.tool, &self.other));
    }

    fn wants_each_repetition(&self) -> bool {
        self.own.wants_each_repetition()
    }

    fn reads_flags(&self) -> bool {
        self.own.reads_flags()
    }

    fn begins(&self, executed: u64) {
        // Parts begin elsewhere: a tool that wants to know isn't checked.
        self.own.begins(executed);
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
        self.tell_image(Injected::<T>::LOCAL, &image, what);
        self.tell_image(self.second, &image, what);
    }

    fn wants_calls(&self) -> bool {
        self.own.wants_calls()
    }

    fn call(&self, call: &SystemCall) {
        let Some(on_syscall) = T::ON_SYSCALL else { return };
        engine::stream::take(|words| self.drain(words));
        for local in [Injected::<T>::LOCAL, self.second] {
            self.tell(local, of_call(call), on_syscall);
        }
    }

    fn wants_signals(&self) -> bool {
        self.own.wants_signals()
    }

    fn signal(&self, what: SignalChange) {
        let Some(on_signal) = T::ON_SIGNAL else { return };
        engine::stream::take(|words| self.drain(words));
        for local in [Injected::<T>::LOCAL, self.second] {
            self.tell(local, of_signal(what), on_signal);
        }
    }

    fn drain(&self, words: &[u64]) {
        for local in [Injected::<T>::LOCAL, self.second] {
            let args = [self.tool(), local as u64, words.as_ptr() as u64, words.len() as u64];
            let routine = drain::<T> as *const () as usize;
            // SAFETY: `drain` has these arguments; no other routine runs, so nobody else uses the local state.
            safe_reads::without(|| unsafe { engine::check::call(routine, args) });
        }
    }

    fn cut(&self, pc: u64, images: &[AppImage]) {
        engine::stream::take(|words| self.drain(words));
        self.or_fail(self.try_cut(pc, images));
    }

    fn finish(&self, out: &mut [u8]) -> Result<usize, String> {
        self.asked.look_back(&self.other)?;
        engine::stream::take(|words| self.drain(words));
        stream::flush();
        let whole = self.encode(Injected::<T>::LOCAL)?;
        if whole != self.encode(Injected::<T>::LOCAL)? {
            return Err(format!(
                "tool {} hands in two results for one local state: `finish` must not depend on anything else, and change nothing",
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
