//! Places in a program's code that are never executed, where jumps can be put.
//!
//! Code is aligned: between an unconditional transfer and the next multiple of 16 compilers put instructions that do nothing.
//! Nothing falls into those, and if nothing jumps there either, they are free. What cannot be shown to be so isn't used.

use std::cell::OnceCell;
use std::ops::Range;

use isa::{Instruction, Kind};
use machine::AppPc;

/// Bytes of a jump by 8 bits.
pub const SHORT_JUMP: u64 = 2;
/// Bytes of a jump by 32 bits.
pub const NEAR_JUMP: u64 = 5;
/// Bytes of a jump to any address.
pub const FAR_JUMP: u64 = 14;
/// What code is aligned to.
const ALIGNMENT: u64 = 16;
/// How far around a site places are looked for.
const SURROUNDINGS: u64 = 512;
/// How far a jump by 8 bits reaches, from its end.
const SHORT: Range<i64> = -128..128;
/// Where instructions are decoded from that lead to a place, in bytes before it. A few instructions after an arbitrary start
/// all decodings agree.
const STARTS: Range<u64> = 24..40;
/// How far around a site large places are looked for, in steps.
const WINDOW: u64 = 8 << 10;
/// In how many steps.
const WINDOWS: u64 = 8;
/// So many zeroes at the end of a mapping are what the linker fills its last page with.
const FILLED: usize = 64;

/// The code of one mapping.
pub struct Text {
    /// Its first address.
    pub start: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// See [`Self::targets`].
    targets: OnceCell<Vec<u64>>,
}

impl Text {
    /// The code `bytes` from `start` on.
    pub fn new(start: u64, bytes: Vec<u8>) -> Self {
        Self { start, bytes, targets: OnceCell::new() }
    }

    /// First address behind it.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes of a range, if it has them all.
    pub fn read(&self, range: Range<u64>) -> Option<&[u8]> {
        let at = |address: u64| address.checked_sub(self.start).map(|at| at as usize);
        self.bytes.get(at(range.start)?..at(range.end)?)
    }

    /// The bytes from `address` on.
    fn from(&self, address: u64) -> &[u8] {
        address.checked_sub(self.start).and_then(|at| self.bytes.get(at as usize..)).unwrap_or_default()
    }

    pub(super) fn decode(&self, address: u64) -> Option<Instruction> {
        Instruction::decode(self.from(address), AppPc(address)).ok()
    }

    /// The instruction before the `syscall` that ends at `after`, if it loads the number of a call and has room for a [`NEAR_JUMP`]. Nobody jumps
    /// into its middle.
    pub fn load_before(&self, after: u64) -> Option<u64> {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        const MOV_EAX: u8 = 0xb8;
        let start = after.checked_sub(NEAR_JUMP + 2)?;
        let &[MOV_EAX, _, _, _, _, e, f, ..] = self.from(start) else { return None };
        ([e, f] == SYSCALL && self.is_start(start)).then_some(start)
    }

    /// Whether an instruction starts there, as far as the code before tells.
    pub fn is_start(&self, place: u64) -> bool {
        let starts = STARTS.map(|back| place.saturating_sub(back));
        let seen = starts.filter(|&from| self.walk(from, place).last().is_some_and(|last| last.next_pc().0 == place));
        seen.count() as u64 > (STARTS.end - STARTS.start) * 3 / 4
    }

    /// A place for a [`NEAR_JUMP`] in a range, near its end.
    pub fn before(&self, range: Range<u64>, used: &[Range<u64>]) -> Option<u64> {
        let ends = (0..).map(|n| range.end.saturating_sub(n * WINDOW));
        let windows = ends.take_while(|&end| end > range.start.max(self.start));
        windows.map(|end| end.saturating_sub(WINDOW).max(range.start).max(self.start)..end).find_map(|window| {
            let gaps = self.gaps(window);
            let mut places = gaps.iter().rev().flat_map(|gap| gap.start..(gap.end + 1).saturating_sub(NEAR_JUMP));
            places.find(|&place| is_free(&(place..place + NEAR_JUMP), used))
        })
    }

    /// Places for 8-bit jumps, of which the first is reached by an 8-bit jump that ends at `after` and each other by the one before,
    /// and then one for a [`NEAR_JUMP`]. Mostly that one alone.
    pub fn near(&self, after: u64, used: &[Range<u64>]) -> Option<Vec<u64>> {
        let gaps = self.gaps(after.saturating_sub(SURROUNDINGS)..after + SURROUNDINGS);
        let reached = |from: u64, len: u64| {
            let places = gaps.iter().flat_map(move |gap| gap.start..(gap.end + 1).saturating_sub(len));
            let near = places.filter(move |place| SHORT.contains(&(place.wrapping_sub(from) as i64)));
            near.filter(move |&place| is_free(&(place..place + len), used))
        };
        // Each way is tried up to its end, the shortest first.
        let mut routes: Vec<Vec<u64>> = vec![Vec::new()];
        let mut next = 0;
        while next < routes.len() {
            let route = routes[next].clone();
            let from = route.last().map_or(after, |hop| hop + SHORT_JUMP);
            let hops: Vec<Range<u64>> = route.iter().map(|&hop| hop..hop + SHORT_JUMP).collect();
            if let Some(place) = reached(from, NEAR_JUMP).find(|&place| is_free(&(place..place + NEAR_JUMP), &hops)) {
                return Some([route, vec![place]].concat());
            }
            let seen = |place: u64| routes.iter().any(|route| route.last() == Some(&place));
            let more: Vec<u64> = reached(from, SHORT_JUMP)
                .filter(|&place| !seen(place) && is_free(&(place..place + SHORT_JUMP), &hops))
                .collect();
            routes.extend(more.into_iter().map(|hop| [&route[..], &[hop]].concat()));
            next += 1;
        }
        None
    }

