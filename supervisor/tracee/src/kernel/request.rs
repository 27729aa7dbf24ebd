//! The single place where ptrace(2) is called.

use super::error::TraceError;

/// Makes one ptrace request whose result is only success or failure.
///
/// # Safety
/// `data` must be what `request` expects: where that is a pointer, it must be valid for the bytes
/// that the kernel reads or writes.
pub(crate) unsafe fn request(
    request: libc::c_uint,
    pid: i32,
    addr: usize,
    data: usize,
    action: &'static str,
) -> Result<i64, TraceError> {
    // SAFETY: the caller vouches for `data`; ptrace checks everything else itself.
    let result = unsafe { libc::ptrace(request, pid, addr, data) };
    if result == -1 { Err(TraceError::last(pid, action)) } else { Ok(result) }
}
