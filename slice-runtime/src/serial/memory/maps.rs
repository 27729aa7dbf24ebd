//! `/proc/self/maps` as the app would see it without the image: the bubble is one reserved range there, as it is in a
//! sliced run's master.
//!
//! Programs read this file at their start (stack overflow handlers, garbage collectors), so that what it says decides
//! how many instructions they execute. Descriptors that show it are known from when they are opened; reads from
//! them are answered here, in pieces as large as the kernel's: whole lines, as many as fit a page, what didn't fit
//! the app's buffer first. The kernel's own position follows: who reads on natively (a child, or the app behind a region) gets what
//! comes next. A copy of such a descriptor (`dup`, a child) shows the kernel's own text.

use std::collections::BTreeMap;

use bubble::map::{BUBBLE, WINDOWS};
use machine::Memory;
use syscall_replay::is_error;

use super::self_mem::is_own_file;
use crate::ports::raw_syscall;
use crate::serial::calls::AppCall;

/// The kernel's buffer for such a file.
const BUFFER: usize = 4096;
const MOST_PATH: usize = 4096;

/// Descriptors of the app's that show its mappings.
#[derive(Default)]
pub struct MapsFiles {
    files: BTreeMap<i32, Reading>,
}

/// How far a descriptor was read.
#[derive(Default)]
struct Reading {
    /// Lines that start below this address were read.
    next: u64,
    /// Text that was produced and didn't fit the app's buffer.
    rest: Vec<u8>,
    /// Bytes of the kernel's text before `next`.
    before: usize,
}

/// What such a descriptor shows.
pub struct Text {
    /// Read natively.
    kernels: Vec<u8>,
    /// To the app.
    shown: Vec<u8>,
}

impl MapsFiles {
    /// The app has made a call that succeeded: takes note of descriptors that come and go.
    pub fn after(&mut self, call: &AppCall, result: u64, memory: &dyn Memory) {
        let [first, second, third, ..] = call.args;
        match call.number as i64 {
            libc::SYS_open => self.opened(first, result, memory),
            libc::SYS_openat | libc::SYS_openat2 => self.opened(second, result, memory),
            _ if self.files.is_empty() => {}
            libc::SYS_close => self.forget(first as i32, first as i32),
            libc::SYS_dup2 | libc::SYS_dup3 if first as i32 != second as i32 => {
                self.forget(second as i32, second as i32);
            }
            // With CLOSE_RANGE_CLOEXEC nothing is closed yet.
            libc::SYS_close_range if third & 4 == 0 => {
                self.forget(first.min(i32::MAX as u64) as i32, second.min(i32::MAX as u64) as i32);
            }
            libc::SYS_lseek if result == 0 => {
                if let Some(reading) = self.files.get_mut(&(first as i32)) {
                    *reading = Reading::default();
                }
            }
            _ => {}
        }
    }

    /// Whether a call reads such a descriptor; then what it reads. The caller writes it to the app's buffer.
    pub fn read(&mut self, call: &AppCall, text: impl FnOnce() -> Text) -> Option<Vec<u8>> {
        if call.number as i64 != libc::SYS_read {
            return None;
        }
        let reading = self.files.get_mut(&(call.args[0] as i32))?;
        let wanted = call.args[2].min(1 << 30) as usize;
        let given = reading.read(wanted, text);
        let position = reading.before - reading.rest.len();
        raw_syscall(libc::SYS_lseek as u64, [call.args[0], position as u64, libc::SEEK_SET as u64, 0, 0, 0]);
        Some(given)
    }

    fn opened(&mut self, path: u64, result: u64, memory: &dyn Memory) {
        let asked = memory.read_c_string(path, MOST_PATH).unwrap_or_default();
        if asked.ends_with(b"maps") && is_own_file(result, "maps") {
            self.files.insert(result as i32, Reading::default());
        }
    }

    fn forget(&mut self, first: i32, last: i32) {
        self.files.retain(|fd, _| !(first..=last).contains(fd));
    }
}

