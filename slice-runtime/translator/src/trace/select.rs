//! Selecting the app code that makes up a trace.
//!
//! A trace is a contiguous run of instructions. It ends at an unconditional transfer, at anything that must leave the cache,
//! after a number of blocks or instructions, before the end of a running slice, and at the end of its mapping.

use isa::{DecodeError, Instruction, Kind, Reader};
use machine::AppPc;

use super::trace::Trace;

/// Bounds of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Basic blocks at most.
    pub blocks: usize,
    /// Instructions at most.
    pub instructions: usize,
    /// Whether it ends after an instruction that writes memory: for code that changes itself often.
    pub stop_after_write: bool,
}

/// Instructions a trace can have at most: it must not span more than one page boundary.
pub const MAX_INSTRUCTIONS: usize = 256;

/// Bytes of app code that it can have at most.
pub const MAX_BYTES: u64 = (MAX_INSTRUCTIONS * isa::MAX_LEN) as u64;

/// Why no trace could be made: the app faults when it fetches its first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchFault {
    /// No code can be fetched there.
    Unreachable,
    /// The bytes are no instruction.
    Invalid,
}

/// Builds the trace that starts at `pc`, whose code is readable in `bytes`. Its instructions go to `instructions`, an empty buffer.
///
/// # Errors
/// If there isn't even one instruction.
pub fn select(
    pc: AppPc,
    bytes: &[u8],
    limits: Limits,
    is_end: impl Fn(AppPc) -> bool,
    instructions: Vec<Instruction>,
) -> Result<Trace, FetchFault> {
    let mut trace = Trace { instructions, block_ends: Vec::with_capacity(4), ..Trace::default() };
    let mut reader = Reader::new(bytes, pc);
    while trace.instructions.len() < limits.instructions.min(MAX_INSTRUCTIONS) {
        let at = reader.position();
        let here = AppPc(pc.0 + at as u64);
        if at > 0 && is_end(here) {
            break;
        }
        let instruction = match reader.read() {
            Ok(instruction) => instruction,
            Err(_) if at > 0 => break,
            Err(DecodeError::Truncated) => return Err(FetchFault::Unreachable),
            Err(DecodeError::Invalid) => return Err(FetchFault::Invalid),
        };
        if at > 0 && matches!(instruction.kind(), Kind::Unsupported(_)) {
            break;
        }
        trace.instructions.push(instruction);
        let ends = match instruction.kind() {
            Kind::Plain | Kind::SegmentBase { .. } => {
                if instruction.unrepeatable().is_some() {
                    break;
                }
                if limits.stop_after_write && instruction.memory_operands().iter().any(|m| m.write) {
                    break;
                }
                continue;
            }
            Kind::Branch { .. } | Kind::CountBranch { .. } => trace.block_ends.len() + 1 >= limits.blocks,
            _ => true,
        };
        trace.block_ends.push(trace.instructions.len());
        if ends {
            return Ok(trace);
        }
    }
    if trace.block_ends.last() != Some(&trace.instructions.len()) {
        trace.block_ends.push(trace.instructions.len());
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { blocks: 2, instructions: 10, stop_after_write: false };

    fn lengths(bytes: &[u8], limits: Limits, end: u64) -> (usize, Vec<usize>) {
        let trace = select(AppPc(0x1000), bytes, limits, |pc| pc.0 == end, Vec::new()).unwrap();
        (trace.instructions.len(), trace.block_ends)
    }

    #[test]
    fn traces_end_where_they_must() {
        let nops_je_nop_ret = [0x90, 0x90, 0x74, 0x00, 0x90, 0xc3, 0x90];
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, 0), (5, vec![3, 5]));
        assert_eq!(lengths(&nops_je_nop_ret, Limits { blocks: 1, ..LIMITS }, 0), (3, vec![3]));
        assert_eq!(lengths(&nops_je_nop_ret, Limits { instructions: 2, ..LIMITS }, 0), (2, vec![2]));
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, 0x1001), (1, vec![1]));
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, 0x1004), (3, vec![3]));
    }

    #[test]
    fn a_head_that_is_its_own_end_still_makes_a_trace() {
        assert_eq!(lengths(&[0x90, 0xc3], LIMITS, 0x1000), (2, vec![2]));
    }

    #[test]
    fn unreadable_and_invalid_heads_are_faults() {
        let none = select(AppPc(0), &[], LIMITS, |_| false, Vec::new()).err();
        assert_eq!(none, Some(FetchFault::Unreachable));
        assert_eq!(select(AppPc(0), &[0x06; 15], LIMITS, |_| false, Vec::new()).err(), Some(FetchFault::Invalid));
    }
}
