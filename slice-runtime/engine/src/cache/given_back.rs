//! Memory of ours whose pages are given back, also where the app has locked all that there is (`mlockall`).

use libc::c_void;

/// `MADV_DONTNEED` for locked memory (Linux 5.18).
const DONTNEED_LOCKED: i32 = 24;

/// Gives the pages of private memory back: it reads as it did when it was mapped. Whether that could be done.
///
/// # Safety
/// Nobody holds a reference into the memory, or relies on what is there.
pub unsafe fn give_back(place: *mut c_void, size: usize) -> bool {
    // SAFETY: as the caller promises. That memory of ours isn't locked any more nobody sees.
    unsafe {
        libc::madvise(place, size, libc::MADV_DONTNEED) == 0
            || libc::madvise(place, size, DONTNEED_LOCKED) == 0
            || libc::munlock(place, size) == 0 && libc::madvise(place, size, libc::MADV_DONTNEED) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_memory_is_given_back_as_well() {
        const SIZE: usize = 0x2000;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, to which nobody else has a reference; words of it are read and written one at a time.
        unsafe {
            let place = libc::mmap(std::ptr::null_mut(), SIZE, access, flags, -1, 0);
            assert_ne!(place, libc::MAP_FAILED);
            let word = place.cast::<u64>();
            for is_locked in [false, true] {
                // Who may not lock memory tries the same again.
                let _ = is_locked && libc::mlock(place, SIZE) == 0;
                word.write_volatile(7);
                assert!(give_back(place, SIZE) && word.read_volatile() == 0);
            }
            libc::munmap(place, SIZE);
        }
    }
}
