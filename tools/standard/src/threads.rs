//! The option that says whether a result is also told by thread.

use std::collections::BTreeMap;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::{Out, ThreadPath, Threads, clap};

/// An option of the tools whose results can be told by thread.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct ThreadsOption {
    /// 1: a line for each thread, too, by its path: the first is 0, those that it starts are 0.1, 0.2, and so on
    #[arg(long, value_name = "0|1", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    threads: u8,
}

impl ThreadsOption {
    /// What the tool wants to see of threads: it adds up.
    pub fn threads(self) -> Threads {
        if self.is_asked() { Threads::Each } else { Threads::AnyOrder }
    }

    /// Whether it is told.
    pub fn is_asked(self) -> bool {
        self.threads != 0
    }
}

/// What each thread has executed.
pub type ByThread = BTreeMap<ThreadPath, u64>;

/// A line for each.
pub fn print(threads: &ByThread, out: &mut Out<'_>) -> io::Result<()> {
    threads.iter().try_for_each(|(path, count)| writeln!(out, "{count:>16} thread {path}"))
}

/// Adds the threads to what is told to programs.
pub fn add_to(values: &mut Value, option: ThreadsOption, threads: impl IntoIterator<Item = (ThreadPath, Value)>) {
    if option.is_asked() {
        let each = |(path, told): (ThreadPath, Value)| {
            let mut object = json!({ "thread": path.to_string() });
            if let (Some(object), Value::Object(told)) = (object.as_object_mut(), told) {
                object.extend(told);
            }
            object
        };
        values["threads"] = threads.into_iter().map(each).collect();
    }
}
