//! `path`: writes down which way a run takes through the app's code, for `scripts/first-difference.sh`. What is written, and why it doesn't depend on slices:
//! `tests/src/path`.

#![no_main]

use std::path::PathBuf;

use suites::path::{Encoder, REGISTERS, Writer};
use superpin_tool::{Gpr, Out, SliceInfo, Tool, Trace};

superpin_tool::image!(Path);

/// Options.
#[derive(clap::Args)]
struct Options {
    /// The file to write, a part for each slice as soon as it is folded
    #[arg(long)]
    to: PathBuf,
    /// Write down general registers too, where the app has gone elsewhere: those from rax to rdi (0) or from r8 to r15 (1)
    #[arg(long, value_parser = clap::value_parser!(u8).range(..2))]
    registers: Option<u8>,
}

struct Path(Options);

/// In one word: an instruction is at most 15 bytes long, and addresses have 48 bits with their sign.
fn packed(pc: u64, len: usize) -> u64 {
    pc << 4 | len as u64
}

fn unpacked(word: u64) -> (u64, u64) {
    ((word as i64 >> 4) as u64, word & 15)
}

impl Tool for Path {
    const NAME: &'static str = "path";
    const ABOUT: &'static str = "Write down which way the app takes through its code";
    type Options = Options;
    type Local = Encoder;
    type Result = Vec<u8>;
    type Total = Option<Writer>;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self(options))
    }

    fn instrument(&self, trace: &Trace<'_, Encoder>) {
        for instruction in trace.instructions() {
            instruction.buffer((packed(instruction.address().0, instruction.bytes().len()),));
            if let Some(half) = self.0.registers {
                for four in Gpr::ALL[usize::from(half) * REGISTERS..][..REGISTERS].chunks(4) {
                    let [a, b, c, d] = four.try_into().expect("eight registers");
                    instruction.buffer((a, b, c, d));
                }
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Encoder {
        Encoder::default()
    }

    fn drain(&self, path: &mut Encoder, words: &[u64]) {
        let each = if self.0.registers.is_some() { 1 + REGISTERS } else { 1 };
        for executed in words.chunks_exact(each) {
            let (pc, len) = unpacked(executed[0]);
            path.executed(pc, len, &executed[1..]);
        }
    }

    fn finish(&self, path: &Encoder) -> Vec<u8> {
        path.encoded()
    }

    /// Writes already here: of a run that fails at a slice, what was before is of interest.
    fn fold(&self, writer: &mut Option<Writer>, slice: SliceInfo, part: Vec<u8>) {
        let to = &self.0.to;
        let writer = writer
            .get_or_insert_with(|| Writer::create(to).unwrap_or_else(|error| panic!("{}: {error}", to.display())));
        writer.part(slice.number, &part).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    }

    fn fini(&self, writer: Option<Writer>, out: &mut Out<'_>) -> std::io::Result<()> {
        if let Some(mut writer) = writer {
            writer.end()?;
        }
        writeln!(out, "Path: {}", self.0.to.display())
    }
}
