//! A slice's own address space: recorded bytes are written into it, and calls that shape it are made again so that
//! everything lies where the master has it.
//!
//! * A mapping is made at the address that the master got, always private: what a slice writes stays in the slice. A
//!   file is opened again through the control process, which keeps it ([`bubble::files`]).
//! * A call that failed in the master isn't repeated, except those that may have done half their work. A limit of the app's that
//!   made one fail isn't the slice's: where such a call can't have done anything, it isn't repeated either.
//! * The break isn't the kernel's: see [`ProgramBreak`].
//! * Pages that the engine protected, because it translated code from them, must be given back first: they
//!   would split what is one mapping to the app.

use std::ffi::CString;
use std::io;

use bubble::files::FileTable;
use bubble::map::{BUBBLE, stays_reserved};
use engine::Control;
use machine::{Here, Memory, MemoryError};
use syscall_replay::{Remap, Space, is_error};

use super::pieces::{Move, is_in_one_mapping};
use super::program_break::{Moved, ProgramBreak};
use super::views::write_protected;

/// The files of the run, which the control process holds.
#[derive(Clone, Copy)]
pub struct RunFiles {
    /// Its process id.
    pub supervisor: i32,
    /// Its descriptors.
    pub table: &'static FileTable,
}

/// The slice's memory, with the engine told about every change.
pub struct SliceSpace<'a> {
    pub memory: Here,
    pub files: RunFiles,
    pub program_break: &'a mut ProgramBreak,
    pub control: &'a mut dyn Control,
}

impl Memory for SliceSpace<'_> {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(address, buf)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.control.before_write(address, bytes.len() as u64);
        self.memory.write(address, bytes).or_else(|_| {
            // The kernel's own write in the master made the stack grow down to there.
            crate::ports::grow_stack(address);
            self.memory.write(address, bytes)
        })
    }
}

impl Space for SliceSpace<'_> {
    fn show(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.control.before_write(address, bytes.len() as u64);
        if self.memory.write(address, bytes).is_ok() {
            return Ok(());
        }
        let shown = write_protected(&mut self.memory, address, bytes);
        // What can't be written is taken to stay as it is.
        self.control.code_changed(address, bytes.len() as u64);
        shown
    }

    fn reshape(&mut self, remap: &Remap) -> Result<(), String> {
        let [address, len, ..] = remap.args;
        let failed = is_error(remap.result);
        match i64::from(remap.number) {
            libc::SYS_brk => self.brk(remap),
            libc::SYS_mmap if failed => Ok(()),
            libc::SYS_mmap => self.map(remap),
            libc::SYS_mremap if failed => Ok(()),
            libc::SYS_mremap => self.move_mapping(remap),
            libc::SYS_remap_file_pages if failed => Ok(()),
            libc::SYS_remap_file_pages => {
                // A part of the object may be mapped twice from now on.
                self.control.object_may_change(address);
                let first = address & !0xfff;
                self.again(remap, first, (address - first).saturating_add(len))
            }
            // These go page by page or mapping by mapping, and what was done before an error stays done.
            libc::SYS_munmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect | libc::SYS_madvise => {
                self.again(remap, address, len)
            }
            number => Err(format!("system call {number} is not known to shape memory")),
        }
    }
}

