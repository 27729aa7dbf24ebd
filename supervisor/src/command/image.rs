//! The tool image's file: a static-PIE ELF that is both a program and what slices are taken over with.

use std::fs::File;
use std::path::{Path, PathBuf};

use machine::PAGE;
use object::LittleEndian;
use object::elf::{ET_DYN, FileHeader64, PF_R, PF_W, PF_X, PT_INTERP, PT_LOAD, ProgramHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

use crate::base::{Doing, Failure};

/// The section by which a tool image can be told from any other program.
const MARK: &str = ".superpin";

/// One part of the file to be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSegment {
    /// Address relative to the image's base, rounded down to a page.
    pub start: u64,
    /// Bytes that come from the file, whole pages.
    pub file_len: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Where the file's bytes really end: from there to `end` is zero.
    pub zero_from: u64,
    /// End of the segment in memory, whole pages.
    pub end: u64,
    /// Protection for mmap.
    pub protection: i32,
}

/// The image that this program is.
pub struct ToolImage {
    /// The open file.
    pub file: File,
    /// What to map.
    pub segments: Vec<ImageSegment>,
    /// Entry point relative to the base.
    pub entry: u64,
    /// Program headers relative to the base, their size and number, as the auxiliary vector tells them.
    pub headers: (u64, u64, u64),
}

impl ToolImage {
    /// Where its data lie, relative to the base: first address and the first behind. `None` if other segments lie between.
    pub fn data(&self) -> Option<[u64; 2]> {
        let is_data = |segment: &&ImageSegment| segment.protection & libc::PROT_WRITE != 0;
        let [start, end] = [self.segments.iter().find(is_data)?.start, self.segments.iter().rfind(is_data)?.end];
        self.segments.iter().filter(|s| s.start < end && s.end > start).all(|s| is_data(&s)).then_some([start, end])
    }

    /// The image of this process.
    ///
    /// # Errors
    /// If this program isn't static-PIE: it was linked with other flags than the project's.
    pub fn own() -> Result<Self, Failure> {
        let path = Path::new("/proc/self/exe");
        let file = File::open(path).doing("open the tool image")?;
        let (segments, entry, headers) = {
            let data = ReadCache::new(&file);
            let (header, parts) =
                parse(&data).map_err(|why| Failure::Tool(format!("this program can't be injected: {why}")))?;
            let le = LittleEndian;
            let loads = parts.iter().filter(|p| p.p_type(le) == PT_LOAD);
            let headers = (header.e_phoff(le), header.e_phentsize(le).into(), header.e_phnum(le).into());
            (loads.map(segment).collect(), header.e_entry(le), headers)
        };
        Ok(Self { file, segments, entry, headers })
    }
}

/// Turns what `-t` names into a program to go on with, if it isn't a tool of this image.
///
/// # Errors
/// If the file isn't there or isn't a tool image; says which.
pub fn probe(path: &str) -> Result<PathBuf, Failure> {
    let not = |why: String| Failure::Tool(format!("{path}: {why}"));
    let file = File::open(path).map_err(|error| not(format!("cannot read the tool image ({error})")))?;
    let data = ReadCache::new(file);
    let (header, _) = parse(&data).map_err(|why| not(format!("is not a tool image: {why}")))?;
    let sections =
        header.sections(LittleEndian, &data).map_err(|error| not(format!("is not a tool image: {error}")))?;
    if sections.section_by_name(LittleEndian, MARK.as_bytes()).is_none() {
        return Err(not("is not a tool image: it was not made with `superpin_tool::image!`".into()));
    }
    Path::new(path).canonicalize().map_err(|error| not(error.to_string()))
}

/// Whether a file is a tool image.
pub fn is_image(path: &Path) -> bool {
    path.to_str().is_some_and(|path| probe(path).is_ok())
}

type Header = FileHeader64<LittleEndian>;
type Part = ProgramHeader64<LittleEndian>;

/// The headers of a program that can be injected. Only they are read: with its lines' table an image is large.
fn parse<R: std::io::Read + std::io::Seek>(data: &ReadCache<R>) -> Result<(&Header, &[Part]), String> {
    let le = LittleEndian;
    let not = |_| "it is not a 64-bit ELF program".to_owned();
    let header = Header::parse(data).map_err(not)?;
    header.endian().map_err(not)?;
    if header.e_machine(le) != object::elf::EM_X86_64 {
        return Err("it is a program for another processor".into());
    }
    let parts = header.program_headers(le, data).map_err(not)?;
    let interpreted = parts.iter().any(|p| p.p_type(le) == PT_INTERP);
    if header.e_type(le) != ET_DYN || interpreted {
        return Err(
            "it is not static-PIE (build it with `-C target-feature=+crt-static -C relocation-model=pie`)".into()
        );
    }
    Ok((header, parts))
}

fn segment(p: &Part) -> ImageSegment {
    let le = LittleEndian;
    let address = p.p_vaddr(le);
    let start = address & !(PAGE - 1);
    let file_end = address + p.p_filesz(le);
    let flags = p.p_flags(le);
    let protection = [(PF_R, libc::PROT_READ), (PF_W, libc::PROT_WRITE), (PF_X, libc::PROT_EXEC)];
    ImageSegment {
        start,
        file_len: file_end.next_multiple_of(PAGE) - start,
        offset: p.p_offset(le) & !(PAGE - 1),
        zero_from: file_end,
        end: (address + p.p_memsz(le)).next_multiple_of(PAGE),
        protection: protection.iter().filter(|(flag, _)| flags.0 & flag.0 != 0).map(|(_, p)| p).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_static_pie() {
        // The workspace builds every program, test programs included, as tool images are built.
        let image = ToolImage::own().unwrap();
        assert!(image.segments.iter().any(|s| s.protection == libc::PROT_READ | libc::PROT_EXEC));
        assert!(image.segments.windows(2).all(|w| w[0].end <= w[1].start));
        let code = image.segments.iter().find(|s| (s.start..s.end).contains(&image.entry)).unwrap();
        assert!(code.protection & libc::PROT_EXEC != 0);
        let [start, end] = image.data().unwrap();
        let writable = image.segments.iter().filter(|s| s.protection & libc::PROT_WRITE != 0);
        assert!(writable.clone().count() > 0 && writable.clone().all(|s| s.start >= start && s.end <= end));
    }

    #[test]
    fn other_files_are_told_apart() {
        assert!(probe("/nonexistent").unwrap_err().to_string().contains("cannot read"));
        assert!(probe("/etc/passwd").unwrap_err().to_string().contains("not a tool image"));
        assert!(probe("/bin/sh").unwrap_err().to_string().contains("static-PIE"));
        assert!(probe("/proc/self/exe").unwrap_err().to_string().contains("image!"));
    }
}
