//! A variable of the app's.

use std::ops::Range;

use bubble::modules::{Symbol, origin};
use machine::AppPc;

use super::demangle::demangle;
use super::image::Image;

/// A variable of an image: what a symbol of its data names.
#[derive(Clone, Copy)]
pub struct Variable<'a> {
    image: Image<'a>,
    symbol: &'a Symbol,
}

impl<'a> Image<'a> {
    /// The variable that has an address. `None` if no symbol with a size names it: files that were stripped have names of exported ones only.
    pub fn variable_at(&self, address: AppPc) -> Option<Variable<'a>> {
        let at = address.0.wrapping_sub(self.bias);
        // Those of sections stand behind the others.
        let symbols = self.symbols();
        let symbols = &symbols[..symbols.partition_point(|symbol| symbol.origin != origin::SECTION)];
        let behind = symbols.partition_point(|symbol| symbol.address <= at);
        let is_sized = |symbol: &&Symbol| symbol.origin == origin::DATA && symbol.size != 0;
        // They don't lie in each other: the nearest one decides. Between a large one and an address in it there are a few names without a size at most.
        const NEAR: usize = 256;
        let nearest = symbols[..behind].iter().rev().take(NEAR).find(is_sized)?;
        let has_it = |symbol: &&Symbol| is_sized(symbol) && at - symbol.address < u64::from(symbol.size);
        let start = Some(nearest).filter(has_it)?.address;
        // Of several names the first is the one to tell.
        let named = symbols[symbols.partition_point(|symbol| symbol.address < start)..].iter().find(has_it)?;
        Some(Variable { image: *self, symbol: named })
    }
}

impl<'a> Variable<'a> {
    /// Its name as the linker has it.
    pub fn name(&self) -> &'a str {
        self.image.modules.text(self.symbol.name)
    }

    /// The name as C++ or Rust writes it.
    pub fn demangled(&self) -> String {
        demangle(self.name())
    }

    /// Its bytes in memory.
    pub fn range(&self) -> Range<u64> {
        let start = self.symbol.address.wrapping_add(self.image.bias);
        start..start + u64::from(self.symbol.size)
    }

    /// The image that it is of.
    pub fn image(&self) -> Image<'a> {
        self.image
    }
}
