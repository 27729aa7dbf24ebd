//! What a tool writes while the app runs.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use super::merge::Merge;

/// A stream of bytes in the order of execution: a part of [`crate::Tool::Local`], for a tool that says [`crate::Tool::STREAM`].
///
/// What slices append comes into the file of `-o FILE` in their order, behind it what [`crate::Tool::fini`] prints. So a sliced run writes the same bytes as a serial one, if
/// what is appended doesn't depend on where slices begin. There is no limit but the disk's: what slices have written waits in files without names beside the output, and memory
/// is a megabyte or so for each slice. A slice that is begun again leaves nothing there, nor does a run that fails, or is killed.
///
/// With `-z` the file is compressed (zstd), by the slices.
///
/// ```no_run
/// # use superpin_tool::Stream;
/// struct Local {
///     stream: Stream,
/// }
///
/// fn access(local: &mut Local, pc: u64, address: u64) {
///     writeln!(local.stream, "{pc:#x}: {address:#x}");
/// }
/// ```
///
/// To append takes a copy, and now and then a wait until there is room. A routine that does it isn't called from translated code, but leaves it: for many words take
/// [`crate::Instruction::buffer`], and append in [`crate::Tool::drain`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stream(());

/// What slices append is put together by itself: so for a tool that does nothing else, [`crate::auto_merge!`] is enough.
impl Merge for Stream {
    fn merge(&mut self, _: Self) {}
}

impl Stream {
    /// The slice's stream: there is one.
    pub const fn new() -> Self {
        Self(())
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// If the tool doesn't say [`crate::Tool::STREAM`].
    pub fn write(&mut self, bytes: &[u8]) {
        slice_runtime::stream::append(bytes);
    }

    /// What `write!` and `writeln!` call.
    ///
    /// # Panics
    /// As [`Self::write`], or if a value can't be formatted.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        struct Bytes;
        impl io::Write for Bytes {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                slice_runtime::stream::append(bytes);
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        io::Write::write_fmt(&mut Bytes, text).expect("values that can be formatted");
    }
}

/// A piece of a stream, compressed: pieces one after the other are a whole file of zstd's.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}
