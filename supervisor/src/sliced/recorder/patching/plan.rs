//! What to write where, so that an instruction leads to the recorder: decided by the code around it alone.
//!
//! ```text
//!   mov eax, number; syscall   becomes  jmp stub; syscall, or jmp far; syscall
//!   syscall                    becomes  jmp gap      (two bytes for two: no instruction around it changes; so with rdtsc, and rdtscp has a third)
//!   lfence; rdtsc              becomes  jmp gap      where no gap is near: the rdtsc begins at the last two bytes of the jump's five
//!   rdtscp; shl rdx, 32        becomes  jmp gap      the same with the shl
//!   rdtsc; lfence              becomes  jmp far      where no gap lies before either: the same with nearly any instruction, see `super::covering`
//!   rdtsc; lfence; rdtscp      the same, and its stub leads on to that of the rdtscp, where nothing else does
//!   gap                         jmp stub              (sometimes by way of smaller gaps), or, where that is too far away, jmp far
//!   far                        jmp [stub's address]  at the end of the mapping's last page, or in a large gap
//! ```

use std::ops::Range;

use super::padding::{NEAR_JUMP, SHORT_JUMP, Text, is_free};
use crate::sliced::recorder::code::{PatchedKind, entries, in_master};

/// Where in a guarded jump an instruction of the app's begins: at its last two bytes. Both are 0xff, which is no instruction, if the jump leads
/// back by no more than [`GUARDED`] bytes. So who comes there by another way stops with SIGILL.
const MID_PATCH: u64 = 3;
/// See [`MID_PATCH`].
const GUARDED: u64 = 1 << 16;
/// `lfence`.
pub(super) const FENCE: [u8; 3] = [0x0f, 0xae, 0xe8];

/// Bytes that are put where others were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedBytes {
    /// Address.
    pub at: u64,
    /// The bytes.
    pub new: Vec<u8>,
    /// Those that were there.
    pub old: Vec<u8>,
}

impl PatchedBytes {
    /// Where they lie.
    pub fn range(&self) -> Range<u64> {
        self.at..self.at + self.new.len() as u64
    }
}

/// A site that can be patched.
pub struct Patch {
    /// What is written to the site itself, as long as the master is in the recorder's care.
    pub jump: PatchedBytes,
    /// What leads from it to the stub.
    pub route: Vec<PatchedBytes>,
    /// The stub's address and code.
    pub stub: (u64, Vec<u8>),
    /// Where an instruction begins in the midst of the jump.
    pub mid_patch: Option<MidPatch>,
}

/// An instruction that begins in the midst of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MidPatch {
    /// The reading itself, after a fence.
    Reading(u64),
    /// What follows the reading, and is in the stub as well.
    Follows(Follows),
}

/// An instruction behind a reading, which the stub has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follows {
    /// Its address.
    pub at: u64,
    /// Its length.
    pub len: u64,
    /// Where it lies in the stub.
    pub in_stub: u64,
}

/// A stub that is to be reached.
pub(super) struct Goal<'a> {
    /// The code around.
    pub(super) text: &'a Text,
    /// Its offset.
    stub: u64,
    /// Where the instruction ends that leads there.
    pub(super) after: u64,
    /// Places that are taken.
    pub(super) used: &'a [Range<u64>],
}

/// What to write so that the instruction that ends at `after` leads to a stub, which is to lie at the offset `stub`.
pub fn plan(text: &Text, instruction: PatchedKind, after: u64, stub: u64, used: &[Range<u64>]) -> Option<Patch> {
    let site = after - instruction.len();
    if text.read(site..after)? != instruction.bytes() {
        return None;
    }
    let goal = Goal { text, stub, after, used };
    if matches!(instruction, PatchedKind::Syscall)
        && let Some(load) = text.load_before(after)
    {
        return goal.by_load(load, instruction);
    }
    let guarded = || goal.by_guarded_jump(site, instruction);
    let covering = || goal.by_covering_jump(site, instruction);
    goal.by_short_jumps(site, instruction).or_else(guarded).or_else(covering)
}

