//! The memory of random programs: code, data, a control page, a stack and a page of constants, at fixed addresses so that a seed always gives the
//! same program.

use isa::random::{Layout, PLANE, Program, Rng};
use machine::PAGE;

/// The main part, and places with the same low 20 bits for the targets of its indirect branches.
const CODE_LEN: u64 = 5 * PLANE as u64;
const DATA_LEN: u64 = 32 << 10;
const STACK_LEN: u64 = 32 << 10;
/// Data, control page, stack.
const WRITTEN: u64 = DATA_LEN + PAGE + STACK_LEN;
/// All of it, with the hole and the constants.
const ARENA_LEN: u64 = CODE_LEN + WRITTEN + 2 * PAGE;

/// Where an arena lies, as seen from the code cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// RIP-relative operands of the cache reach it.
    Near,
    /// Below 2 GiB: an operand can name it without a register.
    Low,
    /// Neither.
    Far,
}

/// Maps a new file over a part of the arena.
fn map_a_file(start: u64, len: u64) {
    // SAFETY: the name is a C string; the mapping replaces a part of this arena.
    let p = unsafe {
        let file = libc::memfd_create(c"code".as_ptr(), 0);
        assert_eq!(libc::ftruncate(file, len as i64), 0);
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        let p = libc::mmap(start as *mut _, len as usize, libc::PROT_READ, flags, file, 0);
        libc::close(file);
        p
    };
    assert_eq!(p as u64, start, "cannot map a file: {}", std::io::Error::last_os_error());
}

/// The mappings.
pub struct Arena {
    base: u64,
    /// Whether programs may write their code.
    writable_code: bool,
}

impl Arena {
    /// Maps it.
    pub fn new(place: Where, writable_code: bool) -> Arena {
        let base: u64 = match place {
            Where::Near => 0x5555_5100_0000,
            Where::Low => 0x2000_0000,
            Where::Far => 0x10_2000_0000,
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: NOREPLACE touches nothing that exists.
        let p = unsafe { libc::mmap(base as *mut _, ARENA_LEN as usize, access, flags, -1, 0) };
        assert_eq!(p as u64, base, "{base:#x} is taken: {}", std::io::Error::last_os_error());
        let arena = Arena { base, writable_code };
        if !writable_code {
            // Like most code. What the engine looks ahead for, it looks for in files only.
            map_a_file(arena.base, CODE_LEN);
        }
        // As a table that the dynamic loader has filled: of a file, but with pages of the process's own.
        map_a_file(arena.constants(), PAGE);
        arena.protect(arena.hole(), PAGE, libc::PROT_NONE);
        arena
    }

    fn data(&self) -> u64 {
        self.base + CODE_LEN
    }

    fn hole(&self) -> u64 {
        self.data() + WRITTEN
    }

    fn constants(&self) -> u64 {
        self.hole() + PAGE
    }

    /// What changes when a program is loaded: start and length.
    pub fn loaded(&self) -> [(u64, u64); 2] {
        [(self.base, CODE_LEN), (self.constants(), PAGE)]
    }

    /// Where the stack pointer starts: room below for pushes, above for operands.
    pub fn stack(&self) -> u64 {
        self.data() + DATA_LEN + PAGE + STACK_LEN * 3 / 4
    }

    pub fn layout(&self) -> Layout {
        let fs_base: u64;
        // SAFETY: reading the FS base has no effect.
        unsafe { std::arch::asm!("rdfsbase {}", out(reg) fs_base, options(nomem, nostack)) };
        Layout {
            code: self.base,
            code_len: CODE_LEN as usize,
            data: self.data(),
            data_len: DATA_LEN,
            control: self.data() + DATA_LEN,
            constants: self.constants(),
            hole: self.hole(),
            fs_base,
            gs_base: self.data() + 0x1230,
            writable_code: self.writable_code,
        }
    }

    fn protect(&self, start: u64, len: u64, access: i32) {
        // SAFETY: a part of this mapping.
        let r = unsafe { libc::mprotect(start as *mut _, len as usize, access) };
        assert_eq!(r, 0, "{}", std::io::Error::last_os_error());
    }

    /// Writes a program.
    pub fn load(&self, program: &Program) {
        self.protect(self.base, CODE_LEN, libc::PROT_READ | libc::PROT_WRITE);
        for (offset, code) in program.parts() {
            assert!((offset + code.len()) as u64 <= CODE_LEN);
            // SAFETY: the code part was just made writable and is large enough.
            unsafe {
                std::ptr::copy_nonoverlapping(code.as_ptr(), (self.base as usize + offset) as *mut u8, code.len())
            };
        }
        self.protect(self.constants(), PAGE, libc::PROT_READ | libc::PROT_WRITE);
        for (n, word) in program.constants.iter().enumerate() {
            assert!((n as u64) < PAGE / 8);
            // SAFETY: the page was just made writable.
            unsafe { (self.constants() as *mut u64).add(n).write(*word) };
        }
        self.protect(self.constants(), PAGE, libc::PROT_READ);
        let write = if self.writable_code { libc::PROT_WRITE } else { 0 };
        self.protect(self.base, CODE_LEN, libc::PROT_READ | libc::PROT_EXEC | write);
    }

    /// Gives the writable memory the contents that belong to `seed`.
    pub fn fill(&self, seed: u64) {
        let mut rng = Rng(seed.wrapping_mul(3));
        for word in 0..WRITTEN / 8 {
            // SAFETY: inside the mapping, aligned.
            unsafe {
                ((self.data() + word * 8) as *mut u64).write(if word % 5 == 0 { rng.value() } else { rng.bits() })
            };
        }
    }

    fn written(&self) -> &[u8] {
        // SAFETY: the mapping is readable; no program runs while the slice is used.
        unsafe { std::slice::from_raw_parts(self.data() as *const u8, WRITTEN as usize) }
    }

    /// The writable memory as it is.
    pub fn snapshot(&self) -> Vec<u8> {
        self.written().to_vec()
    }

    /// The first bytes in which the memory differs from `expected`.
    pub fn differences(&self, expected: &[u8]) -> Vec<String> {
        let now = self.written();
        if now == expected {
            return Vec::new();
        }
        let differs = (0..now.len() / 8).filter(|w| now[w * 8..w * 8 + 8] != expected[w * 8..w * 8 + 8]);
        let describe = |w: usize| {
            let at = w * 8;
            format!("memory {:#x}: {:02x?} {:02x?}", self.data() + at as u64, &expected[at..at + 8], &now[at..at + 8])
        };
        differs.take(8).map(describe).collect()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nothing refers to it any more.
        unsafe { libc::munmap(self.base as *mut _, ARENA_LEN as usize) };
    }
}
