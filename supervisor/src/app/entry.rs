//! A program before its first instruction: what is done to it in both modes, so that both see the same.

use bubble::map::{BUBBLE, WINDOWS};
use machine::{Memory, mapping, proc};
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
    let (start, end) = (BUBBLE.start, BUBBLE.end());
    let mut remote = Remote::new(process, gadget)?;
    let result = remote.call(libc::SYS_mmap, inaccessible(start, end, libc::MAP_FIXED_NOREPLACE))?;
    if result == i64::from(-libc::ENOMEM) {
        return Err(Failure::Unsupported(
            "the app's address space is limited too tightly to reserve the bubble (see `ulimit -v`)".into(),
        ));
    }
    if result as u64 != BUBBLE.start {
        return Err(Failure::BubbleTaken { address: BUBBLE.start, len: BUBBLE.size });
    }
    keep_out_of_core_files(&mut remote, start, end)?;
    Ok(())
}

/// Makes the bubble what it is in a program that nobody has taken over. What the app has made inaccessible there stays.
///
/// # Errors
/// If the process was killed.
pub fn clear_bubble(process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
    for [start, end] in reserved(process.pid()) {
        let mut remote = Remote::new(process, gadget)?;
        remote.expect("clear the bubble", libc::SYS_mmap, inaccessible(start, end, libc::MAP_FIXED))?;
        keep_out_of_core_files(&mut remote, start, end)?;
    }
    Ok(())
}

/// Takes the bubble away: the process goes on natively. What the app has made inaccessible there stays.
///
/// # Errors
/// If the process was killed.
pub fn unmap_bubble(process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
    for [start, end] in reserved(process.pid()) {
        Remote::new(process, gadget)?.expect("unmap the bubble", libc::SYS_munmap, [start, end - start, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// Arguments of `mmap`. `place`: the flag that says what becomes of what is there.
fn inaccessible(start: u64, end: u64, place: i32) -> [u64; 6] {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | place;
    [start, end - start, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0]
}

/// So the reserve is no part of what the app has in its core files, and never becomes one mapping with what the app has next to it. A kernel without this
/// advice is as good.
fn keep_out_of_core_files(remote: &mut Remote<'_>, start: u64, end: u64) -> Result<(), TraceError> {
    remote.call(libc::SYS_madvise, [start, end - start, libc::MADV_DONTDUMP as u64, 0, 0, 0])?;
    Ok(())
}

/// The bubble without what the app has made inaccessible in it, see [`bubble::map::stays_reserved`].
fn reserved(pid: i32) -> Vec<[u64; 2]> {
    let lists = mapping::all(pid).unwrap_or_default();
    let begins_there = |map: &&mapping::Mapping| map.end > BUBBLE.start && map.start < WINDOWS.end();
    // The long list, which tells whose a mapping is, costs as much as the app has memory. It is asked only where the app may have some there.
    let is_whole = |first: &mapping::Mapping| first.start == BUBBLE.start && first.end >= WINDOWS.end();
    let is_whole = lists.iter().find(begins_there).is_none_or(is_whole);
    let apps = if is_whole {
        Vec::new()
    } else {
        made_inaccessible(&proc::read_to_string(format!("{pid}/smaps")).unwrap_or_default())
    };
    let mut from = BUBBLE.start;
    let mut ours = Vec::new();
    for [start, end] in apps.into_iter().chain([[BUBBLE.end(); 2]]) {
        if start > from {
            ours.push([from, start]);
        }
        from = from.max(end);
    }
    ours
}

/// What the app has made inaccessible in the bubble, by the text of /proc/PID/smaps: what isn't kept out of core files, as the reserve is.
fn made_inaccessible(smaps: &str) -> Vec<[u64; 2]> {
    let mut found = Vec::new();
    let mut last = None;
    for line in smaps.lines() {
        if let Some(map) = mapping::Mapping::parse(line) {
            last = Some(map);
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            let Some(map) = last.take() else { continue };
            let [start, end] = [map.start.max(BUBBLE.start), map.end.min(WINDOWS.end())];
            if start < end && !flags.split_ascii_whitespace().any(|flag| flag == "dd") {
                found.push([start, end]);
            }
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_app_has_made_inaccessible_is_told_from_the_reserve() {
        let (start, end) = (BUBBLE.start, WINDOWS.end());
        let text = format!(
            "340000000000-{:x} ---p 00000000 00:00 0 \nSize: 4 kB\nVmFlags: mr mw me nr sd \n\
             {:x}-{end:x} ---p 00000000 00:00 0 \nSize: 4 kB\nVmFlags: mr mw me nr dd sd \n\
             {end:x}-{:x} rw-p 00000000 00:00 0 \nVmFlags: rd wr mr mw me \n",
            start + 4096,
            start + 4096,
            end + 4096,
        );
        assert_eq!(made_inaccessible(&text), [[start, start + 4096]]);
    }
}
