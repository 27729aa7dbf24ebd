//! A program or a library.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bubble::app_images::Place;
use bubble::modules::{Module, Modules, Symbol};
use machine::AppPc;

use super::section::Section;

/// An ELF file that is mapped: the program, a library, the program's interpreter (Pin's IMG). There is none for the kernel's vDSO, which apps under superpin don't see.
#[derive(Clone, Copy)]
pub struct Image<'a> {
    pub(super) modules: &'a Modules,
    pub(super) bias: u64,
    pub(super) module: &'a Module,
    place: &'a Place,
}

impl<'a> Image<'a> {
    /// The image of a place, with its bias.
    pub(crate) fn new(modules: &'a Modules, module: &'a Module, place: &'a Place, bias: u64) -> Self {
        Self { modules, bias, module, place }
    }

    /// Its file. What was removed before it was mapped ends with ` (deleted)`.
    pub fn path(&self) -> &'a Path {
        self.place.path()
    }

    /// The file's name, without the directory; `memfd:NAME` of a file in memory that has no other.
    pub fn name(&self) -> &'a str {
        let name = self.path().file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.strip_suffix(" (deleted)").unwrap_or(name)
    }

    /// Whether it is the program itself.
    pub fn is_main(&self) -> bool {
        self.place.is_main()
    }

    /// What is to be added to an address in the file to get that in memory; 0 of a program that isn't position-independent.
    pub fn bias(&self) -> u64 {
        self.bias
    }

    /// From its first byte in memory to behind its last one: code and data.
    pub fn range(&self) -> Range<u64> {
        let segments = self.modules.slice(self.module.segments);
        let start = segments.iter().map(|segment| segment.address).min().unwrap_or(0);
        let end = segments.iter().map(|segment| segment.address.saturating_add(segment.memory_size)).max().unwrap_or(0);
        self.bias.wrapping_add(start)..self.bias.wrapping_add(end)
    }

    /// How far behind the image's first byte an address lies.
    pub fn offset(&self, address: AppPc) -> u64 {
        address.0.wrapping_sub(self.range().start)
    }

    /// Where it starts, if it can be started as a program.
    pub fn entry(&self) -> Option<AppPc> {
        (self.module.entry != 0).then(|| AppPc(self.module.entry.wrapping_add(self.bias)))
    }

    /// The build id that the linker gave it.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        Some(self.modules.slice(self.module.build_id)).filter(|id| !id.is_empty())
    }

    /// The file of debug information that belongs to it and isn't itself, if one was found.
    pub fn debug_file(&self) -> Option<&'a Path> {
        let path = self.modules.slice(self.module.debug_file);
        (!path.is_empty()).then(|| Path::new(OsStr::from_bytes(path)))
    }

    /// Its sections, as far as they are in memory, in the file's order.
    pub fn sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a> {
        let (modules, bias) = (self.modules, self.bias);
        modules.slice(self.module.sections).iter().map(move |section| Section::new(modules, section, bias))
    }

    /// The section in which an address lies.
    pub fn section_at(&self, address: AppPc) -> Option<Section<'a>> {
        self.sections().find(|section| section.range().contains(&address.0))
    }

    pub(super) fn symbols(&self) -> &'a [Symbol] {
        self.modules.slice(self.module.symbols)
    }
}

impl fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.path().display(), self.range().start)
    }
}

impl PartialEq for Image<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.module, other.module) && self.bias == other.bias
    }
}
