//! Jumps over a reading of the time stamp counter and the instruction behind it, or the fence before it, to places where an ordinary jump
//! isn't guarded.
//!
//! ```text
//!   rdtsc    0f 31             e9 d0
//!   lfence         0f ae e8          d1 d2 d3      who comes to the lfence by another way finds d1
//!   rdtscp   0f 01 f9          2e e9 d0
//!   shl rdx           48 c1 e2 20       d1 d2 d3 20
//! ```
//!
//! Places are chosen so that d1 is the first byte of no instruction. Of 256 such bytes there are 18, so one place of 14 will do.

use isa::{Instruction, Kind};
use machine::Gpr;

use super::padding::{FAR_JUMP, NEAR_JUMP, is_free};
use super::plan::{FENCE, Goal, MidPatch, Patch, PatchedBytes, far_jump};
use crate::sliced::recorder::code::PatchedKind;

/// Bytes with which no instruction of 64-bit mode starts, in any processor's plans.
const NONE: [u8; 18] =
    [0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd6, 0xea];
/// A prefix that means nothing to a jump.
const PREFIX: u8 = 0x2e;
/// From the jump's opcode to d1.
const TO_GUARD: u64 = 2;
/// What follows a reading is moved if it is no longer than this: a stub has no more room.
const LONGEST: u64 = 8;

impl Goal<'_> {
    pub(super) fn by_covering_jump(&self, site: u64, instruction: PatchedKind) -> Option<Patch> {
        let with_next = || {
            let next = self.movable_after(self.after)?;
            let (stub, mid_patch) = self.stub_then(instruction.entry_then()?, next.bytes());
            let len = instruction.len() + next.len() as u64;
            self.covered(site, instruction.len(), len, stub, mid_patch)
        };
        let with_fence = || {
            let fence = site.checked_sub(FENCE.len() as u64).filter(|&fence| self.is_fence(fence))?;
            let stub = self.stub(&FENCE, instruction.entry());
            let len = self.after - fence;
            self.covered(fence, site - fence, len, stub, MidPatch::Reading(site))
        };
        with_next().or_else(with_fence)
    }

    /// A patch of the `len` bytes from `start` on, in which an instruction begins at `start + mid`.
    fn covered(&self, start: u64, mid: u64, len: u64, stub: (u64, Vec<u8>), mid_patch: MidPatch) -> Option<Patch> {
        let prefixes = mid.checked_sub(TO_GUARD)?;
        let end = start + prefixes + NEAR_JUMP;
        if start + len < end || !is_free(&(start..start + len), self.used) {
            return None;
        }
        let (place, route) = self.guarded_route(end)?;
        let mut new = vec![PREFIX; prefixes as usize];
        new.push(0xe9);
        new.extend(distance(end, place)?);
        Some(Patch { jump: self.written(start, new)?, route, stub, mid_patch: Some(mid_patch) })
    }

    /// Where a jump that ends at `end` may lead so that it is guarded, and what leads on from there.
    fn guarded_route(&self, end: u64) -> Option<(u64, Vec<PatchedBytes>)> {
        let is_guarded = |&place: &u64| distance(end, place).is_some_and(|[_, d1, ..]| NONE.contains(&d1));
        // Not the first bytes of what is filled: they may still be an instruction's.
        let filled = self.text.end() - self.text.filled().saturating_sub(FAR_JUMP)..self.text.end();
        let mut at_end = filled.clone().rev().filter(|place| place + FAR_JUMP <= filled.end).filter(is_guarded);
        if let Some(place) = at_end.find(|&place| is_free(&(place..place + FAR_JUMP), self.used)) {
            return Some((place, vec![self.written(place, far_jump(self.target()))?]));
        }
        let mut places = self
            .text
            .gaps_around(self.after)
            .flat_map(|gap| gap.start..(gap.end + 1).saturating_sub(NEAR_JUMP))
            .filter(is_guarded)
            .filter(|&place| is_free(&(place..place + NEAR_JUMP), self.used));
        places.find_map(|place| {
            let (last, mut route) = self.leads(place, &[place])?;
            route.push(last);
            Some((place, route))
        })
    }

    /// The instruction at `at`, if it does the same anywhere, raises nothing, and no jump is known that leads there.
    fn movable_after(&self, at: u64) -> Option<Instruction> {
        const KNOWN: [&str; 12] =
            ["add", "and", "cmp", "lea", "lfence", "mfence", "mov", "nop", "or", "shl", "sub", "xor"];
        const RSP: u16 = 1 << Gpr::Rsp as u16;
        let found = self.text.decode(at)?;
        let usage = found.usage();
        let is_move = found.mnemonic() == "mov";
        let is_movable = found.kind() == Kind::Plain
            && KNOWN.contains(&found.mnemonic())
            && !usage.may_fault
            && (usage.gpr_read | usage.gpr_written) & RSP == 0
            // Into a segment register.
            && !(is_move && usage.gpr_written == 0)
            && found.rip_target().is_none()
            && found.segment().is_none()
            && found.len() as u64 <= LONGEST;
        (is_movable && !self.text.is_target(at) && !self.text.is_short_target(&(at..at + 1))).then_some(found)
    }
}

