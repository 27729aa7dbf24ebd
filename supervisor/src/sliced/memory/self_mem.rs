//! The file of the app's memory (`/proc/self/mem`): what is written to it changes memory, protected or not, which no effect of a `write` says. So such a call ends a slice.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;

use crate::app::Key;

/// Whether the app may have that file open for writing.
#[derive(Default)]
pub struct SelfMem {
    is_open: bool,
}

impl SelfMem {
    /// The app is about to open a file for writing.
    pub fn opens(&mut self, (device, _): Key) {
        static PROC: LazyLock<Option<u64>> = LazyLock::new(|| fs::metadata("/proc").ok().map(|proc| proc.dev()));
        self.is_open |= *PROC == Some(device);
    }

    /// The app may have opened any file without a stop.
    pub fn opens_unseen(&mut self) {
        self.is_open = true;
    }

    /// Whether a call that process `pid` makes may write its own memory by that file.
    pub fn is_written(&self, pid: i32, number: u64, args: &[u64; 6]) -> bool {
        let descriptor = match number as i64 {
            _ if !self.is_open => return false,
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => args[0],
            libc::SYS_sendfile => args[0],
            libc::SYS_copy_file_range | libc::SYS_splice => args[2],
            _ => return false,
        };
        let link = fs::read_link(format!("/proc/{pid}/fd/{}", descriptor as i32)).unwrap_or_default();
        [format!("{pid}/mem"), format!("{pid}/task/{pid}/mem")].iter().any(|own| link.ends_with(own))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn only_the_process_s_own_memory_is_meant() {
        let pid = std::process::id() as i32;
        let own = OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
        let other = File::open("/proc/self/maps").unwrap();
        let written = |memory: &SelfMem, file: &File| {
            let args = [file.as_raw_fd() as u64, 0, 0, 0, 0, 0];
            memory.is_written(pid, libc::SYS_pwrite64 as u64, &args)
        };
        let mut memory = SelfMem::default();
        let elsewhere = fs::metadata(std::env::temp_dir()).unwrap();
        memory.opens((elsewhere.dev(), elsewhere.ino()));
        assert!(!written(&memory, &own), "it wasn't opened");
        let metadata = own.metadata().unwrap();
        memory.opens((metadata.dev(), metadata.ino()));
        assert!(written(&memory, &own) && !written(&memory, &other));
        let mut unseen = SelfMem::default();
        unseen.opens_unseen();
        assert!(written(&unseen, &own) && !written(&unseen, &other));
        assert!(!memory.is_written(pid, libc::SYS_read as u64, &[own.as_raw_fd() as u64, 0, 0, 0, 0, 0]));
    }
}
