//! A code space: a stretch of code cache with its tables.
//!
//! There are two. The *shared* space is filled and executed by all slices. The *own* space belongs to one process. Code in the own space may
//! link to both. Code in the shared space links only to shared code: nobody else has this process's own code.
//!
//! Each slice executes a private view (`MAP_PRIVATE`) of the shared space, and adds code through an alias of it. To change shared code for
//! itself alone it writes to its view ([`CodeSpace::redirect`]); the kernel copies the page. From then on the slice no longer sees what others write there:
//!
//! ```text
//!     shared page   [ trace 7 | trace 8 |  free   ]
//!     my copy       [ jmp  …  | trace 8 |  free   ]    a trace 9 that another slice adds would never appear here
//! ```
//!
//! Named invariant *no news in copies*: nothing new is ever put into a page of which somebody has a copy. Whoever makes a copy first moves the
//! cursor behind the page, under the lock. Links inside the page are written to both.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use machine::{CachePc, PAGE};
use translator::abi::{SpaceId, TraceId};

use super::locked::Locked;
use super::tables::Tables;

/// Opcode of a jump with a rel32.
const JUMP: u8 = 0xe9;
/// Bytes that a processor fetches and stores at once.
const LINE: u64 = 64;

/// Where a space's code is executed.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    executed: u64,
    /// Bytes that may be used.
    limit: u64,
}

impl Extent {
    /// Offset of a cache pc in the space.
    pub fn offset(&self, pc: CachePc) -> Option<u32> {
        let offset = pc.0.checked_sub(self.executed)?;
        (offset < self.limit).then_some(offset as u32)
    }
}

/// A space.
pub struct CodeSpace {
    /// Which one.
    pub id: SpaceId,
    /// Its tables.
    pub tables: Tables,
    /// Where its code is executed.
    pub extent: Extent,
    /// Where its code is written; the same address for the own space.
    written: u64,
    /// Pages of the executed view that are private copies, by number.
    copies: HashSet<u64>,
}

impl CodeSpace {
    /// A space over mapped memory.
    pub fn new(id: SpaceId, tables: Tables, executed: u64, written: u64, limit: u64) -> Self {
        Self { id, tables, extent: Extent { executed, limit }, written, copies: HashSet::new() }
    }

    /// Cache pc of an offset.
    pub fn pc(&self, offset: u32) -> CachePc {
        CachePc(self.extent.executed + u64::from(offset))
    }

    /// Offset of a cache pc in this space.
    pub fn offset(&self, pc: CachePc) -> Option<u32> {
        self.extent.offset(pc)
    }

    /// Bytes that may be used.
    pub fn limit(&self) -> u64 {
        self.extent.limit
    }

    /// Writes code at the cursor.
    pub fn write(&self, _locked: &Locked<'_>, offset: u32, code: &[u8]) {
        let at = self.written + u64::from(offset);
        // SAFETY: the lock is held, the bytes from the cursor on are unused by *publish*, and the caller checked the limit.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, code.len()) }
    }

    /// Sets the rel32 at `site` so that the branch goes to `target`.
    ///
    /// One aligned-enough atomic store: the translator keeps rel32 fields inside a cache line, so another core that
    /// executes the branch sees the old or the new target.
    pub fn link(&self, site: u32, target: CachePc) {
        let rel = target.0.wrapping_sub(self.extent.executed + u64::from(site) + 4) as u32;
        self.store(self.written + u64::from(site), rel);
        if self.copies.contains(&(u64::from(site) / PAGE)) {
            self.unprotected(u64::from(site) / PAGE, || self.store(self.extent.executed + u64::from(site), rel));
        }
    }

    fn store(&self, at: u64, value: u32) {
        // SAFETY: `at` lies in mapped writable code memory and inside one cache line; x86 stores such a field atomically
        // even when it isn't naturally aligned, which is why this isn't AtomicU32.
        unsafe { (at as *mut u32).write_unaligned(value) }
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// Whether there is a jump at `offset` whose rel32 lies in one cache line.
    pub fn jumps(&self, offset: u32) -> bool {
        let at = self.extent.executed + u64::from(offset);
        // SAFETY: an entry in mapped code memory.
        let is_jump = unsafe { (at as *const u8).read() } == JUMP;
        is_jump && (at + 1) % LINE <= LINE - 4
    }

    /// Makes the entry of a trace a jump to `target`, for this process alone. Where there is one already others may execute it meanwhile.
    pub fn redirect(&mut self, locked: &Locked<'_>, start: u32, target: CachePc) {
        if self.id == SpaceId::Own && self.jumps(start) {
            return self.link(start + 1, target);
        }
        let at = self.extent.executed + u64::from(start);
        let mut jump = [JUMP, 0, 0, 0, 0];
        jump[1..].copy_from_slice(&(target.0.wrapping_sub(at + 5) as u32).to_le_bytes());
        let (first, last) = (u64::from(start) / PAGE, (u64::from(start) + 4) / PAGE);
        let patch = |at: u64| {
            // SAFETY: the entry belongs to a published trace, which has at least five bytes; only this process executes
            // this view, and it isn't executing there now since it is in the runtime.
            unsafe { std::ptr::copy_nonoverlapping(jump.as_ptr(), at as *mut u8, jump.len()) }
        };
        if self.id == SpaceId::Own {
            return patch(at);
        }
        locked.skip_code_to(((last + 1) * PAGE) as u32);
        for page in first..=last {
            self.copies.insert(page);
        }
        self.unprotected(first, || self.unprotected(last, || patch(at)));
    }

    fn unprotected(&self, page: u64, change: impl FnOnce()) {
        let at = (self.extent.executed + page * PAGE) as *mut libc::c_void;
        // SAFETY: the page belongs to the executed view of this space.
        unsafe { libc::mprotect(at, PAGE as usize, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) };
        change();
        // SAFETY: as before.
        unsafe { libc::mprotect(at, PAGE as usize, libc::PROT_READ | libc::PROT_EXEC) };
    }

    /// Marks a trace as not to be used any more. Its entry must be redirected too.
    pub fn kill(&self, id: TraceId) {
        let dead: &AtomicU32 = &self.tables.trace(id).dead;
        dead.store(1, Ordering::Release);
    }

    /// Forgets all code. Only for the own space: nobody else may be using it.
    pub fn flush(&mut self) {
        assert_eq!(self.id, SpaceId::Own, "the shared code cache can't be flushed by one process");
        self.tables.clear();
    }
}
