//! The local states of a slice: one, or one for each thread.
//!
//! The state of the thread that is executed lies at the place whose address translated code holds; the others are put away. At a turn the bytes are exchanged. Where threads have windows
//! each has its own there, and stays. What they hand in is folded by thread, in the collector.

use std::cell::RefCell;
use std::collections::BTreeMap;

use engine::{block_counts, safe_reads};
use serde::{Deserialize, Serialize};

use super::parts::Encoded;
use crate::threads::{ThreadInfo, Threads};
use crate::tool::{SliceInfo, Tool};

/// What a thread hands in, where each does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfThread {
    /// Who.
    pub thread: ThreadInfo,
    /// Its result.
    pub result: Encoded,
}

/// Local states.
pub struct Locals<T: Tool> {
    place: *mut T::Local,
    /// `None`: there is one, whatever threads there are.
    each: RefCell<Option<Each<T>>>,
}

struct Each<T: Tool> {
    slice: SliceInfo,
    /// Whose state is at the place. `None`: its thread has ended, and nothing is there.
    current: Option<ThreadInfo>,
    waiting: BTreeMap<u64, (ThreadInfo, Box<T::Local>)>,
    ended: Vec<OfThread>,
    /// Where threads have windows: those that live, and where each has its state.
    windows: Option<BTreeMap<u64, (ThreadInfo, u64)>>,
    /// Whether the counts of blocks are a thread's, too.
    with_counts: bool,
}

impl<T: Tool> Locals<T> {
    /// Makes the first one. `with_counts`: where each thread has its own, blocks are counted for each, too.
    ///
    /// # Safety
    /// At `place` there is room, and nothing else.
    pub unsafe fn new(tool: &T, place: *mut T::Local, slice: SliceInfo, first: ThreadInfo, with_counts: bool) -> Self {
        // SAFETY: the caller's promise.
        unsafe { place.write(begin(tool, slice, &first)) };
        let (waiting, ended) = (BTreeMap::new(), Vec::new());
        let current = Some(first);
        let each = are_each(tool).then(|| Each { slice, current, waiting, ended, windows: None, with_counts });
        Self { place, each: RefCell::new(each) }
    }

    /// Threads have windows from now on: the first one's holds its state.
    pub fn take_windows(&self, slice: SliceInfo, first: ThreadInfo) {
        block_counts::by_window(first.number);
        let windows = Some(BTreeMap::from([(first.number, (first.clone(), self.place as u64))]));
        let (current, waiting, ended) = (Some(first), BTreeMap::new(), Vec::new());
        *self.each.borrow_mut() = Some(Each { slice, current, waiting, ended, windows, with_counts: true });
    }

