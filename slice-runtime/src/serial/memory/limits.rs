//! Limits of the app's memory, against which the image's counts as well.

use std::sync::OnceLock;

use bubble::map::BUBBLE;
use machine::{Memory, proc};
use syscall_replay::is_error;
use syscall_replay::limits::{Limits, address_space, answer};

use crate::ports::raw_syscall;
use crate::serial::calls::Call;

/// The result of a call about a limit that is answered here.
pub fn call(call: &Call, memory: &mut dyn Memory) -> Option<u64> {
    let me = raw_syscall(libc::SYS_getpid as u64, [0; 6]) as i32;
    answer((call.number, call.args), me, memory, |resource, new| {
        let own = match resource {
            libc::RLIMIT_AS => BUBBLE.size,
            libc::RLIMIT_DATA => own_data() + engine::mapped_later(),
            _ => return None,
        };
        Some(address_space(new, own, |new| exchange(resource, new)))
    })
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

/// Private, writable memory of the image's before the app runs. To be called first before the app runs: it may leave us no descriptor to
/// find that out.
pub fn own_data() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| proc::read_to_string("self/maps").unwrap_or_default().lines().filter_map(data_of).sum())
}

/// Bytes of a line of /proc/PID/maps, if it is such memory.
fn data_of(line: &str) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    let permissions = fields.next()?;
    let is_meant = BUBBLE.contains(start) && permissions.as_bytes()[1] == b'w' && permissions.ends_with('p');
    is_meant.then_some(end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_writable_memory_of_the_bubble_is_meant() {
        let line =
            |start: u64, permissions: &str| format!("{start:x}-{:x} {permissions} 00000000 00:00 0", start + 4096);
        assert_eq!(data_of(&line(BUBBLE.start, "rw-p")), Some(4096));
        assert_eq!(data_of(&line(BUBBLE.start, "r--p")), None);
        assert_eq!(data_of(&line(BUBBLE.start, "rw-s")), None);
        assert_eq!(data_of(&line(0x1000, "rw-p")), None);
    }
}
