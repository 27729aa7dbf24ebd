//! `itrace` and `memtrace`: what was executed, and which memory was accessed, as text in order, in the form of Pin's examples `itrace` and `pinatrace`.
//!
//! A REP instruction has one line, and one for each operand, at the address of the first step; a gather or scatter one, at its base address. An access of a conditional move has a line whether its
//! condition holds or not.

use superpin_tool::{Arg, NoOptions, Out, Stream, Tool, Trace};

/// `itrace`.
pub struct ITrace;

/// `memtrace`.
pub struct MemTrace;

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
    type Options = NoOptions;
    superpin_tool::auto_merge!(Stream);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
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

    fn fini(&self, _: Stream, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "#eof")
    }
}

/// In the second word of an access.
const IS_WRITE: u64 = 1 << 30;

impl Tool for MemTrace {
    const NAME: &'static str = "memtrace";
    const ABOUT: &'static str = "Write the addresses and sizes of all memory accesses, in order";
    const STREAM: bool = true;
    type Options = NoOptions;
    superpin_tool::auto_merge!(Stream);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Stream>) {
        for instruction in trace.instructions() {
            let operands = instruction.memory_operands();
            let reads = operands.iter().enumerate().filter(|(_, operand)| operand.read).map(|of| (of, 0));
            let writes = operands.iter().enumerate().filter(|(_, operand)| operand.write).map(|of| (of, IS_WRITE));
            for ((n, operand), kind) in reads.chain(writes) {
                instruction.buffer((Arg::Pc, kind | u64::from(operand.size), Arg::MemoryAddress(n)));
            }
        }
    }

    fn drain(&self, stream: &mut Stream, words: &[u64]) {
        let mut lines = Vec::with_capacity(TOGETHER * 48);
        for some in words.as_chunks::<3>().0.chunks(TOGETHER) {
            lines.clear();
            for &[pc, kind, address] in some {
                append_hex(&mut lines, pc);
                lines.extend_from_slice(if kind & IS_WRITE != 0 { b": W " } else { b": R " });
                append_hex(&mut lines, address);
                lines.extend_from_slice(format!(" {}\n", kind & (IS_WRITE - 1)).as_bytes());
            }
            stream.write(&lines);
        }
    }

    fn fini(&self, _: Stream, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "#eof")
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