    /// The gaps that start in a range.
    pub(super) fn gaps(&self, around: Range<u64>) -> Vec<Range<u64>> {
        let ranges = around.map(|place| place..place.next_multiple_of(ALIGNMENT));
        ranges.filter(|range| range.end - range.start >= SHORT_JUMP && self.is_free_gap(range)).collect()
    }

    /// A place for a jump to any address: at the end, or in a large gap, the nearest to `site` first.
    pub fn far(&self, site: u64, used: &[Range<u64>]) -> Option<u64> {
        let places = self.filled() / ALIGNMENT;
        let mut at_end = (1..=places).map(|n| self.end() / ALIGNMENT * ALIGNMENT - n * ALIGNMENT);
        let free = |place: &u64| is_free(&(*place..*place + FAR_JUMP), used);
        at_end.find(free).or_else(|| {
            self.gaps_around(site).find(|gap| gap.end - gap.start >= FAR_JUMP && free(&gap.start)).map(|gap| gap.start)
        })
    }

    /// Gaps, the nearest to `site` first.
    pub(super) fn gaps_around(&self, site: u64) -> impl Iterator<Item = Range<u64>> {
        let windows = (0..WINDOWS).flat_map(move |n| {
            let far = n * WINDOW;
            [site + far..site + far + WINDOW, site.saturating_sub(far + WINDOW)..site.saturating_sub(far)]
        });
        let inside = windows.filter(|window| window.start >= self.start && window.end <= self.end());
        inside.flat_map(|window| self.gaps(window))
    }

    /// So many bytes at the end are what the linker fills the last page with.
    pub(super) fn filled(&self) -> u64 {
        let zeroes = self.bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        if zeroes < FILLED { 0 } else { zeroes as u64 }
    }

    fn is_free_gap(&self, range: &Range<u64>) -> bool {
        range.end < self.end()
            && self.is_padding(range.start, range.end)
            && !range.clone().any(|place| self.is_target(place))
            && self.is_behind_transfer(range.start)
            && !self.is_short_target(range)
    }

    fn is_padding(&self, mut place: u64, end: u64) -> bool {
        while place < end {
            match self.decode(place) {
                Some(found) if matches!(found.mnemonic(), "nop" | "int3") => place += found.len() as u64,
                _ => return false,
            }
        }
        place == end
    }

    /// Whether nearly all decodings of the code before come to `place` behind an instruction that never goes on there, and none
    /// behind another.
    fn is_behind_transfer(&self, place: u64) -> bool {
        let mut seen = 0;
        for start in STARTS.map(|back| place.saturating_sub(back)) {
            let Some(last) = self.walk(start, place).last().filter(|last| last.next_pc().0 == place) else { continue };
            if !matches!(last.kind(), Kind::Jump { .. } | Kind::JumpIndirect | Kind::Return { .. }) {
                return false;
            }
            seen += 1;
        }
        seen > (STARTS.end - STARTS.start) / 2
    }

    /// The instructions that start in `at .. end`.
    fn walk(&self, mut at: u64, end: u64) -> impl Iterator<Item = Instruction> {
        std::iter::from_fn(move || {
            while at < end {
                match self.decode(at) {
                    Some(found) => {
                        at = found.next_pc().0;
                        return Some(found);
                    }
                    None => at += 1,
                }
            }
            None
        })
    }

    /// Whether a direct jump from nearby leads there.
    pub(super) fn is_short_target(&self, gap: &Range<u64>) -> bool {
        const REACH: u64 = 160;
        let before = STARTS.flat_map(|more| self.walk(gap.start.saturating_sub(REACH + more), gap.start));
        let mut short = before.chain(self.walk(gap.end, gap.end + REACH));
        let jumps_there = |found: Instruction| match found.kind() {
            Kind::Jump { target } | Kind::Branch { target, .. } | Kind::CountBranch { target } => {
                gap.contains(&target.0)
            }
            _ => false,
        };
        short.any(jumps_there)
    }

