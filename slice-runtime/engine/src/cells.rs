//! Cells: where branches through slots (see [`crate::slots`]) go in code that slices share.
//!
//! What a slot holds is known to the process alone that looks at it: another one may have the same code and other files at other places. So
//! a branch in shared code jumps to what its cell says, a word of the process's own thread state. At first that is where exit stubs go; the runtime finds
//! the trace that the slot leads to in this process, whatever mapping that is in, or else that the slot can be written, and puts
//! the branch's own other way there, where the slot is loaded and its target looked up. All cells start anew when translations are dropped.

use bubble::switches::Optimisation;
use isa::{Instruction, Kind};
use machine::CachePc;
use translator::abi::{Exit, SpaceId};
use translator::emit::{self, ThroughSlot};
use translator::trace::Trace;

use crate::engine::{Engine, Next};
use crate::gateway;
use crate::guest::Guest;
use crate::tables::Locked;

impl Engine {
    /// How the trace's last instruction goes where it goes, if that is a branch through a slot.
    pub(crate) fn through_slot(&mut self, space: SpaceId, locked: &Locked<'_>, trace: &Trace) -> Option<ThroughSlot> {
        let last = trace.instructions.last()?;
        let slot = emit::slot(last)?;
        let off = self.settings.off;
        if !off.leaves(Optimisation::Slots) || self.single {
            return None;
        }
        let target = self.regions.constant_target(slot)?;
        match space {
            SpaceId::Own => Some(ThroughSlot::To(target)),
            // A call would have to push its return address before it is known that the slot can be read.
            SpaceId::Shared if last.kind() != Kind::JumpIndirect => None,
            // Whoever jumps to a trace's start has r10 free.
            SpaceId::Shared if !self.settings.linking || !off.leaves(Optimisation::Late) => None,
            SpaceId::Shared => locked.take_cell().map(ThroughSlot::ByCell),
        }
    }

    /// A branch found nothing in its cell.
    pub(crate) fn after_slot(&mut self, guest: &mut dyn Guest, space: SpaceId, exit: &Exit) -> Next {
        self.stats.entries[0] += 1;
        let branch = Instruction::decode(self.code_bytes(exit.pc), exit.pc).expect("it was translated");
        let slot = emit::slot(&branch).expect("it is a branch through a slot");
        let Some(target) = self.regions.constant_target(slot) else {
            let otherwise = self.space(space).pc(exit.site);
            self.thread().slots[exit.argument as usize] = otherwise.0;
            return Next::Cache(otherwise);
        };
        self.cpu().registers.rip = target.0;
        let flushes = self.flushes;
        let Some((to, id)) = self.dispatch(guest) else { return Next::Leave };
        let entry: CachePc = self.entry_of(to, id);
        if self.has_come_to(target, flushes) && self.may_enter_directly(to, id) {
            self.note_entrance(to, id);
            self.thread().slots[exit.argument as usize] = entry.0;
        }
        Next::Cache(entry)
    }

    /// All cells say nothing from here on.
    pub(crate) fn clear_cells(&mut self) {
        if self.shared.is_some() {
            self.thread().slots.fill(gateway::leave_by_stub_pc());
        }
    }
}
