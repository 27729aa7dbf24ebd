//! `superpin read FILE`: a binary trace as the text that the same tool writes without `--binary`.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use standard_tools::{is_end_of_trace, write_as_text};

const USAGE: &str = "usage: superpin read FILE\n\
    Prints what `itrace --binary` or `memtrace --binary` has written, compressed (-z) or not, as the text that they write without that option.\n";

/// Status of a failure of superpin's own.
const FAILED: i32 = 125;

/// Bytes that are read and written at a time.
const ROOM: usize = 1 << 16;

/// How a file begins that zstd has compressed.
const COMPRESSED: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The whole command, without its name. Returns the exit status.
pub fn run(arguments: &[OsString]) -> i32 {
    let file = match arguments {
        [one] if ["-h", "-help", "--help"].contains(&&*one.to_string_lossy()) => {
            print!("{USAGE}");
            return 0;
        }
        [file] => Path::new(file),
        _ => return failed(USAGE),
    };
    match print(file) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => failed(&format!("{}: {error}", file.display())),
        Ok(()) => 0,
    }
}

fn failed(why: &str) -> i32 {
    // Nobody is left to be told of an error here.
    let _ = writeln!(io::stderr(), "superpin: read: {}", why.trim_end());
    FAILED
}

fn print(file: &Path) -> io::Result<()> {
    let mut file = BufReader::with_capacity(ROOM, File::open(file)?);
    let mut out = BufWriter::with_capacity(ROOM, io::stdout().lock());
    if file.fill_buf()?.starts_with(&COMPRESSED) {
        write_as_text(&mut BufReader::with_capacity(ROOM, Pieces::new(file)?), &mut out)?;
    } else {
        check_end(&mut file)?;
        write_as_text(&mut file, &mut out)?;
    }
    out.flush()
}

/// Looks at the last word before anything is printed: any other file would make lines, too.
fn check_end(file: &mut BufReader<File>) -> io::Result<()> {
    let metadata = file.get_ref().metadata()?;
    if !metadata.is_file() {
        return Ok(());
    }
    let len = metadata.len();
    let mut last = [0; 8];
    let is_whole = len >= 8 && len.is_multiple_of(8) && file.get_ref().read_exact_at(&mut last, len - 8).is_ok();
    if is_whole && is_end_of_trace(last) {
        Ok(())
    } else {
        Err(io::Error::other("this isn't a whole trace that --binary writes"))
    }
}

/// What is compressed in pieces, one after the other.
struct Pieces {
    /// The one that is read, with the file; `None` behind the last.
    piece: Option<StreamingDecoder<BufReader<File>, FrameDecoder>>,
}

impl Pieces {
    fn new(file: BufReader<File>) -> io::Result<Self> {
        Ok(Self { piece: Some(StreamingDecoder::new(file).map_err(damaged)?) })
    }
}

fn damaged(error: impl Display) -> io::Error {
    io::Error::other(format!(
        "this isn't a whole trace that --binary and -z write: what is compressed ends too early, or was changed ({error})"
    ))
}

impl Read for Pieces {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(piece) = &mut self.piece {
            let count = piece.read(buf).map_err(damaged)?;
            if count != 0 || buf.is_empty() {
                return Ok(count);
            }
            let mut file = self.piece.take().expect("it was there").into_inner();
            if !file.fill_buf()?.is_empty() {
                *self = Self::new(file)?;
            }
        }
        Ok(0)
    }
}
