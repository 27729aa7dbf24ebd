//! Dispositions as the kernel's `struct sigaction` has them.

use super::sets::bit;
use crate::ports::raw_syscall;

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    pub handler: u64,
    pub flags: u64,
    pub restorer: u64,
    pub mask: u64,
}

impl Action {
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
        Self { handler: word(0), flags: word(1) & KNOWN_FLAGS, restorer: word(2), mask: word(3) & !UNBLOCKABLE }
    }

    pub(super) fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip([self.handler, self.flags, self.restorer, self.mask]) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

pub const DEFAULT: u64 = 0;

pub const IGNORE: u64 = 1;

/// Flags of sigaction(2) that the kernel knows (UAPI_SA_FLAGS).
const KNOWN_FLAGS: u64 = 0xdc00_0807;

pub const SA_RESTORER: u64 = 0x0400_0000;

pub const SA_ONSTACK: u64 = 0x0800_0000;

pub const SA_NODEFER: u64 = 0x4000_0000;

pub const SA_RESETHAND: u64 = 0x8000_0000;

pub(super) const UNBLOCKABLE: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP);

/// Sets what the kernel itself does; never a handler, except in a process that goes native.
pub fn set_real_action(signal: i32, action: &Action) {
    raw_syscall(libc::SYS_rt_sigaction as u64, [signal as u64, &raw const *action as u64, 0, 8, 0, 0]);
}

/// What a signal leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    Nothing,
    Death,
    Handler(Action),
}
