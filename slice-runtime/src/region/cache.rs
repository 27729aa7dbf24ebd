//! The shared translations of a pass. Those that count and those that have the tool's calls in them are two sorts, each shared between slices; the second ones are
//! mapped in place of the first ones, with which a process is taken over.

use std::fs::File;
use std::os::fd::AsRawFd;

use bubble::map::file::{SECOND_CACHE_AT, SECOND_TABLES_AT, TABLES_AT};
use bubble::map::{CACHE_ALIAS, CACHE_SHARED, Region, TABLES};
use bubble::region::pass;
use machine::proc;

/// Where in the run memory the tables are of the shared cache that this process uses. `None`: none is for this pass, or it isn't to be had. `run_memory`: the process that has
/// it open, and its descriptor.
///
/// # Safety
/// This is a taken-over process that has nothing in its caches yet.
pub unsafe fn shared_cache(pass: u32, run_memory: Option<(i32, i32)>) -> Option<u64> {
    match pass {
        pass::ONLY | pass::COUNTS => Some(TABLES_AT),
        pass::LOOKS => {
            let (process, descriptor) = run_memory?;
            let file = proc::open_to_write(format!("{process}/fd/{descriptor}")).ok()?;
            // SAFETY: the caller's promise.
            unsafe { map_second(&file) }.then_some(SECOND_TABLES_AT)
        }
        // Its code changes in the middle.
        _ => None,
    }
}

/// Whether all three were mapped.
///
/// # Safety
/// Nobody uses what is mapped there.
unsafe fn map_second(file: &File) -> bool {
    let map = |region: Region, protection, kind, at: u64| {
        let (place, flags) = (region.start as *mut libc::c_void, kind | libc::MAP_FIXED);
        // SAFETY: the caller's promise.
        unsafe { libc::mmap(place, region.size as usize, protection, flags, file.as_raw_fd(), at as i64) == place }
    };
    let (data, code) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ | libc::PROT_EXEC);
    map(TABLES, data, libc::MAP_SHARED, SECOND_TABLES_AT)
        && map(CACHE_ALIAS, data, libc::MAP_SHARED, SECOND_CACHE_AT)
        && map(CACHE_SHARED, code, libc::MAP_PRIVATE, SECOND_CACHE_AT)
}
