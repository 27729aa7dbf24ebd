//! From the image's `main` in a taken-over process to the first translated instruction, and from the end of the
//! slice to the end of the process.
//!
//! What the image's libc did to the process before `main`, as seen with strace on glibc 2.36, and what becomes of it:
//!
//! | call | treatment |
//! |---|---|
//! | brk | served from LIBC_HEAP, see `libc_shims` |
//! | arch_prctl(ARCH_SET_FS) | the app's FS base is in the boot block; the engine switches between the two |
//! | set_tid_address | undone here: the app hasn't set one yet, or this is a fork, which has none; or it was running already, then its own is set again |
//! | set_robust_list | undone here, for the same reason |
//! | rseq | never made: the control process passes GLIBC_TUNABLES=glibc.pthread.rseq=0 |
//! | mmap | of a copy of that string, in versions before 2.39, if there is no room behind the image's data: given back here |
//! | prlimit64, readlink, getrandom, mprotect of the image | change nothing outside the image |
//!
//! No SIGPIPE or stack overflow handler is installed: they come with Rust's own `main`, and an image has none.

use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use bubble::boot::{BOOT_MAGIC, BootBlock};
use bubble::map::{BUBBLE, ENTRY};
use bubble::shared::{RunHeader, TOOL_ARGS_BYTES};
use machine::PAGE;

use super::violation;
use crate::image::{keep_malloc_in_the_bubble, snapshot};
use crate::ports::{OwnSlot, RunningTool, header};

/// Runs the app from where the boot block says, to the slice's end or the app's.
///
/// `make_tool` gets the tool's name and its options, in that order, and the boot block.
///
/// # Safety
/// This is a taken-over process whose boot block lies at `boot_block`, this is its only thread, and this is called
/// once.
pub unsafe fn start(
    boot_block: u64,
    make_tool: impl FnOnce(&[&OsStr], &BootBlock) -> Result<Box<dyn RunningTool>, String>,
) -> ! {
    assert!(ENTRY.contains(boot_block) && boot_block.is_multiple_of(align_of::<BootBlock>() as u64));
    std::panic::set_hook(Box::new(report_panic));
    keep_malloc_in_the_bubble();
    // SAFETY: the caller promises a boot block there.
    renew_thread_registrations(unsafe { (*(boot_block as *const BootBlock)).site.registered });
    give_back_copied_tunables();
    // SAFETY: the caller promises a boot block there. What depends on it comes below: from the snapshot on this may be another slice.
    unsafe { snapshot::take(boot_block as *const BootBlock) };
    // SAFETY: the caller promises a boot block there; it is aligned and stays.
    let boot = unsafe { &*(boot_block as *const BootBlock) };
    assert_eq!(boot.magic, BOOT_MAGIC, "the boot block at {boot_block:#x} was not written by this version");
    // SAFETY: the control process gave the slot to this process alone, and mapped its part of the run memory.
    let slot = unsafe { OwnSlot::take(boot.site.slot) };
    // SAFETY: CONTROL is mapped.
    let header = unsafe { header() };
    if header.checks_tool != 0 {
        // SAFETY: the control process has mapped it, and the engine leaves this half alone: see `hosts::settings`.
        unsafe { engine::check::start(violation::report) };
        engine::safe_reads::CODE.into_iter().for_each(|function| engine::check::leave_alone(function as usize as u64));
    }
    let tool = match make_tool(&tool_args(header), boot) {
        Ok(tool) => tool,
        Err(error) => slot.fail(&error),
    };
    // SAFETY: the caller's promise.
    unsafe { crate::start::hosts::run(boot, slot, tool) }
}

/// Tool name and options from the run header.
pub fn tool_args(header: &RunHeader) -> Vec<&OsStr> {
    let len = (header.tool_args_len as usize).min(TOOL_ARGS_BYTES);
    let args = header.tool_args[..len].split_inclusive(|&b| b == 0);
    args.filter_map(|arg| arg.strip_suffix(b"\0")).map(OsStr::from_bytes).collect()
}

