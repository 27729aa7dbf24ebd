//! `malloctrace`: routines that allocate and free, with what they are given, who calls them, and what they return, as Pin's example of that name.
//!
//! ```text
//!   malloc(24) from main+0x1c
//!     returns 0x5555555592a0
//! ```
//!
//! A routine that ends by a jump to another one (`realloc(NULL, n)`, some) has both lines before one result. At the end there is what was called how often, and how many bytes were asked for.

use std::collections::BTreeMap;
use std::fmt;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{
    AppPc, Arg, At, Gpr, ImageEvent, Instruction, LoadedImages, OnImage, Out, Routine, SliceInfo, Stream, Tool, Trace,
    clap, memory,
};

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t malloctrace -o calls.txt -- ls")]
pub struct Options {
    /// Only routines of the image with this name, as libc.so.6
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
}

/// The tool.
pub struct MallocTrace {
    options: Options,
}

/// What a routine is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Size,
    CountAndSize,
    Pointer,
    PointerAndSize,
    PointerCountAndSize,
    AlignmentAndSize,
    PointerAlignmentAndSize,
}

const ROUTINES: [(&str, Takes); 15] = [
    ("malloc", Takes::Size),
    ("calloc", Takes::CountAndSize),
    ("realloc", Takes::PointerAndSize),
    ("reallocarray", Takes::PointerCountAndSize),
    ("memalign", Takes::AlignmentAndSize),
    ("aligned_alloc", Takes::AlignmentAndSize),
    ("posix_memalign", Takes::PointerAlignmentAndSize),
    ("valloc", Takes::Size),
    ("pvalloc", Takes::Size),
    ("free", Takes::Pointer),
    ("_Znwm", Takes::Size),
    ("_Znam", Takes::Size),
    ("_ZdlPv", Takes::Pointer),
    ("_ZdaPv", Takes::Pointer),
    ("_ZdlPvm", Takes::PointerAndSize),
];

/// How these are printed that C++ has.
fn shown(name: &'static str) -> &'static str {
    match name {
        "_Znwm" => "operator new",
        "_Znam" => "operator new[]",
        "_ZdlPv" | "_ZdlPvm" => "operator delete",
        "_ZdaPv" => "operator delete[]",
        other => other,
    }
}

impl Takes {
    /// Bytes that are asked for.
    fn size(self, [a, b, c]: [u64; 3]) -> u64 {
        match self {
            Self::Size => a,
            Self::CountAndSize => a.saturating_mul(b),
            Self::Pointer => 0,
            Self::PointerAndSize | Self::AlignmentAndSize => b,
            Self::PointerCountAndSize => b.saturating_mul(c),
            Self::PointerAlignmentAndSize => c,
        }
    }
}

/// A call, as it is written.
struct Called {
    number: usize,
    args: [u64; 3],
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, takes) = ROUTINES[self.number];
        let ([a, b, c], name) = (self.args, shown(name));
        match takes {
            Takes::Size => write!(f, "{name}({a})"),
            Takes::CountAndSize | Takes::AlignmentAndSize => write!(f, "{name}({a}, {b})"),
            Takes::Pointer => write!(f, "{name}({a:#x})"),
            Takes::PointerAndSize => write!(f, "{name}({a:#x}, {b})"),
            Takes::PointerCountAndSize | Takes::PointerAlignmentAndSize => write!(f, "{name}({a:#x}, {b}, {c})"),
        }
    }
}

/// By the routine's number: calls and bytes that were asked for.
type Sums = BTreeMap<usize, (Sum, Sum)>;

/// What a slice has.
#[derive(Default)]
pub struct Local {
    stream: Stream,
    images: LoadedImages,
    sums: Sums,
}

fn enters(local: &mut Local, number: u64, stack_pointer: u64, a: u64, b: u64, c: u64) {
    let called = Called { number: number as usize, args: [a, b, c] };
    let (calls, bytes) = local.sums.entry(called.number).or_default();
    calls.0 += 1;
    bytes.0 = bytes.0.wrapping_add(ROUTINES[called.number].1.size(called.args));
    let caller = memory::read_word(stack_pointer).map_or(AppPc(0), AppPc);
    // It is behind the call, which may be the last thing of its routine.
    let call = AppPc(caller.0.wrapping_sub(1));
    match (local.images.routine_at(call), local.images.at(call)) {
        (Some(routine), _) => {
            let offset = caller.0 - routine.address().0;
            writeln!(local.stream, "{called} from {}+{offset:#x}", routine.demangled());
        }
        (None, Some(image)) => writeln!(local.stream, "{called} from {}+{:#x}", image.name(), image.offset(caller)),
        (None, None) => writeln!(local.stream, "{called} from {:#x}", caller.0),
    }
}

fn returns(local: &mut Local, result: u64) {
    writeln!(local.stream, "  returns {result:#x}");
}

impl MallocTrace {
    /// Which of [`ROUTINES`] it is. Of several names of a routine the one that people use is told.
    fn number(&self, routine: &Routine<'_>) -> Option<usize> {
        let is_asked = |name: &String| name == routine.image().name();
        let number = ROUTINES.iter().position(|(name, _)| *name == routine.name())?;
        self.options.image.as_ref().is_none_or(is_asked).then_some(number)
    }

    fn instrument_instruction(&self, instruction: &Instruction<'_, Local>) {
        if let Some(number) = instruction.enters().and_then(|routine| self.number(&routine)) {
            let args = [0, 1, 2].map(Arg::Argument);
            instruction.call(At::Before, enters, (number, Gpr::Rsp, args[0], args[1], args[2]));
        }
        let left = instruction.returns_from().and_then(|routine| self.number(&routine));
        if left.is_some_and(|number| !matches!(ROUTINES[number].0, "free" | "_ZdlPv" | "_ZdaPv" | "_ZdlPvm")) {
            instruction.call(At::Before, returns, (Arg::ReturnValue,));
        }
    }

    fn on_image(&self, local: &mut Local, event: ImageEvent<'static>) {
        local.images.note(event);
    }
}

impl Tool for MallocTrace {
    const NAME: &'static str = "malloctrace";
    const ABOUT: &'static str = "Write calls of malloc, free and the like, with callers and results";
    const STREAM: bool = true;
    const ON_IMAGE: Option<OnImage<Self>> = Some(Self::on_image);
    type Options = Options;
    type Local = Local;
    type Result = Sums;
    type Total = Sums;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.instructions().for_each(|instruction| self.instrument_instruction(&instruction));
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Sums {
        local.sums.clone()
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        Merge::merge(total, sums);
    }

    fn fini(&self, total: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "# {:>12} {:>16}", "calls", "bytes")?;
        for (number, (calls, bytes)) in total {
            writeln!(out, "# {:>12} {:>16} {}", calls.0, bytes.0, shown(ROUTINES[number].0))?;
        }
        writeln!(out, "#eof")
    }
}
