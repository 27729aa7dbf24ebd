//! The app's code, as `-dump-trace` shows it, and the names of what is there.

use std::collections::BTreeMap;
use std::fs;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// What is known of the app's code.
#[derive(Default)]
pub struct Code {
    /// Instructions of each trace that was written out.
    traces: Vec<BTreeMap<u64, String>>,
    /// Files, and what is to be subtracted from an address to get the file's own.
    images: Vec<Image>,
}

struct Image {
    path: String,
    bytes: Vec<u8>,
    bias: u64,
}

impl Code {
    /// Adds what `-dump-trace` has written.
    pub fn add(&mut self, dumped: &str) {
        let mut in_trace = false;
        for line in dumped.lines() {
            if line.contains(" trace of 0x") && !line.starts_with(' ') {
                self.traces.push(BTreeMap::new());
                in_trace = true;
            } else if !line.starts_with("   ") {
                in_trace = false;
            } else if let (true, Some((pc, text))) = (in_trace, instruction(line)) {
                self.traces.last_mut().expect("a trace has begun").insert(pc, text.to_owned());
            } else if let (true, Some((pc, path, offset))) = (in_trace, place(line)) {
                self.add_image(pc, path, offset);
            }
        }
    }

    fn add_image(&mut self, pc: u64, path: &str, offset: u64) {
        let Ok(bytes) = fs::read(path) else { return };
        let Ok(file) = object::File::parse(bytes.as_slice()) else { return };
        let address = file.segments().find_map(|segment| {
            let (start, size) = segment.file_range();
            (start..start + size).contains(&offset).then(|| segment.address() + (offset - start))
        });
        let Some(bias) = address.map(|address| pc.wrapping_sub(address)) else { return };
        if self.images.iter().all(|image| (image.path.as_str(), image.bias) != (path, bias)) {
            self.images.push(Image { path: path.to_owned(), bytes, bias });
        }
    }

    /// The block that ends with the instruction at `last`, and doesn't begin before `start`.
    pub fn block_to(&self, start: u64, last: u64) -> Vec<(u64, &str)> {
        let block = |trace| {
            let before: Vec<_> = within(trace, start, last + 1).rev().collect();
            let len = before.iter().skip(1).position(|(_, text)| leaves(text)).map_or(before.len(), |n| n + 1);
            before[..len].iter().rev().copied().collect::<Vec<_>>()
        };
        let traces = self.traces.iter().filter(|trace| trace.contains_key(&last));
        traces.map(block).max_by_key(Vec::len).unwrap_or_default()
    }

    /// The block that begins with the instruction at `start`.
    pub fn block_from(&self, start: u64) -> Vec<(u64, &str)> {
        let block = |trace| {
            let after: Vec<_> = within(trace, start, u64::MAX).collect();
            let len = after.iter().position(|(_, text)| leaves(text)).map_or(after.len(), |n| n + 1);
            after[..len].to_vec()
        };
        let traces = self.traces.iter().filter(|trace| trace.contains_key(&start));
        traces.map(block).max_by_key(Vec::len).unwrap_or_default()
    }

    /// The function and the image at an address, as far as they are known.
    pub fn name(&self, pc: u64) -> String {
        self.images.iter().find_map(|image| image.name(pc)).unwrap_or_default()
    }
}

fn within(trace: &BTreeMap<u64, String>, from: u64, to: u64) -> impl DoubleEndedIterator<Item = (u64, &str)> {
    trace.range(from..to).map(|(pc, text)| (*pc, text.as_str()))
}

/// A line with an instruction of the app: those of emitted code are indented further.
fn instruction(line: &str) -> Option<(u64, &str)> {
    let (pc, text) = line.strip_prefix("   0x")?.split_once("  ")?;
    Some((u64::from_str_radix(pc, 16).ok()?, text))
}

/// The line that says where in which file the trace's first instruction is.
fn place(line: &str) -> Option<(u64, &str, u64)> {
    let (pc, rest) = line.strip_prefix("   the code at 0x")?.split_once(" is ")?;
    let (path, offset) = rest.rsplit_once("+0x")?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(pc)?, path, number(offset)?))
}

/// Whether an instruction is a block's last one.
fn leaves(text: &str) -> bool {
    let words = ["j", "call", "ret", "loop", "syscall"];
    // Behind prefixes, as in `bnd jmp`.
    text.split_whitespace().take(2).any(|word| words.iter().any(|start| word.starts_with(start)))
}

impl Image {
    fn name(&self, pc: u64) -> Option<String> {
        let address = pc.wrapping_sub(self.bias);
        let file = object::File::parse(self.bytes.as_slice()).ok()?;
        file.segments().find(|segment| (segment.address()..segment.address() + segment.size()).contains(&address))?;
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let covers = |symbol: &object::Symbol<'_, '_>| {
            let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown) && symbol.is_definition();
            // Those of assembler may have no size.
            is_code && symbol.address() <= address && (symbol.size() == 0 || address < symbol.address() + symbol.size())
        };
        let nearest = symbols.filter(covers).max_by_key(|symbol| (symbol.address(), symbol.size()));
        let named = nearest.and_then(|symbol| Some((symbol.name().ok()?.to_owned(), address - symbol.address())));
        let path = &self.path;
        Some(match named {
            Some((name, offset)) => format!("{:#}+{offset:#x} in {path}", rustc_demangle::demangle(&name)),
            None => format!("{address:#x} in {path}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMPED: &str = "\
app's own text
0.029693 slice:0 trace of 0x1000 to 0x100b: 4 instructions in 2 blocks, in the own cache at 0x5000, 90 bytes, 0 in stubs, 0 exits
   0x1000  test %edi,%edi
           call of routine 0x5554e0149a00 anywhere in its block
      0x55551000f5f0  lea 9(%r11),%r11
   0x1002  jne 0x2000
   0x1004  push %rax
   0x1005  call *0x7FFFF7FF33C8
   the code at 0x1000 is memory without a file
Total Count: 9
   0x3000  no instruction
";

    #[test]
    fn blocks_are_found_in_what_was_dumped() {
        let mut code = Code::default();
        code.add(DUMPED);
        let pcs = |block: Vec<(u64, &str)>| block.into_iter().map(|(pc, _)| pc).collect::<Vec<_>>();
        assert_eq!(pcs(code.block_to(0x1000, 0x1002)), [0x1000, 0x1002]);
        assert_eq!(pcs(code.block_to(0x1000, 0x1005)), [0x1004, 0x1005]);
        assert_eq!(pcs(code.block_to(0x1005, 0x1005)), [0x1005]);
        assert_eq!(pcs(code.block_from(0x1000)), [0x1000, 0x1002]);
        assert_eq!(code.block_from(0x1004), [(0x1004, "push %rax"), (0x1005, "call *0x7FFFF7FF33C8")]);
        assert_eq!((pcs(code.block_from(0x3000)), code.name(0x1000)), (Vec::new(), String::new()));
    }

    #[test]
    fn a_place_in_a_file_is_read() {
        assert_eq!(place("   the code at 0x1000 is /a b+c+0x20"), Some((0x1000, "/a b+c", 0x20)));
        assert_eq!(place("   the code at 0x1000 is memory without a file"), None);
    }
}
