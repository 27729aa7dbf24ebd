//! Routines that are wrapped and left as they are: no change, so it works in slices.

use std::collections::BTreeMap;

use superpin_tool::merge::Append;
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, Tool, Trace};

/// With what, and what for, a routine was called: its stack pointer, and an argument or a result.
#[derive(Clone, Copy, superpin_tool::serde::Serialize, superpin_tool::serde::Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub enum Event {
    Asks(u64, u64),
    Gets(u64, u64),
    Frees(u64),
}

/// In the order of execution: slices put them one behind the other.
type Seen = Append<Event>;

/// The tool.
pub struct Wraps;

fn asks(seen: &mut Seen, stack: u64, size: u64) {
    seen.0.push(Event::Asks(stack, size));
}

fn gets(seen: &mut Seen, stack: u64, block: u64) {
    seen.0.push(Event::Gets(stack, block));
}

fn frees(seen: &mut Seen, block: u64) {
    seen.0.push(Event::Frees(block));
}

impl Tool for Wraps {
    const NAME: &'static str = "wraps";
    const ABOUT: &'static str = "Pair what malloc is asked for with what it gives, and with what is freed";
    type Options = NoOptions;
    superpin_tool::auto_merge!(Seen);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for instruction in trace.instructions() {
            match instruction.enters().map(|routine| routine.name()) {
                Some("malloc") => instruction.call(At::Before, asks, (Gpr::Rsp, Arg::Argument(0))),
                Some("free") => instruction.call(At::Before, frees, (Arg::Argument(0),)),
                _ => {}
            }
            if instruction.returns_from().is_some_and(|routine| routine.name() == "malloc") {
                instruction.call(At::Before, gets, (Gpr::Rsp, Arg::ReturnValue));
            }
        }
    }

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        let (mut underway, mut live) = (BTreeMap::new(), BTreeMap::new());
        let (mut unpaired, mut sizes) = (0, BTreeMap::<u64, [u64; 2]>::new());
        for event in seen.0 {
            match event {
                Event::Asks(stack, size) => {
                    underway.insert(stack, size);
                }
                Event::Gets(stack, block) => match underway.remove(&stack) {
                    Some(size) => {
                        live.insert(block, size);
                        sizes.entry(size).or_default()[0] += 1;
                    }
                    None => unpaired += 1,
                },
                Event::Frees(block) => {
                    if let Some(size) = live.remove(&block) {
                        sizes.entry(size).or_default()[1] += 1;
                    }
                }
            }
        }
        writeln!(out, "unpaired {unpaired} {}", underway.len())?;
        sizes.iter().try_for_each(|(size, [asked, freed])| writeln!(out, "{size}: {asked} {freed}"))
    }
}
