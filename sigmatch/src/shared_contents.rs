//! Digests of memory that other processes may write.
//!
//! A slice has copies of the app's shared mappings, made where it starts. Where they aren't what the app has when the slice ends,
//! somebody else has written to them meanwhile. If the slice has looked there, what the app saw isn't known.

use bubble::end::{SHARED_WINDOWS, SharedContents};
use machine::Memory;

const PAGE: usize = machine::PAGE as usize;
/// The smallest window. A page that is read is mapped together with those around it, so less would tell no more.
const WINDOW: u64 = 64 << 10;

/// What `memory` holds in `ranges` (start, end; whole pages), of which the first [`bubble::end::SHARED_RANGES`] are looked at.
pub fn shared_contents(ranges: &[[u64; 2]], memory: &dyn Memory) -> SharedContents {
    let mut contents = SharedContents::default();
    for (place, range) in contents.ranges.iter_mut().zip(ranges) {
        *place = *range;
    }
    contents.window = WINDOW;
    while windows(&contents).count() > SHARED_WINDOWS {
        contents.window *= 2;
    }
    let digests: Vec<u32> = windows(&contents).map(|window| digest(window, memory)).collect();
    contents.digests[..digests.len()].copy_from_slice(&digests);
    contents
}

/// The first window (start, end) that `is_touched` and of which `memory` holds something else.
pub fn foreign_write(
    contents: &SharedContents,
    memory: &dyn Memory,
    is_touched: impl Fn((u64, u64)) -> bool,
) -> Option<(u64, u64)> {
    // Which are touched must be asked of all before any is read.
    let touched: Vec<bool> = windows(contents).map(is_touched).collect();
    let all = windows(contents).zip(contents.digests).zip(touched);
    all.filter(|(_, touched)| *touched)
        .find_map(|((window, expected), _)| (digest(window, memory) != expected).then_some(window))
}

/// Pieces of the ranges, aligned to the window's size. None if no contents were taken.
fn windows(contents: &SharedContents) -> impl Iterator<Item = (u64, u64)> {
    let window = contents.window.max(WINDOW);
    let first = move |start: u64| start / window * window;
    let pieces = move |[start, end]: [u64; 2]| {
        (first(start)..end).step_by(window as usize).map(move |at| (at.max(start), (at + window).min(end)))
    };
    contents.ranges.into_iter().filter(|[start, end]| start < end).flat_map(pieces)
}

/// Of addresses and contents. Pages of zeroes and pages that can't be read count for nothing: behind the end of a file a
/// slice has the one where the app has the other.
fn digest((start, end): (u64, u64), memory: &dyn Memory) -> u32 {
    let mut digest = 1;
    let mut chunk = vec![0; WINDOW as usize];
    let mut at = start;
    while at < end {
        let wanted = (end - at).min(WINDOW) as usize;
        let len = memory.read_prefix(at, &mut chunk[..wanted]);
        for (n, page) in chunk[..len].chunks(PAGE).enumerate() {
            digest = add(digest, at + (n * PAGE) as u64, page);
        }
        if len < wanted {
            break;
        }
        at += wanted as u64;
    }
    (digest ^ digest >> 32) as u32
}

/// Multiply and rotate, a word at a time, in four lanes: whoever changes memory doesn't try to deceive.
fn add(digest: u64, address: u64, page: &[u8]) -> u64 {
    const FACTOR: u64 = 0xff51_afd7_ed55_8ccd;
    let mut lanes = [digest ^ address, 1, 2, 3];
    let mut any = 0;
    for words in page.chunks_exact(32) {
        for (lane, word) in lanes.iter_mut().zip(words.chunks_exact(8)) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            any |= word;
            *lane = (*lane ^ word).wrapping_mul(FACTOR).rotate_left(29);
        }
    }
    if any == 0 {
        return digest;
    }
    lanes.iter().fold(0, |sum, lane| (sum ^ lane).wrapping_mul(FACTOR).rotate_left(29))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Here;

    const PAGES: usize = 40;

    /// Memory that starts a window.
    fn aligned(memory: &mut [u64]) -> &mut [u64] {
        let skip = memory.as_ptr().align_offset(WINDOW as usize);
        &mut memory[skip..][..PAGES * PAGE / 8]
    }

    #[test]
    fn a_changed_word_is_noticed_where_somebody_looked() {
        let mut memory = vec![0_u64; PAGES * PAGE / 8 + WINDOW as usize / 8];
        let words = aligned(&mut memory);
        let start = words.as_ptr() as u64;
        words[700] = 5;
        let here = Here::new();
        let before = shared_contents(&[[start, start + (PAGES * PAGE) as u64]], &here);
        assert_eq!(foreign_write(&before, &here, |_| true), None);
        words[WINDOW as usize / 8 + 1023] = 1;
        let second = (start + WINDOW, start + 2 * WINDOW);
        assert_eq!(foreign_write(&before, &here, |_| true), Some(second));
        assert_eq!(foreign_write(&before, &here, |window| window != second), None);
        assert_eq!(foreign_write(&SharedContents::default(), &here, |_| true), None);
    }

    #[test]
    fn much_memory_has_larger_windows() {
        let range = |mib: u64| [[0x1000, 0x1000 + (mib << 20)], [1 << 40, (1 << 40) + 4096]];
        let unreadable = |mib| shared_contents(&range(mib), &Here::of(i32::MAX));
        let (few, many) = (unreadable(1), unreadable(1000));
        assert_eq!((few.window, windows(&few).count()), (WINDOW, 18));
        assert_eq!(windows(&few).next(), Some((0x1000, WINDOW)));
        assert!(many.window > WINDOW && windows(&many).count() <= SHARED_WINDOWS);
    }
}
