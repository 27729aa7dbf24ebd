//! Calls that shape the address space: made for real, kept away from the bubble, and told to the engine.

use bubble::map::{BUBBLE, WINDOWS, stays_reserved};
use engine::Control;
use machine::PAGE;
use syscall_replay::is_error;

use super::locked;
use crate::ports::{note_code, raw_syscall};

/// More than any address of an app.
const ALL: u64 = 1 << 47;

/// Makes the call, if it is one of these.
pub fn call(number: u64, args: [u64; 6], control: &mut dyn Control) -> Option<u64> {
    let [address, len, ..] = args;
    let result = match number as i64 {
        libc::SYS_mmap => map(args, control),
        libc::SYS_mremap => move_mapping(args, control),
        libc::SYS_brk => move_break(args, control),
        libc::SYS_mlockall => locked::lock_all(address),
        libc::SYS_munlockall => locked::unlock_all(),
        libc::SYS_munmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect | libc::SYS_madvise => {
            if in_bubble(address, len) {
                return Some(error(libc::EINVAL));
            }
            control.before_write(address, len);
            let result = raw_syscall(number, args);
            control.code_changed(address, len);
            result
        }
        libc::SYS_remap_file_pages => {
            if in_bubble(address, len) {
                return Some(error(libc::EINVAL));
            }
            control.before_write(address, len);
            let result = raw_syscall(number, args);
            if !is_error(result) {
                // The kernel takes whole pages from the one in which it starts.
                control.code_changed(address & !(PAGE - 1), len.next_multiple_of(PAGE));
                // A part of the object may be mapped twice now.
                control.object_may_change(address);
            }
            result
        }
        // Their extent isn't among the arguments; they are rare.
        libc::SYS_shmat | libc::SYS_shmdt | libc::SYS_process_madvise => {
            let result = raw_syscall(number, args);
            changed_anywhere(control);
            result
        }
        _ => return None,
    };
    Some(result)
}

/// Lifts every write protection that the engine put on app memory: another process is going to use it.
pub fn release_all(control: &mut dyn Control) {
    control.before_write(0, ALL);
}

/// Any memory may have been written, protected or not.
pub fn changed_anywhere(control: &mut dyn Control) {
    control.code_changed(0, ALL);
}

fn map(args: [u64; 6], control: &mut dyn Control) -> u64 {
    let [address, len, _, flags, ..] = args;
    let fixed = flags as i32 & libc::MAP_FIXED != 0;
    let is_windows = address < engine::windows_end() && WINDOWS.start < address.saturating_add(len);
    if fixed
        && in_bubble(address, len)
        && (is_windows && engine::windows_end() > WINDOWS.start || !stays_reserved(args))
    {
        return error(libc::ENOMEM);
    }
    if fixed {
        control.before_write(address, len);
    }
    let result = raw_syscall(libc::SYS_mmap as u64, args);
    if !is_error(result) {
        locked::is_mapped(result, len);
        control.code_changed(result, len);
        note_code(args, result);
    }
    result
}

fn move_mapping(args: [u64; 6], control: &mut dyn Control) -> u64 {
    let [from, old_len, new_len, flags, to, _] = args;
    let fixed = flags as i32 & libc::MREMAP_FIXED != 0;
    if in_bubble(from, old_len) || fixed && in_bubble(to, new_len) {
        return error(libc::EINVAL);
    }
    // Write-protected pages would make several mappings of what is one to the app.
    control.before_write(from, old_len);
    if fixed {
        control.before_write(to, new_len);
    }
    if old_len == 0 {
        control.object_may_change(from);
    }
    let result = raw_syscall(libc::SYS_mremap as u64, args);
    if !is_error(result) {
        control.code_changed(from, old_len);
        control.code_changed(result, new_len);
    }
    result
}

fn move_break(args: [u64; 6], control: &mut dyn Control) -> u64 {
    let before = raw_syscall(libc::SYS_brk as u64, [0; 6]);
    let wanted = args[0];
    if wanted != 0 && wanted < before {
        control.before_write(wanted, before - wanted);
    }
    let after = raw_syscall(libc::SYS_brk as u64, args);
    if after > before {
        locked::is_mapped(before, after - before);
    }
    if after != before {
        control.code_changed(before.min(after), before.abs_diff(after));
    }
    after
}

fn in_bubble(address: u64, len: u64) -> bool {
    len != 0 && BUBBLE.overlaps(address, len)
}

fn error(number: i32) -> u64 {
    -i64::from(number) as u64
}
