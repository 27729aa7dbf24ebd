//! `itrace` and `memtrace`: what was executed, and which memory was accessed, as text in order, in the form of Pin's examples `itrace` and `pinatrace`.
//!
//! Of a REP instruction the first step has lines, or each with `--repeat each`; with rcx 0 it accesses nothing. Of a gather or scatter each element that its mask leaves in has one, of
//! a masked move all that lie side by side together. An access of a conditional move has a line whether its condition holds or not: it is made in both cases.

use std::io;

use clap::builder::ArgPredicate;
use superpin_tool::{
    Arg, OnSignal, OnThread, Out, Repeat, SignalEvent, SliceInfo, Stream, ThreadEvent, Tool, Trace, clap,
};

use super::lines::{append_access, append_instruction};
use super::{binary, drmemtrace, lackey};
use crate::accesses::{self, Access, LOADS, STORES};
use crate::repeat::RepeatOption;

/// Options of `itrace`.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t itrace --binary -z -o trace -- ls; superpin read trace")]
pub struct ITraceOptions {
    #[command(flatten)]
    repeat: RepeatOption,
    /// Write words of eight bytes, for `superpin read`
    #[arg(long)]
    binary: bool,
}

/// Options of `memtrace`.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t memtrace --binary -z -o trace -- ls; superpin read trace")]
pub struct MemTraceOptions {
    /// Whether a string instruction that repeats (REP) counts once, or each repetition does; with --drmemtrace each does where nothing is said
    #[arg(long, value_enum, default_value_t = Repeat::Once, default_value_if("drmemtrace", ArgPredicate::IsPresent, "each"))]
    repeat: Repeat,
    /// Write two words of eight bytes for each access, for `superpin read`
    #[arg(long)]
    binary: bool,
    /// Write instructions and accesses as valgrind's lackey does (--trace-mem=yes)
    #[arg(long, conflicts_with = "binary")]
    lackey: bool,
    /// Write instructions and accesses of one thread in the format of DynamoRIO's drmemtrace, for its tools (-infile)
    #[arg(long, conflicts_with_all = ["binary", "lackey"])]
    drmemtrace: bool,
    /// Of which thread: 0 is the first, the others have numbers in the order in which they are started
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "drmemtrace")]
    thread: u64,
}

/// `itrace`.
pub struct ITrace {
    options: ITraceOptions,
}

/// `memtrace`.
pub struct MemTrace {
    options: MemTraceOptions,
}

/// What a slice of `memtrace` has.
pub struct Local {
    stream: Stream,
    /// With `--drmemtrace`.
    follow: drmemtrace::Follow,
}

/// The last lines, which aren't of what was executed.
fn ends(repeat: RepeatOption, out: &mut Out<'_>) -> io::Result<()> {
    write!(out, "#")?;
    repeat.say(out)?;
    writeln!(out, "#eof")
}

/// The last word of what isn't text.
fn ends_binary(repeat: RepeatOption, out: &mut Out<'_>) -> io::Result<()> {
    out.verbatim();
    io::Write::write_all(out, &binary::end(repeat.repeat))
}

/// Bytes that are put together before they are appended.
const TOGETHER: usize = 1 << 15;
/// No line is longer.
const LONGEST: usize = 64;

impl Tool for ITrace {
    const NAME: &'static str = "itrace";
    const ABOUT: &'static str = "Write the addresses of all executed instructions, in order";
    const STREAM: bool = true;
    type Options = ITraceOptions;
    superpin_tool::auto_merge!(Stream);

    fn new(options: ITraceOptions) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Stream>) {
        for instruction in trace.instructions() {
            if self.options.binary {
                instruction.buffer((Arg::Pc, instruction.bytes().len() as u64));
            } else {
                instruction.buffer((Arg::Pc,));
            }
        }
    }

    fn drain(&self, stream: &mut Stream, words: &[u64]) {
        let mut lines = Vec::with_capacity(TOGETHER);
        for some in words.chunks(TOGETHER / LONGEST * 2) {
            lines.clear();
            if self.options.binary {
                let pairs = some.as_chunks().0.iter();
                pairs.for_each(|&[pc, size]| binary::append_binary_instruction(&mut lines, pc, size));
            } else {
                some.iter().for_each(|&pc| append_instruction(&mut lines, pc));
            }
            stream.write(&lines);
        }
    }

    fn fini(&self, _: Stream, out: &mut Out<'_>) -> io::Result<()> {
        if self.options.binary { ends_binary(self.options.repeat, out) } else { ends(self.options.repeat, out) }
    }
}

