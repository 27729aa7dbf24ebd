//! Where code is from, by names that people know.

use std::collections::HashMap;
use std::path::Path;

use superpin_tool::{CodeAddress, Images};

/// Where an instruction is from. What isn't known has question marks, as valgrind writes them.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the image.
    pub image: String,
    /// The address as the image's file has it, which disassemblers read; that in memory if it is of none.
    pub address: u64,
    /// Name of the routine, as it stands in the source.
    pub routine: String,
    line: Option<(String, u32)>,
}

impl Place {
    /// Source file and line; line 0 if they aren't known.
    pub fn line(&self) -> (&str, u32) {
        self.line.as_ref().map_or(("???", 0), |(file, line)| (file, *line))
    }
}

/// Looks places up.
pub struct Places<'a> {
    images: &'a Images,
    /// Names as people write them, by those that linkers have.
    known: HashMap<&'a str, String>,
}

impl<'a> Places<'a> {
    /// Among these images.
    pub fn new(images: &'a Images) -> Self {
        Self { images, known: HashMap::new() }
    }

    /// That of an address.
    pub fn of(&mut self, at: CodeAddress) -> Place {
        let (images, address) = (self.images, at.address);
        let of = images.at(at);
        let bias = of.map_or(0, |image| image.bias());
        let image = of.map_or("???".into(), |image| image.path().display().to_string());
        let routine = images.routine_at(at).map_or("???".into(), |routine| {
            self.known.entry(routine.name()).or_insert_with(|| routine.demangled()).clone()
        });
        let line = images.line_at(at).map(|line| (line.file, line.line));
        Place { image, address: address.0.wrapping_sub(bias), routine, line }
    }
}

/// A file as it is printed: below the folder where superpin was started the rest of the path is enough.
pub fn shown(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    Path::new(file).strip_prefix(&here).map_or(file.to_owned(), |rest| rest.display().to_string())
}
