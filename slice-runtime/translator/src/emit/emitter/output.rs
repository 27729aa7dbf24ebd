//! What was written so far.

use bubble::switches::Off;
use isa::Code;
use machine::AppPc;

use super::{ScratchBuffers, Site, code_at, emptied};
use crate::abi::{CallDescriptor, ExitKind, TraceExit, TraceId, as_bytes};

/// Code, stubs, exits and descriptors.
pub(in crate::emit) struct Output {
    pub(in crate::emit) code: Code,
    pub(in crate::emit) stubs: Code,
    pub(in crate::emit) exits: Vec<TraceExit>,
    /// Exits whose stub is still to be written: number, and offset in `code` of the rel32 that goes to it.
    pub(in crate::emit) pending: Vec<(usize, usize)>,
    /// Offsets in `code` of RIP displacements that name a return address, with the address.
    pub(in crate::emit) returns: Vec<(usize, u64)>,
    /// As they are stored.
    pub(in crate::emit) descriptors: Vec<u64>,
    /// Whether the trace compares its app code, see `checks::self_check`.
    pub(in crate::emit) self_checks: bool,
}

impl Output {
    /// Nothing yet, at a site.
    pub(super) fn new(site: &Site, off: Off, spare: &mut ScratchBuffers) -> Self {
        Self {
            code: Code { bytes: emptied(&mut spare.code), ..code_at(site.pc, off) },
            stubs: Code { bytes: emptied(&mut spare.stubs), ..code_at(site.stubs_end, off) },
            exits: emptied(&mut spare.exits),
            pending: emptied(&mut spare.pending),
            returns: Vec::new(),
            descriptors: emptied(&mut spare.descriptors),
            self_checks: false,
        }
    }

    /// Offset of what is written next. Stubs follow the code.
    pub(in crate::emit) fn offset(&self) -> u32 {
        (self.code.bytes.len() + self.stubs.bytes.len()) as u32
    }

    /// Notes an exit, and gives its number in this trace.
    pub(in crate::emit) fn add_exit(&mut self, kind: ExitKind, pc: AppPc, argument: u32) -> usize {
        self.exits.push(TraceExit { pc, kind, site: 0, argument, from: TraceId(0) });
        self.exits.len() - 1
    }

    /// A jump of `opcode_len` bytes before its rel32 follows: keeps that field within one cache line.
    pub(in crate::emit) fn align_rel32(&mut self, opcode_len: u64) {
        let at = (self.code.here().0 + opcode_len) % 64;
        if at > 60 {
            self.code.nop((64 - at) as usize);
        }
    }

    /// Adds a descriptor, and gives the offset in the trace's part of the arena that it will have.
    pub(in crate::emit) fn add_descriptor(&mut self, descriptor: &CallDescriptor) -> u32 {
        let at = as_bytes(&self.descriptors).len();
        descriptor.store(&mut self.descriptors);
        at as u32
    }
}
