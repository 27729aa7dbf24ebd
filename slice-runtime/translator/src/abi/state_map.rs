//! State maps: from a place in translated code back to the app's state (a code pc maps back to an app pc).
//!
//! A trace's map is a list of entries by ascending offset. An entry holds from its offset up to the next one. It says: here the app is about to execute the
//! instruction at `pc`, and these registers are borrowed, with their values in these spill slots; all others are in place. Code between two marks
//! changes nothing that the app can see until its last instruction. So the app instruction can be started again from the mark's state.

use std::fmt;

use machine::{Gpr, Registers, flags};

use super::cpu::flags_in;
use super::spill::{HOME_R9, HOME_R10, HOMES, SLOT_HELD, SLOT_R11, SPILL_SLOTS};
use super::step::{behind_step, stepped_at};
use super::thread_state::ThreadState;

/// Where the app's pc is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcSource {
    /// It is the entry's `pc`.
    Static = 0,
    /// It is in r10: an indirect branch has taken effect.
    InR10 = 1,
    /// It is in [`ThreadState::target`](ThreadState): an indirect branch has taken effect.
    InTarget = 3,
    /// It is the entry's `pc`, and the block before it has been left: its last instruction has taken effect.
    Left = 2,
    /// A string instruction has made one step: it is where that repeats, or behind it, as [`super::again_or_behind`] has packed into the entry's `pc`. The block has been left.
    Repeats = 6,
}

/// Where the bits of a [`PcSource`] beyond the first two are in `packed`.
const MORE_SOURCE: u8 = 0x80;

/// App pc of an exit of such a source.
pub const IN_TARGET: u64 = u64::MAX;

/// What r11 holds where it is reserved, see `emit::registers::r11`. Otherwise it is the app's everywhere.
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
/// Added to the slot of rax: rax itself holds the app's arithmetic flags, as `lahf` and `seto al` put them there. OF may have been
/// taken from it already, which changes al, see [`isa::Code::restore_of_from_al`].
const WITH_FLAGS: usize = 8;
// Slots from this on are not for what is borrowed.
const _: () = assert!(SLOT_HELD + 2 <= WITH_FLAGS && SPILL_SLOTS <= IN_R9);

/// One entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// App pc, see [`PcSource`].
    pub pc: u64,
    /// Offset from the trace's first byte.
    pub offset: u32,
    /// A [`PcSource`], in the third and fourth bit which of r10 and r9 are not loaded, in the next three bits an [`R11`], in the last one the rest of the source.
    packed: u8,
    /// Borrowed registers: number in the high, spill slot (or [`IN_R9`]) in the low four bits; or [`NOT_BORROWED`].
    borrowed: [u8; 3],
}

/// Registers that were saved around a call from translated code: they are in [`ThreadState::called`](ThreadState).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// General registers, one bit for each; not r15, which routines preserve.
    pub registers: u16,
    /// Whether the arithmetic flags are there, too.
    pub flags: bool,
}

/// In the first place of `borrowed`: a [`Saved`] follows. It would be r15 in a slot that no register is borrowed to.
const SAVED: u8 = 0xfe;
/// The bit that stands for the flags in it.
const SAVED_FLAGS: u16 = 1 << Gpr::R15 as u16;

impl Saved {
    /// As `borrowed` of an entry.
    pub fn packed(self) -> [u8; 3] {
        debug_assert!(self.registers & SAVED_FLAGS == 0);
        let [low, high] = (self.registers | if self.flags { SAVED_FLAGS } else { 0 }).to_le_bytes();
        [SAVED, low, high]
    }

    fn of(packed: [u8; 3]) -> Option<Saved> {
        let [SAVED, low, high] = packed else { return None };
        let bits = u16::from_le_bytes([low, high]);
        Some(Saved { registers: bits & !SAVED_FLAGS, flags: bits & SAVED_FLAGS != 0 })
    }

    fn recover(self, registers: &mut Registers, thread: &ThreadState) {
        for r in Gpr::ALL.into_iter().filter(|&r| self.registers & 1 << r as u16 != 0) {
            registers.set(r, thread.called[r as usize]);
        }
        if self.flags {
            registers.rflags = registers.rflags & !flags::ARITHMETIC | flags_in(thread.called_flags);
        }
    }
}

