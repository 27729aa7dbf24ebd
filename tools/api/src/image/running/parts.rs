//! What a slice of a checked tool hands in: its result, and the results of its parts, which are to add up to the same.

use crate::tool::SliceInfo;

/// A result, encoded.
pub type Encoded = Vec<u8>;

/// A part of a slice's execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// App pc before which it ends; 0: where the slice does.
    pub end: u64,
    /// What was seen in it.
    pub result: Encoded,
}

/// Parts that a slice is cut into, and one.
pub const MOST: usize = 64;

/// A part is to the tool what a slice is, with a number of its own in their order; 0 is that in which the run begins.
pub fn as_slice(slice: SliceInfo, part: usize) -> SliceInfo {
    SliceInfo { number: slice.number * MOST as u64 + part as u64 }
}

const WORD: usize = size_of::<u64>();

/// All of it as bytes: the number of parts, for the whole and for each of them where it ends and its length, then the results.
pub fn join(whole: &[u8], parts: &[Part]) -> Vec<u8> {
    let mut words = vec![parts.len() as u64, 0, whole.len() as u64];
    words.extend(parts.iter().flat_map(|part| [part.end, part.result.len() as u64]));
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend_from_slice(whole);
    parts.iter().for_each(|part| bytes.extend_from_slice(&part.result));
    bytes
}

/// The whole and the parts. `None`: these aren't bytes of [`join`]'s.
pub fn split(bytes: &[u8]) -> Option<(&[u8], Vec<Part>)> {
    let word = |n: usize| Some(u64::from_le_bytes(bytes.get(n * WORD..(n + 1) * WORD)?.try_into().ok()?));
    let count = word(0)? as usize;
    let mut at = (1 + 2 * (1 + count)) * WORD;
    let mut next = |n: usize| {
        let len = word(2 + 2 * n)? as usize;
        let result = bytes.get(at..at.checked_add(len)?)?;
        at += len;
        Some(result)
    };
    let whole = next(0)?;
    let part = |n: usize| Some(Part { end: word(1 + 2 * n)?, result: next(n)?.to_vec() });
    let parts: Option<Vec<Part>> = (1..=count).map(part).collect();
    Some((whole, parts?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_joined_is_split() {
        let parts = [Part { end: 7, result: vec![1, 2] }, Part { end: 0, result: vec![] }];
        let bytes = join(b"whole", &parts);
        assert_eq!(split(&bytes), Some((&b"whole"[..], parts.to_vec())));
        assert_eq!(split(&join(b"", &[])), Some((&b""[..], vec![])));
        assert_eq!(split(&bytes[..bytes.len() - 1]), None);
        assert_eq!(split(&[255; 20]), None);
    }
}
