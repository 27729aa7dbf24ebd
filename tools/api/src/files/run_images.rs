//! The images of a run, when it is over.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bubble::app_images::{AppImages, Place, module};
use bubble::modules::Modules;
use machine::AppPc;

use super::library::Library;
use super::lines::{Line, Lines};
use crate::code::{CodeAddress, CodeBlock, CodeInstruction};
use crate::names::{Image, Routine};

/// The images that a run has had, in the order in which each was first mapped to its place; also those that were unloaded.
///
/// What of them is known is what was known when a tool first asked for it: a file that was removed or replaced in the run, before anybody asked, has no names.
pub struct Images {
    source: Option<Source>,
    found: OnceCell<Vec<Found>>,
    lines: RefCell<HashMap<u32, Option<Lines>>>,
}

#[derive(Clone, Copy)]
struct Source {
    table: &'static AppImages,
    modules: &'static Modules,
    library: &'static Mutex<Library>,
}

/// An address that is asked about, and of which program it is, if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    address: AppPc,
    program: Option<u32>,
}

impl From<AppPc> for Asked {
    fn from(address: AppPc) -> Self {
        Self { address, program: None }
    }
}

impl From<CodeAddress> for Asked {
    fn from(at: CodeAddress) -> Self {
        Self { address: at.address, program: Some(at.program) }
    }
}

impl From<&CodeInstruction> for Asked {
    fn from(instruction: &CodeInstruction) -> Self {
        instruction.code_address().into()
    }
}

impl From<&CodeBlock<'_>> for Asked {
    fn from(block: &CodeBlock<'_>) -> Self {
        block.code_address().into()
    }
}

/// An image, and where it was mapped.
type Found = (Image<'static>, &'static Place);

impl Images {
    /// Of a run that had none.
    pub(crate) fn none() -> Self {
        Self { source: None, found: OnceCell::new(), lines: RefCell::default() }
    }

    /// What is in the run memory. `modules`: to where the library writes.
    pub(crate) fn new(table: &'static AppImages, modules: &'static Modules, library: &'static Mutex<Library>) -> Self {
        let source = Some(Source { table, modules, library });
        Self { source, found: OnceCell::new(), lines: RefCell::default() }
    }

    /// All of them.
    pub fn all(&self) -> Vec<Image<'_>> {
        let mut images = Vec::new();
        for (image, _) in self.found() {
            if !images.contains(image) {
                images.push(*image);
            }
        }
        images
    }

    /// The image that has had this address, code or data: of several that have, one after the other, the one that came to its place last. What [`Code`](crate::Code) tells says
    /// of which program it is ([`crate::CodeInstruction`], [`crate::CodeBlock`] and [`crate::CodeAddress`] can be asked about); of a bare [`AppPc`] it isn't known.
    pub fn at(&self, address: impl Into<Asked>) -> Option<Image<'_>> {
        self.with_place(address.into()).map(|(image, _)| image)
    }

    /// The routine to which the code at this address belongs. As to several images, see [`Self::at`].
    pub fn routine_at(&self, address: impl Into<Asked>) -> Option<Routine<'_>> {
        let asked = address.into();
        self.at(asked)?.routine_at(asked.address)
    }

    /// The source line that the instruction at this address was made from: of inlined code its own line, not that of the call. `None` if the image has no debug
    /// information for it. The first question for an image takes as long as it takes to read that.
    pub fn line_at(&self, address: impl Into<Asked>) -> Option<Line> {
        let asked = address.into();
        let (image, place) = self.with_place(asked)?;
        self.with_lines(place, |lines| lines.at(asked.address.0.wrapping_sub(image.bias())))?
    }

    /// All source lines that an image's code was made from, executed or not, each with the addresses of a part of its code, by address. Empty if the image has no debug information.
    pub fn lines_of(&self, image: Image<'_>) -> Vec<(Range<u64>, Line)> {
        let Some((image, place)) = self.found().iter().find(|(found, _)| *found == image) else { return Vec::new() };
        let (range, bias) = (image.range(), image.bias());
        let in_file = range.start.wrapping_sub(bias)..range.end.wrapping_sub(bias);
        let lines = self.with_lines(place, |lines| lines.all(in_file)).unwrap_or_default();
        let in_memory = |at: Range<u64>| at.start.wrapping_add(bias)..at.end.wrapping_add(bias);
        lines.into_iter().map(|(at, line)| (in_memory(at), line)).collect()
    }

    fn with_lines<R>(&self, place: &Place, work: impl FnOnce(&Lines) -> R) -> Option<R> {
        let library = self.library()?;
        let mut lines = self.lines.borrow_mut();
        let of_file = lines.entry(place.module()).or_insert_with(|| {
            let read = library.file(place)?;
            Lines::of([read.bytes].iter().chain(read.debug.as_ref().map(|debug| &debug.bytes)))
        });
        of_file.as_ref().map(work)
    }

    fn with_place(&self, asked: Asked) -> Option<Found> {
        let is_it = |(image, place): &&Found| {
            image.range().contains(&asked.address.0) && asked.program.is_none_or(|program| place.is_of(program))
        };
        self.found().iter().rev().find(is_it).copied()
    }

    /// All places that are of images. The run is over: there will be no more.
    fn found(&self) -> &[Found] {
        self.found.get_or_init(|| {
            let Some(Source { table, modules, .. }) = self.source else { return Vec::new() };
            let image = |place: &'static Place| {
                let module = modules.get(self.library()?.read(place).checked_sub(module::FIRST)?)?;
                let bias = modules.bias(module, &place.region)?;
                Some((Image::new(modules, module, place, bias), place))
            };
            table.places().iter().filter_map(image).collect()
        })
    }

    fn library(&self) -> Option<MutexGuard<'static, Library>> {
        self.source.map(|source| source.library.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
