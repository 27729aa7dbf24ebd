//! The processes of a test that is late: which they are, what they are at, and their end.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

/// A process, the members of its group, and what any of them has started.
pub fn family(leader: u32) -> BTreeSet<u32> {
    let numbers = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
        Some((pid, fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u32>().ok()?))
    };
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(u32, u32, u32)> = pids.filter_map(numbers).collect();
    let mut family: BTreeSet<u32> = all.iter().filter(|(_, _, group)| *group == leader).map(|(pid, ..)| *pid).collect();
    family.insert(leader);
    loop {
        let children = all.iter().filter(|(_, parent, _)| family.contains(parent)).map(|(pid, ..)| *pid);
        let grown: BTreeSet<u32> = children.chain(family.iter().copied()).collect();
        if grown.len() == family.len() {
            return family;
        }
        family = grown;
    }
}

/// Kills them.
pub fn kill(processes: &BTreeSet<u32>) {
    for pid in processes {
        // SAFETY: kill reads no memory; they are a child of this process, not reaped yet, and its descendants.
        unsafe { libc::kill(*pid as i32, libc::SIGKILL) };
    }
}

/// A line for each process: its arguments, and where it is.
pub fn describe(processes: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    for pid in processes {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let line = |name: &str| String::from_utf8_lossy(&read(name)).trim().to_owned();
        let arguments = line("cmdline").replace('\0', " ");
        let status = line("status");
        let field = |key: &str| status.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default().trim().to_owned();
        let _ = writeln!(
            text,
            "  {pid} `{}`: {}, traced by {}, wchan {}, system call {}",
            arguments.chars().take(300).collect::<String>(),
            field("State:"),
            field("TracerPid:"),
            line("wchan"),
            line("syscall"),
        );
    }
    text
}
