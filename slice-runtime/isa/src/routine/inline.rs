//! Reading a routine from its first instruction to its `ret`.

use machine::AppPc;

use super::fold::ConstantFolder;
use super::state::ARGUMENTS;
use super::template::Inlined;
use crate::decode::Instruction;

/// Instructions of the longest routine that is worth inlining.
const MAX_INSTRUCTIONS: usize = 20;

/// Reads the routine that lies at `routine_pc` and starts with the bytes `code`, for a call whose arguments are
/// `known` constants or run-time values. `None`: it must be called.
pub fn inline(code: &[u8], routine_pc: u64, known: &[Option<u64>; ARGUMENTS]) -> Option<Inlined> {
    read(code, routine_pc, known, false)
}

/// The same for a routine whose 64-bit result is wanted: see [`Inlined::result`].
pub fn inline_with_result(code: &[u8], routine_pc: u64, known: &[Option<u64>; ARGUMENTS]) -> Option<Inlined> {
    read(code, routine_pc, known, true)
}

fn read(code: &[u8], routine_pc: u64, known: &[Option<u64>; ARGUMENTS], result: bool) -> Option<Inlined> {
    let mut folder = ConstantFolder::new(known);
    let mut pc = routine_pc;
    for _ in 0..=MAX_INSTRUCTIONS {
        folder.come_to(pc)?;
        if folder.is_complete() {
            return Inlined::new(folder.finish(result)?, known, result);
        }
        let instruction = Instruction::decode(code.get((pc - routine_pc) as usize..)?, AppPc(pc)).ok()?;
        folder.read(&instruction)?;
        pc = instruction.next_pc().0;
    }
    None
}
