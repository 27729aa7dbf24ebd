//! Breakpoint instructions in the master's code, for places that the processor has no breakpoints for.
//!
//! They are there only while the master runs by itself: whoever forks it takes them away before ([`Traps::lift`]), and slices put back the
//! pages of files in which they were. Only unchanged, private, unwritable mappings of files get any; when the app is about to
//! change its mapping of such a page, all are taken away for good.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use machine::pagemap::Pagemap;
use machine::{Memory, PAGE};
use tracee::{Stopped, TraceError};

const INT3: u8 = 0xcc;

/// The breakpoint instructions of a program image.
#[derive(Default)]
pub struct Traps {
    /// What was there before, by address.
    places: BTreeMap<u64, u8>,
    /// Pages that differ from their files by our bytes alone, or once did.
    pages: Vec<u64>,
    are_set: bool,
}

impl Traps {
    /// A copy of a master whose bytes, or the recorder's, were in these pages.
    pub fn inherited(pages: Vec<u64>) -> Self {
        Self { pages, ..Self::default() }
    }

    /// Pages of files that slices are to put back.
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// Whether the process stands behind one of them, which it has just executed.
    pub fn is_behind(&self, rip: u64) -> bool {
        self.are_set && self.places.contains_key(&rip.wrapping_sub(1))
    }

    /// Whether this signal is the trap that one of them has raised. Then the process stands before the instruction again in whose place
    /// it was.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn has_hit(&self, process: &mut Stopped, signal: &libc::siginfo_t) -> Result<bool, TraceError> {
        if signal.si_signo != libc::SIGTRAP || signal.si_code != libc::SI_KERNEL {
            return Ok(false);
        }
        let mut registers = process.registers()?;
        let is_ours = self.is_behind(registers.rip());
        if is_ours {
            registers.set_rip(registers.rip() - 1);
            process.set_registers(&registers)?;
        }
        Ok(is_ours)
    }

    /// Whether there is one for `address`.
    pub fn contains(&self, address: u64) -> bool {
        self.places.contains_key(&address)
    }

    /// One more, before the instruction at `address`, in a private and unwritable mapping of a file. It is put there by the next
    /// [`Traps::set`]. Not where the page isn't the file's any more.
    pub fn add(&mut self, process: &Stopped, address: u64) {
        let page = address & !(PAGE - 1);
        let mut byte = [0];
        let is_known = self.pages.contains(&page);
        if !(is_known || is_unchanged(process.pid(), page)) || process.read(address, &mut byte).is_err() {
            return;
        }
        self.places.insert(address, byte[0]);
        if !is_known {
            self.pages.push(page);
        }
        self.are_set = false;
    }

    /// Puts them in place. What can't be written, or isn't what it was any more, stays as it is.
    pub fn set(&mut self, process: &mut Stopped) {
        if !std::mem::replace(&mut self.are_set, true) {
            self.exchange(process, |old| (old, INT3));
        }
    }

    /// Takes them away for a while.
    pub fn lift(&mut self, process: &mut Stopped) {
        if std::mem::replace(&mut self.are_set, false) {
            self.exchange(process, |old| (INT3, old));
        }
    }

    /// The app is about to change its mappings in `start .. end`.
    pub fn forget(&mut self, process: &mut Stopped, start: u64, end: u64) {
        if self.pages.iter().any(|page| *page < end && start < page + PAGE) {
            self.lift(process);
            *self = Self::default();
        }
    }

    /// Page by page: some programs have hundreds of such places, and each slice begins with both.
    fn exchange(&self, process: &Stopped, which: impl Fn(u8) -> (u8, u8)) {
        let Ok(memory) = File::options().write(true).open(format!("/proc/{}/mem", process.pid())) else { return };
        let places: Vec<(u64, u8)> = self.places.iter().map(|(&address, &old)| (address, old)).collect();
        for of_page in places.chunk_by(|(a, _), (b, _)| a / PAGE == b / PAGE) {
            let (first, last) = (of_page[0].0, of_page[of_page.len() - 1].0);
            let mut code = vec![0; (last - first) as usize + 1];
            if process.read(first, &mut code).is_err() {
                continue;
            }
            let before = code.clone();
            for &(address, old) in of_page {
                let (from, to) = which(old);
                let byte = &mut code[(address - first) as usize];
                *byte = if *byte == from { to } else { *byte };
            }
            if code != before {
                // It fails only if the process was killed.
                let _ = memory.write_all_at(&code, first);
            }
        }
    }
}

/// Whether a page of a private file mapping is still the file's.
fn is_unchanged(pid: i32, page: u64) -> bool {
    Pagemap::open(pid).and_then(|pagemap| pagemap.at(page)).is_ok_and(|page| !page.is_own())
}
