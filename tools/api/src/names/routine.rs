//! A routine of the app's.

use std::fmt;
use std::ops::Range;

use bubble::modules::{CodeRange, Symbol, origin};
use machine::AppPc;

use super::demangle::demangle;
use super::image::Image;
use super::section::Section;

/// What a routine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutineKind {
    /// A function, or code that an assembler's label names.
    Function,
    /// A stub by which an image calls a function of another one.
    Stub,
    /// Code that no symbol names: all such code of one section is one routine, called after the section.
    Unnamed,
}

/// A function of an image (Pin's RTN).
#[derive(Clone, Copy)]
pub struct Routine<'a> {
    image: Image<'a>,
    symbol: &'a Symbol,
}

impl<'a> Image<'a> {
    /// Its routines, by address, those that have no symbol last; where several names have one address, the one that [`Routine::name`] tells.
    pub fn routines(&self) -> impl Iterator<Item = Routine<'a>> + use<'a> {
        let image = *self;
        let mut last = None;
        self.symbols().iter().filter(|symbol| symbol.origin != origin::DATA).filter_map(move |symbol| {
            let is_first = last.replace(symbol.address) != Some(symbol.address) || symbol.origin == origin::SECTION;
            is_first.then(|| Routine::new(image, symbol))
        })
    }

    /// The routine with this name, any of those that it has ([`Routine::name`] may tell another). All names are compared: ask once, not for each instruction.
    pub fn routine(&self, name: &str) -> Option<Routine<'a>> {
        let is_it = |symbol: &&Symbol| symbol.origin != origin::DATA && self.modules.text(symbol.name) == name;
        self.symbols().iter().find(is_it).map(|symbol| Routine::new(*self, symbol))
    }

    /// The routine to which the code at an address belongs. `None` if the image has no code there.
    pub fn routine_at(&self, address: AppPc) -> Option<Routine<'a>> {
        let at = address.0.wrapping_sub(self.bias);
        let ranges = self.modules.slice(self.module.ranges);
        let next = ranges.partition_point(|range| range.start <= at);
        let has_it = |range: &&CodeRange| at - range.start < u64::from(range.size);
        let range = next.checked_sub(1).map(|last| &ranges[last]).filter(has_it);
        let index = match range {
            Some(range) => u64::from(range.symbol),
            None => {
                let mut sections = self.modules.slice(self.module.sections).iter();
                sections.find(|section| at.wrapping_sub(section.address) < section.size)?.symbol
            }
        };
        self.symbols().get(usize::try_from(index).ok()?).map(|symbol| Routine::new(*self, symbol))
    }
}

impl<'a> Routine<'a> {
    fn new(image: Image<'a>, symbol: &'a Symbol) -> Self {
        Self { image, symbol }
    }

    /// Its name as the linker has it, without a version: `main`, `_ZN3foo3barEv`. A stub is called `malloc@plt`, code without a symbol `.text`.
    ///
    /// Where several names have one address it is one with a size before others, then the one with the fewest leading underscores, then a global before a weak
    /// before a local one, then the shortest.
    pub fn name(&self) -> &'a str {
        self.image.modules.text(self.symbol.name)
    }

    /// The name as C++ or Rust writes it: `foo::bar()`. What is mangled in no known way stays as it is. Takes some microseconds.
    pub fn demangled(&self) -> String {
        demangle(self.name())
    }

    /// Where it begins.
    pub fn address(&self) -> AppPc {
        AppPc(self.symbol.address.wrapping_add(self.image.bias))
    }

    /// Bytes, as its symbol says; 0 if that says nothing. For a routine of the kind [`RoutineKind::Unnamed`] those of the section.
    pub fn size(&self) -> u64 {
        self.symbol.size.into()
    }

    /// From its address on as many bytes as its size says.
    pub fn range(&self) -> Range<u64> {
        let start = self.address().0;
        start..start + self.size()
    }

    /// The image that it is of.
    pub fn image(&self) -> Image<'a> {
        self.image
    }

    /// The section in which it begins.
    pub fn section(&self) -> Option<Section<'a>> {
        self.image.section_at(self.address())
    }

    /// What it is.
    pub fn kind(&self) -> RoutineKind {
        match self.symbol.origin {
            origin::STUB => RoutineKind::Stub,
            origin::SECTION => RoutineKind::Unnamed,
            _ => RoutineKind::Function,
        }
    }
}

impl fmt::Debug for Routine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.name(), self.address())
    }
}

impl PartialEq for Routine<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.symbol, other.symbol) && self.image == other.image
    }
}
