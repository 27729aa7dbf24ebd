//! Limits of the app's memory, against which the image's counts as well.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use bubble::map::BUBBLE;
use machine::Memory;
use machine::mapping::{self, Mapping};
use syscall_replay::is_error;
use syscall_replay::limits::{Limits, address_space, answer};

use crate::image::heap;
use crate::ports::raw_syscall;
use crate::serial::calls::AppCall;

/// The result of a call about a limit that is answered here.
pub fn call(call: &AppCall, memory: &mut dyn Memory) -> Option<u64> {
    let me = raw_syscall(libc::SYS_getpid as u64, [0; 6]) as i32;
    answer((call.number, call.args), me, memory, |resource, new| {
        let after = match resource {
            libc::RLIMIT_AS => BUBBLE.size,
            libc::RLIMIT_DATA => own_data_now(new.is_some_and(|[soft, _]| soft != libc::RLIM_INFINITY)),
            _ => return None,
        };
        let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
        // The image may have grown since.
        let before = added.get(&resource).copied().unwrap_or(after);
        let old = address_space(new, [before, after], |new| exchange(resource, new));
        if new.is_some() && old.is_ok() {
            added.insert(resource, after);
        }
        Some(old)
    })
}

/// What was added for the image to the limits that the app has set, by resource.
static ADDED: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());

/// The app goes on without the image: nothing is added to its limits any more.
pub fn give_back() {
    for (resource, added) in std::mem::take(&mut *ADDED.lock().unwrap_or_else(PoisonError::into_inner)) {
        // To lower them is always allowed.
        let _ = address_space(None, [added; 2], |_| exchange(resource, None)).map(|own| exchange(resource, Some(own)));
    }
}

fn exchange(resource: u32, new: Option<Limits>) -> Result<Limits, i32> {
    let new_at = new.as_ref().map_or(0, |new| new.as_ptr() as u64);
    let mut old = [0_u64; 2];
    let result = raw_syscall(libc::SYS_prlimit64 as u64, [0, resource.into(), new_at, old.as_mut_ptr() as u64, 0, 0]);
    if is_error(result) { Err(-(result as i64) as i32) } else { Ok(old) }
}

/// Gives the app its own limit of open files back. None of ours is open any more.
pub fn limit_open_files(limits: Limits) {
    if limits != [0; 2] {
        // It was lower a moment ago, and may be lowered by anybody.
        let _ = exchange(libc::RLIMIT_NOFILE, Some(limits));
    }
}

/// Private, writable memory of the image's before the app runs, and how much of that is heap. To be called first before the app runs: it may leave us no descriptor to
/// find that out.
pub fn own_data() -> [u64; 2] {
    static BYTES: OnceLock<[u64; 2]> = OnceLock::new();
    let all = || mapping::all("self").unwrap_or_default();
    *BYTES.get_or_init(|| {
        let bytes = all().iter().filter(|mapping| is_own_data(mapping)).map(Mapping::size).sum();
        [bytes, heap::accessible()]
    })
}

/// The same as it is now. `is_limited`: a limit is set, behind which there is no more: what the tool and translations may need comes first.
fn own_data_now(is_limited: bool) -> u64 {
    if is_limited {
        heap::make_room(ROOM);
    }
    let [bytes, heap] = own_data();
    bytes + engine::mapped_later() + (heap::accessible() - heap)
}

/// Bytes of heap that an app which limits its data leaves for the image.
const ROOM: u64 = 64 << 20;

fn is_own_data(mapping: &Mapping) -> bool {
    BUBBLE.contains(mapping.start) && mapping.write && !mapping.shared
}

#[cfg(test)]
mod tests {
    use machine::PAGE;

    use super::*;

    #[test]
    fn private_writable_memory_of_the_bubble_is_meant() {
        let is_meant = |start: u64, permissions: &str| {
            let line = format!("{start:x}-{:x} {permissions} 00000000 00:00 0", start + PAGE);
            is_own_data(&Mapping::parse(&line).unwrap())
        };
        assert!(is_meant(BUBBLE.start, "rw-p"));
        assert!(!is_meant(BUBBLE.start, "r--p"));
        assert!(!is_meant(BUBBLE.start, "rw-s"));
        assert!(!is_meant(0x1000, "rw-p"));
    }
}
