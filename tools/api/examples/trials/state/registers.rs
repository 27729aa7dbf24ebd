//! All registers at each instruction, by the buffer and by calls.

use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SliceInfo, Tool, Trace};

/// Words that came, a sum of them as the buffer has them and as calls get them.
type Sums = [u64; 3];

/// Words for an instruction.
const WORDS: usize = Gpr::ALL.len();

/// The tool.
pub struct Registers;

/// What stands for the value of the register with this number: sums of it differ if values are exchanged.
fn weighed(number: usize, value: u64) -> u64 {
    (value ^ value >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.wrapping_add(2 * number as u64))
}

fn four(sums: &mut Sums, first: u64, a: u64, b: u64, c: u64, d: u64) {
    for (n, value) in [a, b, c, d].into_iter().enumerate() {
        sums[2] = sums[2].wrapping_add(weighed(first as usize + n, value));
    }
}

impl Tool for Registers {
    const NAME: &'static str = "registers";
    const ABOUT: &'static str = "Check the values of all registers";
    type Options = NoOptions;
    type Local = Sums;
    type Result = Sums;
    type Total = Sums;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Sums>) {
        for instruction in trace.instructions() {
            for (n, some) in Gpr::ALL.chunks_exact(4).enumerate() {
                let [a, b, c, d] = [some[0], some[1], some[2], some[3]].map(Arg::Register);
                instruction.buffer((a, b, c, d));
                instruction.call(At::Before, four, (4 * n, a, b, c, d));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Sums {
        Sums::default()
    }

    fn drain(&self, sums: &mut Sums, words: &[u64]) {
        sums[0] += words.len() as u64;
        for registers in words.chunks(WORDS) {
            for (n, &value) in registers.iter().enumerate() {
                sums[1] = sums[1].wrapping_add(weighed(n, value));
            }
        }
    }

    fn finish(&self, sums: &Sums) -> Sums {
        *sums
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        for (all, sum) in total.iter_mut().zip(sums) {
            *all = all.wrapping_add(sum);
        }
    }

    fn fini(&self, [words, buffered, called]: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "registers: {words} {buffered} {called}")
    }
}
