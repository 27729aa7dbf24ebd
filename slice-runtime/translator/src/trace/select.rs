//! Selecting the app code that makes up a trace.
//!
//! A trace is a contiguous run of blocks. It ends at an unconditional transfer, at anything that must leave the cache,
//! after a number of blocks or instructions, before the end of a running slice, and at the end of its mapping.
//!
//! Where a block ends is the app's affair: at a branch, call, return, system call or the like, and behind so many instructions. What is limited is how many
//! blocks there are in a trace. Only what is bound to one process's run cuts one ([`Limits::stop_after_write`], an end that isn't a block's start).

use isa::{DecodeError, InBlock, Instruction, Kind, Reader};
use machine::AppPc;

use super::trace::Trace;

/// Bounds of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Basic blocks at most.
    pub blocks: usize,
    /// Instructions at most, unless its first block has more.
    pub instructions: usize,
    /// Whether it has one instruction only.
    pub single: bool,
    /// Whether it ends after an instruction that writes memory: for code that changes itself often.
    pub stop_after_write: bool,
}

/// Instructions a trace can have at most: it must not span more than one page boundary.
pub const MAX_INSTRUCTIONS: usize = 256;

/// Instructions of a block at most: what is longer goes on as another one.
pub const MAX_BLOCK: usize = 64;

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

/// Builds the trace that starts at `pc`, whose code is readable in `bytes`. Its instructions go to `instructions`, an empty buffer. `is_end`: whether it
/// has to end before the instruction there, which starts a block, or not.
///
/// # Errors
/// If there isn't even one instruction.
pub fn select(
    pc: AppPc,
    bytes: &[u8],
    limits: Limits,
    is_end: impl Fn(AppPc, bool) -> bool,
    instructions: Vec<Instruction>,
) -> Result<Trace, FetchFault> {
    let mut trace = Trace { instructions, block_ends: Vec::with_capacity(4), ..Trace::default() };
    let mut reader = Reader::new(bytes, pc);
    let most = limits.instructions.min(MAX_INSTRUCTIONS);
    while trace.block_ends.len() < limits.blocks {
        let first = trace.instructions.len();
        let goes_on = block(&mut trace.instructions, &mut reader, pc, limits, &is_end)?;
        let fits = first == 0 || trace.instructions.len() <= most;
        if !fits {
            trace.instructions.truncate(first);
        }
        if trace.instructions.len() > first {
            trace.block_ends.push(trace.instructions.len());
        }
        if !goes_on || !fits {
            break;
        }
    }
    Ok(trace)
}

