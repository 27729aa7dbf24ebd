//! Which instructions of a trace are an event's place.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bubble::code_files::FileRegion;
use bubble::map::MODULES;
use bubble::modules::{Modules, Symbol, origin};
use bubble::region::{Event, Kind};
use translator::trace::Trace;

use crate::ports::image_at;

/// `fs`-less `nop` with two prefixes that nobody writes but for this: Intel's marker of simulators (SSC).
const MARK: [u8; 3] = [0x64, 0x67, 0x90];
/// `mov ebx, imm32`.
const MOV_EBX: u8 = 0xbb;

/// The routines that events wait for, by image: its place in the table of modules and its bias.
#[derive(Default)]
pub struct Places {
    symbols: RefCell<BTreeMap<(usize, u64, usize), Vec<u64>>>,
}

impl Places {
    /// Indices of the instructions that are the place of this event, the `number`-th.
    pub fn of(&self, number: usize, event: &Event, trace: &Trace) -> Vec<usize> {
        let instructions = || trace.instructions.iter().enumerate();
        match event.kind {
            Kind::Executed | Kind::Later => Vec::new(),
            Kind::Address => {
                let at = |pc| instructions().find(|(_, instruction)| instruction.pc().0 == pc).map(|(index, _)| index);
                at(event.place).into_iter().collect()
            }
            Kind::Symbol => {
                let files: Vec<FileRegion> = trace.files.iter().flatten().copied().collect();
                let routines: Vec<u64> = files.iter().flat_map(|file| self.routines(number, event, file)).collect();
                let is_one = |pc: u64| routines.contains(&pc);
                instructions().filter(|(_, instruction)| is_one(instruction.pc().0)).map(|(index, _)| index).collect()
            }
            Kind::Marker => {
                let marks = instructions().skip(1).filter(|&(index, instruction)| {
                    let before = trace.instructions[index - 1].bytes();
                    let number = before.strip_prefix(&[MOV_EBX]).and_then(|value| value.try_into().ok());
                    instruction.bytes() == MARK && number.map(u32::from_le_bytes).map(u64::from) == Some(event.place)
                });
                marks.map(|(index, _)| index).collect()
            }
        }
    }

    /// Where the routines with the event's name begin that are in the image of a mapping.
    fn routines(&self, number: usize, event: &Event, file: &FileRegion) -> Vec<u64> {
        let Some(image) = image_at(file) else { return Vec::new() };
        let key = (std::ptr::from_ref(image.module) as usize, image.bias, number);
        let find = || {
            // SAFETY: a taken-over process has the region mapped for as long as it lives.
            let modules = unsafe { Modules::at(MODULES.start as *const u8) };
            let is_it = |symbol: &&Symbol| {
                symbol.origin != origin::DATA && modules.text(symbol.name).as_bytes() == event.name()
            };
            let found = modules.slice(image.module.symbols).iter().filter(is_it);
            found.map(|symbol| symbol.address.wrapping_add(image.bias)).collect()
        };
        self.symbols.borrow_mut().entry(key).or_insert_with(find).clone()
    }
}
