//! By what instructions are told apart.

use std::collections::HashMap;

use superpin_tool::json::Value;
use superpin_tool::{CodeInstruction, Images, Operand, OperandKind, ThreadPath, clap};

/// By what instructions can be told apart.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Mnemonic
    Mnemonic,
    /// Pin's category
    Class,
    /// CPUID feature
    Extension,
    /// Bits of the widest register or memory that it names
    Width,
    /// Bytes of its encoding
    Length,
    /// Program or library
    Image,
    /// Function
    Routine,
    /// Source line
    Line,
    /// Basic block: address of its first instruction. Blocks may overlap
    Block,
    /// Address
    Address,
    /// Thread: the first is 0, those that it starts are 0.1, 0.2, and so on
    Thread,
}

impl Key {
    /// What is told to programs of a value: numbers as numbers, a line by its file and number.
    pub fn members(self, value: &str) -> Vec<(String, Value)> {
        let is = |name: &str, value: Value| (name.to_owned(), value);
        match self {
            Self::Width | Self::Length => vec![is(self.name(), value.trim().parse::<u64>().ok().into())],
            Self::Address | Self::Block => {
                vec![is(self.name(), u64::from_str_radix(value.trim_start_matches("0x"), 16).ok().into())]
            }
            Self::Line => {
                let (file, line) = value.rsplit_once(':').unzip();
                vec![is("file", file.into()), is("line", line.and_then(|line| line.parse::<u32>().ok()).into())]
            }
            Self::Mnemonic | Self::Class | Self::Extension | Self::Image | Self::Routine | Self::Thread => {
                vec![is(self.name(), value.into())]
            }
        }
    }

    /// As the option has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mnemonic => "mnemonic",
            Self::Class => "class",
            Self::Extension => "extension",
            Self::Width => "width",
            Self::Length => "length",
            Self::Image => "image",
            Self::Routine => "routine",
            Self::Line => "line",
            Self::Block => "block",
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }
}

/// Bits of the widest register or memory that an instruction names, if it names any.
fn width(instruction: &CodeInstruction) -> Option<u32> {
    let is_value = |operand: &Operand| matches!(operand.kind, OperandKind::Register(_) | OperandKind::Memory(_));
    let named = instruction.operands().into_iter().filter(|operand| !operand.implicit && is_value(operand));
    named.map(|operand| operand.size * 8).max()
}

/// What addresses are called.
pub struct Places<'a> {
    images: &'a Images,
    /// Names as people write them, by those that linkers have.
    routines: HashMap<&'a str, String>,
}

impl<'a> Places<'a> {
    /// Of these images.
    pub fn new(images: &'a Images) -> Self {
        Self { images, routines: HashMap::new() }
    }

    /// What a thread's instruction in a block is told by.
    pub fn value(&mut self, key: Key, thread: &ThreadPath, block: u64, instruction: &CodeInstruction) -> String {
        let at = instruction.address();
        match key {
            Key::Mnemonic => instruction.mnemonic().to_owned(),
            Key::Class => instruction.class().to_string(),
            Key::Extension => instruction.extension().to_string(),
            Key::Width => width(instruction).map_or("-".into(), |bits| format!("{bits:3}")),
            Key::Length => format!("{:2}", instruction.bytes().len()),
            Key::Image => self.images.at(instruction).map_or("?".into(), |image| image.name().to_owned()),
            Key::Routine => match self.images.routine_at(instruction) {
                Some(routine) => {
                    let name = self.routines.entry(routine.name()).or_insert_with(|| routine.demangled());
                    name.clone()
                }
                None => "?".into(),
            },
            Key::Line => self.images.line_at(instruction).map_or("?".into(), |line| line.to_string()),
            Key::Block => format!("{block:#018x}"),
            Key::Address => format!("{:#018x}", at.0),
            Key::Thread => thread.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use superpin_tool::json::json;

    use super::*;

    #[test]
    fn programs_get_numbers() {
        let told = |key: Key, value: &str| Value::Object(key.members(value).into_iter().collect());
        assert_eq!(told(Key::Width, " 64"), json!({"width": 64}));
        assert_eq!(told(Key::Width, "-"), json!({"width": null}));
        assert_eq!(told(Key::Block, "0x0000000000401000"), json!({"block": 0x40_1000}));
        assert_eq!(told(Key::Line, "a:b.c:17"), json!({"file": "a:b.c", "line": 17}));
        assert_eq!(told(Key::Line, "?"), json!({"file": null, "line": null}));
        assert_eq!(told(Key::Class, "NOP"), json!({"class": "NOP"}));
    }
}
