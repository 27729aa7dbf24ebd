//! Anonymous shared memory that is mapped in pieces, and of which the app chooses which ones it maps (`remap_file_pages`): slices have all of the object, so that
//! they can make such calls again.

use std::collections::BTreeMap;
use std::fs::File;

use machine::Memory;
use machine::mapping::{Answer, at};
use tracee::{Remote, Stopped};

use super::shared_contents::resident_parts;
use crate::app::{Mapping, mappings};
use crate::base::Failure;

/// Bytes of an object that slices have, mapped or not. Less than `slice_runtime::slice::start::aliases` takes along.
const MOST: u64 = 16 << 20;

/// What an object holds: offsets and bytes; zeroes elsewhere, and behind its end, if that comes sooner.
pub type Contents = BTreeMap<u64, Vec<u8>>;

/// How long a copy of such an object is.
pub const fn len() -> u64 {
    MOST
}

/// All that an object holds of which `copy`, a fork of the master, has these mappings. `None` if it is too large or can't be looked at.
///
/// # Errors
/// If the copy was killed.
pub fn read(copy: &mut Stopped, gadget: u64, maps: &[Mapping]) -> Result<Option<Contents>, Failure> {
    let is_meant = maps.iter().all(|map| map.is_anonymous && map.offset + map.len() <= MOST);
    let Some(map) = maps.iter().find(|map| is_meant && map.protection & libc::PROT_READ != 0) else { return Ok(None) };
    let mut remote = Remote::new(copy, gadget)?;
    // A second mapping of the object, which then shows it from its start on.
    let start = remote.call(libc::SYS_mremap, [map.start, 0, MOST, libc::MREMAP_MAYMOVE as u64, 0, 0])?;
    if start < 0 {
        return Ok(None);
    }
    let start = start as u64;
    let from_start = [start, MOST, 0, 0, libc::MAP_NONBLOCK as u64, 0];
    let shows_all = remote.call(libc::SYS_remap_file_pages, from_start)? == 0;
    drop(remote);
    let whole = map.moved_to(start, MOST);
    let parts = if shows_all { resident_parts(copy, gadget, &whole)? } else { None };
    let contents = parts.map(|parts| {
        let bytes = parts.into_iter().map(|part| {
            let mut bytes = vec![0; (part.end - part.start) as usize];
            let len = copy.read_prefix(part.start, &mut bytes);
            bytes[len..].fill(0);
            (part.start - start, bytes)
        });
        bytes.collect()
    });
    Remote::new(copy, gadget)?.expect("unmap shared memory in it", libc::SYS_munmap, [start, MOST, 0, 0, 0, 0])?;
    Ok(contents)
}

/// Device and inode of what process `pid` has mapped at an address, as /proc/PID/maps has them.
pub fn object_at(pid: i32, address: u64) -> Option<String> {
    let maps = File::open(format!("/proc/{pid}/maps")).ok()?;
    match at(&maps, address) {
        Answer::Is(map) => Some(format!("{:02x}:{:02x} {}", map.device >> 32, map.device as u32, map.inode)),
        Answer::Nothing => None,
        Answer::Unknown => {
            mappings(pid).into_iter().find(|map| (map.start..map.end).contains(&address)).map(|map| map.object)
        }
    }
}