/// What leads to a stub from the one of a reading before, if what follows that ends where this instruction begins: nothing is written there.
pub fn plan_behind(text: &Text, instruction: PatchedKind, after: u64, stub: u64) -> Option<Patch> {
    let goal = Goal { text, stub, after, used: &[] };
    let nothing = goal.written(after - instruction.len(), instruction.bytes().to_vec())?;
    let stub = goal.stub(&[], instruction.entry());
    (nothing.old == nothing.new).then_some(Patch { jump: nothing, route: Vec::new(), stub, mid_patch: None })
}

impl Goal<'_> {
    fn by_load(&self, load: u64, instruction: PatchedKind) -> Option<Patch> {
        let stub = self.stub(self.text.read(load..load + NEAR_JUMP)?, instruction.entry());
        let (jump, route) = self.leads(load, &[])?;
        Some(Patch { jump, route, stub, mid_patch: None })
    }

    fn by_short_jumps(&self, site: u64, instruction: PatchedKind) -> Option<Patch> {
        let places = self.text.near(site + SHORT_JUMP, self.used)?;
        let gap = *places.last()?;
        let mut jumps = std::iter::once(&site).chain(&places).zip(&places).map(|(&at, &to)| {
            let distance = to.wrapping_sub(at + SHORT_JUMP) as i8;
            self.written(at, vec![0xeb, distance as u8])
        });
        let jump = jumps.next()??;
        let mut route = jumps.collect::<Option<Vec<_>>>()?;
        let (last, far) = self.leads(gap, &places)?;
        route.extend(far);
        route.push(last);
        Some(Patch { jump, route, stub: self.stub(&[], instruction.entry()), mid_patch: None })
    }

    fn by_guarded_jump(&self, site: u64, instruction: PatchedKind) -> Option<Patch> {
        const SHIFT_RDX: [u8; 4] = [0x48, 0xc1, 0xe2, 32];
        let fence = site.checked_sub(MID_PATCH)?;
        let shift = self.after..self.after + SHIFT_RDX.len() as u64;
        let (start, (stub, mid_patch)) = match instruction {
            PatchedKind::Rdtsc | PatchedKind::Rdtscp if self.is_fence(fence) => {
                (fence, (self.stub(&FENCE, instruction.entry()), MidPatch::Reading(site)))
            }
            PatchedKind::Rdtscp if self.text.read(shift) == Some(&SHIFT_RDX[..]) => {
                (site, self.stub_then(instruction.entry_then()?, &SHIFT_RDX))
            }
            _ => return None,
        };
        if !is_free(&(start..start + NEAR_JUMP), self.used) {
            return None;
        }
        let gap = self.text.before(start + NEAR_JUMP - GUARDED.min(start)..start, self.used)?;
        let (last, mut route) = self.leads(gap, &[gap])?;
        route.push(last);
        let jump = self.near_jump(start, gap)?;
        Some(Patch { jump, route, stub, mid_patch: Some(mid_patch) })
    }

    /// A [`NEAR_JUMP`] from there to the goal, and what else it needs, which lies in no place that is taken, nor in one such jump at any of `own`.
    pub(super) fn leads(&self, from: u64, own: &[u64]) -> Option<(PatchedBytes, Vec<PatchedBytes>)> {
        let target = in_master(self.stub);
        if let Some(jump) = self.near_jump(from, target) {
            return Some((jump, Vec::new()));
        }
        let own: Vec<_> = own.iter().map(|&place| place..place + NEAR_JUMP).collect();
        let far = self.written(self.text.far(self.after, &[self.used, &own].concat())?, far_jump(target))?;
        Some((self.near_jump(from, far.at)?, vec![far]))
    }

    fn near_jump(&self, from: u64, to: u64) -> Option<PatchedBytes> {
        let distance = i32::try_from(to.wrapping_sub(from + NEAR_JUMP) as i64).ok()?;
        self.written(from, [&[0xe9][..], &distance.to_le_bytes()].concat())
    }

    pub(super) fn written(&self, at: u64, new: Vec<u8>) -> Option<PatchedBytes> {
        let old = self.text.read(at..at + new.len() as u64)?.to_vec();
        Some(PatchedBytes { at, new, old })
    }

    /// Whether a fence lies there.
    pub(super) fn is_fence(&self, place: u64) -> bool {
        self.text.read(place..place + FENCE.len() as u64) == Some(&FENCE[..]) && self.text.is_start(place)
    }

    pub(super) fn stub(&self, displaced: &[u8], entry: u64) -> (u64, Vec<u8>) {
        (in_master(self.stub), entries::stub(self.stub, self.after, displaced, entry, &[]).bytes)
    }

    /// A stub that has what follows as well.
    pub(super) fn stub_then(&self, entry: u64, follows: &[u8]) -> ((u64, Vec<u8>), MidPatch) {
        let stub = entries::stub(self.stub, self.after, &[], entry, follows);
        let in_stub = in_master(self.stub) + stub.follows.expect("it has what follows");
        let follows = Follows { at: self.after, len: follows.len() as u64, in_stub };
        ((in_master(self.stub), stub.bytes), MidPatch::Follows(follows))
    }

    /// Where the stub is.
    pub(super) fn target(&self) -> u64 {
        in_master(self.stub)
    }
}

