//! Names of the stubs by which an image calls functions of others (its PLT): that of the function, with `@plt` behind it.
//!
//! A stub jumps through a word that the dynamic linker fills in by a relocation, which names the function.

use std::collections::HashMap;

use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, R_X86_64_JUMP_SLOT};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget};

use super::file::Elf;

/// `jmp *disp(%rip)`, and its bytes.
const JUMP: [u8; 2] = [0xff, 0x25];
const JUMP_LEN: usize = 6;
/// `push $n`, by which a stub that wasn't bound yet tells which relocation it needs.
const PUSH: u8 = 0x68;

/// A stub.
pub struct Stub {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// `malloc@plt`.
    pub name: String,
}

/// All stubs of a file. `function_at` names a function by its address: where a library's own functions choose between variants, only that is told.
pub fn stubs(elf: &Elf<'static>, function_at: impl Fn(u64) -> Option<String>) -> Vec<Stub> {
    let targets = Targets::of(elf, function_at);
    let mut stubs = Vec::new();
    for section in elf.sections() {
        let (Ok(name), Ok(code)) = (section.name(), section.data()) else { continue };
        let entry = match name {
            ".plt" | ".plt.sec" | ".iplt" => 16,
            ".plt.got" => entry_of_plt_got(code),
            _ => continue,
        };
        for (index, stub) in code.chunks(entry).enumerate() {
            let start = section.address() + (index * entry) as u64;
            if let Some(function) = targets.of_stub(start, stub) {
                stubs.push(Stub { start, size: stub.len() as u64, name: format!("{function}@plt") });
            }
        }
    }
    stubs
}

/// They are longer where they begin with `endbr64`.
fn entry_of_plt_got(code: &[u8]) -> usize {
    if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 16 } else { 8 }
}

struct Targets {
    /// By the address of the word.
    by_word: HashMap<u64, String>,
    /// By the number of the relocation.
    by_number: Vec<String>,
}

impl Targets {
    fn of(elf: &Elf<'static>, function_at: impl Fn(u64) -> Option<String>) -> Self {
        let mut targets = Self { by_word: HashMap::new(), by_number: Vec::new() };
        let symbols = elf.dynamic_symbol_table();
        for (word, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type, .. } = relocation.flags() else { continue };
            let name = match (r_type, relocation.target()) {
                (R_X86_64_JUMP_SLOT | R_X86_64_GLOB_DAT, RelocationTarget::Symbol(index)) => {
                    let symbol = symbols.as_ref().and_then(|symbols| symbols.symbol_by_index(index).ok());
                    symbol.and_then(|symbol| symbol.name().ok().map(str::to_owned))
                }
                (R_X86_64_IRELATIVE, _) => function_at(relocation.addend() as u64),
                _ => continue,
            };
            let name = name.unwrap_or_default();
            if r_type == R_X86_64_JUMP_SLOT {
                targets.by_number.push(name.clone());
            }
            targets.by_word.insert(word, name);
        }
        targets.add_own(elf, function_at);
        targets
    }

    /// A static program has relocations of one kind only, of no table of symbols.
    fn add_own(&mut self, elf: &Elf<'static>, function_at: impl Fn(u64) -> Option<String>) {
        let Some(bytes) = elf.section_by_name(".rela.plt").and_then(|section| section.data().ok()) else { return };
        for relocation in bytes.as_chunks::<24>().0 {
            let [word, info, addend] =
                [0, 8, 16].map(|at| u64::from_le_bytes(relocation[at..at + 8].try_into().expect("eight bytes")));
            if info as u32 == R_X86_64_IRELATIVE.0
                && let Some(name) = function_at(addend)
            {
                self.by_word.entry(word).or_insert(name);
            }
        }
    }

    fn of_stub(&self, start: u64, stub: &[u8]) -> Option<&str> {
        let jump = stub.windows(JUMP_LEN).position(|code| code.starts_with(&JUMP));
        let by_word = jump.and_then(|at| {
            let distance = i32::from_le_bytes(stub[at + 2..at + JUMP_LEN].try_into().ok()?);
            self.by_word.get(&start.wrapping_add((at + JUMP_LEN) as u64).wrapping_add_signed(distance.into()))
        });
        let by_number = || {
            // Behind `endbr64`, if there is one.
            let code = stub.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(stub);
            let number = code.strip_prefix(&[PUSH])?.first_chunk::<4>()?;
            self.by_number.get(u32::from_le_bytes(*number) as usize)
        };
        by_word.or_else(by_number).map(String::as_str).filter(|name| !name.is_empty())
    }
}
