//! A tool that stops, or ends its slice, at an instruction whose number is known in every slice.

use superpin_tool::merge::{Append, Merge};
use superpin_tool::{
    Arg, At, BlockCounts, Code, CountsBlocks, OnPrefix, OnSyscall, Out, Prefix, SliceInfo, SyscallEvent, Tool, Trace,
    clap, end_slice, stop,
};

use super::hash;

/// The tool.
pub struct Stopping {
    options: Options,
}

#[derive(clap::Args)]
pub struct Options {
    /// Stop behind the first chosen instruction from this number on (0: never)
    #[arg(long, default_value = "0")]
    at: u64,
    /// End a slice behind the first chosen instruction from each multiple of this on (0: never)
    #[arg(long, default_value = "0")]
    every: u64,
    /// Stop at the entry of the system call with this number (0: never)
    #[arg(long, default_value = "0")]
    call: u64,
}

#[derive(Default)]
pub struct Local {
    /// The number of the instruction at hand.
    number: u64,
    /// Behind which one it is to ask.
    due: u64,
    /// Calls made before chosen instructions and after them, and their addresses and numbers put together.
    before: u64,
    after: u64,
    mixed: u64,
    calls: Vec<String>,
    blocks: BlockCounts,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

/// Sums, what was told of system calls, and instructions of blocks.
type Seen = (u64, u64, u64, Append<String>, Code);

fn is_due(local: &mut Local) -> bool {
    local.number >= local.due
}

fn ask(local: &mut Local, at: u64) {
    if local.number >= at {
        stop();
    } else {
        end_slice();
    }
}

fn count(local: &mut Local, instructions: u64) {
    local.number = local.number.wrapping_add(instructions);
}

fn before(local: &mut Local, pc: u64) {
    local.before += 1;
    local.mixed = local.mixed.wrapping_add(pc ^ local.number);
}

fn after(local: &mut Local, pc: u64) {
    local.after += 1;
    local.mixed = local.mixed.wrapping_add(pc << 1 ^ local.number);
}

impl Stopping {
    /// Where it is to stop.
    fn at(&self) -> u64 {
        if self.options.at == 0 { u64::MAX } else { self.options.at }
    }

    fn begins(&self, local: &mut Local, prefix: Prefix) {
        local.number = prefix.instructions;
        let ended = local.number.checked_div(self.options.every);
        local.due = ended.map_or(u64::MAX, |ended| (ended + 1) * self.options.every).min(self.at());
    }

    fn called(&self, local: &mut Local, event: SyscallEvent<'_>) {
        match event {
            SyscallEvent::Entry(call) => {
                local.calls.push(format!("{} {}", local.number, call.name()));
                if self.options.call != 0 && u64::from(call.number()) == self.options.call {
                    stop();
                }
            }
            SyscallEvent::Exit(call) => local.calls.push(format!("{} behind {}", local.number, call.name())),
        }
    }
}

impl Tool for Stopping {
    const NAME: &'static str = "stopping";
    const ABOUT: &'static str = "Stop, or end slices, at given instructions";
    const PREFIX: Option<OnPrefix<Self>> = Some(Self::begins);
    const ON_SYSCALL: Option<OnSyscall<Self>> = Some(Self::called);
    type Options = Options;
    type Local = Local;
    type Result = Seen;
    type Total = Seen;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        for instruction in trace.instructions() {
            let is_chosen = hash(5, instruction.address().0).is_multiple_of(32);
            if is_chosen {
                // The other calls at the instruction are made.
                instruction.call_if(At::Before, is_due, (), ask, (self.at(),));
                instruction.call(At::Before, before, (Arg::Pc,));
            }
            instruction.call(At::Before, count, (Arg::BlockInstructions,));
            if is_chosen && instruction.has_after() {
                instruction.call(At::After, after, (Arg::Pc,));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Seen {
        (local.before, local.after, local.mixed, Append(local.calls.clone()), local.blocks.executed())
    }

    fn fold(&self, total: &mut Seen, _: SliceInfo, seen: Seen) {
        total.0 += seen.0;
        total.1 += seen.1;
        total.2 = total.2.wrapping_add(seen.2);
        total.3.merge(seen.3);
        total.4.merge(seen.4);
    }

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "{} {} {:x} {}", seen.0, seen.1, seen.2, seen.4.total())?;
        for (pc, executions) in seen.4.by(|instruction| instruction.address()) {
            writeln!(out, "{:x} {executions}", pc.0)?;
        }
        for call in seen.3.0 {
            writeln!(out, "{call}")?;
        }
        Ok(())
    }
}
