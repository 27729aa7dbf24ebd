//! Limits of the app's that aren't the kernel's.
//!
//! What is reserved for us in the app's address space counts against its limit. So the kernel's limit is the app's and the reservation
//! together, from the program's start on, and the app's calls that set or read it are answered with that taken into account.

use machine::Memory;

const NONE: u64 = libc::RLIM_INFINITY;

/// What the kernel is told where the app has said `limit`.
pub fn to_kernel(limit: u64, reserved: u64) -> u64 {
    if limit == NONE { NONE } else { limit.saturating_add(reserved).min(NONE - 1) }
}

/// What the app sees where the kernel says `limit`.
pub fn to_app(limit: u64, reserved: u64) -> u64 {
    if limit == NONE { NONE } else { limit.saturating_sub(reserved) }
}

/// Soft and hard limit.
pub type Limits = [u64; 2];

/// Exchanges a limit of the app's address space, or of a part of it: `exchange` does it to the kernel's. `reserved`: what isn't the app's in the limit that there is, and in the new one.
///
/// # Errors
/// What `exchange` gives.
pub fn address_space(
    new: Option<Limits>,
    reserved: [u64; 2],
    exchange: impl FnOnce(Option<Limits>) -> Result<Limits, i32>,
) -> Result<Limits, i32> {
    let [before, after] = reserved;
    let old = exchange(new.map(|new| new.map(|limit| to_kernel(limit, after))))?;
    Ok(old.map(|limit| to_app(limit, before)))
}

/// Makes the app's call, if it is about a limit of its own: gives its result. `pid` is the app's number. `exchange` is told the resource; it
/// sets its limits, or leaves them if there are none to be set, and gives those from before or an error number; or nothing if the
/// kernel is to answer.
pub fn answer(
    (number, args): (u64, [u64; 6]),
    pid: i32,
    memory: &mut dyn Memory,
    exchange: impl FnOnce(u32, Option<Limits>) -> Option<Result<Limits, i32>>,
) -> Option<u64> {
    let (resource, new_at, old_at) = match number as i64 {
        // The kernel answers calls with an address of 0 where there must be one.
        libc::SYS_getrlimit if args[1] != 0 => (args[0], 0, args[1]),
        libc::SYS_setrlimit if args[1] != 0 => (args[0], args[1], 0),
        libc::SYS_prlimit64 if [0, pid].contains(&(args[0] as i32)) => (args[1], args[2], args[3]),
        _ => return None,
    };
    let error = |number: i32| -i64::from(number) as u64;
    let new = match new_at {
        0 => None,
        at => match (memory.read_u64(at), memory.read_u64(at.wrapping_add(8))) {
            (Ok(soft), Ok(hard)) => Some([soft, hard]),
            _ => return Some(error(libc::EFAULT)),
        },
    };
    let old = match exchange(resource as u32, new)? {
        Ok(old) => old.map(u64::to_le_bytes),
        Err(number) => return Some(error(number)),
    };
    let written = if old_at == 0 { Ok(()) } else { memory.write(old_at, &old.concat()) };
    Some(if written.is_ok() { 0 } else { error(libc::EFAULT) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Here;
    use std::cell::Cell;

    const RESERVED: u64 = 1 << 30;

    #[test]
    fn limits_come_back_as_they_were_set() {
        for limit in [0, 4096, 1 << 40, NONE] {
            assert_eq!(to_app(to_kernel(limit, RESERVED), RESERVED), limit);
        }
        assert!(to_kernel(NONE - 2, RESERVED) < NONE);
    }

    #[test]
    fn only_calls_about_own_limits_are_answered() {
        let (new, mut old) = ([5_u64, NONE], [0_u64; 2]);
        let kernel = Cell::new([NONE, NONE]);
        let make = |number: i64, args: [u64; 6]| {
            answer((number as u64, args), 77, &mut Here::new(), |resource, new| {
                let exchange = |new: Option<Limits>| Ok(kernel.replace(new.unwrap_or(kernel.get())));
                (resource == libc::RLIMIT_AS).then(|| address_space(new, [RESERVED; 2], exchange))
            })
        };
        let resource = u64::from(libc::RLIMIT_AS);
        let (new_at, old_at) = (new.as_ptr() as u64, old.as_mut_ptr() as u64);
        assert_eq!(make(libc::SYS_setrlimit, [resource, new_at, 0, 0, 0, 0]), Some(0));
        assert_eq!(make(libc::SYS_prlimit64, [77, resource, 0, old_at, 0, 0]), Some(0));
        assert_eq!(make(libc::SYS_prlimit64, [78, resource, 0, old_at, 0, 0]), None);
        assert_eq!(make(libc::SYS_getrlimit, [7, old_at, 0, 0, 0, 0]), None);
        assert_eq!(make(libc::SYS_prlimit64, [0, resource, 8, 0, 0, 0]), Some(-i64::from(libc::EFAULT) as u64));
        assert_eq!((old, kernel.get()), ([5, NONE], [5 + RESERVED, NONE]));
    }
}
