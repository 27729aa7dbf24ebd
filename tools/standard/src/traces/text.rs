//! `itrace` and `memtrace`: what was executed, and which memory was accessed, as text in order, in the form of Pin's examples `itrace` and `pinatrace`.
//!
//! Of a REP instruction the first step has lines, or each with `--repeat each`; with rcx 0 it accesses nothing. Of a gather or scatter each element that its mask leaves in has one, of
//! a masked move all that lie side by side together. An access of a conditional move has a line whether its condition holds or not: it is made in both cases.

use std::io;

use superpin_tool::{Arg, Out, Repeat, Stream, Tool, Trace};

use crate::accesses::{self, Access, LOADS, STORES};
use crate::repeat::RepeatOption;

/// `itrace`.
pub struct ITrace {
    repeat: RepeatOption,
}

/// `memtrace`.
pub struct MemTrace {
    repeat: RepeatOption,
}

/// The last lines, which aren't of what was executed.
fn ends(repeat: RepeatOption, out: &mut Out<'_>) -> io::Result<()> {
    write!(out, "#")?;
    repeat.say(out)?;
    writeln!(out, "#eof")
}

/// Lines that are put together before they are appended.
const TOGETHER: usize = 1024;

fn append_hex(line: &mut Vec<u8>, number: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    line.extend_from_slice(b"0x");
    let digits = (64 - (number | 1).leading_zeros()).div_ceil(4);
    line.extend((0..digits).rev().map(|n| DIGITS[(number >> (4 * n)) as usize % 16]));
}

impl Tool for ITrace {
    const NAME: &'static str = "itrace";
    const ABOUT: &'static str = "Write the addresses of all executed instructions, in order";
    const STREAM: bool = true;
    type Options = RepeatOption;
    superpin_tool::auto_merge!(Stream);

    fn new(repeat: RepeatOption) -> Result<Self, String> {
        Ok(Self { repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Stream>) {
        for instruction in trace.instructions() {
            instruction.buffer((Arg::Pc,));
        }
    }

    fn drain(&self, stream: &mut Stream, words: &[u64]) {
        let mut lines = Vec::with_capacity(TOGETHER * 16);
        for some in words.chunks(TOGETHER) {
            lines.clear();
            for &pc in some {
                append_hex(&mut lines, pc);
                lines.push(b'\n');
            }
            stream.write(&lines);
        }
    }

    fn fini(&self, _: Stream, out: &mut Out<'_>) -> io::Result<()> {
        ends(self.repeat, out)
    }
}

impl Tool for MemTrace {
    const NAME: &'static str = "memtrace";
    const ABOUT: &'static str = "Write the addresses and sizes of all memory accesses, in order";
    const STREAM: bool = true;
    type Options = RepeatOption;
    superpin_tool::auto_merge!(Stream);

    fn new(repeat: RepeatOption) -> Result<Self, String> {
        Ok(Self { repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Stream>) {
        for instruction in trace.instructions() {
            for pairs in [LOADS, STORES].into_iter().flat_map(|kinds| accesses::pairs(&instruction, kinds)) {
                instruction.buffer((Arg::Pc, 0_u64));
                pairs.into_iter().for_each(|pair| instruction.buffer(pair));
            }
        }
    }

    fn drain(&self, stream: &mut Stream, words: &[u64]) {
        let mut lines = Vec::with_capacity(TOGETHER * 48);
        let mut rest = words;
        while let [pc, _, of @ ..] = rest
            && let [_, what, ..] = of
        {
            let (access, behind) = of.split_at(2 * accesses::pairs_of(*what));
            rest = behind;
            for Access { address, size, kinds } in accesses::of(access) {
                append_hex(&mut lines, *pc);
                lines.extend_from_slice(if kinds == STORES { b": W " } else { b": R " });
                append_hex(&mut lines, address);
                lines.extend_from_slice(format!(" {size}\n").as_bytes());
            }
            if lines.len() > TOGETHER * 40 {
                stream.write(&lines);
                lines.clear();
            }
        }
        stream.write(&lines);
    }

    fn fini(&self, _: Stream, out: &mut Out<'_>) -> io::Result<()> {
        ends(self.repeat, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros() {
        let hex = |number| {
            let mut line = Vec::new();
            append_hex(&mut line, number);
            String::from_utf8(line).unwrap()
        };
        for number in [0, 1, 0xf, 0x10, 0x7fff_f7fe_1234, u64::MAX] {
            assert_eq!(hex(number), format!("{number:#x}"));
        }
    }
}
