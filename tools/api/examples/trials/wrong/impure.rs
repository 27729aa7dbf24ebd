//! Tools that are wrong although they print something: what `-check-tool 1` is for.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use superpin_tool::{Arg, At, NoOptions, OnPrefix, Out, SliceInfo, Stream, Tool, Trace};

macro_rules! impure_tool {
    ($tool:ident, $name:literal, $new:expr, $instrument:expr) => {
        impure_tool!($tool, $name, $new, $instrument, |local| *local, |total, result| *total += result);
    };
    ($tool:ident, $name:literal, $new:expr, $instrument:expr, $finish:expr, $fold:expr) => {
        impure_tool!($tool, $name, $new, $instrument, $finish, $fold, None);
    };
    ($tool:ident, $name:literal, $new:expr, $instrument:expr, $finish:expr, $fold:expr, $prefix:expr) => {
        /// A tool that is wrong.
        #[allow(dead_code, reason = "not all of them remember anything")]
        pub struct $tool(AtomicU64);

        impl Tool for $tool {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = "Be wrong";
            const PREFIX: Option<OnPrefix<Self>> = $prefix;
            type Options = NoOptions;
            type Local = u64;
            type Result = u64;
            type Total = u64;

            fn new(_: NoOptions) -> Result<Self, String> {
                Ok(Self(AtomicU64::new($new)))
            }

            fn instrument(&self, trace: &Trace<'_, u64>) {
                let instrument: fn(&Self, &Trace<'_, u64>) = $instrument;
                instrument(self, trace);
            }

            fn begin(&self, _: SliceInfo) -> u64 {
                0
            }

            fn finish(&self, local: &u64) -> u64 {
                let finish: fn(&u64) -> u64 = $finish;
                finish(local)
            }

            fn fold(&self, total: &mut u64, _: SliceInfo, result: u64) {
                let fold: fn(&mut u64, u64) = $fold;
                fold(total, result);
            }

            fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
                writeln!(out, "a total: {total}")
            }
        }
    };
}

fn stores(calls: &mut u64, address: u64) {
    *calls += 1;
    let byte = address as *mut u8;
    // SAFETY: none: this is what the trial is about. The app is about to write there.
    unsafe { byte.write_volatile(byte.read_volatile()) };
}

impure_tool!(StoresToApp, "stores-to-app", 0, |_, trace| {
    for instruction in trace.instructions() {
        let operands = instruction.memory_operands();
        for (n, _) in operands.iter().enumerate().filter(|(_, operand)| operand.write) {
            instruction.call(At::Before, stores, (Arg::MemoryAddress(n),));
        }
    }
});

#[inline(never)]
fn fill(address: u64, len: usize) {
    // SAFETY: none, as above.
    unsafe { (address as *mut u8).write_bytes(std::hint::black_box(0), std::hint::black_box(len)) };
}

/// By a function that it calls, and that is libc's.
fn clears(calls: &mut u64, stack_pointer: u64) {
    *calls += 1;
    if *calls == 500 {
        fill(stack_pointer - 4096, 64);
    }
}

impure_tool!(ClearsTheStack, "clears-the-stack", 0, |_, trace| {
    for block in trace.blocks() {
        block.call(At::Before, clears, (superpin_tool::Gpr::Rsp,));
    }
});

fn looks_at_the_clock(nanoseconds: &mut u64) {
    let start = std::time::Instant::now();
    *nanoseconds += start.elapsed().as_nanos() as u64;
}

impure_tool!(LooksAtTheClock, "looks-at-the-clock", 0, |_, trace| {
    for block in trace.blocks() {
        block.call(At::Before, looks_at_the_clock, ());
    }
});

fn add(sum: &mut u64, more: u64) {
    *sum = sum.wrapping_add(more);
}

impure_tool!(NumbersBlocks, "numbers-blocks", 0, |tool, trace| {
    for block in trace.blocks() {
        block.call(At::Before, add, (tool.0.fetch_add(1, Relaxed),));
    }
});

// What it remembers is the same as long as it looks at one piece of code: only another order shows it.
impure_tool!(RemembersTheFirst, "remembers-the-first", 0, |tool, trace| {
    let first = tool.0.load(Relaxed);
    if first == 0 {
        tool.0.store(trace.address().0, Relaxed);
    }
    for block in trace.blocks() {
        block.call(At::Before, add, (tool.0.load(Relaxed),));
    }
});

static SEEN: AtomicU64 = AtomicU64::new(0);

fn count_elsewhere(calls: &mut u64) {
    *calls = SEEN.fetch_add(1, Relaxed) + 1;
}

impure_tool!(CountsElsewhere, "counts-elsewhere", 0, |_, trace| {
    for block in trace.blocks() {
        block.call(At::Before, count_elsewhere, ());
    }
});

fn count(calls: &mut u64) {
    *calls = calls.wrapping_add(1);
}

fn count_blocks<T>(_: &T, trace: &Trace<'_, u64>) {
    for block in trace.blocks() {
        block.call(At::Before, count, ());
    }
}

// A hash of all slices isn't that of the whole.
impure_tool!(FoldsByHash, "folds-by-hash", 0, count_blocks, |local| *local, |total, result| *total =
    total.wrapping_mul(31).wrapping_add(result));

// Rounded before it is added.
impure_tool!(Rounds, "rounds", 0, count_blocks, |local| local.next_power_of_two(), |total, result| *total += result);

// Nothing isn't nothing.
impure_tool!(CountsSlices, "counts-slices", 0, |_, _| (), |local| local + 1, |total, result| *total += result);

// What was before belongs to those that were before.
impure_tool!(
    AddsWhatWasBefore,
    "adds-what-was-before",
    0,
    count_blocks,
    |local| *local,
    |total, result| *total += result,
    Some(|_, local, prefix| *local += prefix.instructions)
);

impure_tool!(
    FinishesTwice,
    "finishes-twice",
    0,
    count_blocks,
    |local| local + SEEN.fetch_add(1, Relaxed),
    |total, result| *total += result
);

/// A tool that numbers the lines of its stream from each slice's begin on.
pub struct NumbersLines;

fn write_line(local: &mut (Stream, u64), pc: u64) {
    local.1 += 1;
    writeln!(local.0, "{}: {pc:#x}", local.1);
}

impl Tool for NumbersLines {
    const NAME: &'static str = "numbers-lines";
    const ABOUT: &'static str = "Be wrong";
    const STREAM: bool = true;
    type Options = NoOptions;
    type Local = (Stream, u64);
    type Result = ();
    type Total = ();

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Self::Local>) {
        for instruction in trace.instructions().filter(|instruction| instruction.is_call()) {
            instruction.call(At::Before, write_line, (Arg::Pc,));
        }
    }

    fn begin(&self, slice: SliceInfo) -> Self::Local {
        let mut stream = Stream::new();
        if slice.number == 0 {
            writeln!(stream, "calls by number");
        }
        (stream, 0)
    }

    fn finish(&self, _: &Self::Local) {}

    fn fold(&self, (): &mut (), _: SliceInfo, (): ()) {}

    fn fini(&self, (): (), out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "a total: 0")
    }
}