impl Reading {
    /// The kernel's `seq_read`: the rest first, then one buffer full of lines.
    fn read(&mut self, wanted: usize, text: impl FnOnce() -> Text) -> Vec<u8> {
        let mut given: Vec<u8> = self.rest.drain(..self.rest.len().min(wanted)).collect();
        if !self.rest.is_empty() {
            return given;
        }
        let room = wanted - given.len();
        let Text { kernels, shown } = text();
        let mut fresh = Vec::new();
        let mut capacity = BUFFER;
        let first = self.next;
        for line in shown.split_inclusive(|&b| b == b'\n').filter(|line| start_of(line) >= first) {
            if fresh.is_empty() {
                // The buffer grows until it holds one line and a byte.
                while line.len() >= capacity {
                    capacity *= 2;
                }
            } else if fresh.len() >= room || fresh.len() + line.len() >= capacity {
                break;
            }
            fresh.extend_from_slice(line);
            self.next = start_of(line) + 1;
        }
        let before = |line: &&[u8]| start_of(line) < self.next;
        self.before = kernels.split_inclusive(|&b| b == b'\n').take_while(before).map(<[u8]>::len).sum();
        let fits = fresh.len().min(room);
        self.rest = fresh.split_off(fits);
        given.append(&mut fresh);
        given
    }
}

/// The text, now.
pub fn current() -> Text {
    let kernels = whole_file(c"/proc/self/maps");
    Text { shown: without_bubble(&kernels, engine::windows_end()), kernels }
}

/// Where the app has anything mapped.
pub fn apps() -> Vec<[u64; 2]> {
    let text = whole_file(c"/proc/self/maps");
    let lines = text.split_inclusive(|&b| b == b'\n').map(|line| [start_of(line), end_of(line)]);
    let windows_end = engine::windows_end();
    let is_apps = |[start, end]: &[u64; 2]| !BUBBLE.contains(*start) || *start >= windows_end && *end < WINDOWS.end();
    lines.filter(is_apps).collect()
}

/// Reads a file with calls that leave errno and libc's buffers alone.
fn whole_file(path: &std::ffi::CStr) -> Vec<u8> {
    let mut text = Vec::new();
    let fd = raw_syscall(libc::SYS_open as u64, [path.as_ptr() as u64, libc::O_CLOEXEC as u64, 0, 0, 0, 0]);
    if is_error(fd) {
        return text;
    }
    let mut piece = [0; BUFFER];
    loop {
        let args = [fd, piece.as_mut_ptr() as u64, piece.len() as u64, 0, 0, 0];
        let len = raw_syscall(libc::SYS_read as u64, args);
        if len == 0 || is_error(len) {
            break;
        }
        text.extend_from_slice(&piece[..len as usize]);
    }
    raw_syscall(libc::SYS_close as u64, [fd, 0, 0, 0, 0, 0]);
    text
}

/// A text with the bubble as one line. What is mapped of it for threads, up to `windows_end`, looks like the rest.
fn without_bubble(text: &[u8], windows_end: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut seen = false;
    let mut begun = None;
    for line in text.split_inclusive(|&b| b == b'\n') {
        let (start, end) = (start_of(line), end_of(line));
        if BUBBLE.contains(start) && end <= windows_end {
            begun.get_or_insert(start);
            continue;
        }
        let with_windows = begun.take().or((BUBBLE.contains(start) && start < windows_end).then_some(start));
        let nobodys = |start: u64, end: u64| format!("{start:x}-{end:x} ---p 00000000 00:00 0 \n");
        // What the app has made inaccessible in the reserve is a mapping of its own, here as in the master.
        if !BUBBLE.contains(start) {
            out.extend_from_slice(line);
        } else if end < WINDOWS.end() {
            match with_windows {
                Some(start) => out.extend_from_slice(nobodys(start, end).as_bytes()),
                None => out.extend_from_slice(line),
            }
        } else if !std::mem::replace(&mut seen, true) {
            out.extend_from_slice(nobodys(with_windows.unwrap_or(start), BUBBLE.end()).as_bytes());
        }
    }
    out
}

