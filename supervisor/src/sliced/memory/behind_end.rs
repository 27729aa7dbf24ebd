//! Mappings that go on behind the end of what is mapped, as of a file that was cut off: the app gets SIGBUS there, and nobody can read anything. Copies for slices would be readable, so
//! where the app has nothing they get nothing.

use std::ops::Range;

use machine::PAGE;
use tracee::{Remote, Stopped};

use super::shared_contents::read_prefix;
use crate::app::Mapping;
use crate::base::Failure;

/// What of a mapping lies behind the end, in whole pages: empty if nothing does. `process`: one that has it.
pub fn behind_end(process: &Stopped, map: &Mapping) -> Range<u64> {
    let end = map.end;
    if reaches(process.pid(), map) || is_readable(process, map, end - PAGE) {
        return end..end;
    }
    let pages = map.len() / PAGE;
    let readable = first_without(pages, |page| is_readable(process, map, map.start + page * PAGE));
    map.start + readable * PAGE..end
}

/// Whether it is certain that what is mapped reaches to the mapping's end. Without opening it, which others would be told of; only the privileged may look at it by that name.
fn reaches(pid: i32, map: &Mapping) -> bool {
    let name = format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end);
    std::fs::metadata(name).is_ok_and(|file| !file.is_file() || file.len() > map.offset + (map.len() - PAGE))
}

fn is_readable(process: &Stopped, map: &Mapping, at: u64) -> bool {
    read_prefix(process, map, at, &mut [0]) == 1
}

/// The first of so many of which something isn't true, which is true of all before it and of none behind it.
fn first_without(count: u64, is_true: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from + (to - from) / 2;
        if is_true(middle) { from = middle + 1 } else { to = middle }
    }
    from
}

/// Maps in `copy`, over its own memory, what can't be read either: an empty `object` that is open in it.
///
/// # Errors
/// If the copy was killed.
pub fn map_nothing(copy: &mut Stopped, gadget: u64, object: u64, parts: &[(Range<u64>, i32)]) -> Result<(), Failure> {
    let mut remote = Remote::new(copy, gadget)?;
    let flags = (libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED) as u64;
    for (part, protection) in parts {
        let args = [part.start, part.end - part.start, *protection as u64, flags, object, 0];
        remote.expect("map what is behind a file's end", libc::SYS_mmap, args)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_by_halves() {
        for readable in 0..20 {
            assert_eq!(first_without(20, |page| page < readable), readable);
        }
        assert_eq!(first_without(20, |_| true), 20);
    }
}
