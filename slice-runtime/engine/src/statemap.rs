//! State maps: from a place in translated code back to the app's state (a code pc maps back to an app pc).
//!
//! A trace's map is a list of entries by ascending offset. An entry holds from its offset up to the next one: there, the app
//! is about to execute the instruction at `pc`, and all its registers are in their places except those that the entry
//! names as borrowed, which are in spill slots. Code between two marks changes nothing that the app can see until its last
//! instruction, so the app instruction can be started again from the mark's state.

use machine::{Gpr, Registers};

use crate::thread::{MIRROR_R9, MIRROR_R10, SLOT_R11, SPILL_SLOTS};

/// Where the app's pc is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the entry's `pc`.
    Static = 0,
    /// It is in r10: an indirect branch has taken effect.
    InR10 = 1,
    /// It is the entry's `pc`, and the block before it has been left: its last instruction has taken effect.
    Left = 2,
}

/// What r11 holds where it is reserved, see `translate::reserved`. Otherwise it is the app's everywhere.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum R11 {
    /// What it is reserved for; the app's value is in its slot.
    #[default]
    Reserved = 0,
    /// Nothing that matters: what it is reserved for is in memory, and so is the app's value.
    Nothing = 1,
    /// The app's value; what it is reserved for is in memory.
    App = 2,
}

/// No register is borrowed.
pub const NOT_BORROWED: u8 = 0xff;

/// Instead of a spill slot: the register's value is in r9, which must be given back after it.
pub const IN_R9: usize = 15;
const _: () = assert!(SPILL_SLOTS <= IN_R9);

/// One entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// App pc, see [`Place`].
    pub pc: u64,
    /// Offset from the trace's first byte.
    pub offset: u32,
    /// A [`Place`], and in the high four bits an [`R11`].
    packed: u8,
    /// Borrowed registers: number in the high, spill slot (or [`IN_R9`]) in the low four bits; or [`NOT_BORROWED`].
    borrowed: [u8; 3],
}

/// A block-level analysis call whose count must be corrected if the block doesn't run to its end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCall {
    /// First app pc of the block.
    pub first: u64,
    /// App pc after the block.
    pub end: u64,
    /// Offset from the trace's first byte after which the call has been made.
    pub done: u32,
    /// Arena offset of its descriptor.
    pub descriptor: u32,
}

/// Words that were written into the buffer for an instruction: taken back if it isn't executed after all.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferMark {
    /// App pc of the instruction.
    pub pc: u64,
    /// How many words.
    pub words: u32,
    /// Offset from the trace's first byte from which on the buffer's position counts them.
    pub counted: u32,
}

/// Packs a borrowed register.
pub fn borrowed(r: Gpr, slot: usize) -> u8 {
    (r as u8) << 4 | slot as u8
}

impl MapEntry {
    /// From `offset` on the app is about to execute `pc`, with these registers borrowed.
    pub fn new(pc: u64, offset: u32, place: Place, r11: R11, borrowed: [u8; 3]) -> MapEntry {
        MapEntry { pc, offset, packed: (r11 as u8) << 4 | place as u8, borrowed }
    }

    /// The same from another offset on, with something else in r11.
    pub fn with_r11(&self, offset: u32, r11: R11) -> MapEntry {
        MapEntry::new(self.pc, offset, self.place(), r11, self.borrowed)
    }

    /// Where the pc is.
    pub fn place(&self) -> Place {
        match self.packed & 15 {
            0 => Place::Static,
            1 => Place::InR10,
            _ => Place::Left,
        }
    }

    /// Turns the machine's registers at a place that this entry covers into the app's, where r11 is reserved. Returns
    /// what it holds, unless that is in memory.
    pub fn recover_with_r11(&self, registers: &mut Registers, spill: &[u64]) -> Option<u64> {
        let in_r11 = registers.get(Gpr::R11);
        self.recover(registers, spill);
        let r11 = self.packed >> 4;
        if r11 != R11::App as u8 {
            registers.set(Gpr::R11, spill[SLOT_R11]);
        }
        (r11 == R11::Reserved as u8).then_some(in_r11)
    }

    /// Turns the machine's registers at a place that this entry covers into the app's.
    pub fn recover(&self, registers: &mut Registers, spill: &[u64]) {
        registers.rip = match self.place() {
            Place::Static | Place::Left => self.pc,
            Place::InR10 => registers.get(Gpr::R10),
        };
        for packed in self.borrowed.into_iter().filter(|&p| p != NOT_BORROWED) {
            let slot = usize::from(packed & 15);
            let value = if slot == IN_R9 { registers.get(Gpr::R9) } else { spill[slot] };
            registers.gpr[usize::from(packed >> 4)] = value;
        }
    }
}

/// Both mirrored registers, as `borrowed` of an entry.
pub fn mirrored() -> [u8; 3] {
    [borrowed(Gpr::R10, MIRROR_R10), borrowed(Gpr::R9, MIRROR_R9), NOT_BORROWED]
}

/// The entry that covers `offset`.
pub fn find(map: &[MapEntry], offset: u32) -> Option<&MapEntry> {
    map[..map.partition_point(|e| e.offset <= offset)].last()
}

/// The bytes of plain records, to be stored in the arena.
pub fn as_bytes<T: Copy>(records: &[T]) -> &[u8] {
    // SAFETY: the records are `repr(C)` without padding that matters: they are read back only as the same type.
    unsafe { std::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

/// Plain records stored by [`as_bytes`] at an address aligned for them.
///
/// # Safety
/// The bytes must have been written from `[T]`.
pub unsafe fn from_bytes<T: Copy>(bytes: &[u8]) -> &[T] {
    assert!(bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()));
    // SAFETY: alignment and size were checked, the content is the caller's promise.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_undoes_borrowing() {
        let entry = MapEntry::new(5, 0, Place::InR10, R11::Reserved, mirrored());
        let mut registers = Registers::default();
        registers.set(Gpr::R10, 0x1000);
        entry.recover(&mut registers, &[1, 2]);
        assert_eq!((registers.rip, registers.get(Gpr::R10), registers.get(Gpr::R9)), (0x1000, 1, 2));
    }

    #[test]
    fn what_is_in_r9_is_recovered_before_r9() {
        let [r10, r9, _] = mirrored();
        let entry = MapEntry::new(5, 0, Place::InR10, R11::Reserved, [borrowed(Gpr::Rcx, IN_R9), r10, r9]);
        let mut registers = Registers::default();
        registers.set(Gpr::R10, 0x1000);
        registers.set(Gpr::R9, 7);
        entry.recover(&mut registers, &[1, 2]);
        let of = |r| registers.get(r);
        assert_eq!((of(Gpr::Rcx), of(Gpr::R10), of(Gpr::R9), registers.rip), (7, 1, 2, 0x1000));
    }

    #[test]
    fn what_r11_is_reserved_for_is_told_from_the_apps_value() {
        let mut spill = [0; SPILL_SLOTS];
        spill[SLOT_R11] = 5;
        let recovered = |r11| {
            let mut registers = Registers::default();
            registers.set(Gpr::R11, 9);
            let entry = MapEntry::new(0, 0, Place::Static, r11, [NOT_BORROWED; 3]);
            let held = entry.recover_with_r11(&mut registers, &spill);
            (held, registers.get(Gpr::R11))
        };
        assert_eq!([R11::Reserved, R11::Nothing, R11::App].map(recovered), [(Some(9), 5), (None, 5), (None, 9)]);
    }
}
