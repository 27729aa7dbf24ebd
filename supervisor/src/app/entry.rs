//! A program before its first instruction: what is done to it in both modes, so that both see the same.

use bubble::map::BUBBLE;
use machine::{Memory, mapping};
use tracee::{Remote, Stopped, TraceError, find_syscall_instruction};

use crate::base::Failure;
use crate::command::program;

/// Auxiliary vectors are short; a longer one means that this isn't a program's initial stack.
const MAX_VECTOR: u64 = 4096;
const VDSO_BYTES: usize = 4 * 4096;

/// A program that is ready to be run.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// A `syscall` instruction, for remote system calls.
    pub gadget: u64,
    /// The program break.
    pub brk: u64,
}

impl Prepared {
    /// Asks a process, which has this `syscall` instruction, for the rest.
    ///
    /// # Errors
    /// If it was killed.
    pub fn of(process: &mut Stopped, gadget: u64) -> Result<Self, TraceError> {
        let brk = Remote::new(process, gadget)?.expect("ask for its program break", libc::SYS_brk, [0; 6])?;
        Ok(Self { gadget, brk })
    }
}

/// Prepares a program that has just been loaded:
/// * the vDSO is hidden, since reading the clock there couldn't be recorded (programs fall back to system calls); it
///   stays mapped and lends us its `syscall` instruction;
/// * the bubble is reserved, so that nothing of the app's ever lies there.
///
/// # Errors
/// If superpin can't follow this program.
pub fn prepare(process: &mut Stopped) -> Result<Prepared, Failure> {
    program::check_running(process.pid())?;
    let stack = process.registers()?.app().rsp();
    hide_vdso(process, stack)?;
    let gadget = gadget_of(process)?;
    reserve(process, gadget)?;
    Ok(Prepared::of(process, gadget)?)
}

/// Reserves the bubble.
///
/// # Errors
/// If there is something, or the process may not have so much.
pub fn reserve(process: &mut Stopped, gadget: u64) -> Result<(), Failure> {
    let mut remote = Remote::new(process, gadget)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let args = [BUBBLE.start, BUBBLE.size, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0];
    let result = remote.call(libc::SYS_mmap, args)?;
    if result == i64::from(-libc::ENOMEM) {
        return Err(Failure::Unsupported(
            "the app's address space is limited too tightly to reserve the bubble (see `ulimit -v`)".into(),
        ));
    }
    if result as u64 != BUBBLE.start {
        return Err(Failure::BubbleTaken { address: BUBBLE.start, len: BUBBLE.size });
    }
    // It is no part of what the app has in its core files, and never becomes one mapping with what the app has next to it. A kernel without this advice is as good.
    remote.call(libc::SYS_madvise, [BUBBLE.start, BUBBLE.size, libc::MADV_DONTDUMP as u64, 0, 0, 0])?;
    Ok(())
}

/// A `syscall` instruction that every program has mapped.
///
/// # Errors
/// If this one hasn't.
pub fn gadget_of(process: &Stopped) -> Result<u64, Failure> {
    let gadget = mapped_vdso(process.pid()).and_then(|at| find_syscall_instruction(process, at, VDSO_BYTES));
    gadget.ok_or_else(|| {
        Failure::Unsupported("the kernel gives programs no vDSO (booted with vdso=0?): superpin needs it".into())
    })
}

/// Overwrites the vDSO's entry of the auxiliary vector. `stack` is the initial stack pointer.
fn hide_vdso(process: &mut Stopped, stack: u64) -> Result<(), TraceError> {
    let pid = process.pid();
    let read = |process: &Stopped, at| process.read_u64(at).map_err(|source| TraceError::Memory { pid, source });
    let argc = read(process, stack)?;
    let mut at = stack + 8 * (argc + 2);
    while read(process, at)? != 0 {
        at += 8;
    }
    at += 8;
    let end = at + 16 * MAX_VECTOR;
    while at < end {
        match read(process, at)? {
            libc::AT_NULL => break,
            libc::AT_SYSINFO_EHDR => {
                let ignore = libc::AT_IGNORE.to_le_bytes();
                process.write(at, &ignore).map_err(|source| TraceError::Memory { pid, source })?;
            }
            _ => {}
        }
        at += 16;
    }
    Ok(())
}

/// The vDSO of a program.
fn mapped_vdso(pid: i32) -> Option<u64> {
    let vdso = mapping::all(pid).ok()?.into_iter().find(|mapping| mapping.name == "[vdso]")?;
    Some(vdso.start)
}
