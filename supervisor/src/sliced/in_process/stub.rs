//! Stubs: the last step of the way from a patched site to the recorder's code, which tells it the site.

use super::layout::{CODE_AT, RCX};

/// The stub for the site whose `syscall` instruction ends at `after`: `at` is the offset of the stub. `number`: it loads that first.
pub fn stub(at: u64, after: u64, number: Option<u32>) -> Vec<u8> {
    const LOAD_EAX: u8 = 0xb8;
    const STORE_RCX: [u8; 3] = [0x48, 0x89, 0x0d];
    const LOAD_RCX: [u8; 2] = [0x48, 0xb9];
    const JUMP: u8 = 0xe9;
    let mut bytes = Vec::new();
    if let Some(number) = number {
        bytes.push(LOAD_EAX);
        bytes.extend(number.to_le_bytes());
    }
    let relative = |to: u64, bytes: &[u8]| (to as i64 - (at + bytes.len() as u64 + 4) as i64) as i32;
    bytes.extend(STORE_RCX);
    bytes.extend(relative(RCX, &bytes).to_le_bytes());
    bytes.extend(LOAD_RCX);
    bytes.extend(after.to_le_bytes());
    bytes.push(JUMP);
    bytes.extend(relative(CODE_AT, &bytes).to_le_bytes());
    bytes
}