/// Packs a borrowed register.
pub fn borrowed(r: Gpr, slot: usize) -> u8 {
    (r as u8) << 4 | slot as u8
}

/// Packs rax, whose value is in a slot while it holds the flags.
pub fn borrowed_for_flags(slot: usize) -> u8 {
    borrowed(Gpr::Rax, slot | WITH_FLAGS)
}

impl MapEntry {
    /// From `offset` on the app is about to execute `pc`, with these registers borrowed.
    pub fn new(pc: u64, offset: u32, source: PcSource, r11: R11, borrowed: [u8; 3]) -> MapEntry {
        let packed = (r11 as u8) << 4 | source as u8 & 3 | (source as u8 & 4) << 5;
        MapEntry { pc, offset, packed, borrowed }
    }

    /// The same, but these of r10 and r9 (one bit for each register) are in their home slots.
    pub fn with_unloaded(mut self, unloaded: u16) -> MapEntry {
        for (n, (r, _)) in HOMES.into_iter().enumerate() {
            self.packed =
                self.packed & !(UNLOADED << n) | if unloaded & 1 << r as u16 == 0 { 0 } else { UNLOADED << n };
        }
        self
    }

    /// The same from another offset on, with something else in r11.
    pub fn with_r11(&self, offset: u32, r11: R11) -> MapEntry {
        MapEntry { offset, packed: self.packed & (15 | MORE_SOURCE) | (r11 as u8) << 4, ..*self }
    }

    /// Where the pc is.
    #[inline]
    pub fn source(&self) -> PcSource {
        match self.packed & 3 {
            0 => PcSource::Static,
            1 => PcSource::InR10,
            3 => PcSource::InTarget,
            _ if self.packed & MORE_SOURCE != 0 => PcSource::Repeats,
            _ => PcSource::Left,
        }
    }

    /// Turns the machine's registers at a place that this entry covers into the app's, where r11 is reserved. Returns
    /// what it holds, unless that is in memory.
    #[inline]
    pub fn recover_with_r11(&self, registers: &mut Registers, thread: &ThreadState) -> Option<u64> {
        self.recover(registers, thread);
        // A routine that was called may have changed it; then it was saved.
        let in_r11 = registers.get(Gpr::R11);
        let r11 = self.packed >> 4 & 7;
        if r11 != R11::App as u8 {
            registers.set(Gpr::R11, thread.spill[SLOT_R11]);
        }
        (r11 == R11::Reserved as u8).then_some(in_r11)
    }

    /// Turns the machine's registers at a place that this entry covers into the app's.
    #[inline]
    pub fn recover(&self, registers: &mut Registers, thread: &ThreadState) {
        registers.rip = match self.source() {
            PcSource::Static | PcSource::Left => self.pc,
            PcSource::InR10 => registers.get(Gpr::R10),
            PcSource::InTarget => thread.target,
            PcSource::Repeats => behind_step(self.pc, registers),
        };
        self.give_back(registers, thread);
        for (n, (r, slot)) in HOMES.into_iter().enumerate() {
            if self.packed & UNLOADED << n != 0 {
                registers.set(r, thread.spill[slot]);
            }
        }
    }

    /// Undoes borrowing.
    fn give_back(&self, registers: &mut Registers, thread: &ThreadState) {
        if let Some(saved) = Saved::of(self.borrowed) {
            return saved.recover(registers, thread);
        }
        for packed in self.borrowed.into_iter().filter(|&p| p != NOT_BORROWED) {
            let (r, mut slot) = (usize::from(packed >> 4), usize::from(packed & 15));
            if r == Gpr::Rax as usize && slot & WITH_FLAGS != 0 {
                registers.rflags = registers.rflags & !flags::ARITHMETIC | flags_in(registers.get(Gpr::Rax));
                slot &= !WITH_FLAGS;
            }
            registers.gpr[r] = if slot == IN_R9 { registers.get(Gpr::R9) } else { thread.spill[slot] };
        }
    }
}

