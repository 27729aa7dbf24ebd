//! How the recorder comes into a program image.

use bubble::map::{LOGS, RECORDER, Region};
use machine::Memory;
use tracee::{Remote, Stopped};

use super::mapping::{advise, map_shared, reserve};
use super::shared::Shared;
use crate::base::Failure;
use crate::sliced::recorder::code::{CODE_AT, DATA_AT, SELECTOR, SHARED_BYTES, in_master, labels};

/// `prctl`: system calls from elsewhere than a range of addresses raise SIGSYS.
const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;
const PR_SYS_DISPATCH_OFF: u64 = 0;
const PR_SYS_DISPATCH_ON: u64 = 1;

pub(super) fn map(stopped: &mut Stopped, gadget: u64, shared: &Shared) -> Result<bool, Failure> {
    let mut remote = Remote::new(stopped, gadget)?;
    let fixed = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let code = in_master(CODE_AT);
    if remote.call(libc::SYS_mmap, [code, DATA_AT, protection, fixed, u64::MAX, 0])? != code as i64 {
        return Ok(false);
    }
    if remote.memory().write(code, labels::code()).is_err() {
        return Ok(false);
    }
    let data = Region { start: in_master(DATA_AT), size: SHARED_BYTES };
    Ok(map_shared(&mut remote, data, shared.file(), 0)? && advise(&mut remote, Region { start: code, size: DATA_AT })?)
}

/// Has a thread's system calls elsewhere raise SIGSYS, as long as the selector says so. False if the kernel doesn't know of that.
pub(super) fn dispatch(stopped: &mut Stopped, gadget: u64) -> Result<bool, Failure> {
    let (code, selector) = (in_master(CODE_AT), in_master(SELECTOR));
    let args = [PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, code, DATA_AT, selector, 0];
    Ok(Remote::new(stopped, gadget)?.call(libc::SYS_prctl, args)? == 0)
}

/// The kernel doesn't look at the selector for the thread any more.
pub(super) fn undispatch(stopped: &mut Stopped, gadget: u64) -> Result<(), Failure> {
    Remote::new(stopped, gadget)?
        .call(libc::SYS_prctl, [PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0, 0])?;
    Ok(())
}

/// Makes the recorder's places a part of the reservation again.
pub(super) fn remove(stopped: &mut Stopped, gadget: u64) -> Result<(), Failure> {
    undispatch(stopped, gadget)?;
    let mut remote = Remote::new(stopped, gadget)?;
    reserve(&mut remote, RECORDER)?;
    reserve(&mut remote, LOGS)
}
