//! What emitted code and whoever runs it agree on.
//!
//! ```text
//!   emitted code ── gs:[…] ──► ThreadState     spill slots, counters, the app's state at an exit
//!                ── jmp ─────► Doors           addresses of the runtime
//!                ── exit ────► Exit            why a trace is left, and where the app goes on
//!   runtime ── a place in it ──► state map     the app's registers there
//!                            ──► marks         which calls were made, which words were written
//!                            ──► Descriptor    a call that the runtime makes itself, words that it computes
//!   a routine that asks for all ──► State       the app's state, read
//! ```

mod block_counters;
mod counters;
mod cpu;
mod descriptor;
mod exit;
mod ibl;
mod marks;
mod spill;
mod state;
mod state_map;
mod step;
mod thread_state;
mod values;

pub use block_counters::{COUNTERS, CountedBlock, block_counter_address};
pub use counters::{CounterPlace, Counters};
pub use cpu::{Cpu, KEPT};
pub use descriptor::CallDescriptor;
pub use exit::{Doors, ExitKind, SpaceId, TraceExit, TraceId, exit_id, exit_of};
pub use ibl::{INDIRECT_ENTRIES, IndirectTables, LINK_WORDS, Level, dropped_bits, index_of};
pub use marks::{BlockCall, BufferMark, CallMark};
pub use spill::{
    HOME_R9, HOME_R10, HOMES, MUCH, QUICK, Reserved, SHARDS, SLOT_HELD, SLOT_R11, SLOT_SCRATCH, SPILL_SLOTS, WORD,
    WORDS,
};
pub use state::{Access, State};
pub use state_map::{
    IN_R9, IN_TARGET, MapEntry, NOT_BORROWED, PcSource, R11, Saved, as_bytes, borrowed, borrowed_for_flags, find,
    from_bytes, in_home_slots,
};
pub use step::again_or_behind;
pub use thread_state::ThreadState;
pub use values::{is_unconditional, taken};
