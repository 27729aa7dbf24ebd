//! Descriptors of the app's that were looked at: which of them the recorder may read and write.

use std::collections::HashMap;

use machine::Memory;
use tracee::Stopped;

use super::descriptors::{Descriptor, look_at};
use super::shared::Shared;
use crate::sliced::recorder::code::layout;

/// Longest path that is looked at.
const MOST_PATH: usize = 4096;

/// What is known of a master's descriptors.
pub struct KnownFiles {
    pid: i32,
    /// Those that were looked at.
    files: HashMap<u64, Descriptor>,
    /// Devices of local file systems.
    devices: Vec<u64>,
    /// Another process changes them: nothing is known.
    are_shared: bool,
}

impl KnownFiles {
    /// Those of process `pid`, of which none was looked at.
    pub fn of(pid: i32) -> Self {
        Self { pid, files: HashMap::new(), devices: Vec::new(), are_shared: false }
    }

    /// A call is about to be made, which may change some.
    pub fn before(&mut self, memory: &Stopped, number: u64, args: &[u64; 6]) {
        let [first, second, ..] = *args;
        match number as i64 {
            libc::SYS_close => drop(self.files.remove(&first)),
            libc::SYS_dup2 | libc::SYS_dup3 => drop(self.files.remove(&second)),
            libc::SYS_close_range => self.files.clear(),
            libc::SYS_clone => self.are_shared |= shares_files(first),
            libc::SYS_clone3 => self.are_shared |= memory.read_u64(first).map_or(true, shares_files),
            _ => {}
        }
    }

    /// Whether the recorder may read and write a descriptor. `waits`: whether it may wait for others.
    pub fn knows(&mut self, fd: u64, waits: bool) -> bool {
        if self.are_shared {
            return false;
        }
        if let Some(known) = self.files.get(&fd) {
            return *known != Descriptor::Other && (waits || !known.may_wait());
        }
        let found = look_at(self.pid, fd);
        if let Descriptor::Local(device) = found
            && !self.devices.contains(&device)
            && self.devices.len() < layout::MAX_DEVICES
        {
            self.devices.push(device);
        }
        self.files.insert(fd, found);
        found != Descriptor::Other && (waits || !found.may_wait())
    }

    /// Tells the recorder. `waits`: whether it may wait for others.
    pub fn tell(&self, shared: &Shared, waits: bool) {
        let are_told = |kind: &Descriptor| !self.are_shared && (waits || !kind.may_wait());
        shared.set_files(self.files.iter().filter(|(_, kind)| are_told(kind)).map(|(fd, kind)| (*fd, *kind)));
        // Pipes and sockets would become known, too.
        shared.set_devices((!self.are_shared && waits).then_some(&self.devices));
    }

    /// Takes over what the recorder has seen.
    pub fn learn(&mut self, shared: &Shared) {
        for fd in shared.closed() {
            self.files.remove(&fd);
        }
        for (fd, kind) in shared.files() {
            self.files.entry(fd).or_insert(kind);
        }
    }
}

/// Whether a call with these flags starts another process that has the same descriptors. A thread's calls are seen.
fn shares_files(flags: u64) -> bool {
    flags & (libc::CLONE_FILES | libc::CLONE_THREAD) as u64 == libc::CLONE_FILES as u64
}

/// Whether a path may be that of a file that shows the process's mappings, as `/proc/self/maps` does.
pub fn names_maps(memory: &Stopped, path: u64) -> bool {
    let path = memory.read_c_string(path, MOST_PATH).unwrap_or_default();
    path.windows(4).any(|part| part == b"maps")
}
