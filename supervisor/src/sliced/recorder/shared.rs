//! The memory that the control process shares with the recorder in the master.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::descriptors::Descriptor;
use super::protection::Terms;
use crate::sliced::instructions::Line;
use crate::sliced::recorder::code::{
    CHANGES_END, CHANGES_FORBIDDEN, CHANGES_START, CLOSED, DATA_AT, DEVICES, ENOUGH_BYTES, FILES, KEPT, KEPT_BITS,
    LIMIT, MAX_DEVICES, MAX_FILES, NEXT, NS, PER_NS, RECORDS_AT, RECORDS_BYTES, REQUESTS, ROOM, SELECTOR, SHARED_BYTES,
    SHOWS_END, SHOWS_MOST, SHOWS_START, SOCKETS, STOP, TABLE_AT, TICKS, WAITS, in_master, requests, table,
};

/// Written by the one side only while the other stands still.
pub struct Shared {
    file: File,
    start: NonNull<u8>,
    /// Calls have no entries but [`table::PROTECT`]; those that may wait have none; that by which a thread lets others go first has one all the same.
    left_out: Cell<[bool; 3]>,
}

impl Shared {
    /// New memory, with the table in it.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"superpin-recorder".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that nobody else owns.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.set_len(SHARED_BYTES)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let len = SHARED_BYTES as usize;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("mmap gives no null");
        let shared = Self { file, start, left_out: Cell::new([false; 3]) };
        shared.write_table();
        Ok(shared)
    }

    fn write_table(&self) {
        for (n, words) in table::entries().enumerate() {
            let [is_bare, waits_not, passes_turns] = self.left_out.get();
            let waits = table::may_wait(n as u64) && !(passes_turns && table::lets_others_go_first(n as u64));
            let is_left_out = is_bare && n as u64 != table::PROTECT || waits_not && waits;
            for (k, word) in words.into_iter().enumerate() {
                let word = if is_left_out { 0 } else { word };
                self.word(TABLE_AT + n as u64 * 16 + k as u64 * 8).store(word, Relaxed);
            }
        }
    }

    /// Where the recorder takes calls that change the protection of memory, or what is mapped there, and whether it takes no others.
    pub fn set_terms(&self, Terms { changes, shows, is_bare, may_poke, has_threads, passes_turns }: &Terms) {
        let left_out = [*is_bare, *has_threads, *passes_turns];
        if self.left_out.replace(left_out) != left_out {
            self.write_table();
        }
        let words = changes.as_ref().map_or([u64::MAX, 0, 0], |all| [all.range.start, all.range.end, all.forbidden]);
        let places = [CHANGES_START, CHANGES_END, CHANGES_FORBIDDEN];
        places.into_iter().zip(words).for_each(|(at, word)| self.set(at, word));
        let words = shows.as_ref().map_or([u64::MAX, 0, 0], |all| [all.range.start, all.range.end, all.most]);
        [SHOWS_START, SHOWS_END, SHOWS_MOST].into_iter().zip(words).for_each(|(at, word)| self.set(at, word));
        requests::words(*may_poke).enumerate().for_each(|(n, word)| self.set(REQUESTS + n as u64 * 8, word));
    }

    /// The memory as a file.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && (DATA_AT..DATA_AT + SHARED_BYTES).contains(&offset));
        // SAFETY: the word lies within the mapping, which lives as long as `self`, and is aligned.
        unsafe { self.start.add((offset - DATA_AT) as usize).cast::<AtomicU64>().as_ref() }
    }

    /// A word of the recorder's data.
    pub fn get(&self, offset: u64) -> u64 {
        self.word(offset).load(Relaxed)
    }

    /// Sets it.
    pub fn set(&self, offset: u64, value: u64) {
        self.word(offset).store(value, Relaxed);
    }

    /// How the time stamp counter is computed.
    pub fn set_counter(&self, line: Line) {
        [(TICKS, line.ticks), (NS, line.ns), (PER_NS, line.per_ns)]
            .into_iter()
            .for_each(|(at, value)| self.set(at, value));
    }

    /// Whether system calls elsewhere are to raise SIGSYS.
    pub fn set_blocking(&self, blocking: bool) {
        self.word(SELECTOR).store(blocking.into(), Relaxed);
    }

    /// Whether the recorder is to stop as soon as it can.
    pub fn set_stop(&self, stop: bool) {
        self.word(STOP).store(stop.into(), Relaxed);
    }

    /// At most `most` records may come, the first of which goes to the address `start`. No record begins where less than the longest one's
    /// room without what it reads is left before `limit`.
    pub fn begin(&self, most: u64, start: u64, limit: u64) {
        self.word(ROOM).store(most, Relaxed);
        self.word(NEXT).store(start, Relaxed);
        self.word(LIMIT).store(limit, Relaxed);
    }

    /// As `begin`, in this memory.
    pub fn begin_here(&self, most: u64) {
        self.begin(most, in_master(RECORDS_AT), in_master(RECORDS_AT + ENOUGH_BYTES));
    }

    /// Bytes of the records that have come since, in this memory.
    pub fn records(&self) -> &[u8] {
        let len = (self.get(NEXT) - in_master(RECORDS_AT)).min(RECORDS_BYTES) as usize;
        let start = (RECORDS_AT - DATA_AT) as usize;
        // SAFETY: the range lies within the mapping, and the master stands still while the slice is used.
        unsafe { std::slice::from_raw_parts(self.start.add(start).as_ptr(), len) }
    }

    /// Files of these devices become known inside the master, pipes and sockets. `None`: nothing does.
    pub fn set_devices(&self, devices: Option<&[u64]>) {
        const NO_DEVICE: &[u64] = &[u64::MAX];
        let devices = devices.map_or(&[][..], |known| if known.is_empty() { NO_DEVICE } else { known });
        for n in 0..MAX_DEVICES {
            self.word(DEVICES + n as u64 * 8).store(devices.get(n).copied().unwrap_or(0), Relaxed);
        }
    }

    /// Descriptors that are known, and what they are.
    pub fn files(&self) -> impl Iterator<Item = (u64, Descriptor)> {
        let has = |offset: u64, fd: u64| self.get(offset + fd / 64 * 8) >> (fd % 64) & 1 != 0;
        self.bits(FILES).map(move |fd| match (has(SOCKETS, fd), has(WAITS, fd)) {
            (true, _) => (fd, Descriptor::Socket),
            (false, true) => (fd, Descriptor::Restarts),
            (false, false) => (fd, Descriptor::AtOnce),
        })
    }

    /// Descriptors that were closed.
    pub fn closed(&self) -> impl Iterator<Item = u64> {
        self.bits(CLOSED)
    }

    fn bits(&self, offset: u64) -> impl Iterator<Item = u64> {
        let words = (0..MAX_FILES / 64).map(move |n| (n, self.get(offset + n * 8))).filter(|(_, word)| *word != 0);
        words.flat_map(|(n, word)| (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| n * 64 + bit))
    }

    /// Files with these inode numbers may not be opened for writing.
    pub fn set_kept(&self, inodes: impl Iterator<Item = u64>) {
        let mut words = [0; (KEPT_BITS / 64) as usize];
        inodes.map(|inode| inode % KEPT_BITS).for_each(|bit| words[(bit / 64) as usize] |= 1 << (bit % 64));
        for (n, word) in words.into_iter().enumerate() {
            self.word(KEPT + n as u64 * 8).store(word, Relaxed);
        }
    }

    /// These descriptors are known, if they are of a known kind, and none was closed.
    pub fn set_files(&self, files: impl Iterator<Item = (u64, Descriptor)>) {
        let mut words = [[0; 3]; (MAX_FILES / 64) as usize];
        // What lies beyond isn't of a known kind.
        for (fd, kind) in files.filter(|(fd, _)| *fd < MAX_FILES) {
            let [known, waiting, sockets] = &mut words[(fd / 64) as usize];
            let set = |word: &mut u64, is: bool| *word |= u64::from(is) << (fd % 64);
            set(known, kind != Descriptor::Other);
            set(waiting, kind == Descriptor::Restarts);
            set(sockets, kind == Descriptor::Socket);
        }
        for (n, [known, waiting, sockets]) in words.into_iter().enumerate() {
            self.word(FILES + n as u64 * 8).store(known, Relaxed);
            self.word(WAITS + n as u64 * 8).store(waiting, Relaxed);
            self.word(SOCKETS + n as u64 * 8).store(sockets, Relaxed);
            self.word(CLOSED + n as u64 * 8).store(0, Relaxed);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), SHARED_BYTES as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sliced::recorder::Changes;

    #[test]
    fn it_starts_without_records() {
        let shared = Shared::new().unwrap();
        shared.begin_here(7);
        assert_eq!((shared.records().len(), shared.get(ROOM)), (0, 7));
        let known = [(1, Descriptor::AtOnce), (65, Descriptor::Socket), (70, Descriptor::Restarts)];
        shared.set_files(known.into_iter().chain([(2, Descriptor::Other), (20 * MAX_FILES, Descriptor::Other)]));
        assert_eq!([shared.get(FILES), shared.get(FILES + 8)], [2, 66]);
        assert!(shared.files().eq(known) && shared.closed().next().is_none());
        shared.set_kept([3 * KEPT_BITS + 65].into_iter());
        assert_eq!([shared.get(KEPT), shared.get(KEPT + 8)], [0, 2]);
        shared.set_devices(Some(&[7]));
        assert_eq!([shared.get(DEVICES), shared.get(DEVICES + 8)], [7, 0]);
        shared.set_devices(Some(&[]));
        assert_ne!(shared.get(DEVICES), 0);
        shared.set_devices(None);
        assert_eq!(shared.get(DEVICES), 0);
        let entry = |number: i64| shared.get(TABLE_AT + number as u64 * 16);
        let taken = || [libc::SYS_getpid, libc::SYS_mprotect].map(|number| entry(number) != 0);
        assert_eq!(taken(), [true, true]);
        let changes = Some(Changes { range: 0x1000..0x3000, forbidden: Changes::CODE });
        shared.set_terms(&Terms { changes, is_bare: true, may_poke: true, ..Terms::default() });
        assert_eq!(taken(), [false, true]);
        assert_eq!([CHANGES_START, CHANGES_END].map(|at| shared.get(at)), [0x1000, 0x3000]);
        let pokes = || shared.get(REQUESTS + 8) as u16;
        assert_eq!(pokes(), 1);
        let taken_by_threads = || [libc::SYS_getpid, libc::SYS_poll].map(|number| entry(number) != 0);
        shared.set_terms(&Terms { has_threads: true, ..Terms::default() });
        assert_eq!(taken_by_threads(), [true, false]);
        shared.set_terms(&Terms::default());
        assert_eq!(taken_by_threads(), [true, true]);
        assert_eq!(pokes(), 0);
        assert_eq!(taken(), [true, true]);
        assert!(shared.get(CHANGES_START) > shared.get(CHANGES_END));
        shared.set_files([].into_iter());
        assert_eq!([shared.get(FILES), shared.get(FILES + 8)], [0, 0]);
    }
}
