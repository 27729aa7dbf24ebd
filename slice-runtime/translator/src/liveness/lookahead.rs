//! Looking ahead: which flags are still read after an app pc (across traces).
//!
//! Nearly every block is followed by code that soon overwrites all flags. An addition to a counter may then change them. The answer is a fact about code, and
//! holds as long as the code doesn't change. So whoever gives the code to look at gives only code that can't be written.
//!
//! At the start of a trace some of the app's flags may thus be wrong: those that nobody reads. Only a slice's end compares flags; there these are left out
//! (the engine's `run::exits`).

use isa::{Instruction, Kind, Usage};
use machine::{AppPc, flags};

/// Instructions that are looked at, on each way. What is found dead at a place is thus found dead at each place on the ways from
/// there as well, and a slice may end at any of them.
const MOST: u32 = 24;
/// Branches of which both ways are followed.
const BRANCHES: u32 = 2;

/// Whether the flags must be preserved before an instruction because of itself: the app may see them when it faults there.
pub fn may_be_seen(usage: &Usage, exact_faults: bool) -> bool {
    exact_faults && usage.may_fault
}

/// A look at the code that follows.
pub struct FlagLookahead<C> {
    /// Code from a pc on, empty if it can't be relied on.
    code: C,
    exact_faults: bool,
}

impl<C: FnMut(AppPc) -> &'static [u8]> FlagLookahead<C> {
    /// Looks at `code`.
    pub fn new(code: C, exact_faults: bool) -> Self {
        Self { code, exact_faults }
    }

    /// The arithmetic flags that may be read after `pc` is reached, before they are overwritten.
    pub fn live_flags(mut self, pc: AppPc) -> u64 {
        self.read_of(flags::ARITHMETIC, pc, MOST, BRANCHES)
    }

    /// Those of `open`, which weren't overwritten yet, that may be read from `pc` on. `left` instructions are looked at on each way, and
    /// both ways of that many branches.
    fn read_of(&mut self, mut open: u64, mut pc: AppPc, mut left: u32, branches: u32) -> u64 {
        let mut read = 0;
        let mut bytes: &[u8] = &[];
        while open != 0 {
            if left == 0 {
                return read | open;
            }
            left -= 1;
            if bytes.len() < isa::MAX_LEN {
                bytes = (self.code)(pc);
            }
            let Ok(instruction) = Instruction::decode(bytes, pc) else { return read | open };
            let usage = instruction.usage();
            if may_be_seen(&usage, self.exact_faults) {
                return read | open;
            }
            read |= open & usage.flags_read;
            open &= !(usage.flags_read | usage.flags_killed);
            bytes = &bytes[instruction.len()..];
            pc = instruction.next_pc();
            match instruction.kind() {
                Kind::Plain | Kind::SegmentBase { .. } => continue,
                Kind::Jump { target } | Kind::Call { target } => pc = target,
                Kind::Branch { target, .. } | Kind::CountBranch { target } if branches > 0 => {
                    read |= self.read_of(open, target, left, branches - 1);
                    open &= !read;
                    continue;
                }
                _ => return read | open,
            }
            bytes = &[];
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::flags::{CF, ZF};

    const BASE: u64 = 0x1000;

    fn live(code: &'static [u8], exact_faults: bool) -> u64 {
        let from = move |pc: AppPc| code.get((pc.0 - BASE) as usize..).unwrap_or_default();
        FlagLookahead::new(from, exact_faults).live_flags(AppPc(BASE))
    }

    #[test]
    fn flags_are_live_until_they_are_overwritten() {
        assert_eq!(live(&[0x90, 0x39, 0xc0], false), 0, "nop; cmp");
        assert_eq!(live(&[0x0f, 0x94, 0xc0, 0x39, 0xc0], false), ZF, "sete; cmp");
        assert_eq!(live(&[0x90], false), flags::ARITHMETIC, "nop, then nothing known");
        assert_eq!(live(&[0xc3], false), flags::ARITHMETIC, "ret");
        assert_eq!(live(&[0x48, 0xff, 0xc0, 0xc3], false), CF, "inc keeps CF");
    }

    #[test]
    fn both_ways_of_a_branch_are_followed() {
        // je +2; cmp; nop after both ways: at +4 there is setb; cmp.
        assert_eq!(live(&[0x74, 0x02, 0x39, 0xc0, 0x0f, 0x92, 0xc0, 0x39, 0xc0], false), ZF | CF);
        // jmp +1 over a ret to cmp; call likewise.
        assert_eq!(live(&[0xeb, 0x01, 0xc3, 0x39, 0xc0], false), 0);
        assert_eq!(live(&[0xe8, 1, 0, 0, 0, 0xc3, 0x39, 0xc0], false), 0);
        // A loop that never overwrites them ends the look.
        assert_eq!(live(&[0xeb, 0xfe], false), flags::ARITHMETIC);
    }

    #[test]
    fn what_is_dead_stays_so_on_the_way() {
        // je over 20 nops and a comparison to as much again: each way is short enough, both together are not.
        let nops = |n: usize| vec![0x90; n];
        let way = [nops(20), vec![0x39, 0xc0]].concat();
        let code: &[u8] = [&[0x74, 22][..], &way, &way].concat().leak();
        assert_eq!(live(code, false), ZF, "read by je alone");
    }

    #[test]
    fn a_fault_shows_the_flags() {
        // mov rax, [rax]; cmp eax, eax
        assert_eq!(live(&[0x48, 0x8b, 0x00, 0x39, 0xc0], false), 0);
        assert_eq!(live(&[0x48, 0x8b, 0x00, 0x39, 0xc0], true), flags::ARITHMETIC);
    }
}
