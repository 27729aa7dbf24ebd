//! Pairs of bytes in code, quickly.

use std::ops::Range;

/// Offsets in `code` of two bytes that follow each other.
pub fn pairs(code: &[u8], pair: [u8; 2]) -> impl Iterator<Item = usize> {
    let last = code.len().saturating_sub(1);
    let blocks = (0..last).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(last));
    let may_throttle =
        move |block: &Range<usize>| may_throttle(&code[block.clone()], &code[block.start + 1..=block.end], pair);
    blocks.filter(may_throttle).flatten().filter(move |&at| code[at..at + 2] == pair)
}

/// Bytes that are looked at together.
const BLOCK: usize = 256;

/// Whether the two bytes follow each other, with `second` one byte ahead of `first`. Programs have many
/// megabytes of code: no branches, so that the compiler makes it vector code.
fn may_throttle(first: &[u8], second: &[u8], pair: [u8; 2]) -> bool {
    first.iter().zip(second).fold(0, |any, (&a, &b)| any | u8::from(a == pair[0]) & u8::from(b == pair[1])) != 0
}
