//! The app's state is made what it is, and what does nothing is deleted: the app mustn't see that.

use superpin_tool::merge::Sum;
use superpin_tool::{Arg, At, BranchKind, Gpr, NoOptions, Out, Property, SerialTool, StateMut, Tool, Trace, TraceMut};

superpin_tool::areas! {
    /// Instructions, and changes.
    pub struct Seen {
        executed: Sum,
        changes: Sum,
    }
}

/// The tool.
pub struct Leaves;

fn executes(seen: &mut Seen, more: u64) {
    seen.executed.0 = seen.executed.0.wrapping_add(more);
}

/// All of it is written, some of it with another value in between.
fn rewrites(seen: &mut Seen, state: &mut StateMut<'_>, pc: u64) {
    seen.changes.0 += 1;
    for register in Gpr::ALL {
        let value = state.gpr(register);
        state.set_gpr(register, !value);
        state.set_gpr(register, value);
    }
    let flags = state.flags();
    state.set_flags(!flags);
    state.set_flags(flags);
    for number in 0..32 {
        let value = state.vector(number);
        state.set_vector(number, &[0x5a; 64]);
        state.set_vector(number, &value);
    }
    let (mask, mxcsr) = (state.read().mask(3), state.read().mxcsr());
    state.set_mask(3, mask);
    state.set_mxcsr(mxcsr);
    if pc.is_multiple_of(3) {
        // What it was about to do is done by another way.
        let word = superpin_tool::memory::read_word(state.gpr(Gpr::Rsp)).unwrap_or(0);
        state.write(state.gpr(Gpr::Rsp), &word.to_le_bytes());
    }
}

impl Tool for Leaves {
    const NAME: &'static str = "leaves";
    const ABOUT: &'static str = "Make the app's state what it is";
    type Options = NoOptions;
    superpin_tool::auto_merge!(Seen);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, executes, (Arg::BlockInstructions,));
        }
    }

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "executed {} changes {}", seen.executed.0, seen.changes.0 > 10_000)
    }
}

impl SerialTool for Leaves {
    fn instrument_mut(&self, trace: &TraceMut<'_, Seen>) {
        for instruction in trace.instructions() {
            let pc = instruction.address().0;
            match pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57 {
                0 => instruction.change(At::Before, rewrites, (pc,)),
                1 if instruction.has_after() => instruction.change(At::After, rewrites, (pc,)),
                2 if instruction.branch().is_some() => instruction.change(At::Taken, rewrites, (pc,)),
                _ if instruction.is(Property::Nop) => instruction.delete(),
                // It jumps where it would have jumped.
                3..32 if instruction.branch() == Some(BranchKind::Jump) => {
                    instruction.jump(instruction.branch_target().expect("it is direct"));
                }
                _ => {}
            }
        }
    }
}