/// Undoes what the image's libc told the kernel about its first thread. `registered`: what the app's has told, if it was running already.
fn renew_thread_registrations([clears, list, head]: [u64; 3]) {
    const HEAD_BYTES: u64 = 24;
    // SAFETY: the kernel uses them when the thread ends only, and they are the app's own, or null.
    unsafe {
        libc::syscall(libc::SYS_set_tid_address, clears);
        libc::syscall(libc::SYS_set_robust_list, list, if head == 0 { HEAD_BYTES } else { head });
    }
}

/// Unmaps the copy that the image's libc may have made of its tunables: it would lie where the app's next mapping is to lie.
fn give_back_copied_tunables() {
    const NAME: &CStr = c"GLIBC_TUNABLES";
    // SAFETY: the environment is the one that the control process has made, and this is the only thread.
    let value = unsafe { libc::getenv(NAME.as_ptr()) };
    if value.is_null() {
        return;
    }
    // SAFETY: it ends with a zero.
    let after_value = value as u64 + unsafe { CStr::from_ptr(value) }.count_bytes() as u64 + 1;
    let copy = value as u64 - NAME.to_bytes_with_nul().len() as u64;
    // SAFETY: the only thread; nothing else has asked for it.
    unsafe { std::env::remove_var("GLIBC_TUNABLES") };
    if let Some(pages) = pages_of_copy(copy..after_value) {
        // SAFETY: these pages were made for nothing but the copy, which nobody finds any more.
        unsafe { libc::munmap(pages.start as *mut libc::c_void, (pages.end - pages.start) as usize) };
    }
}

/// The pages that were mapped for a copy. They start with it, and are what it needs and one more. `None` if it is in the bubble.
fn pages_of_copy(copy: Range<u64>) -> Option<Range<u64>> {
    let needed = (copy.end - copy.start).next_multiple_of(PAGE);
    (!BUBBLE.contains(copy.start) && copy.start.is_multiple_of(PAGE)).then_some(copy.start..copy.start + needed + PAGE)
}

/// A panic is a failure of the run: standard descriptors may be closed, so the slot takes the message.
fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    if let Some(slot) = OwnSlot::current() {
        engine::check::give_up();
        if let Some(routine) = engine::routines::current() {
            slot.fail(&format_args!("{routine} failed: {info}"));
        }
        if let Some(doing) = engine::routines::instrumenting() {
            // SAFETY: this is a taken-over process.
            let name = tool_args(unsafe { header() }).first().map_or("".into(), |name| name.to_string_lossy());
            slot.fail(&format_args!("the tool {name} failed {doing}: {info}"));
        }
        slot.fail(&format_args!("the tool or the runtime failed: {info}"));
    }
    // Nothing can unwind through translated code.
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;
    use bubble::map::IMAGE;

    #[test]
    fn copies_outside_of_the_bubble_have_pages_of_their_own() {
        assert_eq!(pages_of_copy(0x7fff_f7fc_0000..0x7fff_f7fc_0024), Some(0x7fff_f7fc_0000..0x7fff_f7fc_2000));
        assert_eq!(pages_of_copy(0x7fff_f7fc_0000..0x7fff_f7fc_1001), Some(0x7fff_f7fc_0000..0x7fff_f7fc_3000));
        assert_eq!(pages_of_copy(IMAGE.start + 0x1000..IMAGE.start + 0x1024), None);
        // Such a copy would have been made by another libc.
        assert_eq!(pages_of_copy(0x7fff_f7fc_0010..0x7fff_f7fc_0034), None);
    }

    #[test]
    fn tool_args_are_split_at_their_terminators() {
        // SAFETY: all fields are integers.
        let mut header: Box<RunHeader> = unsafe { Box::new(std::mem::zeroed()) };
        assert!(tool_args(&header).is_empty());
        header.tool_args[..12].copy_from_slice(b"tool\0-o\0a b\0");
        header.tool_args_len = 12;
        assert_eq!(tool_args(&header), ["tool", "-o", "a b"]);
    }
}
