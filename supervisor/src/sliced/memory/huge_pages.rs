//! Huge pages for large memory of the app's, so that its forks are cheap.
//!
//! A boundary stops the master for a fork, and a fork copies page tables: 2.2 ms for 100 MB in pages of 4 KiB, 0.4 ms in huge
//! pages (docs/benchmark.md). Many systems give huge pages to all memory by default; where the kernel waits to be asked (`madvise` in
//! `/sys/kernel/mm/transparent_hugepage/enabled`), this asks for mappings that the app makes as one large piece, which it most
//! likely means to use as a whole. What a huge page of its own costs the app, memory that it doesn't touch, is bounded
//! by a limit on the size of such a mapping.

use machine::PAGE;
use tracee::{Remote, Stopped, TraceError};

/// Smaller mappings add too little to a fork.
const LEAST: u64 = 4 << 20;
/// Larger ones than this part of the machine's memory are more likely reserved than used.
const PART_OF_MEMORY: u64 = 4;

/// Who asks.
pub struct HugePages {
    /// Sizes of mappings for which they are asked for.
    sizes: std::ops::Range<u64>,
}

impl HugePages {
    /// Asks if it is wanted, and the kernel waits for that.
    pub fn new(wanted: bool) -> Self {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        let asked = wanted && setting.contains("[madvise]");
        Self { sizes: if asked { LEAST..memory_bytes() / PART_OF_MEMORY } else { 0..0 } }
    }

    /// The app's `mmap` with these arguments has given `address`.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn after_mmap(
        &self,
        process: &mut Stopped,
        gadget: u64,
        args: &[u64; 6],
        address: u64,
    ) -> Result<(), TraceError> {
        if self.are_for(args) {
            let advice = [address, args[1], libc::MADV_HUGEPAGE as u64, 0, 0, 0];
            // Advice that isn't taken changes nothing.
            Remote::new(process, gadget)?.call(libc::SYS_madvise, advice)?;
        }
        Ok(())
    }

    fn are_for(&self, args: &[u64; 6]) -> bool {
        let [_, len, protection, flags, ..] = *args;
        let wanted = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        let unwanted =
            libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_GROWSDOWN | libc::MAP_STACK | libc::MAP_HUGETLB;
        self.sizes.contains(&len)
            && protection as i32 == libc::PROT_READ | libc::PROT_WRITE
            && flags & wanted == wanted
            && flags & unwanted as u64 == 0
    }
}

/// Memory of the machine; 0 if it isn't known.
fn memory_bytes() -> u64 {
    // SAFETY: sysconf has no memory preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_private_memory_that_is_written_gets_them() {
        let pages = HugePages { sizes: LEAST..1 << 30 };
        let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        let write = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let args = |len, protection, flags| [0, len, protection, flags, u64::MAX, 0];
        assert!(pages.are_for(&args(100 << 20, write, private)));
        assert!(!pages.are_for(&args(1 << 20, write, private)));
        assert!(!pages.are_for(&args(1 << 40, write, private)));
        assert!(!pages.are_for(&args(100 << 20, 0, private)));
        assert!(!pages.are_for(&args(100 << 20, write, private | libc::MAP_NORESERVE as u64)));
        assert!(!pages.are_for(&args(100 << 20, write, libc::MAP_PRIVATE as u64)));
        assert!(!HugePages { sizes: 0..0 }.are_for(&args(100 << 20, write, private)));
    }
}