impl fmt::Display for MapEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            PcSource::Static => write!(f, "at {:#x}", self.pc)?,
            PcSource::InR10 => f.write_str("at the address in r10")?,
            PcSource::InTarget => f.write_str("at the branch's target")?,
            PcSource::Left => write!(f, "at {:#x}, the block has been left", self.pc)?,
            PcSource::Repeats => write!(f, "at {:#x}, or behind it, after a step", stepped_at(self.pc))?,
        }
        for (n, (r, _)) in HOMES.into_iter().enumerate() {
            if self.packed & UNLOADED << n != 0 {
                write!(f, "; {} not loaded, in its home slot", name_of(r))?;
            }
        }
        if let Some(saved) = Saved::of(self.borrowed) {
            f.write_str("; saved for a call:")?;
            let registers = Gpr::ALL.into_iter().filter(|&r| saved.registers & 1 << r as u16 != 0);
            registers
                .map(name_of)
                .chain(saved.flags.then(|| "flags".to_owned()))
                .try_for_each(|name| write!(f, " {name}"))?;
        } else {
            for packed in self.borrowed.into_iter().filter(|&p| p != NOT_BORROWED) {
                let (r, slot) = (Gpr::ALL[usize::from(packed >> 4)], usize::from(packed & 15));
                match slot {
                    IN_R9 => write!(f, "; {} borrowed, in r9", name_of(r))?,
                    slot if r == Gpr::Rax && slot & WITH_FLAGS != 0 => {
                        write!(f, "; rax borrowed for the flags, in slot {}", slot & !WITH_FLAGS)?;
                    }
                    slot => write!(f, "; {} borrowed, in slot {slot}", name_of(r))?,
                }
            }
        }
        f.write_str(match self.packed >> 4 & 7 {
            0 => "",
            1 => "; nothing in r11",
            _ => "; r11 the app's",
        })
    }
}

fn name_of(r: Gpr) -> String {
    format!("{r:?}").to_lowercase()
}

/// The bit in `packed` for the first of [`HOMES`].
const UNLOADED: u8 = 4;

/// Both registers with home slots, as `borrowed` of an entry.
pub fn in_home_slots() -> [u8; 3] {
    [borrowed(Gpr::R10, HOME_R10), borrowed(Gpr::R9, HOME_R9), NOT_BORROWED]
}

