//! What a slice tells those who work on it, beside what the engine does ([`bubble::events`]).

use bubble::boot::BootBlock;
use bubble::events::{EventKind, tell};

use crate::ports::OwnSlot;

/// It is about to execute its first instruction.
pub(super) fn begins(boot: &BootBlock, slot: OwnSlot) {
    let end = slot.end();
    tell(
        EventKind::Boundary,
        format_args!(
            "begins at {:#x}, attempt {}, to replay {} records, to its end by {:?} at {:#x}",
            boot.state.registers.rip,
            slot.attempt() + 1,
            slot.records(),
            end.kind,
            end.registers.rip
        ),
    );
}

/// Its result is handed in.
pub(super) fn has_finished(slot: OwnSlot) {
    tell(EventKind::Boundary, format_args!("has finished, {} bytes of result", slot.result_len()));
}
