//! A routine of a tool that is checked does what it must not: what is said of it.

use engine::check::Violation;
use engine::routines;
use isa::Instruction;
use machine::{AppPc, Here, Memory, mapping};

use crate::ports::OwnSlot;

/// Where the contract is.
const RULE: &str = "see docs/tools.md, \"What makes the sliced result exact\"";

/// Ends the run. `by`: the image's instruction; `place`: the app's, before or behind which the routine was called.
pub fn report(violation: Violation, by: u64, place: Option<u64>) -> ! {
    let slot = OwnSlot::current().expect("a tool is checked in a taken-over process");
    let routine = routines::give_up_current().unwrap_or_else(|| "a routine of the tool's".into());
    let by = routines::in_image(by);
    let place = place.map_or_else(|| "called by the runtime".to_owned(), |pc| format!("called at {}", place_of(pc)));
    // It would do so again.
    slot.give_up();
    match violation {
        Violation::Store(address) => slot.fail(&format_args!(
            "{routine}, {place}, is about to store to {}, which is not the tool's, at {by}: analysis routines change `Local` and nothing else ({RULE})",
            named(address)
        )),
        Violation::Syscall(number) => slot.fail(&format_args!(
            "{routine}, {place}, is about to make system call {number} ({}) at {by}: analysis routines make none ({RULE})",
            syscall_replay::table::name(number)
        )),
    }
}

/// An instruction of the app's, for people: its address, the file, itself.
pub fn place_of(pc: u64) -> String {
    let mut code = [0; isa::MAX_LEN];
    let len = Here::new().read_prefix(pc, &mut code);
    let text = Instruction::decode(&code[..len], AppPc(pc)).map_or(String::new(), |i| format!(" (`{i}`)"));
    format!("{}{text}", named(pc))
}

/// An address of the app's, with what lies there.
fn named(address: u64) -> String {
    let all = mapping::all("thread-self").unwrap_or_default();
    match all.iter().find(|mapping| (mapping.start..mapping.end).contains(&address)) {
        Some(there) if there.inode != 0 => {
            format!("{address:#x} ({}+{:#x})", there.name, address - there.start + there.offset)
        }
        Some(there) if !there.name.is_empty() => format!("{address:#x} ({})", there.name),
        _ => format!("{address:#x}"),
    }
}
