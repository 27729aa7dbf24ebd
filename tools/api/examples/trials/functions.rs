//! With what a function was called, and what it returned.

use std::collections::BTreeMap;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SliceInfo, Tool, Trace, memory};

/// Of the function: entries, the sum of the second arguments as they are there and as they are at calls, returns, and the sum of what they return. Of the one with many arguments: the
/// sums of its eighth one and of its first that is no integer, and how often `main` has called it.
type Seen = [Sum; 8];

/// The tool.
pub struct Functions;

/// Of which function.
const FUNCTION: &str = "shapes::Square::area(int) const";

fn entered(seen: &mut Seen, second: u64) {
    seen[0].0 += 1;
    seen[1].0 += second & 0xffff_ffff;
}

fn entered_many(seen: &mut Seen, stack_pointer: u64, double: u64, main: u64, len: u64) {
    seen[5].0 += memory::stack_argument(stack_pointer, 7).unwrap_or(0);
    seen[6].0 += f64::from_bits(double) as u64;
    let from = memory::return_address(stack_pointer).map_or(0, |address| address.0);
    seen[7].0 += u64::from(from.wrapping_sub(main) < len);
}

fn called(seen: &mut Seen, second: u64) {
    seen[2].0 += second & 0xffff_ffff;
}

fn returned(seen: &mut Seen, value: u64) {
    seen[3].0 += 1;
    seen[4].0 = seen[4].0.wrapping_add(value);
}

impl Tool for Functions {
    const NAME: &'static str = "functions";
    const ABOUT: &'static str = "Add up what a function is given and returns";
    type Options = NoOptions;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for instruction in trace.instructions() {
            if instruction.enters().is_some_and(|routine| routine.demangled() == FUNCTION) {
                instruction.call(At::Before, entered, (Arg::Argument(1),));
            }
            if instruction.enters().is_some_and(|routine| routine.name() == "many") {
                let main = instruction
                    .image()
                    .and_then(|image| image.routine("main"))
                    .map(|main| (main.address(), main.size()));
                let (main, len) = main.expect("the program has a main");
                let double = Arg::Vector { register: 0, word: 0 };
                instruction.call(At::Before, entered_many, (Gpr::Rsp, double, main, len));
            }
            if instruction.returns_from().is_some_and(|routine| routine.demangled() == FUNCTION) {
                instruction.call(At::Before, returned, (Arg::ReturnValue,));
            }
            let target = instruction.branch_target().filter(|_| instruction.is_call());
            let function = target.and_then(|target| instruction.image()?.routine_at(target));
            if function.is_some_and(|routine| routine.demangled() == FUNCTION) {
                instruction.call(At::Before, called, (Arg::Argument(1),));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Seen {
        Seen::default()
    }

    fn finish(&self, local: &Seen) -> Seen {
        *local
    }

    fn fold(&self, total: &mut Seen, _: SliceInfo, result: Seen) {
        Merge::merge(total, result);
    }

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        let names = ["entries", "second", "at calls", "returns", "values", "eighth", "halves", "from main"];
        let lines: BTreeMap<_, _> = names.into_iter().zip(seen.map(|sum| sum.0)).collect();
        lines.iter().try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
    }
}
