//! Registers, flags, vectors, instructions, where the app goes on.

use superpin_tool::merge::Sum;
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SegmentRegister, SerialTool, StateMut, Tool, Trace, TraceMut};

superpin_tool::areas! {
    /// Instructions, and changes.
    pub struct Seen {
        executed: Sum,
        changes: Sum,
    }
}

/// The tool.
pub struct ChangesState;

fn executes(seen: &mut Seen, more: u64) {
    seen.executed.0 = seen.executed.0.wrapping_add(more);
}

fn first_is_40(seen: &mut Seen, value: &mut u64) {
    seen.changes.0 += 1;
    if *value == 1 {
        *value = 40;
    }
}

fn quarter(seen: &mut Seen, state: &mut StateMut<'_>) {
    seen.changes.0 += 1;
    let mut vector = state.vector(0);
    vector[..8].copy_from_slice(&0.25_f64.to_le_bytes());
    state.set_vector(0, &vector);
}

fn goes_to(seen: &mut Seen, state: &mut StateMut<'_>, target: u64) {
    seen.changes.0 += 1;
    state.execute_at(superpin_tool::AppPc(target));
}

fn returns(seen: &mut Seen, state: &mut StateMut<'_>) {
    seen.changes.0 += 1;
    assert!(state.return_with(0));
}

fn toggles_zero(seen: &mut Seen, state: &mut StateMut<'_>) {
    const ZF: u64 = 1 << 6;
    seen.changes.0 += 1;
    state.set_flags(state.flags() ^ ZF);
}

fn is_large(_: &mut Seen, first: u64, second: u64) -> bool {
    first as u32 > 990 && second as u32 == 0
}

fn adds_a_million(seen: &mut Seen, state: &mut StateMut<'_>, first: u64) {
    seen.changes.0 += 1;
    state.set_gpr(Gpr::Rdi, first + 1_000_000);
}

fn begins_gs(_: &mut Seen, state: &mut StateMut<'_>, at: u64) {
    state.set_gs_base(at);
}

fn begins_fs(_: &mut Seen, state: &mut StateMut<'_>, at: u64) {
    // Where it has begun, for `gives_fs_back`: the routine keeps this register for nobody.
    state.set_gpr(Gpr::R11, state.read().segment_base(SegmentRegister::Fs));
    state.set_fs_base(at);
}

fn gives_fs_back(_: &mut Seen, state: &mut StateMut<'_>) {
    state.set_fs_base(state.gpr(Gpr::R11));
}

fn adds_ten(seen: &mut Seen, value: &mut u64) {
    seen.changes.0 += 1;
    *value += 10;
}

impl Tool for ChangesState {
    const NAME: &'static str = "changes-state";
    const ABOUT: &'static str = "Change registers and instructions of a program";
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
        writeln!(out, "executed {} changes {}", seen.executed.0, seen.changes.0)
    }
}

impl SerialTool for ChangesState {
    fn instrument_mut(&self, trace: &TraceMut<'_, Seen>) {
        for instruction in trace.instructions() {
            let Some(image) = instruction.image().filter(|image| image.is_main()) else { continue };
            let is_at = |name: &str| image.routine(name).is_some_and(|there| there.address() == instruction.address());
            if is_at("add") {
                instruction.change_register(At::Before, Gpr::Rdi, first_is_40);
                instruction.change_if(
                    At::Before,
                    is_large,
                    (Arg::Argument(0), Arg::Argument(1)),
                    adds_a_million,
                    (Arg::Argument(0),),
                );
            } else if is_at("twice") {
                instruction.change(At::Before, quarter, ());
            } else if is_at("left") {
                let right = image.routine("right").expect("it is there");
                instruction.change(At::Before, goes_to, (right.address(),));
            } else if is_at("first_of_gs") {
                instruction.change(At::Before, begins_gs, (Arg::Argument(0),));
            } else if is_at("first_of_fs") {
                instruction.change(At::Before, begins_fs, (Arg::Argument(0),));
            } else if is_at("first_of_fs_loaded") {
                instruction.change(At::Before, gives_fs_back, ());
            } else if is_at("never") {
                instruction.change(At::Before, returns, ());
            } else if is_at("equals_compared") {
                instruction.change(At::Before, toggles_zero, ());
            } else if is_at("counts_deleted") {
                instruction.delete();
            } else if is_at("counts_jumped") {
                instruction.jump(image.routine("counts_goes_on").expect("it is there").address());
            } else if is_at("one") {
                instruction.change_register(At::After, Gpr::Rax, adds_ten);
            } else if instruction.returns_from().is_some_and(|routine| routine.name() == "one") {
                instruction.change_register(At::Taken, Gpr::Rax, adds_ten);
            }
        }
    }
}
