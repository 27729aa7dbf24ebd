//! Stubs: the last step of the way from a patched site to the recorder's code, which tells it the site.

use super::labels::Labels;
use super::layout::{CODE_AT, FOLLOWS, RCX};

/// A stub.
pub struct Stub {
    /// Its code.
    pub bytes: Vec<u8>,
    /// Offset in it of what follows the site.
    pub follows: Option<u64>,
}

/// The stub for the site whose instruction ends at `after`, which the recorder's code from `entry` on carries out; `at` is the stub's offset as
/// `entry` is the code's. `displaced`: an instruction that it executes first. `follows`: one that it executes at last, where the entry is one for that.
pub fn stub(at: u64, after: u64, displaced: &[u8], entry: u64, follows: &[u8]) -> Stub {
    const STORE_RCX: [u8; 3] = [0x48, 0x89, 0x0d];
    const LOAD_RCX: [u8; 2] = [0x48, 0xb9];
    const LEA_RCX: [u8; 3] = [0x48, 0x8d, 0x0d];
    /// `lea`, `mov`, and the number and `jmp` after those.
    const UP_TO_FOLLOWS: u64 = 7 + 7 + 10 + 5;
    const JUMP: u8 = 0xe9;
    const JUMP_TO_NEXT: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
    let mut bytes = displaced.to_vec();
    let relative = |to: u64, bytes: &[u8]| (to as i64 - (at + bytes.len() as u64 + 4) as i64) as i32;
    bytes.extend(STORE_RCX);
    bytes.extend(relative(RCX, &bytes).to_le_bytes());
    let place = bytes.len() as u64 + UP_TO_FOLLOWS;
    if !follows.is_empty() {
        bytes.extend(LEA_RCX);
        bytes.extend(relative(at + place, &bytes).to_le_bytes());
        bytes.extend(STORE_RCX);
        bytes.extend(relative(FOLLOWS, &bytes).to_le_bytes());
    }
    bytes.extend(LOAD_RCX);
    bytes.extend(after.to_le_bytes());
    bytes.push(JUMP);
    bytes.extend(relative(entry, &bytes).to_le_bytes());
    if follows.is_empty() {
        return Stub { bytes, follows: None };
    }
    debug_assert_eq!(bytes.len() as u64, place);
    bytes.extend(follows);
    bytes.extend(JUMP_TO_NEXT);
    bytes.extend((after + follows.len() as u64).to_le_bytes());
    Stub { bytes, follows: Some(place) }
}

/// A stub that has what follows the site goes on at `to` from there.
pub fn lead_on(stub: &mut [u8], to: u64) {
    let at = stub.len() - size_of::<u64>();
    stub[at..].copy_from_slice(&to.to_le_bytes());
}

/// What the recorder carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchedKind {
    /// A system call.
    #[default]
    Syscall,
    /// A reading of the time stamp counter.
    Rdtsc,
    /// The same, and of the processor's number.
    Rdtscp,
}

impl PatchedKind {
    pub(in crate::sliced::recorder) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Syscall => &[0x0f, 0x05],
            Self::Rdtsc => &[0x0f, 0x31],
            Self::Rdtscp => &[0x0f, 0x01, 0xf9],
        }
    }

    /// Its length.
    pub const fn len(self) -> u64 {
        self.bytes().len() as u64
    }

    /// Where the recorder's code for it is.
    pub(in crate::sliced::recorder) fn entry(self) -> u64 {
        match self {
            Self::Syscall => CODE_AT,
            Self::Rdtsc => Labels::get().rdtsc,
            Self::Rdtscp => Labels::get().rdtscp,
        }
    }

    /// Where its code is for a reading whose stub has what follows.
    pub(in crate::sliced::recorder) fn entry_then(self) -> Option<u64> {
        match self {
            Self::Syscall => None,
            Self::Rdtsc => Some(Labels::get().rdtsc_then),
            Self::Rdtscp => Some(Labels::get().rdtscp_then),
        }
    }
}