/// The entry that covers `offset`.
#[inline]
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

    /// A thread state whose first spill slots hold these.
    fn thread(spill: &[u64]) -> Box<ThreadState> {
        // SAFETY: zero is valid for each of its fields, which are numbers, and the box gives back what was allocated for it.
        let mut thread: Box<ThreadState> =
            unsafe { Box::from_raw(std::alloc::alloc_zeroed(std::alloc::Layout::new::<ThreadState>()).cast()) };
        thread.spill[..spill.len()].copy_from_slice(spill);
        thread
    }

    #[test]
    fn what_was_saved_around_a_call_is_recovered() {
        use machine::flags::{CF, OF};
        let saved = Saved { registers: 1 << Gpr::Rdi as u16 | 1 << Gpr::Rsp as u16, flags: true };
        let entry = MapEntry::new(5, 0, PcSource::InTarget, R11::Reserved, saved.packed());
        let mut thread = thread(&[]);
        (thread.target, thread.called_flags) = (0x77, CF << 8 | 1);
        thread.called[Gpr::Rdi as usize] = 6;
        thread.called[Gpr::Rsp as usize] = 7;
        let mut registers = Registers { rflags: 0x246, ..Registers::default() };
        registers.set(Gpr::Rsi, 8);
        entry.recover(&mut registers, &thread);
        let of = |r| registers.get(r);
        assert_eq!((of(Gpr::Rdi), of(Gpr::Rsp), of(Gpr::Rsi), registers.rip), (6, 7, 8, 0x77));
        assert_eq!(registers.rflags, 0x202 | CF | OF);
        assert_eq!(Saved::of(in_home_slots()), None);
    }

    #[test]
    fn recovery_undoes_borrowing() {
        let entry = MapEntry::new(5, 0, PcSource::InR10, R11::Reserved, in_home_slots());
        let mut registers = Registers::default();
        registers.set(Gpr::R10, 0x1000);
        entry.recover(&mut registers, &thread(&[1, 2]));
        assert_eq!((registers.rip, registers.get(Gpr::R10), registers.get(Gpr::R9)), (0x1000, 1, 2));
    }

    #[test]
    fn registers_are_recovered_from_their_homes() {
        let entry =
            MapEntry::new(5, 0, PcSource::InR10, R11::App, [borrowed(Gpr::Rcx, IN_R9), NOT_BORROWED, NOT_BORROWED]);
        let mut registers = Registers::default();
        registers.set(Gpr::R10, 0x1000);
        registers.set(Gpr::R9, 7);
        let thread = thread(&[1, 2]);
        let both = entry.with_unloaded(1 << Gpr::R10 as u16 | 1 << Gpr::R9 as u16).with_r11(4, R11::Nothing);
        both.recover(&mut registers, &thread);
        let of = |r| registers.get(r);
        assert_eq!((of(Gpr::Rcx), of(Gpr::R10), of(Gpr::R9), registers.rip), (7, 1, 2, 0x1000));
        registers.set(Gpr::R10, 0x2000);
        both.with_unloaded(1 << Gpr::R9 as u16).recover(&mut registers, &thread);
        assert_eq!((registers.get(Gpr::R10), registers.rip), (0x2000, 0x2000));
    }

    #[test]
    fn flags_are_recovered_from_rax() {
        use machine::flags::{CF, OF, ZF};
        let [first, second] = [borrowed_for_flags(2), borrowed(Gpr::Rcx, 3)];
        let entry = MapEntry::new(5, 0, PcSource::Static, R11::Reserved, [first, second, NOT_BORROWED]);
        for (al, overflow) in [(0, 0), (1, OF), (0x7f, 0), (0x80, OF)] {
            let mut registers = Registers { rflags: 0x202 | CF, ..Registers::default() };
            registers.set(Gpr::Rax, ZF << 8 | al);
            entry.recover(&mut registers, &thread(&[1, 2, 3, 4]));
            assert_eq!((registers.get(Gpr::Rax), registers.get(Gpr::Rcx)), (3, 4));
            assert_eq!(registers.rflags, 0x202 | ZF | overflow);
        }
    }

    #[test]
    fn what_is_in_r9_is_recovered_before_r9() {
        let [r10, r9, _] = in_home_slots();
        let entry = MapEntry::new(5, 0, PcSource::InR10, R11::Reserved, [borrowed(Gpr::Rcx, IN_R9), r10, r9]);
        let mut registers = Registers::default();
        registers.set(Gpr::R10, 0x1000);
        registers.set(Gpr::R9, 7);
        entry.recover(&mut registers, &thread(&[1, 2]));
        let of = |r| registers.get(r);
        assert_eq!((of(Gpr::Rcx), of(Gpr::R10), of(Gpr::R9), registers.rip), (7, 1, 2, 0x1000));
    }

    #[test]
    fn an_entry_says_where_registers_are() {
        let entry = MapEntry::new(
            0x40,
            0,
            PcSource::Left,
            R11::App,
            [borrowed(Gpr::Rcx, IN_R9), borrowed_for_flags(2), NOT_BORROWED],
        );
        let unloaded = entry.with_unloaded(1 << Gpr::R10 as u16);
        let text = "at 0x40, the block has been left; r10 not loaded, in its home slot; rcx borrowed, in r9; rax borrowed for the flags, in slot 2; r11 the app's";
        assert_eq!(unloaded.to_string(), text);
        let saved = Saved { registers: 1 << Gpr::Rdi as u16, flags: true };
        let call = MapEntry::new(0, 0, PcSource::InTarget, R11::Reserved, saved.packed());
        assert_eq!(call.to_string(), "at the branch's target; saved for a call: rdi flags");
    }

    #[test]
    fn what_r11_is_reserved_for_is_told_from_the_apps_value() {
        let mut thread = thread(&[]);
        thread.spill[SLOT_R11] = 5;
        let recovered = |r11| {
            let mut registers = Registers::default();
            registers.set(Gpr::R11, 9);
            let entry = MapEntry::new(0, 0, PcSource::Static, r11, [NOT_BORROWED; 3]);
            let held = entry.recover_with_r11(&mut registers, &thread);
            (held, registers.get(Gpr::R11))
        };
        assert_eq!([R11::Reserved, R11::Nothing, R11::App].map(recovered), [(Some(9), 5), (None, 5), (None, 9)]);
    }
}
