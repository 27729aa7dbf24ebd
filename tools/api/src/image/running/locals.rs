//! The local states of a slice: one, or one for each thread.
//!
//! The state of the thread that is executed lies at the place whose address translated code holds; the others are put away. At a turn the bytes are exchanged.
//! What they hand in is folded by thread, in the collector.

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
    each: Option<RefCell<Each<T>>>,
}

struct Each<T: Tool> {
    slice: SliceInfo,
    /// Whose state is at the place. `None`: its thread has ended, and nothing is there.
    current: Option<ThreadInfo>,
    waiting: BTreeMap<u64, (ThreadInfo, Box<T::Local>)>,
    ended: Vec<OfThread>,
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
        let each = are_each(tool).then(|| Each { slice, current: Some(first), waiting, ended, with_counts });
        Self { place, each: each.map(RefCell::new) }
    }

    /// That of the thread that is executed.
    pub fn place(&self) -> *mut T::Local {
        self.place
    }

    /// The slice begins with this thread, not with the app's first one: nothing was executed yet.
    pub fn begin_with(&self, tool: &T, thread: ThreadInfo) {
        let Some(each) = &self.each else { return };
        let mut each = each.borrow_mut();
        if each.with_counts {
            block_counts::switch(None, thread.number);
        }
        // SAFETY: `new` has made it; no routine runs, so nobody else uses it.
        unsafe { *self.place = begin(tool, each.slice, &thread) };
        each.current = Some(thread);
    }

    /// Another slice begins, in the middle of this one, with the thread that is executed.
    pub fn begin_again(&self, tool: &T, slice: SliceInfo) {
        let Some(each) = &self.each else {
            // SAFETY: `new` has made it; no routine runs, so nobody else uses it.
            return unsafe { *self.place = safe_reads::without(|| tool.begin(slice)) };
        };
        let mut each = each.borrow_mut();
        each.slice = slice;
        each.waiting.clear();
        each.ended.clear();
        if let Some(thread) = &each.current {
            // SAFETY: as above.
            unsafe { *self.place = begin(tool, slice, thread) };
        }
    }

    /// What follows is executed by this thread. Only while no routine runs.
    pub fn switch(&self, tool: &T, to: ThreadInfo) {
        let Some(each) = &self.each else { return };
        let mut each = each.borrow_mut();
        let from = each.current.take();
        if from.as_ref().is_some_and(|from| from.number == to.number) {
            each.current = from;
            return;
        }
        if each.with_counts {
            block_counts::switch(from.as_ref().map(|from| from.number), to.number);
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
        let Some(each) = &self.each else { return Ok(()) };
        let mut each = each.borrow_mut();
        let Some(thread) = each.current.take() else { return Ok(()) };
        // SAFETY: there is a state, which no routine uses now; nothing looks at the place before another one is written there.
        unsafe {
            let result = encode(tool, &*self.place)?;
            self.place.drop_in_place();
            each.ended.push(OfThread { thread, result });
        }
        Ok(())
    }

    /// What they are to hand in: a result, or those of the threads.
    ///
    /// # Errors
    /// If it can't be encoded.
    pub fn encode(&self, tool: &T) -> Result<Encoded, String> {
        let Some(each) = &self.each else {
            // SAFETY: `new` has made it; no routine runs, so nobody else uses it.
            return encode(tool, unsafe { &*self.place });
        };
        let each = each.borrow();
        let mut all = each.ended.clone();
        if let Some(thread) = each.current.clone() {
            // SAFETY: as above.
            all.push(OfThread { thread, result: encode(tool, unsafe { &*self.place })? });
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
    if threads == Threads::OneStream || threads == Threads::AnyOrder && !checks {
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