/// Appends the instructions of the block that starts at the reader's position. Whether another may follow.
fn block(
    instructions: &mut Vec<Instruction>,
    reader: &mut Reader<'_>,
    pc: AppPc,
    limits: Limits,
    is_end: &impl Fn(AppPc, bool) -> bool,
) -> Result<bool, FetchFault> {
    let most = if limits.single { 1 } else { MAX_BLOCK };
    for n in 0..most {
        let at = reader.position();
        if at > 0 && is_end(AppPc(pc.0 + at as u64), n == 0) {
            return Ok(false);
        }
        let instruction = match reader.read() {
            Ok(instruction) => instruction,
            Err(_) if at > 0 => return Ok(false),
            Err(DecodeError::Truncated) => return Err(FetchFault::Unreachable),
            Err(DecodeError::Invalid) => return Err(FetchFault::Invalid),
        };
        let stands = instruction.in_block();
        if at > 0 && stands == InBlock::Alone {
            return Ok(false);
        }
        instructions.push(instruction);
        let writes = || instruction.memory_operands().iter().any(|operand| operand.write);
        if stands != InBlock::Inside || limits.stop_after_write && writes() {
            return Ok(matches!(instruction.kind(), Kind::Branch { .. } | Kind::CountBranch { .. }));
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { blocks: 2, instructions: 10, single: false, stop_after_write: false };

    /// Instructions and ends of blocks. `end`: where a slice ends, and whether a block starts there.
    fn lengths(bytes: &[u8], limits: Limits, end: (u64, bool)) -> (usize, Vec<usize>) {
        let is_end = |pc: AppPc, starts: bool| pc.0 == end.0 && (starts || !end.1);
        let trace = select(AppPc(0x1000), bytes, limits, is_end, Vec::new()).unwrap();
        (trace.instructions.len(), trace.block_ends)
    }

    const NONE: (u64, bool) = (0, true);

    #[test]
    fn traces_end_where_they_must() {
        let nops_je_nop_ret = [0x90, 0x90, 0x74, 0x00, 0x90, 0xc3, 0x90];
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, NONE), (5, vec![3, 5]));
        assert_eq!(lengths(&nops_je_nop_ret, Limits { blocks: 1, ..LIMITS }, NONE), (3, vec![3]));
        assert_eq!(lengths(&nops_je_nop_ret, Limits { single: true, ..LIMITS }, NONE), (1, vec![1]));
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, (0x1004, true)), (3, vec![3]));
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, (0x1004, false)), (3, vec![3]));
    }

    #[test]
    fn limits_leave_blocks_whole() {
        let nops_je_nop_ret = [0x90, 0x90, 0x74, 0x00, 0x90, 0xc3, 0x90];
        for instructions in 1..=4 {
            assert_eq!(
                lengths(&nops_je_nop_ret, Limits { instructions, ..LIMITS }, NONE),
                (3, vec![3]),
                "{instructions}"
            );
        }
        assert_eq!(lengths(&nops_je_nop_ret, Limits { instructions: 5, ..LIMITS }, NONE), (5, vec![3, 5]));
        assert_eq!(lengths(&[0x90; 100], LIMITS, NONE), (MAX_BLOCK, vec![MAX_BLOCK]));
        // je; je; nop, nop, nop, je; je
        let short_and_long = [0x74, 0, 0x74, 0, 0x90, 0x90, 0x90, 0x74, 0, 0x74, 0];
        assert_eq!(lengths(&short_and_long, Limits { blocks: 5, instructions: 4, ..LIMITS }, NONE), (2, vec![1, 2]));
    }

    #[test]
    fn a_block_that_only_runs_across_an_end_is_whole() {
        let nops_ret = [0x90, 0x90, 0xc3];
        assert_eq!(lengths(&nops_ret, LIMITS, (0x1001, true)), (3, vec![3]));
        assert_eq!(lengths(&nops_ret, LIMITS, (0x1001, false)), (1, vec![1]));
    }

    #[test]
    fn readings_are_blocks_for_themselves() {
        let nop_rdtsc_nop = [0x90, 0x0f, 0x31, 0x90];
        assert_eq!(lengths(&nop_rdtsc_nop, LIMITS, NONE), (1, vec![1]));
        assert_eq!(lengths(&nop_rdtsc_nop[1..], LIMITS, NONE), (1, vec![1]));
        let nop_rdrand_nop = [0x90, 0x0f, 0xc7, 0xf0, 0x90];
        assert_eq!(lengths(&nop_rdrand_nop, LIMITS, NONE), (1, vec![1]));
        assert_eq!(lengths(&nop_rdrand_nop[1..], LIMITS, NONE), (1, vec![1]));
    }

    #[test]
    fn a_head_that_is_its_own_end_still_makes_a_trace() {
        assert_eq!(lengths(&[0x90, 0xc3], LIMITS, (0x1000, true)), (2, vec![2]));
    }

    #[test]
    fn unreadable_and_invalid_heads_are_faults() {
        let none = select(AppPc(0), &[], LIMITS, |_, _| false, Vec::new()).err();
        assert_eq!(none, Some(FetchFault::Unreachable));
        assert_eq!(select(AppPc(0), &[0x06; 15], LIMITS, |_, _| false, Vec::new()).err(), Some(FetchFault::Invalid));
    }
}
