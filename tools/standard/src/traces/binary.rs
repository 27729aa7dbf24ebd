//! Traces as `--binary` writes them: words of eight bytes, little-endian, one or two for each line of the text.
//!
//! ```text
//!   63  62 61          48 47                                   0
//!   kind │ bytes         │ the instruction's address             an instruction (0)
//!   kind │ bytes         │ the instruction's address             a load (1) or a store (2) …
//!                address                                         … of which the next word is the address
//!   3    │ 0             │ how repetitions counted: 0, 1         the end
//! ```
//!
//! A word says by itself what it is, and nothing depends on what stands before it: so slices write the same as a serial run. What doesn't end with an end isn't whole.

use std::io::{self, BufRead, ErrorKind, Write};

use superpin_tool::Repeat;

use super::lines::{append_access, append_instruction};
use crate::repeat;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Instruction,
    Load,
    Store,
    End,
}

const KINDS: [Kind; 4] = [Kind::Instruction, Kind::Load, Kind::Store, Kind::End];
const KIND_SHIFT: u32 = 62;
const SIZE_SHIFT: u32 = 48;
const MOST: u64 = (1 << (KIND_SHIFT - SIZE_SHIFT)) - 1;
const ADDRESS: u64 = (1 << SIZE_SHIFT) - 1;

/// The largest access is that of an image of all state, of some eleven thousand bytes.
fn word(kind: Kind, size: u64, address: u64) -> [u8; 8] {
    ((kind as u64) << KIND_SHIFT | size.min(MOST) << SIZE_SHIFT | address & ADDRESS).to_le_bytes()
}

/// An instruction was executed.
pub fn append_binary_instruction(bytes: &mut Vec<u8>, pc: u64, size: u64) {
    bytes.extend_from_slice(&word(Kind::Instruction, size, pc));
}

/// Memory was accessed.
pub fn append_binary_access(bytes: &mut Vec<u8>, pc: u64, is_store: bool, address: u64, size: u64) {
    bytes.extend_from_slice(&word(if is_store { Kind::Store } else { Kind::Load }, size, pc));
    bytes.extend_from_slice(&address.to_le_bytes());
}

/// The last word.
pub fn end(counts: Repeat) -> [u8; 8] {
    word(Kind::End, 0, u64::from(counts == Repeat::Each))
}

/// Whether a trace can end with these bytes.
pub fn is_end_of_trace(last: [u8; 8]) -> bool {
    [Repeat::Once, Repeat::Each].map(end).contains(&last)
}

/// Writes a trace as the text that the same tool writes without `--binary`.
///
/// # Errors
/// If it can't be read or isn't such a trace, as a whole; or if the text can't be written.
pub fn write_as_text(trace: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let word = next(trace)?;
        // Addresses in the upper half have ones where there is no room for them.
        let pc = ((word << (64 - SIZE_SHIFT)) as i64 >> (64 - SIZE_SHIFT)) as u64;
        let size = word >> SIZE_SHIFT & MOST;
        line.clear();
        match KINDS[(word >> KIND_SHIFT) as usize] {
            Kind::Instruction => append_instruction(&mut line, pc),
            Kind::Load => append_access(&mut line, pc, false, next(trace)?, size),
            Kind::Store => append_access(&mut line, pc, true, next(trace)?, size),
            Kind::End => {
                let counts = match word & ADDRESS {
                    0 => Repeat::Once,
                    1 => Repeat::Each,
                    _ => return Err(other()),
                };
                if !trace.fill_buf()?.is_empty() {
                    return Err(other());
                }
                return write!(out, "#{}\n#eof\n", repeat::text(counts));
            }
        }
        out.write_all(&line)?;
    }
}

fn next(trace: &mut dyn BufRead) -> io::Result<u64> {
    let mut word = [0; 8];
    trace.read_exact(&mut word).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => io::Error::other("the trace isn't whole, or isn't one that --binary writes"),
        _ => error,
    })?;
    Ok(u64::from_le_bytes(word))
}

fn other() -> io::Error {
    io::Error::other("this isn't a trace that --binary writes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String, String> {
        let mut out = Vec::new();
        write_as_text(&mut &*bytes, &mut out).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        append_binary_instruction(&mut bytes, 0x7fff_f7fe_1234, 15);
        append_binary_access(&mut bytes, 0x40_1000, false, u64::MAX - 3, 4);
        append_binary_access(&mut bytes, 0xffff_ffff_ff60_0000, true, 0x7fff_ffff_0000, 11_008);
        bytes.extend(end(Repeat::Each));
        let lines = "0x7ffff7fe1234\n0x401000: R 0xfffffffffffffffc 4\n0xffffffffff600000: W 0x7fffffff0000 11008\n";
        assert_eq!(text(&bytes).unwrap(), format!("{lines}#Repetitions: each counts\n#eof\n"));
        assert_eq!(text(&end(Repeat::Once)).unwrap(), "#Repetitions: only the first counts\n#eof\n");
    }

    #[test]
    fn what_is_not_whole_is_told() {
        let mut bytes = Vec::new();
        append_binary_access(&mut bytes, 1, false, 2, 3);
        for len in 0..=bytes.len() {
            assert!(text(&bytes[..len]).unwrap_err().contains("isn't whole"), "{len}");
        }
        let mut more = [end(Repeat::Once), end(Repeat::Once)].concat();
        assert!(text(&more).unwrap_err().contains("isn't a trace"));
        more[0] = 2;
        assert!(text(&more[..8]).unwrap_err().contains("isn't a trace"));
    }
}
