//! What the collector has read of ELF files, for all processes of a run: names, sections, symbols.
//!
//! ```text
//!   MODULES + 0     Modules: how many there are, and where each is
//!                   one after the other: strings, sections, symbols, ranges, then the Module that names them
//! ```
//!
//! Only the collector's reader writes, and only behind what is there. A module is published by the word of the place that it belongs to
//! ([`crate::app_images::Place::module`]). Addresses are those in the file: an image's *bias* is to be added.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::code_files::FileRegion;
use crate::map::MODULES;

/// Modules at most.
pub const MAX_MODULES: usize = 4096;

/// Elements in MODULES: offset of the first, and how many.
#[repr(C)]
#[derive(Debug)]
pub struct Span<T> {
    at: u32,
    len: u32,
    of: PhantomData<T>,
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<T> {}

impl<T> Default for Span<T> {
    fn default() -> Self {
        Self { at: 0, len: 0, of: PhantomData }
    }
}

/// What may lie in MODULES: plain numbers, of which any are valid.
///
/// # Safety
/// Any bytes are a value, and there is no padding in it.
pub unsafe trait Plain: Copy {}

// SAFETY: bytes.
unsafe impl Plain for u8 {}
// SAFETY: integers without padding.
unsafe impl Plain for Segment {}
// SAFETY: as above.
unsafe impl Plain for Section {}
// SAFETY: as above.
unsafe impl Plain for Symbol {}
// SAFETY: as above.
unsafe impl Plain for CodeRange {}

/// A part of the file that is mapped (`PT_LOAD`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Address.
    pub address: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Where in the file.
    pub offset: u64,
    /// `PF_R` …
    pub flags: u64,
}

/// A section.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Address; 0 if it isn't in memory.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Of [`section_flags`].
    pub flags: u64,
    /// Its name.
    pub name: Span<u8>,
    /// Index of the symbol to which its code belongs that has none; [`NO_SYMBOL`] if it has no code.
    pub symbol: u64,
}

/// Bits of [`Section::flags`], as in the file.
pub mod section_flags {
    /// The app may write to it.
    pub const WRITE: u64 = 1;
    /// It is in memory.
    pub const ALLOC: u64 = 2;
    /// It is code.
    pub const EXECUTE: u64 = 4;
}

/// In place of a symbol's index: there is none.
pub const NO_SYMBOL: u64 = u64::MAX;

/// A symbol of code or data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Address.
    pub address: u64,
    /// Bytes (at most 4 GiB); 0 if the file doesn't say.
    pub size: u32,
    /// What it names, one of [`origin`].
    pub origin: u32,
    /// Its name, as the linker has it.
    pub name: Span<u8>,
}

/// Where a symbol is from.
pub mod origin {
    /// A table of symbols: a function.
    pub const CODE: u32 = 0;
    /// A table of symbols: a variable.
    pub const DATA: u32 = 1;
    /// A stub by which the image calls others.
    pub const STUB: u32 = 2;
    /// There is none: code that has no name, called after its section.
    pub const SECTION: u32 = 3;
}

/// Code that belongs to one symbol.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CodeRange {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub size: u32,
    /// Index of the symbol.
    pub symbol: u32,
}

/// What a file has in it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Module {
    /// `PT_LOAD`s, by ascending address.
    pub segments: Span<Segment>,
    /// Sections that are in memory, in the file's order.
    pub sections: Span<Section>,
    /// Symbols with an address, by ascending address; of those at one address the first is the one to tell.
    pub symbols: Span<Symbol>,
    /// Code that has a symbol, by ascending address; they don't overlap.
    pub ranges: Span<CodeRange>,
    /// The build id.
    pub build_id: Span<u8>,
    /// Where symbols and lines are from, if not from the file itself: a path.
    pub debug_file: Span<u8>,
    /// The address at which the program starts; 0 of a library that is none.
    pub entry: u64,
}

/// The head of MODULES.
#[repr(C)]
pub struct Modules {
    count: AtomicU32,
    offsets: [AtomicU32; MAX_MODULES],
}

impl Modules {
    /// The head in a mapping of MODULES.
    ///
    /// # Safety
    /// MODULES is mapped at `start` for as long as this is used.
    pub unsafe fn at<'a>(start: *const u8) -> &'a Self {
        // SAFETY: zero bytes are one with nothing in it, and all words are atomic.
        unsafe { &*start.cast::<Self>() }
    }

    /// Module `number`, which has been published.
    pub fn get(&self, number: u32) -> Option<&Module> {
        let offset = self.offsets.get(number as usize)?.load(Ordering::Acquire);
        // SAFETY: a module was written there before the offset was; none is ever changed.
        (offset != 0).then(|| unsafe { &*self.base().add(offset as usize).cast::<Module>() })
    }

