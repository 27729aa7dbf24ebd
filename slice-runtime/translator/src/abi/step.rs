//! Where the app goes on when a string instruction that repeats has made a step: its registers tell.

use isa::{Condition, Instruction, Repetition};
use machine::{Gpr, Registers, flags};

/// What [`PcSource::Repeats`](super::PcSource::Repeats) needs, in a word: the instruction's address, and above it its length and how it repeats.
pub fn again_or_behind(instruction: &Instruction, how: Repetition) -> u64 {
    let wanted = match how.wanted {
        None => 0,
        Some(Condition::E) => 1,
        Some(_) => 2,
    };
    let above = instruction.len() as u64 | wanted << 4 | u64::from(how.counts_32) << 6;
    // Addresses of the app have 47 bits.
    instruction.pc().0 | above << ABOVE
}

const ABOVE: u32 = 48;

/// Address of the instruction.
pub(super) fn stepped_at(packed: u64) -> u64 {
    packed & ((1 << ABOVE) - 1)
}

/// Where the app goes on behind a step, with these registers.
pub(super) fn behind_step(packed: u64, registers: &Registers) -> u64 {
    let (pc, above) = (stepped_at(packed), packed >> ABOVE);
    let count = registers.get(Gpr::Rcx);
    let is_counted = if above & 1 << 6 == 0 { count == 0 } else { count as u32 == 0 };
    let zero = registers.rflags & flags::ZF != 0;
    let has_ended = match above >> 4 & 3 {
        0 => false,
        1 => !zero,
        _ => zero,
    };
    if is_counted || has_ended { pc + (above & 15) } else { pc }
}

#[cfg(test)]
mod tests {
    use super::super::{MapEntry, NOT_BORROWED, PcSource, R11, ThreadState};
    use super::*;

    #[test]
    fn behind_a_step_the_app_goes_on_there_or_behind() {
        use machine::{AppPc, flags::ZF};
        // SAFETY: zero is valid for each of its fields, which are numbers, and the box gives back what was allocated for it.
        let thread: Box<ThreadState> =
            unsafe { Box::from_raw(std::alloc::alloc_zeroed(std::alloc::Layout::new::<ThreadState>()).cast()) };
        let rip = |code: &[u8], rcx: u64, rflags: u64| {
            let instruction = Instruction::decode(code, AppPc(0x7000_1000_2000)).unwrap();
            let packed = again_or_behind(&instruction, instruction.repetition().unwrap());
            let entry = MapEntry::new(packed, 0, PcSource::Repeats, R11::App, [NOT_BORROWED; 3]);
            assert_eq!(entry.source(), PcSource::Repeats);
            let mut registers = Registers { rflags, ..Registers::default() };
            registers.set(Gpr::Rcx, rcx);
            entry.with_unloaded(0).with_r11(8, R11::Reserved).recover(&mut registers, &thread);
            registers.rip - 0x7000_1000_2000
        };
        // rep movsb; with ecx; repe cmpsb; repne scasw
        let [movs, short, cmps, scas]: [&[u8]; 4] =
            [&[0xf3, 0xa4], &[0x67, 0xf3, 0xa4], &[0xf3, 0xa6], &[0x66, 0xf2, 0xaf]];
        assert_eq!([rip(movs, 1, 0), rip(movs, 0, 0), rip(movs, 1 << 32, 0)], [0, 2, 0]);
        assert_eq!([rip(short, 1, 0), rip(short, 1 << 32, 0)], [0, 3]);
        assert_eq!([rip(cmps, 1, ZF), rip(cmps, 1, 0), rip(cmps, 0, ZF)], [0, 2, 2]);
        assert_eq!([rip(scas, 1, ZF), rip(scas, 1, 0), rip(scas, 0, 0)], [3, 0, 3]);
    }
}
