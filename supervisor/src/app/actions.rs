//! A process's handlers, asked for and set from outside.

use machine::{Memory, PAGE};
use tracee::{Remote, Stopped, TraceError};

use super::signals::Dispositions;

/// What a thread and its process have set for a signal. The kernel changes it where an instruction raises the signal while it is blocked or ignored
/// (`force_sig_info_to_task`): it is unblocked then, and has its default action.
pub struct Setting {
    /// Which.
    pub signal: i32,
    /// Whether the thread blocks it.
    pub is_blocked: bool,
    /// The handler, where the kernel would put another in its place: an address or `SIG_IGN`.
    pub handler: Option<u64>,
}

impl Setting {
    /// What a stopped process has set, where it can make system calls for us. `gadget`: a `syscall` instruction.
    ///
    /// # Errors
    /// If the process was killed or has no memory for the call.
    pub fn of(process: &mut Stopped, gadget: u64, signal: i32) -> Result<Self, TraceError> {
        let bit = 1 << (signal - 1);
        let is_blocked = process.signal_mask()? & bit != 0;
        let is_default = Dispositions::of(process.pid()).is_some_and(|set| (set.caught | set.ignored) & bit == 0);
        let handler = if is_default { libc::SIG_DFL as u64 } else { handler_of(process, gadget, signal)? };
        let is_lost = handler == libc::SIG_IGN as u64 || is_blocked && handler != libc::SIG_DFL as u64;
        Ok(Self { signal, is_blocked, handler: Some(handler).filter(|_| is_lost) })
    }

    /// Sets it again, behind such a signal.
    ///
    /// # Errors
    /// If the process was killed or has no memory for the call.
    pub fn put_back(&self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        if self.is_blocked {
            let mask = process.signal_mask()?;
            process.set_signal_mask(mask | 1 << (self.signal - 1))?;
        }
        self.handler.map_or(Ok(()), |handler| set_handler(process, gadget, self.signal, handler))
    }
}

/// Bytes of an action as the kernel has it: handler, flags, restorer, mask.
const ACTION_BYTES: usize = 32;
/// Bytes of a signal set.
const SET_BYTES: u64 = 8;

/// The handler that a stopped process has for `signal`: an address, `SIG_DFL` or `SIG_IGN`. `gadget`: a `syscall` instruction.
///
/// # Errors
/// If the process was killed or has no memory for the call.
pub fn handler_of(process: &mut Stopped, gadget: u64, signal: i32) -> Result<u64, TraceError> {
    with_page(process, gadget, |remote, page| Ok(handler(&action(remote, page, signal)?)))
}

/// Sets that handler; flags and mask of the action stay as they are.
///
/// # Errors
/// If the process was killed or has no memory for the call.
fn set_handler(process: &mut Stopped, gadget: u64, signal: i32, handler: u64) -> Result<(), TraceError> {
    with_page(process, gadget, |remote, page| {
        let mut action = action(remote, page, signal)?;
        action[..8].copy_from_slice(&handler.to_le_bytes());
        let pid = remote.pid();
        remote.memory().write(page, &action).map_err(|source| TraceError::Memory { pid, source })?;
        remote.expect("set its handler", libc::SYS_rt_sigaction, [signal as u64, page, 0, SET_BYTES, 0, 0])?;
        Ok(())
    })
}

fn handler(action: &[u8; ACTION_BYTES]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| action[i]))
}

fn action(remote: &mut Remote<'_>, page: u64, signal: i32) -> Result<[u8; ACTION_BYTES], TraceError> {
    remote.expect("ask for its handler", libc::SYS_rt_sigaction, [signal as u64, 0, page, SET_BYTES, 0, 0])?;
    let (pid, mut action) = (remote.pid(), [0; ACTION_BYTES]);
    let read = remote.memory().read(page, &mut action);
    read.map_err(|source| TraceError::Memory { pid, source })?;
    Ok(action)
}

/// Does it with a page of memory that is there only meanwhile: the app's stack may be full, or be none.
fn with_page<T>(
    process: &mut Stopped,
    gadget: u64,
    act: impl FnOnce(&mut Remote<'_>, u64) -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    const USE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    const OWN: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let mut remote = Remote::new(process, gadget)?;
    let page = remote.expect("map a page in it", libc::SYS_mmap, [0, PAGE, USE, OWN, u64::MAX, 0])?;
    let done = act(&mut remote, page);
    remote.call(libc::SYS_munmap, [page, PAGE, 0, 0, 0, 0])?;
    done
}
