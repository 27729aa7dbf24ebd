//! Analysis routines as machine code to be inlined.
//!
//! Problem: an analysis routine is an ordinary compiled function, and calling one from translated code costs far
//! more than what most of them do. Approach: the routine's machine code is read here. If it is a short straight
//! line to its `ret`, it becomes a *template*: the same instructions, with
//! * arguments that are constants at the call folded in ([`fold`]): addresses become RIP-relative operands, values
//!   become immediates, and what depends on constants only is computed now;
//! * registers left open ([`template`]), so that the translator can give it those that are free at the place.
//!
//! So `fn(l: &mut u64, n: u64) { *l = l.wrapping_add(n) }` with both arguments known is one `add [rip + x], n`.
//! Whatever isn't understood makes the routine one that has to be called; nothing here is approximate.
//! Invariant: executing the template changes memory as the routine would, and otherwise only the scratch registers
//! and the flags that it names.

mod clobbers;
mod fold;
mod forms;
mod template;
mod ways;

pub use clobbers::{Obstacle, clobbers, followed};
pub use template::Inlined;

use machine::AppPc;

use crate::instruction::Instruction;

/// Instructions of the longest routine that is worth inlining.
const MAX_INSTRUCTIONS: usize = 20;

/// Arguments of the C convention that are passed in registers.
pub const ARGUMENTS: usize = 6;

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
    let mut folder = fold::Folder::new(known);
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
