//! Programs that only slices still execute.
//!
//! Nobody may write to the file of a program that is executed. A slice executes the program that the app executed when it was forked,
//! even if the app executes another by now, or has ended: natively the file could be written. This treats most cases, not all: now and then
//! such a call still fails (seen in about one of two hundred runs on a busy machine).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use bubble::map::ENTRY;

/// Whether there are programs that slices execute and nobody else does. Slices come to their ends by themselves.
pub fn are_there() -> bool {
    let own = std::process::id();
    let (mut lingering, mut executed) = (BTreeSet::new(), BTreeSet::new());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        // It may be gone, or another user's.
        let Ok(program) = fs::metadata(format!("/proc/{pid}/exe")) else { continue };
        let programs = if is_slice(pid, own) { &mut lingering } else { &mut executed };
        programs.insert((program.dev(), program.ino()));
    }
    lingering.difference(&executed).next().is_some()
}

/// A slice, or the keeper of its first state, is a child of this process that isn't under control and has been given a boot block.
fn is_slice(pid: u32, own: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok());
    if field("PPid:") != Some(own) || field("TracerPid:") != Some(0) {
        return false;
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().any(|line| line.starts_with(&format!("{:x}-", ENTRY.start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_processes_are_no_slices() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        assert!(!is_slice(child.id(), std::process::id()));
        assert!(!are_there());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
