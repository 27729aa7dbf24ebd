//! The names of instructions.

use std::sync::OnceLock;

use iced_x86::Mnemonic;

/// More than there are mnemonics.
pub const MNEMONICS: usize = 2048;

/// All mnemonics in lower case, as a manual spells them. The numbers are the same in all processes of a program.
pub fn mnemonics() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        // One leaked string holds all names: they live as long as the program.
        let mut all = String::new();
        let mut ends = Vec::new();
        for mnemonic in Mnemonic::values() {
            all.push_str(&format!("{mnemonic:?}").to_ascii_lowercase());
            ends.push(all.len());
        }
        let all: &'static str = all.leak();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| &all[start..end]).collect()
    })
}