impl SliceSpace<'_> {
    /// Makes the very same call and expects the very same result.
    fn again(&mut self, remap: &Remap, address: u64, len: u64) -> Result<(), String> {
        outside_bubble(address, len)?;
        self.control.before_write(address, len);
        if remap.result == -i64::from(libc::ENOMEM) as u64 && is_in_one_mapping(address, len) {
            return Ok(());
        }
        let result = system_call(remap.number, remap.args);
        self.control.code_changed(address, len);
        expect(remap.result, result)
    }

    fn brk(&mut self, remap: &Remap) -> Result<(), String> {
        match self.program_break.follow(remap.args[0], remap.result)? {
            Moved::Nowhere => Ok(()),
            Moved::Up { start, len } => {
                outside_bubble(start, len)?;
                // Nothing is there, as nothing was in the master.
                let flags = private_fixed(libc::MAP_ANONYMOUS) | libc::MAP_FIXED_NOREPLACE;
                let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
                let result = system_call(libc::SYS_mmap as u32, [start, len, protection, flags as u64, u64::MAX, 0]);
                self.control.code_changed(start, len);
                expect(start, result)
            }
            Moved::Down { start, len } => {
                outside_bubble(start, len)?;
                self.control.before_write(start, len);
                let result = system_call(libc::SYS_munmap as u32, [start, len, 0, 0, 0, 0]);
                self.control.code_changed(start, len);
                expect(0, result)
            }
        }
    }

    fn map(&mut self, remap: &Remap) -> Result<(), String> {
        let [_, len, protection, flags, _, offset] = remap.args;
        if !stays_reserved([remap.result, len, protection, flags, 0, 0]) {
            outside_bubble(remap.result, len)?;
        }
        self.control.before_write(remap.result, len);
        let file = remap.source.map(|number| self.files.open(number)).transpose()?;
        let descriptor = file.map_or(u64::MAX, |fd| fd as u64);
        let flags = private_fixed(flags as i32) as u64;
        let result = system_call(libc::SYS_mmap as u32, [remap.result, len, protection, flags, descriptor, offset]);
        if let Some(fd) = file {
            // SAFETY: the descriptor was opened above and is used no more: the mapping holds the file.
            unsafe { libc::close(fd) };
        }
        self.control.code_changed(remap.result, len);
        expect(remap.result, result)
    }

    /// `mremap` to the address that the master got.
    fn move_mapping(&mut self, remap: &Remap) -> Result<(), String> {
        let [from, old_len, new_len, flags, _, _] = remap.args;
        let to = remap.result;
        outside_bubble(from, old_len)?;
        outside_bubble(to, new_len)?;
        self.control.before_write(from, old_len);
        self.control.before_write(to, new_len);
        if old_len == 0 {
            self.control.object_may_change(from);
        }
        let flags = if to == from {
            flags & !(libc::MREMAP_MAYMOVE as u64 | libc::MREMAP_FIXED as u64)
        } else {
            flags | (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64
        };
        let result = Move { from, old_len, to, new_len, flags }.make();
        self.control.code_changed(from, old_len);
        self.control.code_changed(to, new_len);
        expect(to, result)
    }
}

impl RunFiles {
    /// Opens file `number` of the run.
    fn open(&self, number: u32) -> Result<i32, String> {
        let descriptor = self.table.descriptor(number).ok_or_else(|| format!("file {number} of the run isn't open"))?;
        let path = format!("/proc/{}/fd/{descriptor}", self.supervisor);
        let path = CString::new(path).map_err(|error| error.to_string())?;
        // SAFETY: the path is a C string.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if fd < 0 {
            return Err(format!("cannot open {}: {}", path.to_string_lossy(), io::Error::last_os_error()));
        }
        Ok(fd)
    }
}

/// Flags of a mapping that is placed where the master has it and that nobody else sees. Huge pages and locking make no
/// difference to contents, and may fail here although they did not there.
fn private_fixed(flags: i32) -> i32 {
    const KEPT: i32 = libc::MAP_ANONYMOUS | libc::MAP_GROWSDOWN | libc::MAP_STACK;
    flags & KEPT | libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE
}

/// The bubble belongs to the system: in the master the range is only reserved.
fn outside_bubble(address: u64, len: u64) -> Result<(), String> {
    if len != 0 && BUBBLE.overlaps(address, len) {
        return Err(format!("{len:#x} bytes at {address:#x} overlap the range that is reserved for SuperPin"));
    }
    Ok(())
}

fn expect(expected: u64, got: u64) -> Result<(), String> {
    if expected == got {
        return Ok(());
    }
    Err(if is_error(got) {
        io::Error::from_raw_os_error(-(got as i64) as i32).to_string()
    } else {
        format!("{got:#x}")
    })
}

