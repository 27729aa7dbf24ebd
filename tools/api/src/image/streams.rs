//! The collector's side of streams ([`bubble::stream`]): what slices write meanwhile goes to a file for each slot, and when a slice's turn has come behind what is before it. The first slice's
//! file becomes the output's: a serial run's isn't copied, and those of others are by the kernel. Where the file system can have the same blocks in two files (xfs, btrfs), what is compressed isn't copied: zeroes
//! that no reader looks at fill the last block of what is there, so that the next slice's begins with a block. A pipe gets each slice's bytes when its turn
//! has come, and in a serial run at once. What the output begins with ([`crate::Tool::stream_head`]) stands before all: serially in the first slice's file, else in one to which that of the first is copied.
//!
//! A thread takes bytes out of the rings. Nobody waits for a slice that comes before: so none waits for long.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bubble::map::{CONTROL, file};
use bubble::shared::{MAX_SLOTS, RunHeader};
use bubble::stream::{RING, RING_AT, STREAM, StreamHead, stream_at};
use supervisor::Output;

use super::mapped::Mapped;

/// The streams of a run.
pub struct Streams(Arc<Shared>);

struct Shared {
    control: Mapped,
    /// The output's name.
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    memory: OwnedFd,
    slots: BTreeMap<usize, Slot>,
    output: Output,
    /// What is in order, if that isn't written to a pipe.
    whole: Option<File>,
    /// What slices write is compressed.
    is_compressed: bool,
    /// It is written to a pipe at once, since nothing comes before or is begun again.
    at_once: bool,
    /// What the output begins with, until it is written.
    head: Vec<u8>,
}

/// What a slot's slice has written.
struct Slot {
    ring: Mapped,
    file: File,
    /// Bytes that stand in the file before what the slice writes.
    before: u64,
}

impl Streams {
    /// Begins to take what slices write. `head`: what the output begins with; `memory`: the run memory; `answers`: where an error is told; `is_compressed`: what they write is (zstd).
    ///
    /// # Errors
    /// If the run memory can't be mapped, the head can't be written, or there can't be a thread.
    pub fn begin(
        (path, mut output): (PathBuf, Output),
        head: &[u8],
        memory: OwnedFd,
        answers: File,
        is_compressed: bool,
    ) -> io::Result<Self> {
        let control = Mapped::writable(&memory, file::CONTROL_AT, CONTROL.size as usize)?;
        // SAFETY: the header starts CONTROL; this word of it was written before there was a collector.
        let serial = unsafe { (*control.start().cast::<RunHeader>()).sliced } == 0;
        let at_once = serial && output.as_stream().is_some();
        let mut state = State {
            memory,
            slots: BTreeMap::new(),
            output,
            whole: None,
            is_compressed,
            at_once,
            head: head.to_owned(),
        };
        if !serial {
            state.begin_whole()?;
        }
        let shared = Arc::new(Shared { control, path, state: Mutex::new(state) });
        let taking = shared.clone();
        std::thread::Builder::new().name("streams".into()).spawn(move || taking.take_all(answers))?;
        Ok(Self(shared))
    }

    /// A slice has finished, and its turn has come: what it has written follows what is there. The slot may be used again.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn fold(&self, slot: usize) -> Result<(), String> {
        self.0.state().fold(slot).map_err(|error| self.0.not_written(&error))
    }

    /// The end: `text` follows all, which becomes the output.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn finish(&self, text: &[u8]) -> Result<(), String> {
        self.0.state().finish(text).map_err(|error| self.0.not_written(&error))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn header(&self) -> &RunHeader {
        // SAFETY: the header starts CONTROL, which is mapped for as long as this is there; what others write there is atomic.
        unsafe { &*self.control.start().cast::<RunHeader>() }
    }

    /// Takes what slices write, until the process ends or something can't be written.
    fn take_all(&self, mut answers: File) {
        loop {
            let seen = self.header().streams.load(Ordering::Acquire);
            let mut any = false;
            for (n, word) in self.header().streaming.iter().enumerate() {
                let mut bits = word.swap(0, Ordering::AcqRel);
                while bits != 0 {
                    any = true;
                    let slot = n * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if let Err(error) = self.state().take(slot) {
                        self.header().streams_lost.store(1, Ordering::Release);
                        // If nobody listens any more there is nobody to tell.
                        let _ = writeln!(answers, "error {}", self.not_written(&error));
                        return;
                    }
                }
            }
            if !any {
                futex(&self.header().streams, libc::FUTEX_WAIT, seen);
            }
        }
    }

    /// What is said of an error.
    fn not_written(&self, error: &io::Error) -> String {
        format!("cannot write the stream to {}: {error}", self.path.display())
    }
}

