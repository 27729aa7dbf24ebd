//! What sliced mode doesn't follow: calls after which the app goes on natively, and what is then said.

use machine::{Memory, flags};
use tracee::{Stop, Stopped};

use super::next::Next;
use crate::base::Failure;

/// A 32-bit system call.
pub const FOREIGN_CALL: &str = "the app makes a 32-bit system call (int 0x80): superpin doesn't follow those. \
    The app went on without superpin to its end; there is no total";
/// A process in the same memory.
pub const SHARED_PROCESS: &str = "the app starts a process that shares its memory: sliced mode (-sp 1) doesn't follow \
    those yet. The app went on without superpin to its end; there is no total. Serial mode is -sp 0";
/// A process namespace.
pub const OTHER_NUMBERS: &str = "the app's next processes get a process namespace of their own: in sliced mode (-sp 1) its slices would be the first \
    there. The app went on without superpin to its end; there is no total. Serial mode is -sp 0";

/// The trap flag.
pub const TRAP_FLAG: &str = "the app has set the trap flag, which isn't followed. \
    The app went on without superpin to its end; there is no total";

/// Whether a process traps after each instruction.
pub fn traps_itself(process: &Stopped) -> Result<bool, Failure> {
    Ok(process.registers()?.app().rflags & flags::TF != 0)
}

/// The app goes on without us, from the entry of the call that isn't followed.
pub fn give_up(stopped: Stopped, number: u64, args: [u64; 6], why: &str) -> Next {
    Next::GiveUp(stopped, Stop::SyscallEntry { number, args }, Failure::Unsupported(why.to_owned()))
}

/// A call that shares all memory with a process that runs at the same time, unlike vfork.
pub fn shares_all(number: u64, args: &[u64; 6], memory: &impl Memory) -> bool {
    let [is_shared, waits] = how_it_starts(number, args, memory);
    is_shared && !waits
}

/// A call that starts a process in this one's memory, which waits until that has a program of its own: vfork. One that waits for a copy is another.
pub fn lends_all(number: u64, args: &[u64; 6], memory: &impl Memory) -> bool {
    how_it_starts(number, args, memory) == [true; 2]
}

/// Whether the new process has this one's memory, and whether this one waits.
fn how_it_starts(number: u64, args: &[u64; 6], memory: &impl Memory) -> [bool; 2] {
    let flags = match number as i64 {
        libc::SYS_clone => args[0],
        libc::SYS_clone3 => memory.read_u64(args[0]).unwrap_or(0),
        libc::SYS_vfork => (libc::CLONE_VM | libc::CLONE_VFORK) as u64,
        _ => 0,
    };
    [libc::CLONE_VM, libc::CLONE_VFORK].map(|flag| flags & flag as u64 != 0)
}

/// A call after which the processes that process `pid` starts, and so forks of it, are in another process namespace. Whoever is the first in one is
/// its `init`, with whose end all others there end.
pub fn numbers_children_anew(number: u64, args: &[u64; 6], pid: i32) -> bool {
    let flag = libc::CLONE_NEWPID as u64;
    match number as i64 {
        libc::SYS_unshare => args[0] & flag != 0,
        libc::SYS_setns if args[1] == 0 => std::fs::read_link(format!("/proc/{pid}/fd/{}", args[0] as i32))
            .is_ok_and(|link| link.to_string_lossy().starts_with("pid:")),
        libc::SYS_setns => args[1] & flag != 0,
        _ => false,
    }
}
