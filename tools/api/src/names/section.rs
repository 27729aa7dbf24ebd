//! A section of an image.

use std::ops::Range;

use bubble::modules::{self, Modules, section_flags};

/// A section that is in memory (`.text`, `.data`, …).
#[derive(Clone, Copy)]
pub struct Section<'a> {
    modules: &'a Modules,
    section: &'a modules::Section,
    bias: u64,
}

impl<'a> Section<'a> {
    pub(super) fn new(modules: &'a Modules, section: &'a modules::Section, bias: u64) -> Self {
        Self { modules, section, bias }
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.modules.text(self.section.name)
    }

    /// Where it lies.
    pub fn range(&self) -> Range<u64> {
        let start = self.section.address.wrapping_add(self.bias);
        start..start.saturating_add(self.section.size)
    }

    /// Whether it holds code.
    pub fn is_executable(&self) -> bool {
        self.section.flags & section_flags::EXECUTE != 0
    }

    /// Whether the app may write to it.
    pub fn is_writable(&self) -> bool {
        self.section.flags & section_flags::WRITE != 0
    }
}
