//! Windows of further threads: what is each thread's own, at places of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use bubble::map;
use translator::abi::ThreadState;

use super::switch::{adopt, current};

/// The window is the calling thread's from now on: handlers of signals look there.
///
/// # Safety
/// It was mapped for this thread, and FS is the image's.
pub unsafe fn enter_window(window: u64) {
    // SAFETY: the first thread's state is mapped, and the word stays as it is.
    let [low, high] = unsafe { (*ThreadState::main()).xcr0 };
    // SAFETY: the caller's promise.
    unsafe { adopt(window as *mut ThreadState, low | high << 32) };
}

/// A word that the host keeps for the calling thread, which has a runner.
pub fn host_word() -> &'static AtomicU64 {
    // SAFETY: the thread's state stays mapped while it lives, and nobody else uses the word.
    unsafe { AtomicU64::from_ptr(&raw mut (*current()).host) }
}

/// Windows that were mapped: they have the first numbers, and stay.
static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Where the windows end that were mapped: they lie one behind the other from the start of [`map::WINDOWS`] on.
pub fn windows_end() -> u64 {
    map::window(MAPPED.load(Ordering::Relaxed)).unwrap_or(map::WINDOWS.end())
}

/// Bytes of private, writable memory that windows take.
pub fn mapped_in_windows() -> u64 {
    MAPPED.load(Ordering::Relaxed) * map::OF_WINDOW.iter().map(|part| part.size).sum::<u64>()
}

/// Maps the window with this number for a thread, which begins with nothing in it. Gives where it begins; `None`: there is no memory for it, or there are too many threads.
pub fn map_window(number: u64) -> Option<u64> {
    let window = map::window(number)?;
    let moved = window.wrapping_sub(map::WINDOW_0.start);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    if number >= MAPPED.load(Ordering::Relaxed) {
        MAPPED.store(number + 1, Ordering::Relaxed);
    }
    let is_mapped = map::OF_WINDOW.into_iter().all(|part| {
        let place = part.start.wrapping_add(moved) as *mut libc::c_void;
        // SAFETY: windows are reserved for this, and no thread has this one.
        unsafe {
            let mapped =
                libc::mmap(place, part.size as usize, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) == place;
            // As the reserve is: so it is known for ours, and in no core file of the app's.
            mapped && libc::madvise(place, part.size as usize, libc::MADV_DONTDUMP) == 0
        }
    });
    is_mapped.then_some(window)
}
