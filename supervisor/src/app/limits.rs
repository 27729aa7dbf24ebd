//! Resource limits that the app sets for itself.
//!
//! A slice inherits the master's limits and can't raise the hard ones. Some would keep it from being set up: of these the master's hard
//! limit stays as it is, and the one that the app has set is kept here. The soft limit, which is the one that counts, is the app's. Those of its address space
//! have room for the bubble. Behind us the kernel has what the app has set.

use std::collections::BTreeMap;

use bubble::map::BUBBLE;
use machine::Status;
use syscall_replay::limits::{self, Limits};
use tracee::Stopped;

use crate::command::own_limits;

/// A slice opens files, and has an image with much private memory.
const KEPT: [u32; 2] = [libc::RLIMIT_NOFILE, libc::RLIMIT_DATA];
const CAP_SYS_RESOURCE: u32 = 24;

/// What the app has set.
#[derive(Clone, Debug, Default)]
pub struct OwnLimits {
    /// Hard limits, where they are lower than the kernel's.
    hard: BTreeMap<u32, u64>,
    /// It has set those of its address space.
    is_space_set: bool,
}

impl OwnLimits {
    /// The result of a call that the master is about to make, if it is answered here.
    pub fn answer(&mut self, master: &mut Stopped, number: u64, args: [u64; 6]) -> Option<i64> {
        let pid = master.pid();
        let result = limits::answer((number, args), pid, master, |resource, new| match resource {
            libc::RLIMIT_AS => {
                let old = limits::address_space(new, [BUBBLE.size; 2], |new| exchange(pid, resource, new));
                self.is_space_set |= new.is_some() && old.is_ok();
                Some(old)
            }
            _ if KEPT.contains(&resource) => {
                Some(self.exchange(resource, new, &|new| exchange(pid, resource, new), &|| may_raise(pid)))
            }
            _ => None,
        })?;
        Some(result as i64)
    }

    /// Process `pid` goes on natively: its limits become the kernel's. To lower them is always allowed.
    pub fn give_back(&mut self, pid: i32) {
        for (resource, hard) in std::mem::take(&mut self.hard) {
            let _ = exchange(pid, resource, None)
                .and_then(|[soft, _]| exchange(pid, resource, Some([soft.min(hard), hard])));
        }
        if std::mem::take(&mut self.is_space_set) {
            let old = exchange(pid, libc::RLIMIT_AS, None);
            let _ = old.and_then(|old| {
                exchange(pid, libc::RLIMIT_AS, Some(old.map(|limit| limits::to_app(limit, BUBBLE.size))))
            });
        }
        give_back_first(pid);
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

/// A process goes on natively. If its address space has the limit with which the app was started it gets the one that was meant for the app.
pub fn give_back_first(pid: i32) {
    let Some([given, meant]) = own_limits::of_app_space() else { return };
    let _ = exchange(pid, libc::RLIMIT_AS, None).and_then(|[soft, hard]| match soft == given {
        true => exchange(pid, libc::RLIMIT_AS, Some([meant, hard])),
        false => Ok([soft, hard]),
    });
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
