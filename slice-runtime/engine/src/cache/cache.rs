//! The code cache of a process: its own, and that of all slices.

use std::cell::Cell;
use std::sync::atomic::AtomicU32;

use machine::{AppPc, CachePc};
use translator::abi::{CallDescriptor, Counters, SpaceId, TraceId};
use translator::emit::{Site, Translation};

use super::layout::TraceRecord;
use super::locate::{Located, Locator};
use super::locked::Locked;
use super::space::CodeSpace;
use super::tables::Tables;

/// A trace in a code space.
pub type Found = (SpaceId, TraceId);

/// There is no more room.
#[derive(Debug)]
pub struct Full;

/// The code cache.
pub struct Cache {
    own: CodeSpace,
    shared: Option<CodeSpace>,
    /// Counters that have shards, if translations aren't shared.
    counters: Counters,
    /// Counts flushes.
    ///
    /// Invariant *generation*: what was found before a flush isn't used after it.
    generation: u32,
    /// Bytes of code that were written.
    written: Cell<u64>,
}

impl Cache {
    /// A cache over its spaces.
    pub fn new(own: CodeSpace, shared: Option<CodeSpace>) -> Self {
        Self { own, shared, counters: Counters::default(), generation: 0, written: Cell::new(0) }
    }

    /// This process's own space.
    pub fn own(&self) -> &CodeSpace {
        &self.own
    }

    /// The space of all slices, if translations are shared.
    pub fn shared(&self) -> Option<&CodeSpace> {
        self.shared.as_ref()
    }

    /// The tables of that.
    pub fn shared_tables(&self) -> Option<Tables> {
        self.shared.as_ref().map(|shared| shared.tables)
    }

    /// One of the spaces.
    ///
    /// # Panics
    /// If it is the shared one and translations aren't shared.
    pub fn space(&self, id: SpaceId) -> &CodeSpace {
        match id {
            SpaceId::Own => &self.own,
            SpaceId::Shared => self.shared.as_ref().expect("the shared space is in use"),
        }
    }

    /// Counters that have shards.
    pub fn counters(&self) -> &Counters {
        self.shared.as_ref().map_or(&self.counters, |shared| &shared.tables.header().counters)
    }

    /// Whatever is translated from now on decides anew which words have shards, and what r11 is for. Only of an empty cache that isn't shared, with the
    /// shards added up.
    pub fn forget_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// What changes with each flush.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Bytes of code that were written.
    pub fn written(&self) -> u64 {
        self.written.get()
    }

    /// What finds places in it.
    pub fn locator(&self) -> Locator {
        let of = |space: &CodeSpace| (space.id, space.extent, space.tables);
        Locator { own: of(&self.own), shared: self.shared.as_ref().map(of) }
    }

    /// The trace, and the mark in it, that a place in the cache belongs to.
    pub fn locate(&self, place: CachePc) -> Option<Located> {
        self.locator().locate(place)
    }

    /// The record of a trace.
    pub fn trace(&self, (space, id): Found) -> &TraceRecord {
        self.space(space).tables.trace(id)
    }

    /// Cache pc of a trace.
    pub fn entry(&self, (space, id): Found) -> CachePc {
        let code = self.space(space);
        code.pc(code.tables.trace(id).start)
    }

    /// The descriptor that lies at this offset of the arena, and the offset behind it.
    pub fn descriptor(&self, space: SpaceId, at: u32) -> (CallDescriptor, u32) {
        CallDescriptor::load(at, |offset, len| self.space(space).tables.arena(offset, len))
    }

    /// Where the next translation goes. Behind an IBL stub that leads there without a jump one starts at once: `behind` says where that ends.
    pub fn site(&self, space: SpaceId, locked: &Locked<'_>, behind: Option<(SpaceId, u32)>) -> Site {
        // Traces start at 16 bytes: cheap for the fetcher, and five bytes of a neighbour are never patched.
        let next = locked.next_code();
        let offset = if behind == Some((space, next)) { next } else { next.next_multiple_of(16) };
        let code = self.space(space);
        Site {
            space,
            offset,
            pc: code.pc(offset),
            stubs_end: code.pc((code.limit() - u64::from(locked.stub_bytes())) as u32),
            first_exit: locked.next_exit(),
            arena: locked.next_arena(),
            first_counter: code.tables.block_counters(),
        }
    }

    /// Puts a translation of the code at `pc` where it was made for.
    ///
    /// # Errors
    /// If the space is full.
    pub fn keep(
        &self,
        site: &Site,
        locked: &Locked<'_>,
        (pc, code): (AppPc, &[u8]),
        made: &Translation,
        findable: bool,
    ) -> Result<TraceId, Full> {
        let space = self.space(site.space);
        let stubs = space.limit() as u32 - locked.stub_bytes() - made.stubs.len() as u32;
        let fits = site.offset as usize + made.code.len() <= stubs as usize;
        if !fits || !locked.has_room(made.exits.len(), made.arena.len(), made.counted.len()) {
            return Err(Full);
        }
        space.write(locked, site.offset, &made.code);
        space.write(locked, stubs, &made.stubs);
        self.written.set(self.written.get() + (made.code.len() + made.stubs.len()) as u64);
        locked.write_exits(&made.exits);
        locked.write_arena(&made.arena);
        locked.write_counted(&made.counted);
        let trace = TraceRecord {
            pc,
            app_len: code.len() as u32,
            start: site.offset,
            size: made.code.len() as u32,
            stubs,
            map: made.map,
            map_len: made.map_len,
            dead: AtomicU32::new(0),
            next_in_page: 0,
            block_calls: made.block_calls,
            buffer_marks: made.buffer_marks,
            call_marks: made.call_marks,
            first_counter: site.first_counter,
            counted: made.counted.len() as u32,
            ibl_stubs: Default::default(),
            self_checks: u32::from(made.self_checks),
            code_hash: hash_of(code),
        };
        Ok(locked.publish(trace, made.stubs.len(), made.exits.len(), made.arena.len(), findable))
    }

    /// Whether a trace of this process's own was made from this code.
    pub fn is_made_from(&self, id: TraceId, code: &[u8]) -> bool {
        let trace = self.own.tables.trace(id);
        code.get(..trace.app_len as usize).is_some_and(|code| hash_of(code) == trace.code_hash)
    }

    /// Whether a trace of this process's own begins with a jump that can be led elsewhere while others execute it.
    pub fn is_jump(&self, (space, id): Found) -> bool {
        space == SpaceId::Own && self.own.jumps(self.own.tables.trace(id).start)
    }

    /// Makes a trace's entry a jump elsewhere, for this process.
    pub fn redirect(&mut self, (space, id): Found, target: CachePc) {
        let code = match space {
            SpaceId::Own => &mut self.own,
            SpaceId::Shared => self.shared.as_mut().expect("the shared space is in use"),
        };
        let tables = code.tables;
        let start = tables.trace(id).start;
        code.redirect(&tables.lock(), start, target);
    }

    /// Empties this process's own cache.
    pub fn flush(&mut self) {
        self.generation += 1;
        self.own.flush();
    }
}

/// As FNV-1a, by words of eight bytes.
fn hash_of(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let mixed = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}
