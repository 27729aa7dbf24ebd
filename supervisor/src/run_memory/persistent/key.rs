//! What a translation depends on besides the code that it was made from, as a text.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use machine::cpuid;

use super::origins::Identity;
use crate::base::{Doing, Failure};
use crate::command::{Settings, ToolImage};
use crate::run_memory::memory::RunMemory;

/// The part that is the same for all programs of a run.
///
/// # Errors
/// If the image's file can't be looked at.
pub fn common(settings: &Settings, image: &ToolImage, memory: &RunMemory) -> Result<String, Failure> {
    let image = Identity::of(&image.file.metadata().doing("look at the tool image")?);
    let mut key = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Debug| {
        writeln!(key, "{name}: {value:?}").expect("a string takes all");
    };
    line("image", &image);
    line("tools", &settings.tool_names());
    line("options", &settings.tool_identity);
    // A slice asks for what it replays; a serial run doesn't.
    line("sliced", &settings.sliced);
    line("trace", &(settings.trace_blocks, settings.trace_instructions, settings.linking, settings.cache_bytes));
    line("off", &memory.off());
    line("processor", &processor());
    Ok(key)
}

/// The key of the program that process `pid` executes, and a name for it. `None` if that can't be told.
pub fn of_program(common: &str, pid: i32) -> Option<(String, String)> {
    let link = PathBuf::from(format!("/proc/{pid}/exe"));
    let path = std::fs::read_link(&link).ok()?;
    let version = Identity::of(&std::fs::metadata(&link).ok()?);
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some((name, format!("{common}program: {:?} {version:?}\n", path.as_os_str().as_bytes())))
}

/// The processor's model, and what it can do: not what it is doing, nor which of several it is.
fn processor() -> Vec<u32> {
    let [[a, b, c, d], [signature, _, features, more_features], [_, extended, further, last]] =
        [(0, 0), (1, 0), (7, 0)].map(|(leaf, subleaf)| cpuid::ask(leaf, subleaf));
    vec![a, b, c, d, signature, features & !OSXSAVE, more_features, extended, further, last]
}

/// Whether the kernel uses XSAVE.
const OSXSAVE: u32 = 1 << 27;
