//! What is in an ELF file.

use std::cmp::Reverse;

use bubble::modules::{Full, Module, NO_SYMBOL, Section, Segment, Span, Symbol, Writer, origin, section_flags};
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SectionIndex, SegmentFlags, SymbolKind,
};

use super::file::Elf;
use super::ranges::{Named, ranges};
use super::stubs::stubs;

/// A symbol before it is written.
struct Found {
    address: u64,
    size: u64,
    name: String,
    origin: u32,
    /// The less, the better to tell.
    rank: u8,
}

impl Found {
    /// What comes first of several at one address, see [`crate::Routine::name`].
    fn order(&self) -> impl Ord + use<'_> {
        let underscores = self.name.bytes().take_while(|byte| *byte == b'_').count();
        let is_code = self.origin != origin::DATA;
        (self.address, Reverse(is_code), self.size == 0, underscores, self.rank, self.name.len(), &self.name)
    }
}

/// A section before it is written.
struct InMemory {
    index: Option<SectionIndex>,
    address: u64,
    size: u64,
    flags: u64,
    name: String,
}

impl InMemory {
    fn is_code(&self) -> bool {
        self.flags & section_flags::EXECUTE != 0
    }
}

/// Writes down what is in a file whose symbols may be in another one. `debug_file`: that one's path.
///
/// # Errors
/// If there is no room.
pub fn write(
    own: &Elf<'static>,
    debug: Option<&Elf<'static>>,
    debug_file: &[u8],
    to: &mut Writer,
) -> Result<Module, Full> {
    let sections = sections(own);
    let mut symbols = symbols(own, debug, &sections);
    symbols.sort_by(|a, b| a.order().cmp(&b.order()));
    let function_at = |address: u64| {
        let first = &symbols[symbols.partition_point(|symbol| symbol.address < address)..];
        first.first().filter(|symbol| symbol.address == address).map(|symbol| symbol.name.clone())
    };
    let stubs = stubs(own, function_at);
    symbols.extend(stubs.into_iter().map(|stub| Found {
        address: stub.start,
        size: stub.size,
        name: stub.name,
        origin: origin::STUB,
        rank: 0,
    }));
    symbols.sort_by(|a, b| a.order().cmp(&b.order()));
    let ranges = ranges(&named(&symbols), &code_of(&sections));
    let mut in_memory = Vec::new();
    for section in &sections {
        let unnamed = section.is_code().then(|| {
            symbols.push(Found {
                address: section.address,
                size: section.size,
                name: section.name.clone(),
                origin: origin::SECTION,
                rank: 0,
            });
            symbols.len() as u64 - 1
        });
        in_memory.push(Section {
            address: section.address,
            size: section.size,
            flags: section.flags,
            name: to.put(section.name.as_bytes())?,
            symbol: unnamed.unwrap_or(NO_SYMBOL),
        });
    }
    let build_id = own.build_id().ok().flatten().unwrap_or_default();
    Ok(Module {
        segments: to.put(&segments(own))?,
        sections: to.put(&in_memory)?,
        symbols: put_symbols(&symbols, to)?,
        ranges: to.put(&ranges)?,
        build_id: to.put(build_id)?,
        debug_file: to.put(debug_file)?,
        entry: own.entry(),
    })
}

fn put_symbols(symbols: &[Found], to: &mut Writer) -> Result<Span<Symbol>, Full> {
    let names: String = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    let names = to.put(names.as_bytes())?;
    let mut at = 0;
    let written: Vec<Symbol> = symbols
        .iter()
        .map(|symbol| {
            let len = symbol.name.len() as u32;
            let name = Writer::part(names, at, len);
            at += len;
            let size = u32::try_from(symbol.size).unwrap_or(u32::MAX);
            Symbol { address: symbol.address, size, origin: symbol.origin, name }
        })
        .collect();
    to.put(&written)
}

