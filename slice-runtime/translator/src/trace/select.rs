//! Selecting the app code that makes up a trace.
//!
//! A trace is a contiguous run of blocks. It ends at an unconditional transfer, at anything that must leave the cache,
//! after a number of blocks or instructions, before the end of a running slice, and at the end of its mapping.
//!
//! Where a block ends is the app's affair: at a branch, call, return, system call or the like, and behind so many instructions. What is limited is how many
//! blocks there are in a trace: none has a part of a block, unless it finishes one instruction ([`Limits::single`]).

use std::ops::Range;

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
    /// Whether it ends after a block that writes memory: for code that changes itself often.
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

/// What a trace has to heed at an instruction behind its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// Nothing.
    None,
    /// If it starts a block, the trace ends before it.
    Block,
    /// It ends before the block that has it, or that it starts.
    Instruction,
}

/// What was selected.
pub struct Selected {
    /// The trace.
    pub trace: Trace,
    /// Whether its only block ends where the readable bytes do, or has an instruction that is a [`Border::Instruction`].
    pub is_cut: bool,
}

/// Builds the trace that starts at `pc`, whose code is readable in `bytes`. Its instructions go to `instructions`, an empty buffer.
///
/// # Errors
/// If there isn't even one instruction.
pub fn select(
    pc: AppPc,
    bytes: &[u8],
    limits: Limits,
    border: impl Fn(AppPc) -> Border,
    instructions: Vec<Instruction>,
) -> Result<Selected, FetchFault> {
    let mut trace = Trace { instructions, block_ends: Vec::with_capacity(4), ..Trace::default() };
    let mut reader = Reader::new(bytes, pc);
    let most = limits.instructions.min(MAX_INSTRUCTIONS);
    let mut is_cut = false;
    while trace.block_ends.len() < limits.blocks {
        let first = trace.instructions.len();
        if first > 0 && border(AppPc(pc.0 + reader.position() as u64)) != Border::None {
            break;
        }
        let goes_on = match block(&mut trace.instructions, &mut reader, pc, limits, &border) {
            Ok(Block::Whole { goes_on }) => goes_on,
            Ok(Block::Cut) if first == 0 => {
                is_cut = true;
                false
            }
            Err(fault) if first == 0 => return Err(fault),
            Ok(Block::Cut) | Err(_) => {
                trace.instructions.truncate(first);
                break;
            }
        };
        if first > 0 && trace.instructions.len() > most {
            trace.instructions.truncate(first);
            break;
        }
        trace.block_ends.push(trace.instructions.len());
        if !goes_on {
            break;
        }
    }
    Ok(Selected { trace, is_cut })
}

/// The block with the instruction at `pc` among those that follow each other from `start` on, whose code is readable in `bytes`: where it begins, and the
/// address behind it. `None` if there is none.
pub fn block_around(start: AppPc, bytes: &[u8], pc: AppPc) -> Option<Range<u64>> {
    const WHOLE: Limits = Limits { blocks: 1, instructions: MAX_BLOCK, single: false, stop_after_write: false };
    let mut first = start.0;
    while first <= pc.0 {
        let mut reader = Reader::new(bytes.get((first - start.0) as usize..)?, AppPc(first));
        let mut instructions = Vec::new();
        block(&mut instructions, &mut reader, AppPc(first), WHOLE, &|_| Border::None).ok()?;
        let end = instructions.last()?.next_pc().0;
        if pc.0 < end {
            return Some(first..end);
        }
        first = end;
    }
    None
}

/// How a block came to its end.
enum Block {
    /// As the app has it. Whether another may follow.
    Whole { goes_on: bool },
    /// Earlier.
    Cut,
}

