//! Tools that fail: what they print must never look like a result.

use superpin_tool::merge::Sum;
use superpin_tool::{
    Arg, At, FirstPass, Instruction, NoOptions, OnFirstPass, Out, SliceInfo, Tool, Trace, leave_slice,
};

macro_rules! failing_tool {
    ($tool:ident, $name:literal, $new:expr, $instrument:expr) => {
        failing_tool!($tool, $name, $new, $instrument, None);
    };
    ($tool:ident, $name:literal, $new:expr, $instrument:expr, $first_pass:expr) => {
        /// A tool that fails.
        pub struct $tool;

        impl Tool for $tool {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = "Fail";
            const FIRST_PASS: Option<OnFirstPass<Self>> = $first_pass;
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

fn loop_for_ever(_: &mut u64) {
    loop {
        std::hint::spin_loop();
    }
}

failing_tool!(LoopInRoutine, "loop-in-routine", Ok(Self), |trace| {
    for block in trace.blocks() {
        block.call(At::Before, loop_for_ever, ());
    }
});

failing_tool!(PanicInInstrument, "panic-in-instrument", Ok(Self), |trace| {
    panic!("instrumentation gave up at {}", trace.address())
});

fn gives_up(_: &PanicInFirstPass, instruction: &Instruction<'_, Sum>) {
    panic!("the first pass gave up at {}", instruction.address())
}

failing_tool!(
    PanicInFirstPass,
    "panic-in-first-pass",
    Ok(Self),
    |_| (),
    Some(&FirstPass { counts: gives_up, begins: |_, _, _, _| () })
);

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

failing_tool!(AsksForFlags, "asks-for-flags", Ok(Self), |trace| {
    for instruction in trace.instructions() {
        instruction.call(At::Before, nothing, (Arg::Flags,));
    }
});

failing_tool!(WrongArgument, "wrong-argument", Ok(Self), |trace| {
    for instruction in trace.instructions().filter(|instruction| instruction.enters().is_none()) {
        instruction.call(At::Before, nothing, (Arg::Argument(0),));
    }
});

failing_tool!(WrongReturnValue, "wrong-return-value", Ok(Self), |trace| {
    for block in trace.blocks() {
        block.call(At::Anywhere, nothing, (Arg::ReturnValue,));
    }
});

failing_tool!(UsesUnkept, "uses-unkept", Ok(Self), |trace| {
    for block in trace.blocks() {
        let register = block.tool_register();
        block.last().call(At::Before, nothing, (register,));
    }
});

failing_tool!(KeepsTooLong, "keeps-too-long", Ok(Self), |trace| {
    let registers: Vec<_> = trace.blocks().map(|block| block.tool_register()).collect();
    for block in trace.blocks() {
        block.first().keep(At::Before, registers[0], Arg::Pc);
    }
});

/// Only in a branch that is never taken; the compiler can't know.
fn rarely_prints(calls: &mut u64) {
    *calls = calls.wrapping_add(1);
    if *calls == u64::MAX {
        println!("so many calls");
    }
}

failing_tool!(RarelyPrints, "rarely-prints", Ok(Self), |trace| {
    for block in trace.blocks() {
        block.call(At::Before, rarely_prints, ());
    }
});

fn prints(calls: &mut u64) {
    *calls += 1;
    println!("call {calls}");
}

failing_tool!(Prints, "prints", Ok(Self), |trace| {
    trace.instructions().for_each(|instruction| instruction.call(At::Before, prints, ()));
});

failing_tool!(LeavesASlice, "leaves-a-slice", Ok(Self), |trace| {
    trace.instructions().for_each(|instruction| instruction.call(At::Before, |_: &mut u64| leave_slice(), ()));
});

fn opens(files: &mut u64) {
    *files += u64::from(std::fs::File::open("/etc/passwd").is_ok());
}

failing_tool!(Opens, "opens", Ok(Self), |trace| {
    trace.instructions().for_each(|instruction| instruction.call(At::Before, opens, ()));
});

fn starts_a_thread(calls: &mut u64) {
    *calls += std::thread::spawn(|| 1).join().unwrap_or(0);
}

failing_tool!(StartsAThread, "starts-a-thread", Ok(Self), |trace| {
    trace.instructions().for_each(|instruction| instruction.call(At::Before, starts_a_thread, ()));
});

fn crashes(calls: &mut u64) {
    *calls += 1;
    if *calls == 1000 {
        // SAFETY: none: this is what the trial is about.
        unsafe { (std::hint::black_box(8_usize) as *mut u64).write_volatile(*calls) };
        println!("unreached");
    }
}

failing_tool!(Crashes, "crashes", Ok(Self), |trace| {
    trace.instructions().for_each(|instruction| instruction.call(At::Before, crashes, ()));
});
