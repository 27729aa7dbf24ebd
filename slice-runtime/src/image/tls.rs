//! Thread-local storage of the image for further threads.
//!
//! The app's threads have libc's storage of their own, in the app. In the image's code all of them would have that of its first thread, which is right as long as one of them runs at a
//! time. Those that run at the same time have one each:
//!
//! ```text
//!   tls ─► thread-local variables, as the image's file has them │ control block ◄─ FS
//! ```
//! The control block is a copy of the first one's: what guards the stack and pointers is the same for all. Nothing in the image is loaded later, so no variable is looked up by its module. What is in a
//! storage stays when its thread has ended, for the next one that gets it.

use std::alloc::{Layout, alloc_zeroed};
use std::arch::asm;

/// Bytes of the control block that code of the image's may use: all before what libc keeps for threads that it has started itself.
const CONTROL_BYTES: usize = 0x700;
/// Its first and third word are its own address.
const SELF_AT: [usize; 2] = [0, 2];
/// Alignment of all of it.
const ALIGN: usize = 64;

unsafe extern "C" {
    /// Where the image begins, with the header of its file.
    static __ehdr_start: libc::Elf64_Ehdr;
}

/// The segment of the image with the first values of thread-local variables: where they are, bytes of these, and of all.
fn first_values() -> (*const u8, usize, usize) {
    let header = &raw const __ehdr_start;
    // SAFETY: the headers are mapped with the image, and the linker has filled them in.
    unsafe {
        let start = header.cast::<u8>();
        let headers = start.add((*header).e_phoff as usize).cast::<libc::Elf64_Phdr>();
        let all = std::slice::from_raw_parts(headers, (*header).e_phnum.into());
        let segment = all.iter().find(|segment| segment.p_type == libc::PT_TLS);
        let segment = segment.expect("the standard library has thread-local variables");
        assert!(segment.p_align as usize <= ALIGN, "thread-local variables that are aligned like nothing else");
        let size = (segment.p_memsz as usize).next_multiple_of(segment.p_align.max(1) as usize);
        // The image is position-independent: addresses count from its start.
        (start.add(segment.p_vaddr as usize), segment.p_filesz as usize, size)
    }
}

/// Makes a storage. Gives what FS is to be for it. It is never given back.
///
/// # Panics
/// If there is no memory.
pub fn make() -> u64 {
    let (values, valued, size) = first_values();
    let before = size.next_multiple_of(ALIGN);
    let layout = Layout::from_size_align(before + CONTROL_BYTES, ALIGN).expect("a storage has a size");
    // SAFETY: the block has room for all that is written. The calling thread's control block has at least so many bytes.
    unsafe {
        let block = alloc_zeroed(layout);
        assert!(!block.is_null(), "no memory for another thread's variables");
        let control = block.add(before);
        std::ptr::copy_nonoverlapping(values, control.sub(size), valued);
        std::ptr::copy_nonoverlapping(current() as *const u8, control, CONTROL_BYTES);
        SELF_AT.iter().for_each(|word| control.cast::<u64>().add(*word).write(control as u64));
        control as u64
    }
}

/// What FS is now.
fn current() -> u64 {
    let fs: u64;
    // SAFETY: the kernel allows it, as was found out before anything of the image ran.
    unsafe { asm!("rdfsbase {}", out(reg) fs, options(nomem, nostack, preserves_flags)) };
    fs
}

/// The calling thread has this storage from now on.
///
/// # Safety
/// [`make`] has made it, no other thread has it, and nothing of the calling thread's refers to the one that it had.
pub unsafe fn enter(storage: u64) {
    // SAFETY: as in `current`, and the caller's promise.
    unsafe { asm!("wrfsbase {}", in(reg) storage, options(nostack, preserves_flags)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(5) };
        static ZERO: Cell<u64> = const { Cell::new(0) };
    }

    #[inline(never)]
    fn exchange(new: u64) -> [u64; 2] {
        [NUMBER.replace(new), ZERO.replace(new)]
    }

    #[test]
    fn a_storage_begins_as_the_file_has_it_and_is_its_threads_own() {
        assert_eq!(exchange(7), [5, 0]);
        let (mine, others) = (current(), make());
        // SAFETY: only this thread uses it, and these functions refer to nothing of either between.
        let seen = unsafe {
            enter(others);
            let seen = exchange(9);
            enter(mine);
            seen
        };
        assert_eq!((seen, exchange(0)), ([5, 0], [7, 7]));
        // SAFETY: as above.
        let again = unsafe {
            enter(others);
            let seen = exchange(1);
            enter(mine);
            seen
        };
        assert_eq!(again, [9, 9]);
    }
}
