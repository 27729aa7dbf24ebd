//! Where code and data of a test lie.

use super::routines::Local;

/// Memory in which the routine's data and the inlined code lie near each other.
pub struct Page(*mut u8);

pub const PAGE: usize = 8192;
const ARCH_SET_GS: i32 = 0x1001;

impl Page {
    pub fn new() -> Page {
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping touches nothing that exists.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, flags, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED);
        Page(page.cast())
    }

    pub fn local(&self) -> *mut Local {
        self.0.cast()
    }

    pub fn code(&self) -> *mut u8 {
        // SAFETY: inside the mapping.
        unsafe { self.0.add(4096) }
    }

    /// Where the data lie.
    pub fn data(&self) -> std::ops::Range<u64> {
        self.0 as u64..self.0 as u64 + 4096
    }

    /// The same as [`Page::run`], for code that names data through GS: it finds those of this page.
    pub fn run_for(&self, code: &[u8], a: [u64; 6]) {
        // SAFETY: nothing in this thread uses GS.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_GS, self.0) };
        self.run(code, a);
    }

    /// Runs `code` as the body of a function with six arguments.
    pub fn run(&self, code: &[u8], a: [u64; 6]) {
        type Body = extern "C" fn(u64, u64, u64, u64, u64, u64);
        assert!(code.len() < 4096);
        // SAFETY: the page is ours and executable; the code is what the test wants to try.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), self.code(), code.len());
            let body: Body = std::mem::transmute(self.code());
            body(a[0], a[1], a[2], a[3], a[4], a[5]);
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, used by nobody else.
        unsafe { libc::munmap(self.0.cast(), PAGE) };
    }
}
