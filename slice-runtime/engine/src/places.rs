//! Places in the cache: which trace they belong to, and what is to be corrected when the app stops at one.

use isa::Instruction;
use machine::{AppPc, CachePc, component};

use crate::buffer;
use crate::descriptor::Descriptor;
use crate::engine::Engine;
use crate::space::SpaceId;
use crate::statemap::{self, BlockCall, BufferMark, MapEntry, Place, from_bytes};
use crate::tables::TraceId;

impl Engine {
    /// The trace, and the mark in it, that a place in the cache belongs to.
    pub(crate) fn locate(&self, place: CachePc) -> Option<(SpaceId, TraceId, MapEntry, u32)> {
        [Some(&self.own), self.shared.as_ref()].into_iter().flatten().find_map(|code| {
            let offset = code.offset(place)?;
            let (id, inside) = code.tables.at_offset(offset)?;
            let trace = code.tables.trace(id);
            let map = code.tables.arena(trace.map, trace.map_len as usize * size_of::<MapEntry>());
            // SAFETY: the trace's record says that a state map lies there.
            let entry = *statemap::find(unsafe { from_bytes::<MapEntry>(map) }, inside)?;
            Some((code.id, id, entry, inside))
        })
    }

    /// The app leaves a block at `place` before its end: corrects the block-level calls that counted all of it.
    pub(crate) fn leave_block(&mut self, place: CachePc) {
        let Some((space, id, entry, inside)) = self.locate(place) else { return };
        if entry.place() != Place::Static {
            return;
        }
        let tables = self.space(space).tables;
        let trace = tables.trace(id);
        let at = trace.map + trace.map_len * size_of::<MapEntry>() as u32;
        let calls_len = trace.block_calls as usize * size_of::<BlockCall>();
        let bytes = tables.arena(at, calls_len);
        let marks = tables.arena(at + calls_len as u32, trace.buffer_marks as usize * size_of::<BufferMark>());
        // SAFETY: the trace's record says that buffer marks follow the block calls.
        self.thread().buffer = buffer::corrected(self.thread().buffer, unsafe { from_bytes(marks) }, entry.pc, inside);
        // SAFETY: the trace's record says that block calls follow the state map.
        for call in unsafe { from_bytes::<BlockCall>(bytes) } {
            if !(call.first..call.end).contains(&entry.pc) {
                continue;
            }
            let before = self.count(call.first, entry.pc);
            let all = before + self.count(entry.pc, call.end);
            let counted = if inside >= call.done { all } else { 0 };
            if counted != before {
                let descriptor = tables.arena(call.descriptor, size_of::<Descriptor>());
                // SAFETY: the block call names a descriptor.
                let descriptor = unsafe { from_bytes::<Descriptor>(descriptor) }[0];
                self.settle_counters();
                descriptor.correct(before.wrapping_sub(counted));
            }
        }
    }

    /// Makes the address of the last x87 instruction, which the processor keeps, the app's own. Done wherever the app can come to see it,
    /// and before the cache forgets whose translation lies there.
    pub(crate) fn show_x87_pc(&mut self) {
        let xstate = &self.cpu_unbound().xstate;
        if xstate.xstate_bv() & component::X87 == 0 {
            return;
        }
        if let Some((_, _, entry, _)) = self.locate(CachePc(xstate.x87_pc())) {
            self.cpu().xstate.set_x87_pc(entry.pc);
        }
    }

    /// Instructions in `start .. end`.
    fn count(&mut self, start: u64, end: u64) -> u64 {
        let (mut at, mut n) = (start, 0);
        while at < end {
            let pc = AppPc(at);
            let Ok(instruction) = Instruction::decode(self.code_bytes(pc), pc) else { break };
            at = instruction.next_pc().0;
            n += 1;
        }
        n
    }
}
