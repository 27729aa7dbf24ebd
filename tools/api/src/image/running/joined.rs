//! Results of several tools, as one: before each a word with its length.

use bubble::values::LENGTH;

/// Puts results into `out`, one after the other; each is asked to write itself, and says how long it is. Returns how many bytes they took.
///
/// # Errors
/// If there is no room; what a tool says.
pub fn join<T>(
    out: &mut [u8],
    tools: impl IntoIterator<Item = T>,
    finish: impl Fn(T, &mut [u8]) -> Result<usize, String>,
) -> Result<usize, String> {
    let mut used = 0;
    for tool in tools {
        let (head, rest) = out[used..]
            .split_at_mut_checked(LENGTH)
            .ok_or("the results of several tools don't fit: make slices shorter with -spmsec")?;
        let len = finish(tool, rest)?;
        head.copy_from_slice(&(len as u64).to_le_bytes());
        used += LENGTH + len;
    }
    Ok(used)
}

/// The results of so many tools. `None`: these aren't bytes of [`join`]'s.
pub fn split(mut bytes: &[u8], tools: usize) -> Option<Vec<&[u8]>> {
    let mut results = Vec::new();
    for _ in 0..tools {
        let (len, rest) = bytes.split_first_chunk::<LENGTH>()?;
        let (result, rest) = rest.split_at_checked(u64::from_le_bytes(*len) as usize)?;
        results.push(result);
        bytes = rest;
    }
    bytes.is_empty().then_some(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(text: &str, out: &mut [u8]) -> Result<usize, String> {
        out.get_mut(..text.len()).ok_or("no room")?.copy_from_slice(text.as_bytes());
        Ok(text.len())
    }

    #[test]
    fn what_was_joined_can_be_split() {
        let mut out = [0; 40];
        let used = join(&mut out, ["one", "", "three"], write).unwrap();
        assert_eq!(used, 3 * LENGTH + 8);
        assert_eq!(split(&out[..used], 3).unwrap(), [&b"one"[..], b"", b"three"]);
        assert!(split(&out[..used], 2).is_none() && split(&out[..used], 4).is_none() && split(&out[..5], 1).is_none());
        assert!(join(&mut out[..used - 1], ["one", "", "three"], write).is_err());
        assert!(join(&mut out[..7], ["one"], write).is_err());
    }
}
