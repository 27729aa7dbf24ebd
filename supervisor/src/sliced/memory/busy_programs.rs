//! Programs that only slices still execute.
//!
//! Nobody may write to the file of a program that is executed. A slice executes the program that the app executed when it was forked,
//! even if the app executes another by now, or has ended: natively the file could be written.
//!
//! To look at a process must not make it execute its program for longer: whoever reads its `status` or `maps` holds its memory meanwhile, and
//! with it the program, even if it ends. So only children of our own are read.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use bubble::map::ENTRY;
use machine::{Status, mapping};

use crate::app::is_running_child;

/// Whether there are programs that slices execute and nobody else does. Slices come to their ends by themselves.
pub fn are_there() -> bool {
    let own = std::process::id();
    let (mut busy_programs, mut executed) = (BTreeSet::new(), BTreeSet::new());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let is_own = is_running_child(pid);
        let Ok(program) = fs::metadata(format!("/proc/{pid}/exe")) else {
            // A slice on its way out has no program any more, but its memory, which is being given back, still has. Others' processes
            // may be gone, or another user's.
            if is_own && tracer_and_parent(pid) == Some((0, own)) {
                return true;
            }
            continue;
        };
        let programs = if is_own && is_slice(pid, own) { &mut busy_programs } else { &mut executed };
        programs.insert((program.dev(), program.ino()));
    }
    busy_programs.difference(&executed).next().is_some()
}

/// A slice, or the checkpoint process of its first state, is a child of this process that isn't under control and has been given a boot block.
fn is_slice(pid: u32, own: u32) -> bool {
    if tracer_and_parent(pid) != Some((0, own)) {
        return false;
    }
    mapping::all(pid).unwrap_or_default().iter().any(|mapping| mapping.start == ENTRY.start)
}

fn tracer_and_parent(pid: u32) -> Option<(u32, u32)> {
    let status = Status::of(pid).ok()?;
    Some((status.number("TracerPid")?, status.number("PPid")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_processes_are_no_slices() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        assert!(is_running_child(child.id()) && !is_running_child(1) && !is_running_child(std::process::id()));
        assert!(!is_slice(child.id(), std::process::id()));
        assert!(!are_there());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_running_child(child.id()));
    }
}
