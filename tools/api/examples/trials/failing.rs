//! Tools that fail: what they print must never look like a result.

use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

macro_rules! failing_tool {
    ($tool:ident, $name:literal, $new:expr, $instrument:expr) => {
        /// A tool that fails.
        pub struct $tool;

        impl Tool for $tool {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = "Fail";
            type Options = NoOptions;
            type Local = u64;
            type Result = u64;
            type Total = u64;

            fn new(_: NoOptions) -> Result<Self, String> {
                $new
            }

            fn instrument(&self, trace: &Trace<'_, u64>) {
                let instrument: fn(&Trace<'_, u64>) = $instrument;
                instrument(trace);
            }

            fn begin(&self, _: SliceInfo) -> u64 {
                0
            }

            fn finish(&self, local: &u64) -> u64 {
                *local
            }

            fn fold(&self, total: &mut u64, _: SliceInfo, result: u64) {
                *total += result;
            }

            fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
                writeln!(out, "a total: {total}")
            }
        }
    };
}

fn fail_late(local: &mut u64) {
    *local += 1;
    assert!(*local < 1000, "the routine gave up");
}

failing_tool!(PanicInRoutine, "panic-in-routine", Ok(Self), |trace| {
    for block in trace.blocks() {
        block.call(At::Before, fail_late, ());
    }
});

failing_tool!(PanicInInstrument, "panic-in-instrument", Ok(Self), |trace| {
    panic!("instrumentation gave up at {}", trace.address())
});

failing_tool!(Refuses, "refuses", Err("this tool works on Sundays only".into()), |_| ());

fn nothing(_: &mut u64, _: u64) {}

failing_tool!(WrongOperand, "wrong-operand", Ok(Self), |trace| {
    for instruction in trace.instructions() {
        // The routine doesn't look at it: it is wrong all the same.
        instruction.call(At::Before, nothing, (Arg::MemoryAddress(7),));
    }
});

failing_tool!(WrongOperandOfBlock, "wrong-operand-of-block", Ok(Self), |trace| {
    for block in trace.blocks() {
        block.call(At::Before, nothing, (Arg::MemoryAddress(7),));
    }
});