impl State {
    fn slot(&mut self, slot: usize) -> io::Result<&mut Slot> {
        if !self.slots.contains_key(&slot) {
            assert!(slot < MAX_SLOTS, "slot {slot} does not exist");
            let ring = Mapped::writable(&self.memory, stream_at(slot), STREAM.size as usize)?;
            let mut file = match self.output.as_stream().filter(|_| self.at_once) {
                Some(stream) => stream.try_clone()?,
                None => self.output.part()?,
            };
            // In slices it is written already.
            let head = std::mem::take(&mut self.head);
            file.write_all(&head)?;
            self.slots.insert(slot, Slot { ring, file, before: head.len() as u64 });
        }
        Ok(self.slots.get_mut(&slot).expect("it was just made"))
    }

    /// Writes the head, if there is one: what slices write comes behind it.
    fn begin_whole(&mut self) -> io::Result<()> {
        let head = std::mem::take(&mut self.head);
        if head.is_empty() {
            return Ok(());
        }
        if let Some(stream) = self.output.as_stream() {
            return stream.write_all(&head);
        }
        let mut whole = self.output.part()?;
        whole.write_all(&head)?;
        self.whole = Some(whole);
        Ok(())
    }

    fn take(&mut self, slot: usize) -> io::Result<()> {
        self.slot(slot)?.take()
    }

    fn fold(&mut self, slot: usize) -> io::Result<()> {
        let part = self.slot(slot)?;
        part.take()?;
        part.head().reset();
        if self.at_once {
            return Ok(());
        }
        let stream = self.output.as_stream();
        let is_file = stream.is_none();
        let Some(whole) = stream.or(self.whole.as_mut()) else {
            self.whole = self.slots.remove(&slot).map(|part| part.file);
            return Ok(());
        };
        if let Some(part) = self.slots.get_mut(&slot) {
            part.file.rewind()?;
            if is_file && self.is_compressed {
                share(&mut part.file, whole)?;
            }
            io::copy(&mut part.file, whole)?;
            part.forget()?;
        }
        Ok(())
    }

    fn finish(&mut self, text: &[u8]) -> io::Result<()> {
        // If no slice has written anything.
        self.begin_whole()?;
        if let Some(stream) = self.output.as_stream() {
            return stream.write_all(text);
        }
        let mut whole = match self.whole.take() {
            Some(whole) => whole,
            None => self.output.part()?,
        };
        whole.write_all(text)?;
        self.output.take(whole)
    }
}

/// Has the file system put the whole blocks of `part` behind what is in `whole`, without copying them, if it can; what is compressed there begins with a frame that readers skip then. Both files
/// stand behind what was put there.
fn share(part: &mut File, whole: &mut File) -> io::Result<()> {
    /// What file systems share are multiples of this, or it can't be done.
    const BLOCK: u64 = 4096;
    /// Less than that is copied in no time.
    const LEAST: u64 = 16 * BLOCK;
    /// Of the format of zstd: a number that says so, and the length of what follows.
    const SKIPPED: u32 = 0x184d_2a50;
    const HEAD_OF_SKIPPED: u64 = 8;
    let len = part.metadata()?.len();
    if len < LEAST {
        return Ok(());
    }
    let end = whole.stream_position()?;
    let gap = end.next_multiple_of(BLOCK) - end;
    let gap = if (1..HEAD_OF_SKIPPED).contains(&gap) { gap + BLOCK } else { gap };
    let (blocks, to) = (len - len % BLOCK, end + gap);
    let range =
        libc::file_clone_range { src_fd: part.as_raw_fd().into(), src_offset: 0, src_length: blocks, dest_offset: to };
    // SAFETY: the kernel reads the range, and both files are open.
    if unsafe { libc::ioctl(whole.as_raw_fd(), libc::FICLONERANGE, &raw const range) } != 0 {
        // They are copied.
        return Ok(());
    }
    if gap > 0 {
        let head = [SKIPPED.to_le_bytes(), ((gap - HEAD_OF_SKIPPED) as u32).to_le_bytes()].concat();
        whole.write_all(&head)?;
        whole.write_all(&vec![0; (gap - HEAD_OF_SKIPPED) as usize])?;
    }
    whole.seek(SeekFrom::Start(to + blocks))?;
    part.seek(SeekFrom::Start(blocks))?;
    Ok(())
}

