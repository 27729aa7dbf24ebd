//! The thread that reads files for who asks while the app runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use bubble::app_images::AppImages;

use super::library::Library;

/// Answers questions for ever.
pub fn answer_questions(table: &'static AppImages, library: &Mutex<Library>) -> ! {
    loop {
        let bell = table.bell().load(Ordering::Acquire);
        for place in table.places().iter().filter(|place| place.is_wanted()) {
            library.lock().unwrap_or_else(PoisonError::into_inner).read(place);
            futex(place.module_word(), libc::FUTEX_WAKE, i32::MAX as u32);
        }
        futex(table.bell(), libc::FUTEX_WAIT, bell);
    }
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let no_timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call. Not FUTEX_PRIVATE: the other side is another process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_timeout) };
}
