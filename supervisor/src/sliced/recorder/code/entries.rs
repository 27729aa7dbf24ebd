//! Stubs: the last step of the way from a patched site to the recorder's code, which tells it the site.

use super::labels::Labels;
use super::layout::{CODE_AT, RCX};

/// The stub for the site whose instruction ends at `after`, which the recorder's code from `entry` on carries out; `at` is the stub's offset as
/// `entry` is the code's. `displaced`: an instruction that it executes first.
pub fn stub(at: u64, after: u64, displaced: &[u8], entry: u64) -> Vec<u8> {
    const STORE_RCX: [u8; 3] = [0x48, 0x89, 0x0d];
    const LOAD_RCX: [u8; 2] = [0x48, 0xb9];
    const JUMP: u8 = 0xe9;
    let mut bytes = displaced.to_vec();
    let relative = |to: u64, bytes: &[u8]| (to as i64 - (at + bytes.len() as u64 + 4) as i64) as i32;
    bytes.extend(STORE_RCX);
    bytes.extend(relative(RCX, &bytes).to_le_bytes());
    bytes.extend(LOAD_RCX);
    bytes.extend(after.to_le_bytes());
    bytes.push(JUMP);
    bytes.extend(relative(entry, &bytes).to_le_bytes());
    bytes
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
}