/// The address with which a line's mapping ends.
fn end_of(line: &[u8]) -> u64 {
    let digits = line.iter().take_while(|&&b| b != b'-').count();
    start_of(line.get(digits + 1..).unwrap_or_default())
}

/// The address with which a line starts.
fn start_of(line: &[u8]) -> u64 {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit());
    digits.fold(0, |address, &digit| address << 4 | u64::from((digit as char).to_digit(16).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Here;

    fn call(number: i64, args: [u64; 6]) -> AppCall {
        AppCall { number: number as u64, args }
    }

    #[test]
    fn the_bubble_is_one_line() {
        let (start, end) = (BUBBLE.start, BUBBLE.end());
        let (before, after) = ("1000-2000 r--p 0 x\n", "555555554000-555555555000 r--p w\n");
        let inside = format!("{start:x}-{:x} rw-p y\n555000000000-555000001000 ---p z\n", WINDOWS.end() + 4096);
        let expected = format!("{before}{start:x}-{end:x} ---p 00000000 00:00 0 \n{after}");
        let text = format!("{before}{inside}{after}");
        assert_eq!(String::from_utf8(without_bubble(text.as_bytes(), BUBBLE.start)).unwrap(), expected);
    }

    #[test]
    fn what_the_app_has_made_inaccessible_is_a_line_of_its_own() {
        let (start, end) = (BUBBLE.start, BUBBLE.end());
        let gap = format!("340000000000-{start:x} ---p 0 x\n{start:x}-550000000000 ---p 0 x\n");
        let inside = "550000000000-555000000000 ---p z\n555000000000-555000001000 rw-p z\n";
        let expected = format!("{gap}550000000000-{end:x} ---p 00000000 00:00 0 \n");
        let text = format!("{gap}{inside}");
        assert_eq!(String::from_utf8(without_bubble(text.as_bytes(), BUBBLE.start)).unwrap(), expected);
    }

    #[test]
    fn windows_are_not_seen() {
        let (start, end, after) = (BUBBLE.start, BUBBLE.end(), "555555554000-555555555000 r--p w\n");
        let windows_end = start + 0x2000_0000;
        let windows =
            format!("{start:x}-{:x} rw-p y\n{:x}-{:x} ---p y\n", start + 4096, start + 4096, start + 0x1000_1000);
        let last = |to: u64| format!("{:x}-{to:x} ---p z\n", start + 0x1000_1000);
        let inside = "555000000000-555000001000 rw-p z\n";
        let shown = |text: String| String::from_utf8(without_bubble(text.as_bytes(), windows_end)).unwrap();
        let expected = format!("{start:x}-{end:x} ---p 00000000 00:00 0 \n{after}");
        assert_eq!(shown(format!("{windows}{}{inside}{after}", last(0x5550_0000_0000))), expected);
        // Behind what the app has made inaccessible.
        let gap = format!("{windows}{}550000000000-555000000000 ---p z\n{inside}{after}", last(0x5500_0000_0000));
        let expected = format!(
            "{start:x}-550000000000 ---p 00000000 00:00 0 \n550000000000-{end:x} ---p 00000000 00:00 0 \n{after}"
        );
        assert_eq!(shown(gap), expected);
    }

    /// A text in which nothing is hidden. Other tests have a bubble of their own in this process.
    fn plain(text: &[u8]) -> Text {
        Text { kernels: text.to_vec(), shown: text.to_vec() }
    }

    /// What reads of `wanted` bytes each give until the end.
    fn pieces(mut read: impl FnMut() -> Vec<u8>) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| Some(read()).filter(|piece| !piece.is_empty())).collect()
    }

    fn kernels(wanted: usize) -> Vec<Vec<u8>> {
        let path = c"/proc/self/maps".as_ptr() as u64;
        let fd = raw_syscall(libc::SYS_open as u64, [path, 0, 0, 0, 0, 0]);
        let pieces = pieces(|| {
            let mut piece = vec![0; wanted];
            let len = raw_syscall(libc::SYS_read as u64, [fd, piece.as_mut_ptr() as u64, wanted as u64, 0, 0, 0]);
            piece.truncate(len as usize);
            piece
        });
        raw_syscall(libc::SYS_close as u64, [fd, 0, 0, 0, 0, 0]);
        pieces
    }

    #[test]
    fn pieces_are_as_large_as_the_kernels() {
        for wanted in [70, 1000, 4095, 4096, 5000, 100_000] {
            // Other tests map memory too: compare when nothing has changed meanwhile.
            let same = (0..1000).any(|_| {
                let text = whole_file(c"/proc/self/maps");
                let expected = kernels(wanted);
                if expected.concat() != text {
                    return false;
                }
                let mut reading = Reading::default();
                assert_eq!(pieces(|| reading.read(wanted, || plain(&text))), expected, "{wanted}");
                true
            });
            assert!(same, "{wanted}");
        }
    }

    #[test]
    fn who_reads_on_natively_gets_what_comes_next() {
        let memory = Here::new();
        let mut files = MapsFiles::default();
        let args = [libc::AT_FDCWD as u64, c"/proc/self/maps".as_ptr() as u64, 0, 0, 0, 0];
        for wanted in [10, 70, 1000] {
            // Other tests map memory too: compare when nothing has changed meanwhile.
            let same = (0..1000).any(|_| {
                let fd = raw_syscall(libc::SYS_openat as u64, args);
                files.after(&call(libc::SYS_openat, args), fd, &memory);
                let read = call(libc::SYS_read, [fd, 0, wanted, 0, 0, 0]);
                let now = || plain(&whole_file(c"/proc/self/maps"));
                let mut text = files.read(&read, now).unwrap();
                text.extend(files.read(&read, now).unwrap());
                let mut rest = vec![0; 1 << 16];
                let natively = [fd, rest.as_mut_ptr() as u64, rest.len() as u64, 0, 0, 0];
                loop {
                    let len = raw_syscall(libc::SYS_read as u64, natively) as usize;
                    text.extend_from_slice(&rest[..len]);
                    if len == 0 {
                        break;
                    }
                }
                let closed = [fd, 0, 0, 0, 0, 0];
                raw_syscall(libc::SYS_close as u64, closed);
                files.after(&call(libc::SYS_close, closed), 0, &memory);
                text == now().shown
            });
            assert!(same, "{wanted}");
        }
    }

    #[test]
    fn descriptors_are_followed_from_open_to_close() {
        let memory = Here::new();
        let mut files = MapsFiles::default();
        let open = |path: &std::ffi::CStr| {
            let args = [libc::AT_FDCWD as u64, path.as_ptr() as u64, 0, 0, 0, 0];
            (call(libc::SYS_openat, args), raw_syscall(libc::SYS_openat as u64, args))
        };
        let (made, fd) = open(c"/proc/self/maps");
        files.after(&made, fd, &memory);
        let read = call(libc::SYS_read, [fd, 0, 10, 0, 0, 0]);
        assert_eq!(files.read(&read, || plain(b"1-2 x\n3-4 y\n")).unwrap(), b"1-2 x\n3-4 ");
        assert_eq!(files.read(&read, || plain(b"1-2 x\n3-4 y\n")).unwrap(), b"y\n");
        assert_eq!(files.read(&read, || plain(b"1-2 x\n3-4 y\n")).unwrap(), b"");
        files.after(&call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]), 0, &memory);
        assert_eq!(files.read(&read, || plain(b"")), None);
        let (made, other) = open(c"/proc/1/maps");
        if !is_error(other) && raw_syscall(libc::SYS_getpid as u64, [0; 6]) != 1 {
            files.after(&made, other, &memory);
            assert!(files.files.is_empty());
        }
    }
}