/// A jump to any address.
pub(super) fn far_jump(target: u64) -> Vec<u8> {
    [&[0xff, 0x25, 0, 0, 0, 0][..], &target.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use machine::AppPc;

    use super::*;
    use crate::sliced::recorder::code::STUBS_AT;

    #[test]
    fn a_patch_leads_to_the_stub() {
        let text = |function: &[u8]| {
            let mut bytes = vec![0x90; 0x1000];
            bytes[0x40..0x40 + function.len()].copy_from_slice(function);
            bytes[0xf00..].fill(0);
            bytes
        };
        let nop = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        let bytes = text(&[&[0x31, 0xc0, 0x90, 0x90, 0x90, 0x0f, 5, 0xc3][..], &nop].concat());
        let stub = in_master(STUBS_AT);
        let near_start = stub - 0x10_0000;
        let near = plan(&Text::new(near_start, bytes.clone()), PatchedKind::Syscall, near_start + 0x47, STUBS_AT, &[])
            .unwrap();
        assert_eq!(
            (near.jump.at, &near.jump.new[..], &near.jump.old[..]),
            (near_start + 0x45, &[0xeb, 1][..], PatchedKind::Syscall.bytes())
        );
        assert_eq!(near.route.len(), 1);
        assert_eq!(near.route[0].new[1..], (0x10_0000_i32 - 0x4d).to_le_bytes());
        let text_far = Text::new(0x40_0000, bytes);
        let far = plan(&text_far, PatchedKind::Syscall, 0x40_0047, STUBS_AT, &[]).unwrap();
        assert_eq!((far.route[0].at, far.route[0].new.len()), (0x40_0ff0, 14));
        assert_eq!(far.route[1].new[1..], (0xff0_i32 - 0x4d).to_le_bytes());
        assert!(plan(&text_far, PatchedKind::Syscall, 0x40_0048, STUBS_AT, &[]).is_none());
        // One gap is large enough for either jump, not for both.
        let mut bytes = vec![0x90; 0x4000];
        let padding = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0];
        bytes[0x3f..0x50].copy_from_slice(&[&[0x0f, 5, 0xc3][..], &padding].concat());
        let one = Text::new(0x40_0000, bytes);
        assert_eq!(one.far(0x40_003f, &[]), Some(0x40_0042));
        assert!(
            one.near(0x40_0041, &[]).is_some() && plan(&one, PatchedKind::Syscall, 0x40_0041, STUBS_AT, &[]).is_none()
        );
        // The instruction that loads the number has room for a jump.
        let bytes = text(&[0xb8, 110, 0, 0, 0, 0x0f, 5, 0xc3, 0x90]);
        let load = plan(&Text::new(0x40_0000, bytes), PatchedKind::Syscall, 0x40_0047, STUBS_AT, &[]).unwrap();
        assert_eq!((load.jump.at, &load.jump.old[..], load.route.len()), (0x40_0040, &[0xb8, 110, 0, 0, 0][..], 1));
        assert_eq!(load.jump.new[1..], (0xff0_i32 - 0x45).to_le_bytes());
        assert_eq!(load.stub.1[..5], load.jump.old);
    }

    /// A function without a gap, 8 KiB into the text, and before it, at its start, one that ends in a gap.
    fn crowded(function: &[u8]) -> (Text, u64) {
        let mut bytes = vec![0xf4; 0x4000];
        bytes[..0x10].fill(0x90);
        bytes[1] = 0xc3;
        bytes[0x2000..0x2000 + function.len()].copy_from_slice(function);
        bytes[0x3f00..].fill(0);
        (Text::new(0x40_0000, bytes), 0x40_2000)
    }

    #[test]
    fn who_comes_into_the_midst_of_a_guarded_jump_finds_no_instruction() {
        let nops = [0x90; 50];
        let is_reading = |mid_patch| mid_patch == MidPatch::Reading(0x40_2035);
        let is_shift = |mid_patch| matches!(mid_patch, MidPatch::Follows(Follows { at: 0x40_2035, len: 4, .. }));
        type Site = (&'static [u8], PatchedKind, u64, u64, fn(MidPatch) -> bool);
        let sites: [Site; 3] = [
            (&[0x0f, 0xae, 0xe8, 0x0f, 0x31], PatchedKind::Rdtsc, 0, 5, is_reading),
            (&[0x0f, 0xae, 0xe8, 0x0f, 0x01, 0xf9], PatchedKind::Rdtscp, 0, 6, is_reading),
            (&[0x0f, 0x01, 0xf9, 0x48, 0xc1, 0xe2, 32], PatchedKind::Rdtscp, 0, 3, is_shift),
        ];
        for (code, instruction, start, end, mid_patch) in sites {
            let (text, function) = crowded(&[&nops[..], code].concat());
            let site = function + nops.len() as u64;
            let patch = plan(&text, instruction, site + end, STUBS_AT, &[]).unwrap();
            assert_eq!((patch.jump.at, patch.jump.old.as_slice()), (site + start, &code[..5]));
            assert!(patch.mid_patch.is_some_and(mid_patch), "{:?}", patch.mid_patch);
            assert_eq!((patch.jump.new[0], &patch.jump.new[MID_PATCH as usize..]), (0xe9, &[0xff, 0xff][..]));
            assert!(
                isa::Instruction::decode(&[&patch.jump.new[MID_PATCH as usize..], &code[5..]].concat(), AppPc(0))
                    .is_err()
            );
            let gap = patch.route.last().unwrap().at;
            assert!((0x40_0002..=0x40_000b).contains(&gap), "{gap:#x}");
        }
    }

    #[test]
    fn without_a_fence_or_what_can_be_moved_there_is_no_room_for_a_jump() {
        let nops = [0x90; 50];
        for code in [&[0x90, 0x0f, 0x31, 0x89, 0xc1][..], &[0x48, 0x0f, 0xae, 0xe8, 0xb8, 1, 0x0f, 0x31]] {
            let (text, function) = crowded(&[&nops[..], code].concat());
            let after =
                function + (nops.len() + code.windows(2).position(|two| two == [0x0f, 0x31]).unwrap()) as u64 + 2;
            assert!(plan(&text, PatchedKind::Rdtsc, after, STUBS_AT, &[]).is_none());
        }
    }
}
