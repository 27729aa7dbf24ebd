//! What the image brings in place of functions of its own libc: the program break, and system calls that tools must not make.
//!
//! The problem: glibc takes memory by brk, for the TLS of the first thread before anything else runs, and for
//! malloc later. In a taken-over process the break belongs to the app: the app would find its heap moved, and a
//! replay would differ from the native run. The approach: the image brings its own `__sbrk` and `__brk`, which
//! the linker takes instead of libc.a's. Loaded in the bubble they serve [`map::LIBC_HEAP`]; otherwise they do
//! what libc's do.
//!
//! * Invariant: nothing here touches TLS unless it fails, because the first call comes before TLS exists.
//! * `__curbrk` is not null from the start: glibc 2.36's `_dl_early_allocate` goes through `__sbrk` only then, and
//!   otherwise makes brk system calls of its own.
//! * malloc's other source, mmap, is shut by [`keep_malloc_in_the_bubble`].

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use bubble::map;

use super::injected::injected;
use crate::ports::OwnSlot;

unsafe extern "C" {
    /// Whether libc may leave out its locks.
    static mut __libc_single_threaded: std::ffi::c_char;
}

/// What sbrk and brk return when they fail.
const FAILED: *mut c_void = usize::MAX as *mut c_void;

/// libc's view of the break; 1 until it is known.
#[unsafe(no_mangle)]
static __curbrk: AtomicUsize = AtomicUsize::new(1);

/// Where the break is now.
fn current() -> usize {
    match __curbrk.load(Ordering::Relaxed) {
        1 => {
            let start = if injected() { map::LIBC_HEAP.start as usize } else { brk_syscall(0) };
            __curbrk.store(start, Ordering::Relaxed);
            start
        }
        known => known,
    }
}

/// Bytes of LIBC_HEAP, from its start, that libc has taken.
pub fn taken() -> u64 {
    current() as u64 - map::LIBC_HEAP.start
}

/// Moves the break to `to`; whether it is there now.
fn move_to(to: usize) -> bool {
    let moved = if injected() {
        to >= map::LIBC_HEAP.start as usize && to <= map::LIBC_HEAP.end() as usize
    } else {
        brk_syscall(to) == to
    };
    if moved {
        __curbrk.store(to, Ordering::Relaxed);
    }
    moved
}

fn brk_syscall(to: usize) -> usize {
    let result;
    // SAFETY: brk only moves the break; this is reached in processes whose break is the image's own.
    // Inline, because libc's wrapper would write errno, which lies in TLS.
    unsafe {
        asm!("syscall", inlateout("rax") libc::SYS_brk as usize => result, in("rdi") to,
             out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

fn out_of_memory() {
    // SAFETY: the location is this thread's errno.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
}

#[unsafe(no_mangle)]
extern "C" fn __sbrk(increment: isize) -> *mut c_void {
    let before = current();
    let moved = before.checked_add_signed(increment).is_some_and(move_to);
    if moved {
        before as *mut c_void
    } else {
        out_of_memory();
        FAILED
    }
}

#[unsafe(no_mangle)]
extern "C" fn sbrk(increment: isize) -> *mut c_void {
    __sbrk(increment)
}

#[unsafe(no_mangle)]
extern "C" fn __brk(to: *mut c_void) -> c_int {
    if move_to(to as usize) {
        0
    } else {
        out_of_memory();
        -1
    }
}

#[unsafe(no_mangle)]
extern "C" fn brk(to: *mut c_void) -> c_int {
    __brk(to)
}

/// Makes libc's malloc use the break alone. Only libc itself still calls it in a taken-over process: Rust code
/// is served by [`super::heap`].
pub fn keep_malloc_in_the_bubble() {
    // SAFETY: mallopt has no preconditions; called before there are threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        // Further threads with storage of their own (`tls`) would have an arena each, which is mapped.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        // It doesn't know of the app's threads.
        __libc_single_threaded = 0;
    }
}

/// Ends the run if this is reached from an analysis routine, which has done `what`.
fn refuse_in_routine(what: std::fmt::Arguments) {
    if injected()
        && let Some(routine) = engine::routines::current()
        && let Some(slot) = OwnSlot::current()
    {
        engine::check::give_up();
        // It would do so again.
        slot.give_up();
        slot.fail(&format_args!("{routine} {what} (see docs/tools.md)"));
    }
}

/// Where a tool prints and reads. In an analysis routine that is an error: in a serial run the app's files are meant, in a slice
/// nobody sees it.
///
/// # Safety
/// As for the system call.
unsafe fn call(name: &str, number: i64, args: [usize; 4]) -> isize {
    refuse_in_routine(format_args!(
        "made system call {number} ({name}), which analysis routines must not: print in `fini`"
    ));
    let result: isize;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
             in("r10") args[3], out("rcx") _, out("r11") _, options(nostack));
    }
    if (-4095..0).contains(&result) {
        // SAFETY: the location is this thread's errno.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, from: *const c_void, len: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe { call("write", libc::SYS_write, [fd as usize, from as usize, len, 0]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, from: *const libc::iovec, count: c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe { call("writev", libc::SYS_writev, [fd as usize, from as usize, count as usize, 0]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, to: *mut c_void, len: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe { call("read", libc::SYS_read, [fd as usize, to as usize, len, 0]) }
}

/// The mode is there if the flags want one, and otherwise any number.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const libc::c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    let args = [libc::AT_FDCWD as usize, path as usize, (flags | libc::O_LARGEFILE) as usize, mode as usize];
    // SAFETY: the caller's promise.
    unsafe { call("openat", libc::SYS_openat, args) as c_int }
}

unsafe extern "C" {
    /// libc's own, of which the function without underscores is only a weak alias.
    fn __pthread_create_2_1(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
}

/// The control process and the collector may have threads. One that a routine starts would be the app's in a serial run, and in a slice nothing waits for it.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    refuse_in_routine(format_args!("started a thread, which analysis routines must not"));
    // SAFETY: the caller's promise.
    unsafe { __pthread_create_2_1(thread, attributes, start, argument) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also of this test: the harness has started it so.
    #[test]
    fn outside_the_bubble_threads_can_be_started() {
        let thread = std::thread::spawn(|| std::thread::current().name().map(str::to_owned));
        assert_eq!(thread.join().unwrap(), None);
    }

    #[test]
    fn outside_the_bubble_the_break_is_the_kernels() {
        let before = __sbrk(0) as usize;
        assert_eq!(before, brk_syscall(0));
        assert_eq!(__sbrk(4096) as usize, before);
        assert_eq!(brk_syscall(0), before + 4096);
        assert_eq!(__sbrk(isize::MIN), FAILED);
        assert_eq!(__brk(before as *mut c_void), 0);
        assert_eq!(brk_syscall(0), before);
    }
}
