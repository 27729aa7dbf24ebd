//! The parts of a path in a file, one for each slice, in order.
//!
//! ```text
//!   number of the slice, length, bytes … u64::MAX, 0
//! ```
//!
//! They are written as slices are folded, not at the end: of a run that fails there is what was before.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::encode::{Decoder, Registers, Stretch};

/// In place of a slice's number: the run has come to its end.
const END: u64 = u64::MAX;

/// Writes a file.
pub struct Writer(File);

impl Writer {
    /// A new file at that place, or an empty one.
    ///
    /// # Errors
    /// If it can't be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(Self)
    }

    /// The next slice's part.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn part(&mut self, slice: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(&[slice.to_le_bytes(), (bytes.len() as u64).to_le_bytes()].concat())?;
        self.0.write_all(bytes)
    }

    /// All parts are there.
    ///
    /// # Errors
    /// If that can't be written.
    pub fn end(&mut self) -> io::Result<()> {
        self.part(END, &[])
    }
}

/// Reads stretches of all parts: those that a slice's end has cut are whole.
pub struct PathFile {
    file: BufReader<File>,
    part: Decoder,
    /// Comes next, if no more of it follows in the next part.
    held: Option<Step>,
    /// Number of the slice that is read.
    slice: u64,
    is_whole: bool,
}

/// A stretch, where and with what it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What was executed.
    pub stretch: Stretch,
    /// The registers before it, if they were written down.
    pub registers: Option<Registers>,
    /// The slice that it begins in.
    pub slice: u64,
}

impl PathFile {
    /// A file that was written by [`Writer`].
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::new(File::open(path)?);
        Ok(Self { file, part: Decoder::new(Vec::new()), held: None, slice: 0, is_whole: false })
    }

    /// Whether the run has come to its end, as far as that was read.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The next stretch.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn next_step(&mut self) -> io::Result<Option<Step>> {
        loop {
            let Some((stretch, registers)) = self.part.next() else {
                if self.next_part()? {
                    continue;
                }
                return Ok(self.held.take());
            };
            let step = Step { stretch, registers, slice: self.slice };
            match &mut self.held {
                // Only at the border of two parts: within one, what goes on isn't another stretch.
                Some(Step { stretch: held, .. }) if held.end == stretch.start => {
                    *held = Stretch { start: held.start, count: held.count + stretch.count, ..stretch };
                }
                held => {
                    if let Some(whole) = held.replace(step) {
                        return Ok(Some(whole));
                    }
                }
            }
        }
    }

    /// Whether there is one.
    fn next_part(&mut self) -> io::Result<bool> {
        let mut head = [0; 16];
        if self.is_whole {
            return Ok(false);
        }
        match self.file.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let word = |at| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let (slice, len) = (word(0), word(8));
        self.is_whole = slice == END;
        if self.is_whole {
            return Ok(false);
        }
        let mut bytes = vec![0; len as usize];
        self.file.read_exact(&mut bytes)?;
        (self.slice, self.part) = (slice, Decoder::new(bytes));
        Ok(true)
    }
}