    /// The elements of a span of a module.
    pub fn slice<T: Plain>(&self, span: Span<T>) -> &[T] {
        let bytes = u64::from(span.len) * size_of::<T>() as u64;
        if span.len == 0 || u64::from(span.at) + bytes > MODULES.size {
            return &[];
        }
        // SAFETY: the writer has written these before the module was published, and none is ever changed.
        unsafe { std::slice::from_raw_parts(self.base().add(span.at as usize).cast::<T>(), span.len as usize) }
    }

    /// A name.
    pub fn text(&self, span: Span<u8>) -> &str {
        std::str::from_utf8(self.slice(span)).unwrap_or_default()
    }

    /// What is to be added to a module's addresses where a mapping shows a part of its code.
    pub fn bias(&self, module: &Module, region: &FileRegion) -> Option<u64> {
        const PAGE: u64 = 4096;
        const EXECUTE: u64 = 1;
        let mut segments = self.slice(module.segments).iter();
        let shown = |segment: &&Segment| {
            let start = segment.offset - segment.offset % PAGE;
            let end = (segment.offset + segment.file_size).next_multiple_of(PAGE);
            segment.flags & EXECUTE != 0 && (start..end).contains(&region.offset)
        };
        let segment = segments.rfind(shown)?;
        // An address and its offset are the same within a page.
        Some(region.start.wrapping_sub(segment.address.wrapping_add(region.offset.wrapping_sub(segment.offset))))
    }

    fn base(&self) -> *const u8 {
        (&raw const *self).cast()
    }
}

/// Writes modules. There is one writer in a run.
pub struct Writer {
    start: *mut u8,
    used: u64,
}

// SAFETY: the memory that it writes to is its own, whichever thread does it.
unsafe impl Send for Writer {}

/// There is no room for another module.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Writer {
    /// Writes to a mapping of MODULES in which nothing is yet.
    ///
    /// # Safety
    /// MODULES is mapped at `start` for writing for as long as this is used, and nobody else writes to it.
    pub unsafe fn new(start: *mut u8) -> Self {
        Self { start, used: (size_of::<Modules>() as u64).next_multiple_of(8) }
    }

    /// What was written so far.
    pub fn modules(&self) -> &Modules {
        // SAFETY: `new` was promised that it is mapped.
        unsafe { Modules::at(self.start) }
    }

    /// Writes elements.
    ///
    /// # Errors
    /// If there is no room.
    pub fn put<T: Plain>(&mut self, elements: &[T]) -> Result<Span<T>, Full> {
        let at = self.place(size_of_val(elements) as u64)?;
        // SAFETY: the room is this writer's own, and aligned.
        unsafe {
            let to = self.start.add(at as usize).cast::<T>();
            to.copy_from_nonoverlapping(elements.as_ptr(), elements.len());
        }
        Ok(Span { at, len: u32::try_from(elements.len()).map_err(|_| Full)?, of: PhantomData })
    }

    /// A part of what was put.
    pub fn part(whole: Span<u8>, start: u32, len: u32) -> Span<u8> {
        Span { at: whole.at + start, len, of: PhantomData }
    }

    /// Publishes a module and gives its number.
    ///
    /// # Errors
    /// If there is no room.
    pub fn publish(&mut self, module: Module) -> Result<u32, Full> {
        let at = self.place(size_of::<Module>() as u64)?;
        // SAFETY: as in `put`.
        unsafe { self.start.add(at as usize).cast::<Module>().write(module) };
        let modules = self.modules();
        let number = modules.count.load(Ordering::Relaxed);
        modules.offsets.get(number as usize).ok_or(Full)?.store(at, Ordering::Release);
        modules.count.store(number + 1, Ordering::Release);
        Ok(number)
    }

    fn place(&mut self, bytes: u64) -> Result<u32, Full> {
        let end = self.used.checked_add(bytes).filter(|end| *end <= MODULES.size).ok_or(Full)?;
        let at = self.used;
        self.used = end.next_multiple_of(8);
        Ok(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let memory = vec![0_u64; 1 << 16];
        // SAFETY: more than is written here.
        let mut writer = unsafe { Writer::new(memory.as_ptr().cast_mut().cast()) };
        let names = writer.put(b"mainother").unwrap();
        let symbols = [("main", 0), ("other", 4)].map(|(name, at)| Symbol {
            address: 7,
            size: 0,
            name: Writer::part(names, at, name.len() as u32),
            origin: origin::CODE,
        });
        let module = Module { symbols: writer.put(&symbols).unwrap(), entry: 9, ..Module::default() };
        assert_eq!((writer.publish(module), writer.publish(Module::default())), (Ok(0), Ok(1)));
        let modules = writer.modules();
        let read = modules.get(0).unwrap();
        let read: Vec<_> = modules.slice(read.symbols).iter().map(|symbol| modules.text(symbol.name)).collect();
        assert_eq!(read, ["main", "other"]);
        assert!(modules.get(2).is_none());
        assert_eq!(writer.place(MODULES.size), Err(Full));
    }
}