    /// What comes before that which is handed in.
    pub fn head(&self, tool: &T) -> &'static [u8] {
        match tool.threads() {
            Threads::AnyOrder if !engine::check::is_on() => {
                if self.have_windows() {
                    &[SEVERAL]
                } else {
                    &[ONE]
                }
            }
            _ => &[],
        }
    }

    /// Whether threads have windows.
    pub fn have_windows(&self) -> bool {
        self.each.borrow().as_ref().is_some_and(|each| each.windows.is_some())
    }

    /// That of the thread that is executed, which asks.
    pub fn place(&self) -> *mut T::Local {
        if self.have_windows() { engine::own(self.place as u64) as *mut T::Local } else { self.place }
    }

    /// The slice begins with this thread, not with the app's first one: nothing was executed yet.
    pub fn begin_with(&self, tool: &T, thread: ThreadInfo) {
        let mut each = self.each.borrow_mut();
        let Some(each) = each.as_mut() else { return };
        if each.with_counts {
            block_counts::switch(None, thread.number);
        }
        // SAFETY: `new` has made it; no routine runs, so nobody else uses it.
        unsafe { *self.place = begin(tool, each.slice, &thread) };
        each.current = Some(thread);
    }

    /// Another slice begins, in the middle of this one, with the thread that is executed.
    pub fn begin_again(&self, tool: &T, slice: SliceInfo) {
        let mut each = self.each.borrow_mut();
        let Some(each) = each.as_mut() else {
            // SAFETY: `new` has made it; no routine runs, so nobody else uses it.
            return unsafe { *self.place = safe_reads::without(|| tool.begin(slice)) };
        };
        each.slice = slice;
        each.waiting.clear();
        each.ended.clear();
        if let Some(windows) = &each.windows {
            for (thread, place) in windows.values() {
                // SAFETY: each thread's state is there until it ends, and no routine uses it.
                unsafe { *(*place as *mut T::Local) = begin(tool, slice, thread) };
            }
        } else if let Some(thread) = &each.current {
            // SAFETY: as above.
            unsafe { *self.place = begin(tool, slice, thread) };
        }
    }

    /// What follows is executed by this thread. Only while no routine runs.
    pub fn switch(&self, tool: &T, to: ThreadInfo) {
        let mut each = self.each.borrow_mut();
        let Some(each) = each.as_mut() else { return };
        let from = each.current.take();
        if from.as_ref().is_some_and(|from| from.number == to.number) {
            each.current = from;
            return;
        }
        if each.with_counts {
            block_counts::switch(from.as_ref().map(|from| from.number), to.number);
        }
        let Each { slice, windows, current, .. } = each;
        if let Some(windows) = windows {
            windows.entry(to.number).or_insert_with(|| {
                let place = engine::own(self.place as u64);
                // SAFETY: the thread, which calls this, begins: there is room in its window, and nothing else.
                unsafe { (place as *mut T::Local).write(begin(tool, *slice, &to)) };
                block_counts::by_window(to.number);
                (to.clone(), place)
            });
            *current = Some(to);
            return;
        }
        let kept = each.waiting.remove(&to.number);
        let mut local = kept.map_or_else(|| Box::new(begin(tool, each.slice, &to)), |(_, local)| local);
        match from {
            Some(from) => {
                // SAFETY: the place holds a state, which no routine uses now.
                unsafe { self.place.swap(&raw mut *local) };
                each.waiting.insert(from.number, (from, local));
            }
            // SAFETY: nothing is there.
            None => unsafe { self.place.write(*local) },
        }
        each.current = Some(to);
    }

    /// The thread that is executed has ended, and others go on.
    ///
    /// # Errors
    /// If its result can't be encoded.
    pub fn end(&self, tool: &T) -> Result<(), String> {
        let mut each = self.each.borrow_mut();
        let Some(each) = each.as_mut() else { return Ok(()) };
        let Some(thread) = each.current.take() else { return Ok(()) };
        let in_window = each.windows.as_mut().and_then(|windows| windows.remove(&thread.number));
        let place = in_window.as_ref().map_or(self.place, |(_, place)| *place as *mut T::Local);
        // SAFETY: there is a state, which no routine uses now; nothing looks at the place before another one is written there.
        unsafe {
            let result = encode(tool, &*place)?;
            place.drop_in_place();
            each.ended.push(OfThread { thread, result });
        }
        if let Some((thread, _)) = in_window {
            block_counts::leaves_window(thread.number);
        }
        Ok(())
    }

    /// What they are to hand in: a result, or those of the threads.
    ///
    /// # Errors
    /// If it can't be encoded.
    pub fn encode(&self, tool: &T) -> Result<Encoded, String> {
        let each = self.each.borrow();
        let Some(each) = each.as_ref() else {
            // SAFETY: `new` has made it; no routine runs, so nobody else uses it.
            return encode(tool, unsafe { &*self.place });
        };
        let mut all = each.ended.clone();
        if let Some(thread) = each.current.clone() {
            let place = if each.windows.is_some() { engine::own(self.place as u64) } else { self.place as u64 };
            // SAFETY: as above.
            all.push(OfThread { thread, result: encode(tool, unsafe { &*(place as *const T::Local) })? });
        }
        block_counts::park_others();
        let current = each.current.as_ref().map(|thread| thread.number);
        for (thread, place) in each.windows.iter().flat_map(BTreeMap::values) {
            if Some(thread.number) == current {
                continue;
            }
            // SAFETY: the thread's state is there until it ends, and no routine uses it: no translated code runs.
            let local = unsafe { &mut *(*place as *mut T::Local) };
            engine::stream::take_from(place.wrapping_sub(engine::own(self.place as u64)), |words| {
                tool.drain(local, words)
            });
            let result = block_counts::of(thread.number, || encode(tool, local))?;
            all.push(OfThread { thread: thread.clone(), result });
        }
        for (thread, local) in each.waiting.values() {
            let result = block_counts::of(thread.number, || encode(tool, local))?;
            all.push(OfThread { thread: thread.clone(), result });
        }
        postcard::to_stdvec(&all).map_err(|error| not_encoded::<T>(error))
    }
}

/// Whether each thread has a local state of its own. In a checked run also where the order is said not to matter: then it must not.
pub fn are_each<T: Tool>(tool: &T) -> bool {
    match tool.threads() {
        Threads::OneStream => false,
        Threads::AnyOrder => engine::check::is_on(),
        Threads::Each => true,
    }
}

/// What the results of a tool begin with to which threads don't matter: it is one, or there are several.
const ONE: u8 = 0;
const SEVERAL: u8 = 1;

fn begin<T: Tool>(tool: &T, slice: SliceInfo, thread: &ThreadInfo) -> T::Local {
    let is_by_thread = tool.threads() == Threads::Each;
    safe_reads::without(|| if is_by_thread { tool.begin_thread(slice, thread) } else { tool.begin(slice) })
}

fn encode<T: Tool>(tool: &T, local: &T::Local) -> Result<Encoded, String> {
    let result = safe_reads::without(|| tool.finish(local));
    postcard::to_stdvec(&result).map_err(|error| not_encoded::<T>(error))
}

fn not_encoded<T: Tool>(error: postcard::Error) -> String {
    format!("the result of tool {} can't be encoded: {error}", T::NAME)
}

/// Folds what was handed in by a run that is checked, or not. `backwards`: threads in the other order, which must not matter.
///
/// # Errors
/// If it can't be decoded.
pub fn fold<T: Tool>(
    tool: &T,
    total: &mut T::Total,
    slice: SliceInfo,
    encoded: &[u8],
    checks: bool,
    backwards: bool,
) -> Result<(), postcard::Error> {
    let threads = tool.threads();
    let (encoded, is_one) = match threads {
        Threads::OneStream => (encoded, true),
        Threads::Each => (encoded, false),
        Threads::AnyOrder if checks => (encoded, false),
        Threads::AnyOrder => match encoded.split_first() {
            Some((&first, rest)) => (rest, first == ONE),
            None => (encoded, true),
        },
    };
    if is_one {
        tool.fold(total, slice, postcard::from_bytes(encoded)?);
        return Ok(());
    }
    let mut all: Vec<OfThread> = postcard::from_bytes(encoded)?;
    all.sort_by(|a, b| a.thread.path.cmp(&b.thread.path));
    if backwards {
        all.reverse();
    }
    for OfThread { thread, result } in all {
        let result = postcard::from_bytes(&result)?;
        match threads {
            Threads::Each => tool.fold_thread(total, slice, &thread, result),
            Threads::OneStream | Threads::AnyOrder => tool.fold(total, slice, result),
        }
    }
    Ok(())
}
