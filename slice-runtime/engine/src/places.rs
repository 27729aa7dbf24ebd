//! Places in the cache: which trace they belong to, and what is to be corrected when the app stops at one.

use bubble::map::{CACHE_OWN, CACHE_SHARED};
use isa::Instruction;
use machine::{AppPc, CachePc, Here, Memory, component};
use translator::abi::{self, BlockCall, BufferMark, CallMark, MapEntry, Place, SpaceId, TraceId, from_bytes};

use crate::buffer;
use crate::engine::Engine;
use crate::tables::Tables;

const _: () = assert!(CACHE_SHARED.start >> 32 == (CACHE_OWN.end() - 1) >> 32);

/// What is known about a trace's calls and words.
struct Records<'a> {
    block_calls: &'a [BlockCall],
    words: &'a [BufferMark],
    calls: &'a [CallMark],
}

impl Records<'_> {
    fn of(tables: &Tables, id: TraceId) -> Records<'_> {
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

impl Engine {
    /// The trace, and the mark in it, that a place in the cache belongs to.
    pub(crate) fn locate(&self, place: CachePc) -> Option<(SpaceId, TraceId, MapEntry, u32)> {
        [Some(&self.own), self.shared.as_ref()].into_iter().flatten().find_map(|code| {
            let offset = code.offset(place)?;
            let (id, inside) = code.tables.at_offset(offset)?;
            let trace = code.tables.trace(id);
            let map = code.tables.arena(trace.map, trace.map_len as usize * size_of::<MapEntry>());
            // SAFETY: the trace's record says that a state map lies there.
            let entry = *abi::find(unsafe { from_bytes::<MapEntry>(map) }, inside)?;
            Some((code.id, id, entry, inside))
        })
    }

    /// The app leaves a block at `place` before its end, with its registers in place: corrects the block-level calls that counted all of it, makes a call
    /// that is owed, and takes back words in the buffer. Returns how many calls have been made before the instruction there, those that are corrected
    /// not counted.
    pub(crate) fn leave_block(&mut self, place: CachePc) -> usize {
        let Some((space, id, entry, inside)) = self.locate(place) else { return 0 };
        let tables = self.space(space).tables;
        let records = Records::of(&tables, id);
        for call in records.calls.iter().filter(|call| (call.owed..call.made).contains(&inside)) {
            let (descriptor, _) = self.descriptor(space, call.descriptor);
            self.settle_counters();
            self.make_call(&descriptor, AppPc(entry.pc));
        }
        if entry.place() != Place::Static {
            return 0;
        }
        self.thread().buffer = buffer::corrected(self.thread().buffer, records.words, entry.pc, inside);
        for call in records.block_calls {
            if !(call.first..call.end).contains(&entry.pc) {
                continue;
            }
            let before = self.count(call.first, entry.pc);
            let all = before + self.count(entry.pc, call.end);
            let counted = if inside >= call.done { all } else { 0 };
            if counted != before {
                let (descriptor, _) = self.descriptor(space, call.descriptor);
                self.settle_counters();
                descriptor.correct(before.wrapping_sub(counted));
            }
        }
        let mut made = if self.is_unfinished(place) { self.made_before } else { 0 };
        for call in records.calls.iter().filter(|call| call.pc == entry.pc) {
            made = made.saturating_add(usize::from(inside >= call.owed));
        }
        made
    }

    /// Whether a routine in place has done only a part of its work at `place`.
    pub(crate) fn is_in_parts(&self, place: CachePc) -> bool {
        self.locate(place).is_some_and(|(space, id, _, inside)| {
            let tables = self.space(space).tables;
            Records::of(&tables, id).calls.iter().any(|call| (call.begun..call.owed).contains(&inside))
        })
    }

    /// Makes the address of the last x87 instruction, which the processor keeps, the app's own. Done wherever the app can come to see it,
    /// and before the cache forgets whose translation lies there.
    pub(crate) fn show_x87_pc(&mut self) {
        let xstate = &self.cpu_unbound().xstate;
        if xstate.xstate_bv() & component::X87 == 0 {
            return;
        }
        if let Some((_, _, entry, _)) = self.locate(CachePc(xstate.x87_pc())) {
            let opcode = x87_opcode(entry.pc);
            let xstate = &mut self.cpu_unbound().xstate;
            xstate.set_x87_pc(entry.pc);
            xstate.correct_x87_opcode(opcode);
        }
        if self.thread().loses_x87 == 0 {
            return;
        }
        // The caches lie in one range of 4 GiB.
        let noted = self.cpu_unbound().xstate.noted_x87_pc();
        let noted = noted.map(|low| CachePc(CACHE_SHARED.start >> 32 << 32 | u64::from(low)));
        if let Some((_, _, entry, _)) = noted.and_then(|place| self.locate(place)) {
            let opcode = x87_opcode(entry.pc);
            self.cpu_unbound().xstate.note_app_x87_pc(entry.pc, opcode);
        }
        self.thread().restores_x87 = 1;
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

/// What the processor keeps as the opcode of the app's x87 instruction at `pc`: translated code may name its operand in another way, which shows in it.
/// 0 if the code isn't there any more.
fn x87_opcode(pc: u64) -> u16 {
    let mut code = [0; isa::MAX_LEN];
    let len = Here::new().read_prefix(pc, &mut code);
    opcode_of(&code[..len])
}

fn opcode_of(code: &[u8]) -> u16 {
    const PREFIXES: [u8; 10] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3];
    let is_prefix = |byte: &&u8| PREFIXES.contains(byte) || **byte & 0xf0 == 0x40;
    let mut rest = code.iter().skip_while(is_prefix);
    match (rest.next(), rest.next()) {
        (Some(first @ 0xd8..=0xdf), Some(second)) => u16::from(first & 7) << 8 | u16::from(*second),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::opcode_of;

    #[test]
    fn opcodes_have_three_bits_of_the_first_byte() {
        assert_eq!(opcode_of(&[0xdb, 0x1d, 1, 2, 3, 4]), 0x31d);
        assert_eq!(opcode_of(&[0x65, 0x41, 0xd9, 0x30]), 0x130);
        assert_eq!(opcode_of(&[0x90]), 0);
        assert_eq!(opcode_of(&[0xdb]), 0);
    }
}
