//! Reading events, in the control process.

use std::sync::atomic::Ordering;

use super::area::{CHUNK, CHUNKS, ENTRY_HEAD, EventArea, FIRST_ENTRY, state};
use super::kind::EventKind;

/// An event, as the control process reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub kind: EventKind,
    /// When, see [`now`].
    pub at: u64,
    /// The process that it is from.
    pub process: i32,
    /// Its slice, or [`SERIAL`].
    pub slice: u64,
    /// What is to be said.
    pub text: String,
}

/// Reads what the processes of a run tell.
pub struct Reader {
    area: EventArea,
    /// Bytes of each chunk that were read.
    read: Vec<usize>,
    lost: u64,
}

impl Reader {
    /// Of the run whose CONTROL is mapped at `control`.
    ///
    /// # Safety
    /// All of CONTROL is mapped there, for as long as this lives.
    pub unsafe fn new(control: *mut u8) -> Self {
        Self { area: EventArea(control), read: vec![0; CHUNKS], lost: 0 }
    }

    /// What was told since the last call, chunk by chunk. `is_gone`: whether a process writes nothing any more.
    pub fn take(&mut self, is_gone: impl Fn(i32) -> bool, mut each: impl FnMut(Event)) {
        for chunk in 0..CHUNKS {
            let head = self.area.head(chunk);
            let state = head.state.load(Ordering::Acquire);
            let process = head.process.load(Ordering::Acquire) as i32;
            if state == state::FREE || process == 0 {
                continue;
            }
            // In this order: what it wrote before its end is seen.
            let is_over = state == state::FULL || is_gone(process);
            let slice = head.slice.load(Ordering::Relaxed);
            let used = (head.used.load(Ordering::Acquire) as usize).min(CHUNK - FIRST_ENTRY);
            while self.read[chunk] + ENTRY_HEAD <= used {
                let at = self.read[chunk];
                // SAFETY: entries up to `used` are complete, and aren't written any more.
                let ([kind, len], time) = unsafe {
                    let head = self.area.entries(chunk, at).cast::<[u32; 2]>().read_unaligned();
                    (head, self.area.entries(chunk, at + 8).cast::<u64>().read_unaligned())
                };
                let len = (len as usize).min(used - at - ENTRY_HEAD);
                // SAFETY: as above; the text lies before `used`.
                let text = unsafe { std::slice::from_raw_parts(self.area.entries(chunk, at + ENTRY_HEAD), len) };
                let text = String::from_utf8_lossy(text).into_owned();
                if let Some(&kind) = EventKind::ALL.get(kind as usize) {
                    each(Event { kind, at: time, process, slice, text });
                }
                self.read[chunk] = (at + ENTRY_HEAD + len).next_multiple_of(8);
            }
            if is_over {
                self.read[chunk] = 0;
                head.used.store(0, Ordering::Relaxed);
                head.process.store(0, Ordering::Relaxed);
                head.state.store(state::FREE, Ordering::Release);
            }
        }
    }

    /// How many were lost since the last call.
    pub fn take_lost(&mut self) -> u64 {
        let all = self.area.lost().load(Ordering::Relaxed);
        all - std::mem::replace(&mut self.lost, all)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::super::kind::SERIAL;
    use super::super::tell::{NONE, write};
    use super::*;
    use crate::map::CONTROL;

    /// Memory as large as CONTROL, nearly none of which is touched.
    struct Memory(*mut u8);

    impl Memory {
        fn new() -> Self {
            let (len, protection) = (CONTROL.size as usize, libc::PROT_READ | libc::PROT_WRITE);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new mapping at a place of the kernel's choice.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            Self(start.cast())
        }

        fn reader(&self) -> Reader {
            // SAFETY: tests use it only while the memory is there.
            unsafe { Reader::new(self.0) }
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: the mapping is this value's own.
            unsafe { libc::munmap(self.0.cast(), CONTROL.size as usize) };
        }
    }

    fn taken(reader: &mut Reader, is_gone: bool) -> Vec<String> {
        let mut texts = Vec::new();
        reader.take(|_| is_gone, |event| texts.push(format!("{} {} {}", event.slice, event.kind.word(), event.text)));
        texts
    }

    #[test]
    fn what_is_told_is_read_once() {
        let memory = Memory::new();
        let (area, mut reader, [one, other]) =
            (EventArea(memory.0), memory.reader(), [const { AtomicU32::new(NONE) }; 2]);
        write(area, &one, 3, EventKind::Link, format_args!("{} to {}", 1, 2));
        write(area, &other, SERIAL, EventKind::Fault, format_args!("eight bytes: é"));
        write(area, &one, 3, EventKind::Stop, format_args!(""));
        let all = ["3 link 1 to 2".to_owned(), "3 stop ".to_owned(), format!("{SERIAL} fault eight bytes: é")];
        assert_eq!(taken(&mut reader, false), all);
        assert!(taken(&mut reader, false).is_empty());
        write(area, &one, 3, EventKind::Record, format_args!("more"));
        assert_eq!(taken(&mut reader, true), ["3 record more"]);
        // Both chunks are free again, and nothing of what was in them is left.
        let new = AtomicU32::new(NONE);
        write(area, &new, 4, EventKind::Boundary, format_args!("new"));
        assert_eq!((new.load(Ordering::Relaxed), taken(&mut reader, false)), (0, vec!["4 boundary new".to_owned()]));
    }

    #[test]
    fn what_is_too_much_goes_to_the_next_chunk_or_is_counted() {
        let memory = Memory::new();
        let (area, mut reader, now) = (EventArea(memory.0), memory.reader(), AtomicU32::new(NONE));
        let long = "x".repeat(CHUNK / 2);
        write(area, &now, 0, EventKind::Trace, format_args!("{long}"));
        write(area, &now, 0, EventKind::Trace, format_args!("{long}"));
        write(area, &now, 0, EventKind::Trace, format_args!("{long}{long}{long}"));
        let texts = taken(&mut reader, false);
        let lens: Vec<usize> = texts.iter().map(|text| text.len() - "0 trace ".len()).collect();
        assert_eq!(lens, [long.len(), long.len(), CHUNK - FIRST_ENTRY - ENTRY_HEAD], "the last is cut");
        for _ in 0..2 * CHUNKS {
            write(area, &now, 0, EventKind::Trace, format_args!("{long}"));
        }
        let lost = reader.take_lost();
        assert_eq!(lost + taken(&mut reader, true).len() as u64, 2 * CHUNKS as u64);
        assert!(lost > 0 && reader.take_lost() == 0);
    }
}
