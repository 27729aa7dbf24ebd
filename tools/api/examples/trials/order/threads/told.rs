//! Lists what it is told of threads, and looks whether routines, tests, words and system calls get the number of the thread that was told to go on.

use std::collections::BTreeMap;

use superpin_tool::merge::{Append, Merge};
use superpin_tool::{
    Arg, At, Gpr, NoOptions, OnSyscall, OnThread, Out, SliceInfo, State, SyscallEvent, ThreadEvent, Tool, Trace, serde,
};

/// The tool.
pub struct ToldOfThreads;

/// In how many ways a number is had.
const WAYS: usize = 7;
const NAMES: [&str; WAYS] = ["in place", "called", "list", "test", "counter", "word", "system call"];

/// What a slice has seen.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Seen {
    /// The thread whose turn it is.
    now: u64,
    /// By way: how often the number was another one, and how often it was looked at.
    checks: [(u64, u64); WAYS],
    counts: [u64; 32],
    events: Append<(String, String)>,
}

impl Seen {
    fn check(&mut self, way: usize, thread: u64) {
        let (wrong, all) = &mut self.checks[way % WAYS];
        *wrong += u64::from(thread != self.now);
        *all += 1;
    }
}

fn in_place(seen: &mut Seen, thread: u64) {
    seen.checks[0].0 = seen.checks[0].0.wrapping_add(thread ^ seen.now);
    seen.checks[0].1 = seen.checks[0].1.wrapping_add(1);
}

fn called(seen: &mut Seen, _: u64, thread: u64) {
    seen.check(1, thread);
    seen.events.0.reserve(1);
}

fn listed(seen: &mut Seen, words: &[u64]) {
    seen.check(2, words[1]);
}

fn tested(seen: &mut Seen, thread: u64) -> bool {
    seen.checks[3].1 = seen.checks[3].1.wrapping_add(1);
    thread != seen.now
}

fn wrong(seen: &mut Seen, _: u64) {
    seen.checks[3].0 += 1;
}

/// By thread, so that what is taken back must be taken back of the same.
fn count(seen: &mut Seen, thread: u64, instructions: u64) {
    let sum = &mut seen.counts[thread as usize % 32];
    *sum = sum.wrapping_add(instructions);
}

fn registers(state: &State<'_>) -> String {
    let is_there = state.gpr(Gpr::Rsp) != 0 && state.ip().0 != 0;
    (if is_there { "in some state" } else { "in no state" }).to_owned()
}

impl ToldOfThreads {
    fn on_thread(&self, seen: &mut Seen, event: ThreadEvent<'_>) {
        let thread = event.thread();
        let parent = thread.parent.map_or("nobody".to_owned(), |parent| parent.to_string());
        let told = match event {
            ThreadEvent::Begin { state, .. } => format!("begins, {} of {parent}, {}", thread.number, registers(state)),
            ThreadEvent::End { code, state, .. } => format!("ends with {code}, {}", registers(state)),
            ThreadEvent::Turn(_) => {
                seen.now = thread.number;
                return;
            }
            _ => return,
        };
        seen.events.0.push((thread.path.to_string(), told));
    }

    fn on_syscall(&self, seen: &mut Seen, event: SyscallEvent<'_>) {
        let (SyscallEvent::Entry(call) | SyscallEvent::Exit(call)) = event;
        seen.check(6, call.thread());
    }
}

impl Tool for ToldOfThreads {
    const NAME: &'static str = "told-of-threads";
    const ABOUT: &'static str = "List threads";
    const ON_THREAD: Option<OnThread<Self>> = Some(Self::on_thread);
    const ON_SYSCALL: Option<OnSyscall<Self>> = Some(Self::on_syscall);
    type Options = NoOptions;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for block in trace.blocks() {
            let first = block.first();
            first.call(At::Before, in_place, (Arg::ThreadId,));
            first.call(At::Before, called, (1_u64, Arg::ThreadId));
            first.call_with(At::Before, listed, &[Arg::Const(1), Arg::ThreadId, Arg::Const(2)]);
            first.call_if(At::Before, tested, (Arg::ThreadId,), wrong, (Arg::ThreadId,));
            first.buffer((Arg::ThreadId,));
            block.call(At::Anywhere, count, (Arg::ThreadId, Arg::BlockInstructions));
        }
    }

    fn drain(&self, seen: &mut Seen, words: &[u64]) {
        words.iter().for_each(|thread| seen.check(5, *thread));
    }

    fn begin(&self, _: SliceInfo) -> Seen {
        Seen::default()
    }

    fn finish(&self, seen: &Seen) -> Seen {
        seen.clone()
    }

    fn fold(&self, total: &mut Seen, _: SliceInfo, seen: Seen) {
        for (total, more) in total.checks.iter_mut().zip(seen.checks) {
            *total = (total.0.wrapping_add(more.0), total.1 + more.1);
        }
        total.counts.iter_mut().zip(seen.counts).for_each(|(total, more)| *total = total.wrapping_add(more));
        total.events.merge(seen.events);
    }

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        for (name, (wrong, all)) in NAMES.iter().zip(seen.checks).filter(|(name, _)| **name != "counter") {
            writeln!(out, "{name}: {wrong} wrong of {}", if all > 100 { "many" } else { "few" })?;
        }
        // In the order of one thread.
        let mut events = BTreeMap::<String, Vec<String>>::new();
        seen.events.0.into_iter().for_each(|(path, told)| events.entry(path).or_default().push(told));
        for (path, told) in events {
            writeln!(out, "{path}: {}", told.join("; "))?;
        }
        for (thread, count) in seen.counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            writeln!(out, "{thread} executes {count}")?;
        }
        Ok(())
    }
}
