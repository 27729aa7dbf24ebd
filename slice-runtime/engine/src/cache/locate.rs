//! From a place in the cache to the trace that it belongs to, and to what is known of it there.

use bubble::map::{CACHE_OWN, CACHE_SHARED};
use machine::CachePc;
use translator::abi::{self, BlockCall, BufferMark, CallMark, MapEntry, SpaceId, TraceId, from_bytes};

use super::space::Extent;
use super::tables::Tables;

const _: () = assert!(CACHE_SHARED.start >> 32 == (CACHE_OWN.end() - 1) >> 32);

/// A place in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    /// In which space.
    pub space: SpaceId,
    /// In which trace.
    pub id: TraceId,
    /// What its state map says there.
    pub entry: MapEntry,
    /// How far from the trace's first byte.
    pub inside: u32,
}

/// What finds places: a copy of what doesn't change of both spaces, so that a signal handler can have it while the cache is in use.
#[derive(Clone, Copy)]
pub struct Locator {
    pub(super) own: (SpaceId, Extent, Tables),
    pub(super) shared: Option<(SpaceId, Extent, Tables)>,
}

impl Locator {
    /// The trace, and the mark in it, that a place in the cache belongs to.
    pub fn locate(&self, place: CachePc) -> Option<Located> {
        [Some(self.own), self.shared].into_iter().flatten().find_map(|(space, extent, tables)| {
            let offset = extent.offset(place)?;
            let (id, inside) = tables.at_offset(offset)?;
            let trace = tables.trace(id);
            let map = tables.arena(trace.map, trace.map_len as usize * size_of::<MapEntry>());
            // SAFETY: the trace's record says that a state map lies there.
            let entry = *abi::find(unsafe { from_bytes::<MapEntry>(map) }, inside)?;
            Some(Located { space, id, entry, inside })
        })
    }

    /// Whether a routine in place has done only a part of its work at `place`.
    pub fn is_in_parts(&self, place: CachePc) -> bool {
        self.locate(place).is_some_and(|at| {
            let tables = self.tables(at.space);
            Records::of(&tables, at.id).calls.iter().any(|call| (call.begun..call.pending).contains(&at.inside))
        })
    }

    fn tables(&self, space: SpaceId) -> Tables {
        match (space, self.shared) {
            (SpaceId::Shared, Some((_, _, tables))) => tables,
            _ => self.own.2,
        }
    }
}

/// What is known about a trace's calls and words.
pub struct Records<'a> {
    /// Calls for whole blocks.
    pub block_calls: &'a [BlockCall],
    /// Words in the buffer.
    pub words: &'a [BufferMark],
    /// Calls before instructions, and those that are pending.
    pub calls: &'a [CallMark],
}

impl Records<'_> {
    /// Those of a trace.
    pub fn of(tables: &Tables, id: TraceId) -> Records<'_> {
        let trace = tables.trace(id);
        let at = trace.map + trace.map_len * size_of::<MapEntry>() as u32;
        let calls_len = trace.block_calls as usize * size_of::<BlockCall>();
        let words_len = trace.buffer_marks as usize * size_of::<BufferMark>();
        let marks_len = trace.call_marks as usize * size_of::<CallMark>();
        let [words_at, marks_at] = [calls_len, calls_len + words_len].map(|len| at + len as u32);
        // SAFETY: the trace's record says that these follow the state map in this order.
        unsafe {
            Records {
                block_calls: from_bytes(tables.arena(at, calls_len)),
                words: from_bytes(tables.arena(words_at, words_len)),
                calls: from_bytes(tables.arena(marks_at, marks_len)),
            }
        }
    }
}
