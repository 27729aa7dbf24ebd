//! Arming and disarming a place before which the host is asked: a slice's end, or a point on the way to it.

use std::sync::atomic::Ordering;

use bubble::end::EndStands;
use machine::{AppPc, Registers, flags};
use translator::abi::SpaceId;
use translator::trace::Instrument;

use super::engine::Engine;
use super::make::Want;
use super::point::EndPlace;

impl Engine {
    /// From now on the host is asked before `registers.rip`, and nowhere else.
    ///
    /// With a shared cache: from the moment the end is in the list, no other slice makes a shared trace that starts there, and no new one runs across it, unless it runs across in the
    /// middle of a block where only a block's start is the end. Where the end is a block's start, others will want a trace there: it is made now if there is none. Then
    /// all traces that run across or start at the end are hidden from this process, and stay so: another place may be armed near it, and translations of its own are as
    /// good.
    pub(crate) fn arm(&mut self, registers: &Registers, stands: EndStands, tool: &dyn Instrument) {
        self.disarm();
        let pc = registers.rip;
        let place = EndPlace { pc: AppPc(pc), starts_block: stands == EndStands::First };
        if let Some(tables) = self.cache.shared_tables() {
            let locked = tables.lock();
            tables.of_one_run().ends[self.settings.slot].store(place.encoded(), Ordering::SeqCst);
            drop(locked);
            if place.starts_block && self.is_shared(AppPc(pc)) {
                // An end that can't be fetched or translated can't be reached by shared code either.
                let _ = self.make_in(SpaceId::Shared, AppPc(pc), Want::Trace { behind: None }, tool);
            }
            let mut found = Vec::new();
            tables.overlapping(pc, pc + 1, |id, _| found.push(id));
            for id in found {
                if self.points.hide(id) {
                    self.invalidate((SpaceId::Shared, id));
                }
            }
        }
        self.drop_own(pc, pc + 1);
        let dead = flags::ARITHMETIC & !self.live_flags_at(AppPc(pc));
        self.points.arm(registers, stands, dead);
    }

    /// Whether somebody wants to look at the app before it first executes the instruction at `pc`. From now on nobody does.
    pub(crate) fn takes_stop(&mut self, pc: AppPc) -> bool {
        let stops = self.settings.watched.stops_at == Some(pc.0);
        if stops {
            self.settings.watched.stops_at = None;
            self.drop_own(pc.0, pc.0 + 1);
        }
        stops
    }

    /// The host isn't asked any more. Traces with checks are dropped; what takes their place is this process's own.
    pub(crate) fn disarm(&mut self) {
        let Some(end) = self.points.disarm() else { return };
        if let Some(tables) = self.cache.shared_tables() {
            tables.of_one_run().ends[self.settings.slot].store(0, Ordering::SeqCst);
        }
        let pc = end.registers.rip;
        self.drop_own(pc, pc + 1);
    }
}
