//! Routines in place of the app's, which call these, and routines that call the app's.

use superpin_tool::merge::Sum;
use superpin_tool::{App, Arg, At, NoOptions, Out, Replaced, SerialTool, Tool, Trace, TraceMut};

superpin_tool::areas! {
    /// What was executed and replaced, in routines that are underway, too.
    pub struct Seen {
        executed: Sum,
        entered: Sum,
        replaced: Sum,
        allocated: Sum,
    }
}

/// The tool.
pub struct Replaces;

fn executes(seen: &mut Seen, more: u64) {
    seen.executed.0 = seen.executed.0.wrapping_add(more);
}

fn enters(seen: &mut Seen) {
    seen.entered.0 += 1;
}

fn scale(app: &mut Replaced<'_, Seen>, value: u64) -> u64 {
    app.local().replaced.0 += 1;
    let one = app.original(&[value]);
    let other = app.original(&[value + 10]);
    one * 1000 + other
}

fn as_before(app: &mut Replaced<'_, Seen>) -> u64 {
    app.local().replaced.0 += 1;
    app.original(&[])
}

fn factorial(app: &mut Replaced<'_, Seen>, n: u64) -> u64 {
    app.local().replaced.0 += 1;
    if n == 3 { 7 } else { app.original(&[n]) }
}

fn malloc(app: &mut Replaced<'_, Seen>, size: u64) -> u64 {
    app.local().allocated.0 += size;
    app.original(&[size + 64])
}

/// Calls two of the app's: one with arguments on the stack, and one that is replaced itself.
fn looks(app: &mut App<'_, Seen>, sum8: u64, scale: u64) {
    app.local().replaced.0 += 1;
    let argument = app.state().gpr(superpin_tool::Gpr::Rdi);
    let sum = app.call(superpin_tool::AppPc(sum8), &[1, 1, 1, 1, 1, 1, 1, argument]);
    let scaled = app.call(superpin_tool::AppPc(scale), &[1]);
    assert_eq!(app.state().gpr(superpin_tool::Gpr::Rdi), argument);
    app.state().set_gpr(superpin_tool::Gpr::Rdi, (sum as u32 as u64) * 100_000 + (scaled as u32 as u64));
}

impl Tool for Replaces {
    const NAME: &'static str = "replaces";
    const ABOUT: &'static str = "Replace and call routines of a program";
    type Options = NoOptions;
    superpin_tool::auto_merge!(Seen);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, executes, (Arg::BlockInstructions,));
        }
        for instruction in trace.instructions() {
            if instruction.enters().is_some_and(|routine| routine.name() == "factorial") {
                instruction.call(At::Before, enters, ());
            }
        }
    }

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        let Seen { executed, entered, replaced, allocated } = seen;
        writeln!(out, "executed {} entered {} replaced {} allocated {}", executed.0, entered.0, replaced.0, allocated.0)
    }
}

impl SerialTool for Replaces {
    fn instrument_mut(&self, trace: &TraceMut<'_, Seen>) {
        for instruction in trace.instructions() {
            let Some(routine) = instruction.enters() else { continue };
            let address = |name: &str| routine.image().routine(name).map_or(0, |routine| routine.address().0);
            match routine.name() {
                "scale" if routine.image().is_main() => instruction.replace(scale, (Arg::Argument(0),)),
                "sum8" | "average" | "jumps" | "makes_child" if routine.image().is_main() => {
                    instruction.replace(as_before, ())
                }
                "factorial" if routine.image().is_main() => instruction.replace(factorial, (Arg::Argument(0),)),
                "malloc" if routine.image().name() == "libc.so.6" => instruction.replace(malloc, (Arg::Argument(0),)),
                "is_looked_at" => instruction.call_app(looks, (address("sum8"), address("scale"))),
                _ => {}
            }
        }
    }
}