/// Bits of how many bytes an instruction has, in the word that says how many accesses follow it.
const LEN_BITS: u32 = 8;

impl MemTrace {
    fn on_thread(&self, Local { stream, follow }: &mut Local, event: ThreadEvent<'_>) {
        if self.options.drmemtrace {
            follow.on_thread(self.options.thread, stream, event);
        }
    }

    fn on_signal(&self, Local { stream, follow }: &mut Local, event: SignalEvent) {
        if self.options.drmemtrace {
            follow.on_signal(self.options.thread, stream, event);
        }
    }

    /// An instruction's accesses, put in the order in which they are told.
    fn append(&self, lines: &mut Vec<u8>, pc: u64, len: u64, accesses: &mut [Access]) {
        if self.options.lackey {
            return lackey::append(lines, pc, len, accesses);
        }
        for Access { address, size, kinds } in accesses {
            let append = if self.options.binary { binary::append_binary_access } else { append_access };
            append(lines, pc, *kinds == STORES, *address, *size);
        }
    }
}

impl Tool for MemTrace {
    const NAME: &'static str = "memtrace";
    const ABOUT: &'static str = "Write the addresses and sizes of all memory accesses, in order";
    const STREAM: bool = true;
    const ON_THREAD: Option<OnThread<Self>> = Some(Self::on_thread);
    const ON_SIGNAL: Option<OnSignal<Self>> = Some(Self::on_signal);
    type Options = MemTraceOptions;
    type Local = Local;
    type Result = ();
    type Total = ();

    fn new(options: MemTraceOptions) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat
    }

    fn stream_head(&self) -> Vec<u8> {
        if self.options.drmemtrace { drmemtrace::head(self.options.thread) } else { Vec::new() }
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        if self.options.drmemtrace {
            let tell = |local: &mut Local, outcome: u64| local.follow.tell(outcome);
            return trace.instructions().for_each(|instruction| drmemtrace::instrument(&instruction, tell));
        }
        let kinds: &[u64] = if self.options.lackey { &[LOADS | STORES] } else { &[LOADS, STORES] };
        for instruction in trace.instructions() {
            let accesses: Vec<_> = kinds.iter().flat_map(|kinds| accesses::pairs(&instruction, *kinds)).collect();
            if accesses.is_empty() && !self.options.lackey {
                continue;
            }
            let len = instruction.bytes().len() as u64;
            instruction.buffer((Arg::Pc, len | (accesses.len() as u64) << LEN_BITS));
            accesses.into_iter().flatten().for_each(|pair| instruction.buffer(pair));
        }
    }

    fn begin(&self, slice: SliceInfo) -> Local {
        Local { stream: Stream::new(), follow: drmemtrace::Follow::new(slice) }
    }

    fn drain(&self, Local { stream, follow }: &mut Local, words: &[u64]) {
        if self.options.drmemtrace {
            return follow.drain(self.options.thread, stream, words);
        }
        let (mut lines, mut accesses) = (Vec::with_capacity(TOGETHER), Vec::new());
        let mut rest = words;
        while let [pc, head, of @ ..] = rest {
            // Each access says how many pairs it has.
            let pairs = (0..head >> LEN_BITS).fold(0, |pairs, _| match of.get(2 * pairs + 1) {
                Some(what) => pairs + accesses::pairs_of(*what),
                None => pairs,
            });
            let (own, behind) = of.split_at(2 * pairs);
            rest = behind;
            accesses.clear();
            accesses.extend(accesses::of(own));
            self.append(&mut lines, *pc, head & ((1 << LEN_BITS) - 1), &mut accesses);
            if lines.len() > TOGETHER {
                stream.write(&lines);
                lines.clear();
            }
        }
        stream.write(&lines);
    }

    fn finish(&self, _: &Local) {}

    fn fold(&self, _: &mut (), _: SliceInfo, (): ()) {}

    fn fini(&self, (): (), out: &mut Out<'_>) -> io::Result<()> {
        let repeat = RepeatOption { repeat: self.options.repeat };
        if self.options.binary {
            return ends_binary(repeat, out);
        }
        if self.options.drmemtrace {
            out.verbatim();
            return io::Write::write_all(out, &drmemtrace::end(self.options.thread));
        }
        if self.options.lackey {
            // Who reads it expects nothing else.
            out.verbatim();
            return Ok(());
        }
        ends(repeat, out)
    }
}
