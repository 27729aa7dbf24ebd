//! `stacks`: instructions by stack of calls, a line for each as flame graphs are drawn from: `main;find;hash 6783200`.

use std::collections::BTreeMap;
use std::io;

use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{
    AppPc, At, BranchKind, CallStack, CodeAddress, Gpr, Images, Out, Repeat, SliceInfo, ThreadInfo, ThreadPath,
    Threads, Tool, Trace, clap, json,
};

use super::tree::{Node, Tree};
use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, a drawing for a browser: superpin -sp 1 -t stacks -o app.folded -- ./app; flamegraph.pl app.folded > app.svg"
)]
pub struct Options {
    /// Calls that are told apart: what lies deeper counts for the last of them
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// 1: each stack begins with its thread, by its path: the first is 0, those that it starts are 0.1, 0.2, and so on
    #[arg(long, value_name = "0|1", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    threads: u8,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// The tool.
pub struct Stacks {
    options: Options,
}

/// What a thread has.
#[derive(Clone, Default)]
pub struct Local {
    tree: Tree,
    /// With the node of each.
    stack: CallStack<u32>,
    /// Up to then all is in the tree.
    settled: u64,
    /// The program that is executed: address 0 in it.
    here: u64,
    depth: u32,
}

/// What a slice hands in of a thread.
#[derive(Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    nodes: Vec<Node>,
    stack: CallStack<u32>,
    here: u64,
}

impl Local {
    /// Where the app is.
    fn here(&mut self) -> u32 {
        match self.stack.frames().last() {
            Some(frame) => frame.data,
            None => self.tree.root(self.stack.unwound_to()),
        }
    }

    /// What was executed since the last time was executed here.
    fn settle(&mut self) {
        let (here, now) = (self.here(), self.stack.now());
        self.tree.add(here, now.wrapping_sub(self.settled));
        self.settled = now;
    }
}

fn enters(local: &mut Local, stack_pointer: u64, routine: u64) {
    local.settle();
    local.stack.leave(stack_pointer, |_, _| ());
    let here = local.here();
    let node = local.tree.child(here, local.here | routine, local.depth);
    local.stack.enter(stack_pointer, node, |_, _| ());
}

fn returns(local: &mut Local, stack_pointer: u64) {
    local.settle();
    local.stack.leave(stack_pointer, |_, _| ());
}

fn executes(local: &mut Local) {
    local.stack.advance(1);
}

impl Stacks {
    /// Puts a slice's part behind what was before.
    fn append(&self, Seen { tree, stack, here: before }: &mut Seen, part: Part) {
        // Another program is in none of the routines of the one before.
        if std::mem::replace(before, part.here) != part.here {
            *stack = CallStack::default();
        }
        let frames: Vec<(u64, u32)> = stack.frames().iter().map(|frame| (frame.stack_pointer, frame.data)).collect();
        // The innermost routine that is left where the slice has come up to there.
        let place = |tree: &mut Tree, up: u64| {
            let left = frames.iter().rev().find(|(stack_pointer, _)| *stack_pointer > up);
            left.map_or_else(|| tree.root(0), |(_, node)| *node)
        };
        let here = tree.graft(&part.nodes, self.options.depth, place);
        stack.append(part.stack.map(|node| here[node as usize]), |_, _| ());
    }

    /// Stacks by the names of their routines, of all threads.
    fn named(&self, total: &Total, images: &Images) -> BTreeMap<Vec<String>, u64> {
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        let mut name = |routine: u64| {
            let at = CodeAddress::from_bits(routine);
            let named = || images.routine_at(at).map_or(format!("{:#x}", at.address.0), |found| found.demangled());
            names.entry(routine).or_insert_with(named).clone()
        };
        let mut all = BTreeMap::new();
        for (thread, Seen { tree, .. }) in total {
            let thread = (self.options.threads != 0).then(|| format!("thread {thread}"));
            for (number, node) in tree.nodes().iter().enumerate().filter(|(_, node)| node.cost != 0) {
                let routines = tree.path(number as u32).into_iter().map(&mut name);
                *all.entry(thread.iter().cloned().chain(routines).collect()).or_default() += node.cost;
            }
        }
        all
    }
}

/// What was executed of a thread.
#[derive(Default)]
pub struct Seen {
    tree: Tree,
    stack: CallStack<u32>,
    /// The program that was executed last.
    here: u64,
}

type Total = BTreeMap<ThreadPath, Seen>;

impl Tool for Stacks {
    const NAME: &'static str = "stacks";
    const ABOUT: &'static str = "Count instructions by stack of calls, for flame graphs";
    type Options = Options;
    type Local = Local;
    type Result = Part;
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn threads(&self) -> Threads {
        Threads::Each
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            if let Some(routine) = instruction.enters() {
                instruction.call(At::Before, enters, (Gpr::Rsp, routine.address()));
            }
            instruction.call(At::Before, executes, ());
            if instruction.branch() == Some(BranchKind::Return) {
                instruction.call(At::Before, returns, (Gpr::Rsp,));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { depth: self.options.depth, here: CodeAddress::here(AppPc(0)).to_bits(), ..Local::default() }
    }

    fn finish(&self, local: &Local) -> Part {
        let mut local = local.clone();
        local.settle();
        Part { nodes: local.tree.nodes().to_vec(), stack: local.stack, here: local.here }
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, part: Part) {
        self.append(total.entry(ThreadPath::default()).or_default(), part);
    }

    fn fold_thread(&self, total: &mut Total, _: SliceInfo, thread: &ThreadInfo, part: Part) {
        self.append(total.entry(thread.path.clone()).or_default(), part);
    }

    fn fini(&self, total: Total, out: &mut Out<'_>) -> io::Result<()> {
        out.verbatim();
        for (stack, cost) in self.named(&total, out.images()) {
            let stack: Vec<String> = stack.iter().map(|name| name.replace(';', ":")).collect();
            // What no routine is known of has no stack.
            let stack = if stack.is_empty() { "???".to_owned() } else { stack.join(";") };
            writeln!(out, "{stack} {cost}")?;
        }
        Ok(())
    }

    fn values_with(&self, total: &Total, images: &Images) -> Option<json::Value> {
        let stacks = self.named(total, images);
        let instructions: u64 = stacks.values().sum();
        let stacks: Vec<json::Value> =
            stacks.into_iter().map(|(stack, cost)| json::json!({ "stack": stack, "instructions": cost })).collect();
        Some(json::json!({ "instructions": instructions, "stacks": stacks, "repetitions": self.repeat().to_string() }))
    }
}
