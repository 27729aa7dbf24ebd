//! A tool that also tells its result of each thread by itself.

use std::collections::BTreeMap;
use std::io;

use clap::builder::RangedU64ValueParser;
use serde_json::{Value, json};

use super::out::Out;
use super::prefix::Prefix;
use super::tool::{OnImage, OnPrefix, OnSignal, OnSyscall, OnThread, SliceInfo, Tool};
use crate::files::Images;
use crate::instrument::{Repeat, Trace};
use crate::kernel::{SignalEvent, SyscallEvent};
use crate::names::ImageEvent;
use crate::threads::{ThreadEvent, ThreadInfo, ThreadPath, Threads};

/// The tool `T` with one option more, `--threads 1`: a result of each thread by itself.
///
/// ```text
///   superpin -t blocks --threads 1 -- ./app
///
///   Thread 0
///   Total Count: 112413
///   …
///
///   Thread 0.1
///   Total Count: 483278
/// ```
///
/// In the image: `image!(PerThread<Blocks>)`. With `--threads 0`, or without the option, it is `T`. With 1 each thread has a [`Tool::Local`] of its own ([`Threads::Each`]), so whatever `T` simulates is the thread's
/// own as well: a cache, say, as if each thread had a processor for itself. With `--json` there is an array `threads`, of objects that are `T`'s with the thread's path.
///
/// What `T` must keep to is what [`Threads::Each`] asks for. It can have no stream, no first pass, and no samples: that doesn't compile. An option with which it writes a file of a format that others read should
/// say so, since headings would be in it: `#[arg(long, conflicts_with = "threads")]`.
pub struct PerThread<T> {
    tool: T,
    is_asked: bool,
}

/// The tool's options, and whether threads are told apart.
#[derive(clap::Args)]
pub struct ThreadsToo<O: clap::Args> {
    #[command(flatten)]
    of_tool: O,
    /// 1: a result of each thread by itself, by its path: the first is 0, those that it starts are 0.1, 0.2, and so on. What is simulated is each thread's own
    #[arg(long, value_name = "0|1", default_value_t = 0, value_parser = RangedU64ValueParser::<u8>::new().range(0..=1))]
    threads: u8,
}

/// What was seen of all threads, or of each.
pub struct Totals<T> {
    whole: T,
    each: BTreeMap<ThreadPath, T>,
}

impl<T: Default> Default for Totals<T> {
    fn default() -> Self {
        Self { whole: T::default(), each: BTreeMap::new() }
    }
}

impl<T: Tool> PerThread<T> {
    fn on_image(&self, local: &mut T::Local, event: ImageEvent<'static>) {
        if let Some(told) = T::ON_IMAGE {
            told(&self.tool, local, event);
        }
    }

    fn on_syscall(&self, local: &mut T::Local, event: SyscallEvent<'_>) {
        if let Some(told) = T::ON_SYSCALL {
            told(&self.tool, local, event);
        }
    }

    fn on_signal(&self, local: &mut T::Local, event: SignalEvent) {
        if let Some(told) = T::ON_SIGNAL {
            told(&self.tool, local, event);
        }
    }

    fn on_thread(&self, local: &mut T::Local, event: ThreadEvent<'_>) {
        if let Some(told) = T::ON_THREAD {
            told(&self.tool, local, event);
        }
    }

    fn on_prefix(&self, local: &mut T::Local, prefix: Prefix) {
        if let Some(told) = T::PREFIX {
            told(&self.tool, local, prefix);
        }
    }
}

/// The second if there is the first.
const fn behind<F: Copy, G: Copy>(first: Option<F>, second: G) -> Option<G> {
    match first {
        Some(_) => Some(second),
        None => None,
    }
}

impl<T: Tool> Tool for PerThread<T> {
    const NAME: &'static str = T::NAME;
    const ABOUT: &'static str = T::ABOUT;
    const PATIENCE: u32 = T::PATIENCE;
    const READS_FLAGS: bool = T::READS_FLAGS;
    const ON_IMAGE: Option<OnImage<Self>> = behind(T::ON_IMAGE, Self::on_image);
    const ON_SYSCALL: Option<OnSyscall<Self>> = behind(T::ON_SYSCALL, Self::on_syscall);
    const ON_SIGNAL: Option<OnSignal<Self>> = behind(T::ON_SIGNAL, Self::on_signal);
    const ON_THREAD: Option<OnThread<Self>> = behind(T::ON_THREAD, Self::on_thread);
    const PREFIX: Option<OnPrefix<Self>> = behind(T::PREFIX, Self::on_prefix);

    type Options = ThreadsToo<T::Options>;
    type Local = T::Local;
    type Result = T::Result;
    type Total = Totals<T::Total>;

    fn new(options: Self::Options) -> Result<Self, String> {
        const {
            assert!(!T::STREAM && !T::SAMPLES && T::FIRST_PASS.is_none(), "what it sees can't be told by thread");
        }
        Ok(Self { tool: T::new(options.of_tool)?, is_asked: options.threads != 0 })
    }

    fn repeat(&self) -> Repeat {
        self.tool.repeat()
    }

    fn threads(&self) -> Threads {
        if self.is_asked { Threads::Each } else { self.tool.threads() }
    }

    fn instrument(&self, trace: &Trace<'_, T::Local>) {
        self.tool.instrument(trace);
    }

    fn begin(&self, slice: SliceInfo) -> T::Local {
        self.tool.begin(slice)
    }

    fn begin_thread(&self, slice: SliceInfo, thread: &ThreadInfo) -> T::Local {
        self.tool.begin_thread(slice, thread)
    }

    fn drain(&self, local: &mut T::Local, words: &[u64]) {
        self.tool.drain(local, words);
    }

    fn finish(&self, local: &T::Local) -> T::Result {
        self.tool.finish(local)
    }

    fn fold(&self, total: &mut Self::Total, slice: SliceInfo, result: T::Result) {
        self.tool.fold(&mut total.whole, slice, result);
    }

    fn fold_thread(&self, total: &mut Self::Total, slice: SliceInfo, thread: &ThreadInfo, result: T::Result) {
        let total = if self.is_asked { total.each.entry(thread.path.clone()).or_default() } else { &mut total.whole };
        self.tool.fold_thread(total, slice, thread, result);
    }

    fn warmed_up(&self, total: &mut Self::Total) {
        self.tool.warmed_up(&mut total.whole);
        total.each.values_mut().for_each(|total| self.tool.warmed_up(total));
    }

    fn fini(&self, total: Self::Total, out: &mut Out<'_>) -> io::Result<()> {
        if !self.is_asked {
            return self.tool.fini(total.whole, out);
        }
        for (n, (path, total)) in total.each.into_iter().enumerate() {
            writeln!(out, "{}Thread {path}", if n == 0 { "" } else { "\n" })?;
            self.tool.fini(total, out)?;
        }
        Ok(())
    }

    fn values_with(&self, total: &Self::Total, images: &Images) -> Option<Value> {
        let whole = self.tool.values_with(&total.whole, images)?;
        if !self.is_asked {
            return Some(whole);
        }
        let of = |(path, total): (&ThreadPath, &T::Total)| {
            let mut told = json!({ "thread": path.to_string() });
            if let (Some(told), Value::Object(values)) = (told.as_object_mut(), self.tool.values_with(total, images)?) {
                told.extend(values);
            }
            Some(told)
        };
        let threads: Option<Vec<Value>> = total.each.iter().map(of).collect();
        Some(json!({ "threads": threads? }))
    }
}