fn segments(elf: &Elf<'static>) -> Vec<Segment> {
    let flags = |flags| match flags {
        SegmentFlags::Elf { p_flags, .. } => u64::from(p_flags.0),
        _ => 0,
    };
    let segments = elf.segments().map(|segment| {
        let (offset, file_size) = segment.file_range();
        Segment {
            address: segment.address(),
            file_size,
            memory_size: segment.size(),
            offset,
            flags: flags(segment.flags()),
        }
    });
    segments.collect()
}

/// Those that are in memory; of a file without sections its segments with code.
fn sections(elf: &Elf<'static>) -> Vec<InMemory> {
    let in_memory = elf.sections().filter_map(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
        let flags = sh_flags.0;
        let name = String::from_utf8_lossy(section.name_bytes().ok()?).into_owned();
        let (address, size) = (section.address(), section.size());
        (flags & section_flags::ALLOC != 0).then_some(InMemory {
            index: Some(section.index()),
            address,
            size,
            flags,
            name,
        })
    });
    let in_memory: Vec<_> = in_memory.collect();
    if !in_memory.is_empty() {
        return in_memory;
    }
    const EXECUTE: u64 = 1;
    let code = segments(elf).into_iter().filter(|segment| segment.flags & EXECUTE != 0);
    let of_segment = |Segment { address, file_size: size, .. }| InMemory {
        index: None,
        address,
        size,
        flags: section_flags::ALLOC | section_flags::EXECUTE,
        name: "LOAD".into(),
    };
    code.map(of_segment).collect()
}

fn code_of(sections: &[InMemory]) -> Vec<(u64, u64)> {
    let code = sections.iter().filter(|section| section.is_code());
    code.map(|section| (section.address, section.address.saturating_add(section.size))).collect()
}

/// Those of the table of symbols, here or in the debug file; if there is none, those for the dynamic linker.
fn symbols(own: &Elf<'static>, debug: Option<&Elf<'static>>, sections: &[InMemory]) -> Vec<Found> {
    for elf in std::iter::once(own).chain(debug) {
        let found: Vec<_> = elf.symbols().filter_map(|symbol| found(&symbol, sections)).collect();
        if found.iter().any(|symbol| symbol.origin == origin::CODE) {
            return found;
        }
    }
    own.dynamic_symbols().filter_map(|symbol| found(&symbol, sections)).collect()
}

fn found<'data>(symbol: &impl ObjectSymbol<'data>, sections: &[InMemory]) -> Option<Found> {
    if symbol.is_undefined() {
        return None;
    }
    let (address, size) = (symbol.address(), symbol.size());
    let lies_in = |section: &&InMemory| address.wrapping_sub(section.address) < section.size;
    let section = sections.iter().find(lies_in)?;
    let origin = match symbol.kind() {
        SymbolKind::Text => origin::CODE,
        // An assembler's label. One of the linker's at a section's end would lie in the next.
        SymbolKind::Unknown | SymbolKind::Label if section.is_code() => {
            let is_here = symbol.section_index().is_some_and(|index| section.index.is_none_or(|own| own == index));
            is_here.then_some(origin::CODE)?
        }
        SymbolKind::Data => origin::DATA,
        _ => return None,
    };
    let name = symbol.name_bytes().ok()?;
    // Behind it may stand a version.
    let name = name.split(|byte| *byte == b'@').next().filter(|name| !name.is_empty())?;
    let rank = match (symbol.is_local(), symbol.is_weak()) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    };
    Some(Found { address, size, name: String::from_utf8_lossy(name).into_owned(), origin, rank })
}

/// The first code symbol of each address, with a size if any of those there has one.
fn named(symbols: &[Found]) -> Vec<Named> {
    let mut named = Vec::<Named>::new();
    for (index, symbol) in symbols.iter().enumerate().filter(|(_, symbol)| symbol.origin != origin::DATA) {
        if named.last().is_none_or(|last| last.start != symbol.address) {
            named.push(Named { start: symbol.address, size: symbol.size, symbol: index as u32 });
        }
    }
    named
}
