//! Marks in a process's page tables: which pages of a mapping it has stored to, and which it has touched.
//!
//! Pages are write-protected by a `userfaultfd` of the process's that nobody reads: the kernel takes the protection back by itself at the first store, be it the process's or
//! made in its name. `PAGEMAP_SCAN` tells where that has happened, and protects again in one go.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use machine::Memory;
use tracee::{Remote, Stopped, TraceError};

const UFFD_API: u64 = 0xaa;
const UFFD_USER_MODE_ONLY: u64 = 1;
/// Protection also where nothing is mapped yet, in shared memory, and taken back without a message.
const FEATURES: u64 = 1 << 12 | 1 << 13 | 1 << 15;
const REGISTER_WRITE_PROTECT: u64 = 2;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const PAGEMAP_SCAN: u64 = 0xc060_6610;

const WRITTEN: u64 = 1 << 1;
const PRESENT: u64 = 1 << 3;
const PROTECT_MATCHING: u64 = 1 << 0;
const CHECK_PROTECTED: u64 = 1 << 1;
/// Pieces that are told in one go.
const PIECES: usize = 512;

/// A piece of memory of which the kernel tells the same (`struct page_region`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// The question (`struct pm_scan_arg`).
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    inverted: u64,
    mask: u64,
    any_of: u64,
    told: u64,
}

/// The marks of one process.
pub struct PageMarks {
    /// Marks are made as long as it is open.
    protector: OwnedFd,
    pagemap: File,
}

impl PageMarks {
    /// Of a process that can make calls for us, see [`Remote`]. Nothing is marked yet. `None` if the kernel can't.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn new(process: &mut Stopped, gadget: u64) -> Result<Option<Self>, TraceError> {
        let pid = process.pid();
        let mut remote = Remote::new(process, gadget)?;
        let flags = libc::O_CLOEXEC as u64 | UFFD_USER_MODE_ONLY;
        let fd = remote.call(libc::SYS_userfaultfd, [flags, 0, 0, 0, 0, 0])?;
        if fd < 0 {
            return Ok(None);
        }
        let protector = take_descriptor(pid, fd as i32);
        remote.call(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0])?;
        let (Ok(protector), Ok(pagemap)) = (protector, File::open(format!("/proc/{pid}/pagemap"))) else {
            return Ok(None);
        };
        let mut api = [UFFD_API, FEATURES, 0];
        Ok(ioctl(&protector, UFFDIO_API, &mut api).is_ok().then_some(Self { protector, pagemap }))
    }

    /// Marks from now on what is stored to there. It has to be shared memory.
    ///
    /// # Errors
    /// If the kernel can't.
    pub fn begin(&self, range: &Range<u64>) -> io::Result<()> {
        let mut register = [range.start, range.end - range.start, REGISTER_WRITE_PROTECT, 0];
        ioctl(&self.protector, UFFDIO_REGISTER, &mut register)?;
        // No condition: all pages.
        self.scan(range, PROTECT_MATCHING | CHECK_PROTECTED, 0, |_| {})
    }

    /// Tells in `take` what was stored to since the last time.
    ///
    /// # Errors
    /// If something else lies there meanwhile, or the process is gone.
    pub fn take_written(&self, range: &Range<u64>, take: impl FnMut(Range<u64>)) -> io::Result<()> {
        self.scan(range, PROTECT_MATCHING | CHECK_PROTECTED, WRITTEN, take)
    }

    /// Tells in `take` which pages are mapped in the process: those that it has touched since they were last unmapped.
    ///
    /// # Errors
    /// As above.
    pub fn present(&self, range: &Range<u64>, take: impl FnMut(Range<u64>)) -> io::Result<()> {
        self.scan(range, 0, PRESENT, take)
    }

    fn scan(&self, range: &Range<u64>, flags: u64, mask: u64, mut take: impl FnMut(Range<u64>)) -> io::Result<()> {
        let mut regions = [Region::default(); PIECES];
        let mut start = range.start;
        while start < range.end {
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                flags,
                start,
                end: range.end,
                regions: regions.as_mut_ptr() as u64,
                regions_len: PIECES as u64,
                mask,
                told: mask,
                ..Scan::default()
            };
            let told = ioctl(&self.pagemap, PAGEMAP_SCAN, &mut scan)?;
            regions[..told as usize].iter().for_each(|region| take(region.start..region.end));
            if scan.walk_end <= start {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            start = scan.walk_end;
        }
        Ok(())
    }
}

/// Whether any memory of this machine is in its swap space: a page that isn't mapped may have been then. Asked of the kernel itself: /proc/meminfo is a container's own story in
/// some of them.
pub fn is_swapping() -> bool {
    // SAFETY: the structure is plain data, which the call fills in.
    let (result, told) = unsafe {
        let mut told: libc::sysinfo = std::mem::zeroed();
        (libc::sysinfo(&raw mut told), told)
    };
    result != 0 || told.totalswap != told.freeswap
}

/// Whether the kernel may store to memory when the process ends: to locks that it hasn't given back.
pub fn leaves_locks(process: &Stopped) -> bool {
    const PENDING: u64 = 16;
    let (mut head, mut len) = (0_u64, 0_usize);
    // SAFETY: the kernel writes two words.
    let asked = unsafe { libc::syscall(libc::SYS_get_robust_list, process.pid(), &raw mut head, &raw mut len) };
    let is_empty = || process.read_u64(head).is_ok_and(|next| next == head);
    let is_idle = || process.read_u64(head + PENDING).is_ok_and(|pending| pending == 0);
    asked != 0 || head != 0 && !(is_empty() && is_idle())
}

/// A descriptor like one of another process's.
fn take_descriptor(pid: i32, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain calls; the results are new descriptors that nobody else owns.
    unsafe {
        let process = OwnedFd::from_raw_fd(checked(libc::syscall(libc::SYS_pidfd_open, pid, 0))?);
        let taken = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0);
        Ok(OwnedFd::from_raw_fd(checked(taken)?))
    }
}

fn checked(result: i64) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// A request whose number says how long its argument is.
fn ioctl<T>(file: &impl AsRawFd, request: u64, argument: &mut T) -> io::Result<i32> {
    assert_eq!(request >> 16 & 0x3fff, size_of::<T>() as u64, "the argument is what the request takes");
    // SAFETY: the kernel reads and writes no more than the argument, and what a scan names, which its only caller has for it.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), request, std::ptr::from_mut(argument)) }.into())
}