impl Slot {
    fn head(&self) -> &Head {
        // SAFETY: a head starts the mapping, which is there for as long as this; its fields are atomics.
        unsafe { &*self.ring.start().cast::<Head>() }
    }

    /// Moves what is in the ring to the file.
    fn take(&mut self) -> io::Result<()> {
        let attempt = self.head().0.attempt.load(Ordering::Acquire);
        if attempt != self.head().0.accepted.load(Ordering::Relaxed) {
            // The slice has begun again, and waits.
            self.forget()?;
            self.head().reset();
            self.head().0.attempt.store(attempt, Ordering::Release);
            self.head().0.accepted.store(attempt, Ordering::Release);
            self.head().tell();
        }
        let written = self.head().0.written.load(Ordering::Acquire);
        let mut taken = self.head().0.taken.load(Ordering::Relaxed);
        while taken < written {
            let at = taken % RING;
            let n = (written - taken).min(RING - at);
            let from = self.ring.start() as usize + (RING_AT - STREAM.start + at) as usize;
            // SAFETY: the slice has written these bytes, and leaves them alone until they are taken.
            let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, n as usize) };
            self.file.write_all(bytes)?;
            taken += n;
            self.head().0.taken.store(taken, Ordering::Release);
            self.head().tell();
        }
        Ok(())
    }

    fn forget(&mut self) -> io::Result<()> {
        self.file.set_len(self.before)?;
        self.file.seek(SeekFrom::Start(self.before)).map(drop)
    }
}

#[repr(transparent)]
struct Head(StreamHead);

impl Head {
    /// As before a slice begins.
    fn reset(&self) {
        for word in [&self.0.written, &self.0.taken] {
            word.store(0, Ordering::Relaxed);
        }
        for word in [&self.0.attempt, &self.0.accepted] {
            word.store(0, Ordering::Release);
        }
    }

    fn tell(&self) {
        self.0.changed.fetch_add(1, Ordering::Release);
        futex(&self.0.changed, libc::FUTEX_WAKE, i32::MAX as u32);
    }
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let no_timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call. Not FUTEX_PRIVATE: the other side is another process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_timeout) };
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::tool::packed;

    /// Compressed bytes that don't compress, of so many bytes.
    fn compressed(len: usize, seed: u64) -> (Vec<u8>, Vec<u8>) {
        let mut state = seed;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let bytes: Vec<u8> = (0..len).map(|_| byte()).collect();
        let packed = packed(&bytes);
        (bytes, packed)
    }

    /// Whether blocks were shared or copied, which is up to the file system.
    #[test]
    fn what_is_put_together_is_what_was_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let mut whole =
            File::options().create_new(true).read(true).write(true).open(folder.path().join("whole")).unwrap();
        let mut all = Vec::new();
        for (n, len) in [300, 200_000, 70_001, 5, 4096 * 40, 100_003].into_iter().enumerate() {
            let (bytes, packed) = compressed(len, n as u64);
            all.extend(bytes);
            let mut part = File::options()
                .create_new(true)
                .read(true)
                .write(true)
                .open(folder.path().join(n.to_string()))
                .unwrap();
            part.write_all(&packed).unwrap();
            part.rewind().unwrap();
            share(&mut part, &mut whole).unwrap();
            io::copy(&mut part, &mut whole).unwrap();
        }
        let mut together = Vec::new();
        whole.rewind().unwrap();
        whole.read_to_end(&mut together).unwrap();
        let mut unpacked = Vec::with_capacity(all.len() + (1 << 20));
        ruzstd::decoding::FrameDecoder::new().decode_all_to_vec(&together, &mut unpacked).unwrap();
        assert!(unpacked == all);
    }
}