fn system_call(number: u32, args: [u64; 6]) -> u64 {
    crate::ports::raw_syscall(u64::from(number), args)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use bubble::files::FILES_END;

    use super::*;

    /// Remembers what the engine was told.
    #[derive(Default)]
    struct Told(Vec<(u64, u64)>);

    impl Control for Told {
        fn code_changed(&mut self, start: u64, len: u64) {
            self.0.push((start, len));
        }

        fn before_write(&mut self, _start: u64, _len: u64) {}
        fn call_begins(&mut self, _start: u64, _len: u64) {}
        fn call_ends(&mut self, _start: u64, _len: u64) {}
        fn look_again(&mut self) {}
        fn file_may_change(&mut self, _inode: u64) {}
        fn shared_memory_may_change(&mut self) {}
        fn object_may_change(&mut self, _address: u64) {}
        fn arm(&mut self, _registers: &machine::Registers, _stands: bubble::end::EndStands) {}
        fn disarm(&mut self) {}
        fn require_word(&mut self, _address: u64, _word: u64) {}
        fn require_vector(&mut self, _quadword: u8, _value: u64) {}

        fn renew(&mut self, _: bool) {}
        fn expect_faults(&mut self) {}
    }

    const PAGES: u64 = 3 * 4096;

    /// Where nothing is open.
    fn files() -> RunFiles {
        let memory: &'static [u64] = Box::leak(vec![0; FILES_END / 8].into_boxed_slice());
        // SAFETY: as long as the part of CONTROL that is looked at, and never given back.
        RunFiles { supervisor: 0, table: unsafe { FileTable::at(memory.as_ptr().cast()) } }
    }

    fn space<'a>(told: &'a mut Told, program_break: &'a mut ProgramBreak) -> SliceSpace<'a> {
        SliceSpace { memory: Here::new(), files: files(), program_break, control: told }
    }

    fn remap(number: i64, args: [u64; 6], result: u64) -> Remap {
        Remap { number: number as u32, args, arity: 6, result, source: None }
    }

    /// Three pages that nobody uses, with free ones behind them. No other test gets them, even when
    /// they are unmapped: they are far below where the kernel looks for room.
    fn free_range() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0x1000_0000_0000);
        let at = NEXT.fetch_add(2 * PAGES, Ordering::Relaxed);
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as u64;
        assert_eq!(system_call(libc::SYS_mmap as u32, [at, PAGES, 0, flags, u64::MAX, 0]), at);
        at
    }

    #[test]
    fn a_mapping_comes_to_lie_where_the_master_has_it() {
        let mut told = Told::default();
        let program_break = &mut ProgramBreak::at(0);
        let mut space = space(&mut told, program_break);
        let at = free_range();
        let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u64;
        space.reshape(&remap(libc::SYS_mmap, [0, PAGES, 3, shared, u64::MAX, 0], at)).unwrap();
        space.write(at, b"contents").unwrap();
        space.reshape(&remap(libc::SYS_mprotect, [at, 4096, 1, 0, 0, 0], 0)).unwrap();
        assert!(space.write(at, b"more").is_err());
        assert!(space.write(at + 4096, b"more").is_ok());
        space.reshape(&remap(libc::SYS_munmap, [at, PAGES, 0, 0, 0, 0], 0)).unwrap();
        assert!(space.read_u64(at).is_err());
        assert_eq!(told.0, [(at, PAGES), (at, 4096), (at, PAGES)]);
    }

    #[test]
    fn a_moved_mapping_keeps_its_contents() {
        let mut told = Told::default();
        let program_break = &mut ProgramBreak::at(0);
        let mut space = space(&mut told, program_break);
        let from = free_range();
        let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        space.reshape(&remap(libc::SYS_mmap, [0, PAGES, 3, private, u64::MAX, 0], from)).unwrap();
        space.write(from, b"contents").unwrap();
        let to = free_range();
        let moved = remap(libc::SYS_mremap, [from, PAGES, 4096, libc::MREMAP_MAYMOVE as u64, 0, 0], to);
        space.reshape(&moved).unwrap();
        let mut bytes = [0; 8];
        space.read(to, &mut bytes).unwrap();
        assert_eq!(&bytes, b"contents");
        assert!(space.read_u64(from).is_err());
        space.reshape(&remap(libc::SYS_munmap, [to, PAGES, 0, 0, 0, 0], 0)).unwrap();
    }

    #[test]
    fn a_file_is_mapped_from_whoever_keeps_it() {
        let mut told = Told::default();
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"kept".as_ptr(), 0) };
        // SAFETY: the buffer is valid for its length.
        assert_eq!(unsafe { libc::write(fd, b"kept".as_ptr().cast(), 4) }, 4);
        let me = std::process::id() as i32;
        let program_break = &mut ProgramBreak::at(0);
        let mut space = space(&mut told, program_break);
        space.files.supervisor = me;
        let at = free_range();
        let mapping = remap(libc::SYS_mmap, [0, 4096, 1, libc::MAP_PRIVATE as u64, 77, 0], at);
        assert!(space.files.table.set(5, fd as u32) && space.files.table.set(6, 9999));
        space.reshape(&Remap { source: Some(5), ..mapping }).unwrap();
        let mut bytes = [0; 4];
        space.read(at, &mut bytes).unwrap();
        assert_eq!(&bytes, b"kept");
        let missing = space.reshape(&Remap { source: Some(6), ..mapping }).unwrap_err();
        assert!(missing.contains("/fd/9999"), "{missing}");
        let unknown = space.reshape(&Remap { source: Some(7), ..mapping }).unwrap_err();
        assert!(unknown.contains("file 7"), "{unknown}");
        space.reshape(&remap(libc::SYS_munmap, [at, PAGES, 0, 0, 0, 0], 0)).unwrap();
    }

    #[test]
    fn another_result_than_the_masters_is_an_error() {
        let mut told = Told::default();
        let program_break = &mut ProgramBreak::at(0);
        let mut space = space(&mut told, program_break);
        assert!(space.reshape(&remap(libc::SYS_mprotect, [0x1000, 4096, 0, 0, 0, 0], 0)).is_err());
        let both_fail = remap(libc::SYS_mprotect, [0x1000, 4096, 0, 0, 0, 0], -i64::from(libc::ENOMEM) as u64);
        assert_eq!(space.reshape(&both_fail), Ok(()));
        let bubble = remap(libc::SYS_munmap, [BUBBLE.start, 4096, 0, 0, 0, 0], 0);
        assert!(space.reshape(&bubble).unwrap_err().contains("reserved"));
    }

    #[test]
    fn the_break_is_the_apps_and_not_the_kernels() {
        let of_kernel = || system_call(libc::SYS_brk as u32, [0; 6]);
        let (mut told, before) = (Told::default(), of_kernel());
        let base = free_range();
        let program_break = &mut ProgramBreak::at(base + 100);
        let mut space = space(&mut told, program_break);
        space.reshape(&remap(libc::SYS_munmap, [base, PAGES, 0, 0, 0, 0], 0)).unwrap();
        space.reshape(&remap(libc::SYS_mmap, [0, 4096, 3, 0x22, u64::MAX, 0], base)).unwrap();
        let mut moves_to =
            |to: u64| space.reshape(&remap(libc::SYS_brk, [to, 0, 0, 0, 0, 0], to)).map(|()| space.memory);
        let mut memory = moves_to(base + PAGES).unwrap();
        memory.write(base + 4090, b"contents").unwrap();
        moves_to(base + 4096).unwrap();
        assert!(memory.read_u64(base + 4096).is_err());
        moves_to(base + 4097).unwrap();
        let mut bytes = [1; 8];
        memory.read(base + 4090, &mut bytes).unwrap();
        assert_eq!(&bytes, b"conten\0\0");
        // What is there isn't mapped over.
        let other = [base + 8192, 4096, 3, 0x100022, u64::MAX, 0];
        assert_eq!(system_call(libc::SYS_mmap as u32, other), base + 8192);
        assert!(moves_to(base + PAGES).is_err());
        assert_eq!(of_kernel(), before);
        system_call(libc::SYS_munmap as u32, [base, PAGES, 0, 0, 0, 0]);
    }

    #[test]
    fn what_is_one_mapping_to_the_master_is_moved_in_pieces() {
        let mut told = Told::default();
        let program_break = &mut ProgramBreak::at(0);
        let mut space = space(&mut told, program_break);
        for new_len in [PAGES - 4096, PAGES, PAGES + 4096] {
            let (from, to) = (free_range(), free_range());
            // Mappings of different kinds are several to any kernel.
            for (n, flags) in [0x22, 0x4022, 0x22].into_iter().enumerate() {
                let at = from + n as u64 * 4096;
                assert_eq!(system_call(libc::SYS_mmap as u32, [at, 4096, 3, flags | 0x10, u64::MAX, 0]), at);
                space.write(at, &[n as u8 + 1]).unwrap();
            }
            space.reshape(&remap(libc::SYS_mremap, [from, PAGES, new_len, 3, to, 0], to)).unwrap();
            for n in 0..new_len / 4096 {
                let mut byte = [9];
                space.read(to + n * 4096, &mut byte).unwrap();
                assert_eq!(u64::from(byte[0]), (n + 1) % 4);
            }
            assert!(space.read_u64(from).is_err() && space.read_u64(from + 8192).is_err());
            system_call(libc::SYS_munmap as u32, [to, new_len, 0, 0, 0, 0]);
        }
    }
}