fn distance(end: u64, place: u64) -> Option<[u8; 4]> {
    i32::try_from(place.wrapping_sub(end) as i64).ok().map(i32::to_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use machine::AppPc;

    use super::*;
    use crate::sliced::recorder::code::STUBS_AT;
    use crate::sliced::recorder::patching::padding::Text;
    use crate::sliced::recorder::patching::plan::{self, Follows};

    const START: u64 = 0x40_0000;
    const SITE: u64 = START + 0x40;

    /// A function at the start of the text, which has no gap, and is filled from 0xa00 on.
    fn text(function: &[u8]) -> Text {
        let mut bytes = vec![0xf4; 0x1000];
        bytes[0x10..0x40].fill(0x90);
        bytes[0x40..0x40 + function.len()].copy_from_slice(function);
        bytes[0xa00..].fill(0);
        Text::new(START, bytes)
    }

    fn plan(text: &Text, instruction: PatchedKind, after: u64, used: &[Range<u64>]) -> Option<Patch> {
        plan::plan(text, instruction, SITE + after, STUBS_AT, used)
    }

    #[test]
    fn a_jump_covers_what_follows_a_reading() {
        let sites: [(&[u8], PatchedKind, u64, u64, usize); 3] = [
            (&[0x0f, 0x31, 0x0f, 0xae, 0xe8], PatchedKind::Rdtsc, 2, 3, 5),
            (&[0x0f, 0x31, 0x48, 0xc1, 0xe2, 32], PatchedKind::Rdtsc, 2, 4, 5),
            (&[0x0f, 0x01, 0xf9, 0x48, 0xc1, 0xe2, 32], PatchedKind::Rdtscp, 3, 4, 6),
        ];
        for (code, instruction, mid, len, covered) in sites {
            let patch = plan(&text(code), instruction, mid, &[]).unwrap();
            assert_eq!((patch.jump.at, &patch.jump.old[..]), (SITE, &code[..covered]));
            let written = [&patch.jump.new[..], &code[covered..]].concat();
            let jump = Instruction::decode(&written, AppPc(SITE)).unwrap();
            let far = &patch.route[0];
            assert_eq!((jump.kind(), far.new.len()), (Kind::Jump { target: AppPc(far.at) }, 14));
            assert!(Instruction::decode(&written[mid as usize..], AppPc(0)).is_err(), "{written:x?}");
            let Some(MidPatch::Follows(Follows { at, len: found, in_stub })) = patch.mid_patch else { panic!() };
            assert_eq!((at, found), (SITE + mid, len));
            let in_stub = (in_stub - patch.stub.0) as usize;
            let end = in_stub + len as usize;
            assert_eq!(patch.stub.1[in_stub..end], code[mid as usize..]);
            assert_eq!(patch.stub.1[end + 6..], (at + len).to_le_bytes());
        }
    }

    #[test]
    fn a_jump_covers_a_fence_and_the_longer_reading() {
        let code = [0x0f, 0xae, 0xe8, 0x0f, 0x01, 0xf9, 0x89, 0xc0];
        let patch = plan(&text(&code), PatchedKind::Rdtscp, 6, &[]).unwrap();
        assert_eq!((patch.jump.at, &patch.jump.old[..]), (SITE, &code[..6]));
        assert_eq!(patch.mid_patch, Some(MidPatch::Reading(SITE + 3)));
        assert!(Instruction::decode(&patch.jump.new[3..], AppPc(0)).is_err());
        // The fence is another jump's.
        assert!(plan(&text(&code), PatchedKind::Rdtscp, 6, std::slice::from_ref(&(SITE - 2..SITE + 3))).is_none());
    }

    #[test]
    fn what_cannot_be_moved_stays() {
        let codes: [&[u8]; 6] = [
            &[0x0f, 0x31, 0x48, 0x89, 0x07],                   // mov [rdi], rax
            &[0x0f, 0x31, 0x48, 0x8d, 0x05, 0, 0, 0, 0],       // lea rax, [rip]
            &[0x0f, 0x31, 0x48, 0x8e, 0xd8],                   // mov ds, rax
            &[0x0f, 0x31, 0x48, 0x83, 0xec, 0x08],             // sub rsp, 8
            &[0x0f, 0x31, 0xe9, 0, 0, 0, 0],                   // jmp
            &[0x0f, 0x31, 0x48, 0x89, 0xc1, 0x75, 0xfb, 0x90], // mov rcx, rax, to which a jump leads
        ];
        for code in codes {
            assert!(plan(&text(code), PatchedKind::Rdtsc, 2, &[]).is_none(), "{code:x?}");
        }
    }
}
