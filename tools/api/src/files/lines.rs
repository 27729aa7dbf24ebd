//! Source lines.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use addr2line::{Context, Location};
use gimli::{EndianSlice, LittleEndian, SectionId};
use object::read::{CompressionFormat, Object, ObjectSection};

use super::file::Elf;

/// Where in a source file an instruction is from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The source file, as the compiler was told.
    pub file: String,
    /// The line, from 1 on; 0 if the compiler has made the instruction for no line.
    pub line: u32,
    /// The column, from 1 on; 0 if it isn't known.
    pub column: u32,
}

impl fmt::Display for Line {
    /// `file.c:17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

type Reader = EndianSlice<'static, LittleEndian>;

/// The lines of one file.
pub struct Lines(Context<Reader>);

impl Lines {
    /// Those in the first of these files that has any.
    pub fn of<'b>(files: impl IntoIterator<Item = &'b &'static [u8]>) -> Option<Self> {
        files.into_iter().find_map(|bytes| {
            let elf = Elf::parse(*bytes).ok()?;
            elf.section_by_name(".debug_info")?;
            let section = |id: SectionId| -> Result<Reader, gimli::Error> {
                Ok(EndianSlice::new(contents(&elf, id.name()), LittleEndian))
            };
            let dwarf = gimli::Dwarf::load(section).ok()?;
            Context::from_arc_dwarf(Arc::new(dwarf)).ok().map(Self)
        })
    }

    /// That of an address in the file.
    pub fn at(&self, address: u64) -> Option<Line> {
        line(&self.0.find_location(address).ok()??)
    }

    /// All in a range of addresses in the file, each with the addresses of its code, by address.
    pub fn all(&self, range: Range<u64>) -> Vec<(Range<u64>, Line)> {
        let Ok(found) = self.0.find_location_range(range.start, range.end) else { return Vec::new() };
        found.filter_map(|(start, len, location)| Some((start..start + len, line(&location)?))).collect()
    }
}

fn line(location: &Location<'_>) -> Option<Line> {
    let file = location.file?.to_owned();
    Some(Line { file, line: location.line.unwrap_or(0), column: location.column.unwrap_or(0) })
}

/// A section's bytes: nothing where it isn't there, or compressed in a way that isn't known.
fn contents(elf: &Elf<'static>, name: &str) -> &'static [u8] {
    let bytes = || {
        let section = elf.section_by_name(name)?;
        let compressed = section.compressed_data().ok()?;
        match compressed.format {
            CompressionFormat::None => Some(Cow::Borrowed(compressed.data)),
            CompressionFormat::Zlib => {
                let limit = usize::try_from(compressed.uncompressed_size).ok()?;
                miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(compressed.data, limit).ok().map(Cow::Owned)
            }
            _ => None,
        }
    };
    match bytes().unwrap_or_default() {
        Cow::Borrowed(bytes) => bytes,
        // Wanted to the end.
        Cow::Owned(bytes) => Vec::leak(bytes),
    }
}
