//! Resource limits that the app sets for itself.
//!
//! A slice inherits the master's limits and can't raise the hard ones. Some would keep it from being set up: of these the master's hard
//! limit stays as it is, and the one that the app has set is kept here. The soft limit, which is the one that counts, is the app's.

use std::collections::BTreeMap;

use bubble::map::BUBBLE;
use machine::Status;
use syscall_replay::limits::{self, Limits};
use tracee::Stopped;

/// A slice opens files, and has an image with much private memory.
const KEPT: [u32; 2] = [libc::RLIMIT_NOFILE, libc::RLIMIT_DATA];
const CAP_SYS_RESOURCE: u32 = 24;

/// What the app has set.
#[derive(Clone, Debug, Default)]
pub struct OwnLimits {
    /// Hard limits, where they are lower than the kernel's.
    hard: BTreeMap<u32, u64>,
}

impl OwnLimits {
    /// The result of a call that the master is about to make, if it is answered here.
    pub fn answer(&mut self, master: &mut Stopped, number: u64, args: [u64; 6]) -> Option<i64> {
        let pid = master.pid();
        let result = limits::answer((number, args), pid, master, |resource, new| match resource {
            libc::RLIMIT_AS => Some(limits::address_space(new, [BUBBLE.size; 2], |new| exchange(pid, resource, new))),
            _ if KEPT.contains(&resource) => {
                Some(self.exchange(resource, new, &|new| exchange(pid, resource, new), &|| may_raise(pid)))
            }
            _ => None,
        })?;
        Some(result as i64)
    }

    fn exchange(
        &mut self,
        resource: u32,
        new: Option<Limits>,
        kernel: &dyn Fn(Option<Limits>) -> Result<Limits, i32>,
        may_raise: &dyn Fn() -> bool,
    ) -> Result<Limits, i32> {
        let [soft, most] = kernel(None)?;
        let hard = self.hard.get(&resource).copied().unwrap_or(most);
        let Some([new_soft, new_hard]) = new else { return Ok([soft, hard]) };
        if new_soft > new_hard {
            return Err(libc::EINVAL);
        }
        if new_hard > hard && !may_raise() {
            return Err(libc::EPERM);
        }
        let most = most.max(new_hard);
        kernel(Some([new_soft, most]))?;
        if new_hard < most {
            self.hard.insert(resource, new_hard);
        } else {
            self.hard.remove(&resource);
        }
        Ok([soft, hard])
    }
}

/// The limits of a process, from before they are set if they are to be.
fn exchange(pid: i32, resource: u32, new: Option<Limits>) -> Result<Limits, i32> {
    let new = new.map(|[rlim_cur, rlim_max]| libc::rlimit { rlim_cur, rlim_max });
    let new_at = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both are places for a limit, or null.
    match unsafe { libc::prlimit(pid, resource, new_at, &raw mut old) } {
        0 => Ok([old.rlim_cur, old.rlim_max]),
        _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM)),
    }
}

/// Whether a process may raise hard limits.
fn may_raise(pid: i32) -> bool {
    let bits = Status::of(pid).ok().and_then(|status| status.bits("CapEff")).unwrap_or(0);
    bits >> CAP_SYS_RESOURCE & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_hard_limit_is_the_apps_and_not_the_kernels() {
        let kernel = Cell::new([100, 1000]);
        let exchange = |new: Option<Limits>| Ok(kernel.replace(new.unwrap_or(kernel.get())));
        let mut own = OwnLimits::default();
        let mut make = |new, may_raise: bool| own.exchange(libc::RLIMIT_NOFILE, new, &exchange, &|| may_raise);
        assert_eq!(make(Some([0, 10]), false), Ok([100, 1000]));
        assert_eq!((make(None, false), kernel.get()), (Ok([0, 10]), [0, 1000]));
        assert_eq!(make(Some([11, 10]), false), Err(libc::EINVAL));
        assert_eq!(make(Some([5, 20]), false), Err(libc::EPERM));
        assert_eq!(make(Some([10, 10]), false), Ok([0, 10]));
        assert_eq!(make(Some([5, 2000]), true), Ok([10, 10]));
        assert_eq!((make(None, false), kernel.get()), (Ok([5, 2000]), [5, 2000]));
    }
}