/// Appends the instructions of the block that starts at the reader's position.
fn block(
    instructions: &mut Vec<Instruction>,
    reader: &mut Reader<'_>,
    pc: AppPc,
    limits: Limits,
    border: &impl Fn(AppPc) -> Border,
) -> Result<Block, FetchFault> {
    let most = if limits.single { 1 } else { MAX_BLOCK };
    let mut wrote = false;
    for n in 0..most {
        let at = reader.position();
        if n > 0 && border(AppPc(pc.0 + at as u64)) == Border::Instruction {
            return Ok(Block::Cut);
        }
        let instruction = match reader.read() {
            Ok(instruction) => instruction,
            Err(DecodeError::Truncated) if n > 0 => return Ok(Block::Cut),
            Err(DecodeError::Invalid) if n > 0 => return Ok(Block::Whole { goes_on: false }),
            Err(DecodeError::Truncated) => return Err(FetchFault::Unreachable),
            Err(DecodeError::Invalid) => return Err(FetchFault::Invalid),
        };
        let stands = instruction.in_block();
        if n > 0 && stands == InBlock::Alone {
            return Ok(Block::Whole { goes_on: false });
        }
        instructions.push(instruction);
        wrote = wrote || limits.stop_after_write && instruction.writes_memory();
        if stands != InBlock::Inside {
            let branches = matches!(instruction.kind(), Kind::Branch { .. } | Kind::CountBranch { .. });
            return Ok(Block::Whole { goes_on: branches && !wrote });
        }
    }
    Ok(Block::Whole { goes_on: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { blocks: 2, instructions: 10, single: false, stop_after_write: false };

    fn selected(bytes: &[u8], limits: Limits, (at, border): (u64, Border)) -> Selected {
        let border = |pc: AppPc| if pc.0 == at { border } else { Border::None };
        select(AppPc(0x1000), bytes, limits, border, Vec::new()).unwrap()
    }

    /// Instructions and ends of blocks, none of which is cut.
    fn lengths(bytes: &[u8], limits: Limits, border: (u64, Border)) -> (usize, Vec<usize>) {
        let Selected { trace, is_cut } = selected(bytes, limits, border);
        assert!(!is_cut);
        (trace.instructions.len(), trace.block_ends)
    }

    const NONE: (u64, Border) = (0, Border::None);

    #[test]
    fn traces_end_where_they_must() {
        let nops_je_nop_ret = [0x90, 0x90, 0x74, 0x00, 0x90, 0xc3, 0x90];
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, NONE), (5, vec![3, 5]));
        assert_eq!(lengths(&nops_je_nop_ret, Limits { blocks: 1, ..LIMITS }, NONE), (3, vec![3]));
        assert_eq!(lengths(&nops_je_nop_ret, Limits { single: true, ..LIMITS }, NONE), (1, vec![1]));
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, (0x1004, Border::Block)), (3, vec![3]));
        assert_eq!(lengths(&nops_je_nop_ret, LIMITS, (0x1004, Border::Instruction)), (3, vec![3]));
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
        assert_eq!(lengths(&nops_ret, LIMITS, (0x1001, Border::Block)), (3, vec![3]));
        assert!(selected(&nops_ret, LIMITS, (0x1001, Border::Instruction)).is_cut);
        // nop; je; nop, ret: the second block isn't begun.
        let two = [0x90, 0x74, 0x00, 0x90, 0xc3];
        assert_eq!(lengths(&two, LIMITS, (0x1004, Border::Block)), (4, vec![2, 4]));
        assert_eq!(lengths(&two, LIMITS, (0x1004, Border::Instruction)), (2, vec![2]));
    }

    #[test]
    fn what_runs_out_of_the_bytes_is_cut() {
        assert!(selected(&[0x90, 0x90], LIMITS, NONE).is_cut);
        // nop; je; nop
        assert_eq!(lengths(&[0x90, 0x74, 0x00, 0x90], LIMITS, NONE), (2, vec![2]));
        // nop; an opcode that there isn't in 64-bit mode: all have its block alike.
        assert_eq!(lengths(&[0x90, 0x06, 0x90], LIMITS, NONE), (1, vec![1]));
    }

    #[test]
    fn a_block_that_writes_ends_a_trace_of_changing_code() {
        // mov [rax], eax; nop; je; nop; ret
        let code = [0x89, 0x00, 0x90, 0x74, 0x00, 0x90, 0xc3];
        assert_eq!(lengths(&code, LIMITS, NONE), (5, vec![3, 5]));
        assert_eq!(lengths(&code, Limits { stop_after_write: true, ..LIMITS }, NONE), (3, vec![3]));
    }

    #[test]
    fn the_block_around_an_instruction() {
        let around = |pc| block_around(AppPc(0x1000), &[0x90, 0x74, 0x00, 0x90, 0x0f, 0x31, 0xc3], AppPc(pc));
        assert_eq!(around(0x1000), Some(0x1000..0x1003));
        assert_eq!(around(0x1001), Some(0x1000..0x1003));
        assert_eq!(around(0x1003), Some(0x1003..0x1004));
        assert_eq!(around(0x1004), Some(0x1004..0x1006));
        assert_eq!((around(0xfff), around(0x1007)), (None, None));
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
        assert_eq!(lengths(&[0x90, 0xc3], LIMITS, (0x1000, Border::Block)), (2, vec![2]));
    }

    #[test]
    fn unreadable_and_invalid_heads_are_faults() {
        let none = select(AppPc(0), &[], LIMITS, |_| Border::None, Vec::new()).err();
        assert_eq!(none, Some(FetchFault::Unreachable));
        assert_eq!(
            select(AppPc(0), &[0x06; 15], LIMITS, |_| Border::None, Vec::new()).err(),
            Some(FetchFault::Invalid)
        );
    }
}