    /// Whether any bytes that look like a jump or call by 32 bits, wherever instructions start, lead there.
    pub(super) fn is_target(&self, place: u64) -> bool {
        let at = place.wrapping_sub(self.start) as usize;
        self.targets.get_or_init(|| self.targets()).get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// A bit for each byte to which such bytes lead.
    fn targets(&self) -> Vec<u64> {
        let mut targets = vec![0; self.bytes.len().div_ceil(64)];
        for (at, bytes) in self.bytes.windows(6).enumerate() {
            if bytes[1] & 0xfe == 0xe8 || (bytes[0] == 0x0f && bytes[1] & 0xf0 == 0x80) {
                let displacement = i32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
                let target = (at as i64 + 6 + i64::from(displacement)) as usize;
                if target < self.bytes.len() {
                    targets[target / 64] |= 1 << (target % 64);
                }
            }
        }
        targets
    }
}

pub(super) fn is_free(place: &Range<u64>, used: &[Range<u64>]) -> bool {
    used.iter().all(|other| other.end <= place.start || place.end <= other.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x40_0000;
    const AFTER: u64 = START + 0x47;

    /// `mov eax, 110; syscall; ret`, then what aligns the next function.
    fn text(padding: &[u8]) -> Text {
        let function = [&[0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3][..], padding].concat();
        let mut bytes = vec![0x90; 0x40];
        bytes.extend(function);
        bytes.resize(0x1000, 0x90);
        Text::new(START, bytes)
    }

    const LONG_NOP: [u8; 8] = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];

    #[test]
    fn padding_behind_a_return_is_free() {
        assert_eq!(text(&LONG_NOP).near(AFTER, &[]), Some(vec![AFTER + 1]));
        assert_eq!(text(&[0xcc; 8]).near(AFTER, &[]), Some(vec![AFTER + 1]));
        let in_use = [AFTER + 1..AFTER + 4, START..START];
        assert_eq!(text(&LONG_NOP).near(AFTER, &in_use), Some(vec![AFTER + 4]));
        let in_use = [AFTER + 3..AFTER + 5, START..START];
        assert_eq!(text(&LONG_NOP).near(AFTER, &in_use), None);
    }

    #[test]
    fn code_is_not_free() {
        // The function goes on, or its padding can be reached.
        assert_eq!(text(&[0x31, 0xc0, 0xc3, 0x66, 0x90, 0x90, 0x90, 0x90]).near(AFTER, &[]), Some(vec![AFTER + 4]));
        assert_eq!(text(&[0x31, 0xc0, 0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90]).near(AFTER, &[]), None);
        let mut jumped_to = text(&LONG_NOP);
        jumped_to.bytes[0x50..0x52].copy_from_slice(&[0x75, 0xf6]);
        assert_eq!(jumped_to.near(AFTER, &[]), None);
        let mut jumped_to = text(&LONG_NOP);
        let distance = (0x48 - 0x805_i32).to_le_bytes();
        jumped_to.bytes[0x800] = 0xe8;
        jumped_to.bytes[0x801..0x805].copy_from_slice(&distance);
        assert_eq!(jumped_to.near(AFTER, &[]), None);
        let mut falls_through = text(&LONG_NOP);
        falls_through.bytes[0x47] = 0x90;
        assert_eq!(falls_through.near(AFTER, &[]), None);
    }

    #[test]
    fn the_load_of_a_number_is_found() {
        assert_eq!(text(&LONG_NOP).load_before(AFTER), Some(AFTER - 7));
        let mut wide = text(&LONG_NOP);
        wide.bytes[0x3f] = 0x48;
        assert_eq!(wide.load_before(AFTER), None, "movabs rax");
        assert_eq!(text(&LONG_NOP).load_before(AFTER + 1), None);
    }

    #[test]
    fn a_small_gap_leads_to_a_larger_one() {
        let mut text = text(&[0x31, 0xc0, 0x31, 0xc0, 0xc3, 0x66, 0x90, 0x90]);
        assert_eq!(text.near(AFTER, &[]), None);
        // A function ends where only the small gap's jump reaches.
        text.bytes[0xca] = 0xc3;
        assert_eq!(text.near(AFTER, &[]), Some(vec![AFTER + 6, START + 0xcb]));
    }

    #[test]
    fn the_end_of_the_last_page_is_free_if_it_is_filled() {
        assert_eq!(text(&LONG_NOP).far(AFTER, &[]), None);
        let mut filled = text(&LONG_NOP);
        filled.bytes[0xf80..].fill(0);
        let last = START + 0xff0;
        assert_eq!(filled.far(AFTER, &[]), Some(last));
        assert_eq!(filled.far(AFTER, std::slice::from_ref(&(last..last + 16))), Some(last - 16));
    }

    #[test]
    fn a_large_gap_is_found_where_the_end_is_in_use() {
        let mut text = text(&LONG_NOP);
        text.bytes.resize(0x4000, 0x90);
        text.bytes[0x1041] = 0xc3;
        assert_eq!(text.far(AFTER, &[]), Some(START + 0x1042));
        let used = START + 0x1040..START + 0x1043;
        assert_eq!(text.far(AFTER, std::slice::from_ref(&used)), None);
    }
}
