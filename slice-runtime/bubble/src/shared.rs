//! What the control process and the slices tell each other through the run memory.
//!
//! One [`RunHeader`] starts [`crate::map::CONTROL`]; [`MAX_SLOTS`] [`Slot`]s follow it. A slot is the shared face of one
//! slice (or of the serial process) from its fork until its result was folded; then it is used again.
//!
//! ```text
//!   control process                                 slice in the slot
//!   claim: state = BOOTING, fork, take over   --->  boots, may translate; waits for state >= RELEASED (futex)
//!   its end is known: writes `end`,
//!   `log_len`, state = RELEASED, futex wake   --->  runs, replays, finds its end
//!                                             <---  writes `result_len`, state = FINISHED (or FAILED and `report`),
//!                                                   futex wake, _exit(0)
//!   reaps it, passes the result on,
//!   state = FREE
//! ```
//! A slice that dies or fails is tried again: the control process sets the state back, raises `attempt`, and the process that
//! keeps the slice's first state forks another slice process from it.
//!
//! The side that owns a state is the only one to write the fields; the store of `state` (release) publishes them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use crate::map::MAX_SLOTS;
use crate::routines::{AWAY, Away};

use machine::cpuid;

use crate::departure::Places;
use crate::end::{End, EndKind};
use crate::region::{Progress, Spec};
use crate::switches::Off;
/// Bytes of a failure report.
pub const REPORT_BYTES: usize = 4096;
/// What stands between the words of two tools: no option of a tool's own, since the command line would take it for this.
pub const NEXT_TOOL: &str = "-t";
/// Tools that can look at one run.
pub const MOST_TOOLS: usize = 8;
/// Bytes of tool name and tool options in the header.
pub const TOOL_ARGS_BYTES: usize = 16 * 1024;

/// States of a slot.
pub mod state {
    /// Nobody uses it.
    pub const FREE: u32 = 0;
    /// A process is being taken over.
    pub const BOOTING: u32 = 1;
    /// The slice's end is known: it may run.
    pub const RELEASED: u32 = 2;
    /// The result is complete.
    pub const FINISHED: u32 = 3;
    /// The slice can't give a right result: `report` says why.
    pub const FAILED: u32 = 4;
}

/// In place of a slot's index: there is none.
pub const NO_SLOT: u32 = u32::MAX;
/// In place of a process id: there is none.
pub const NO_PROCESS: u32 = u32::MAX;

/// In place of an app pc or a slice's number: there is none.
pub const NOWHERE: u64 = u64::MAX;

/// Settings of a run that every process of it reads. Written before the first process is taken over.
#[repr(C)]
pub struct RunHeader {
    /// [`crate::boot::BOOT_MAGIC`].
    pub magic: u64,
    /// Basic blocks that a trace holds at most.
    pub max_blocks: u32,
    /// Instructions that a trace holds at most.
    pub max_instructions: u32,
    /// Whether trace exits are linked (1) or always go through the dispatcher (0).
    pub linking: u32,
    /// Whether translations are shared between slices (1) or each process keeps its own (0).
    pub sharing: u32,
    /// Bytes of each code cache that may be used; a full cache is flushed.
    pub cache_bytes: u64,
    /// Bytes used of `tool_args`.
    pub tool_args_len: u32,
    /// Optimisations that are off.
    pub off: Off,
    /// The process of which this is the memory, if it was started by the app; 0 for the app itself.
    pub process: u32,
    /// Whether shared translations are there from a run before, or are kept for a run after this (1): serial runs have them too.
    pub keeps_code: u32,
    /// Whether the tool is checked (1): its routines aren't called from translated code then.
    pub checks_tool: u32,
    /// What is to be told, as [`crate::events::EventKind::bit`]s.
    pub told: AtomicU32,
    /// The app pc whose traces are written out; [`NOWHERE`] if none are.
    pub written_out: AtomicU64,
    /// The slice that stops for a debugger; [`NOWHERE`] if none does.
    pub stops: AtomicU64,
    /// Before which app pc; [`NOWHERE`]: before its first instruction.
    pub stops_at: AtomicU64,
    /// Tool name, then its options, each ended by a zero byte; [`NEXT_TOOL`] stands before the name of another.
    pub tool_args: [u8; TOOL_ARGS_BYTES],
    /// What `cpuid` answered where the master executed it. Not taken if the master's `cpuid` instructions are trapped and recorded.
    pub cpuid: cpuid::Table,
    /// What `xgetbv` answers there with ecx zero: components of the extended state that the kernel has enabled.
    pub xcr0: u64,
    /// 1 if the base of FS or GS is zero there after a null selector was loaded.
    pub null_selector_clears_base: u64,
    /// 1 if a repeated comparison that faults shows the flags from before it there.
    pub comparisons_keep_flags: u64,
    /// 1 in a sliced run.
    pub sliced: u32,
    /// A bit for each slot whose stream has news, see [`crate::stream`].
    pub streaming: [AtomicU64; MAX_SLOTS / 64],
    /// Changes when a bit is set: the futex on which the collector waits.
    pub streams: AtomicU32,
    /// 1 when nobody takes streams any more: the run has failed.
    pub streams_lost: AtomicU32,
    /// Which part of the run the tool looks at.
    pub region: Spec,
    /// 1 if an app that runs serially goes on natively behind the region.
    pub departs: u32,
    /// 1 if the app is to end when the tool has looked its last.
    pub ends_app: u32,
}

/// What an engine did, counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineStats {
    /// Entries into the runtime: new or unlinked code, indirect branch miss, system call, emulated or volatile
    /// instruction, other.
    pub entries: [u64; 5],
    /// Traces translated by this process.
    pub traces: u64,
    /// Instructions in them.
    pub instructions: u64,
    /// Lookups that found a trace in the shared cache.
    pub shared_hits: u64,
    /// Those that found none where one could be, so that it was made there.
    pub shared_misses: u64,
    /// Nanoseconds spent in translating, estimated from every sixteenth trace: reading the clock is a system call there.
    pub translate_ns: u64,
    /// Bytes of code cache that it filled.
    pub cache_bytes: u64,
}

impl EngineStats {
    /// Adds those of another.
    pub fn add(&mut self, other: &Self) {
        for (total, n) in self.entries.iter_mut().zip(other.entries) {
            *total += n;
        }
        self.traces += other.traces;
        self.instructions += other.instructions;
        self.shared_hits += other.shared_hits;
        self.shared_misses += other.shared_misses;
        self.translate_ns += other.translate_ns;
        self.cache_bytes += other.cache_bytes;
    }
}

/// Counters of one slice, for the report.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SliceStats {
    /// Its engine's.
    pub engine: EngineStats,
    /// Times that it compared all registers with those of its end.
    pub full_checks: u64,
    /// Full comparisons that reached the stack.
    pub stack_checks: u64,
    /// Comparisons of all memory with the next slice's first state.
    pub memory_checks: u64,
    /// 1 if the last of them found no difference.
    pub verified: u64,
    /// 1 if the slice looked at memory that another process wrote to before the slice's end.
    pub shared_changed: u64,
    /// CPU nanoseconds of the slice.
    pub cpu_ns: u64,
    /// Of these, until it was ready to execute its first instruction.
    pub boot_cpu_ns: u64,
    /// Nanoseconds from its fork to that moment.
    pub boot_ns: u64,
    /// On which processors it began and ended. All bits: not known.
    pub processors: [u32; 2],
    /// Processes that the app has started, in a serial run.
    pub children: u64,
    /// Threads that it has started, likewise.
    pub threads: u64,
    /// Its points.
    pub points: PointStats,
    /// Analysis routines that left the code cache most often.
    pub away: [Away; AWAY],
}

impl SliceStats {
    /// Adds those of another, but for routines and processors: each slice has its own.
    pub fn add(&mut self, other: &Self) {
        self.engine.add(&other.engine);
        self.full_checks += other.full_checks;
        self.stack_checks += other.stack_checks;
        self.memory_checks += other.memory_checks;
        self.verified += other.verified;
        self.shared_changed += other.shared_changed;
        self.cpu_ns += other.cpu_ns;
        self.boot_cpu_ns += other.boot_cpu_ns;
        self.boot_ns += other.boot_ns;
        self.children += other.children;
        self.threads += other.threads;
        self.points.add(&other.points);
    }
}

/// Points of a slice: where signals came, or turns ended, in the midst of the app's code.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PointStats {
    /// How many it has come to.
    pub reached: u64,
    /// Of these, in a state that recurs.
    pub ambiguous: u64,
    /// Where the first of those was.
    pub ambiguous_at: u64,
    /// How many of those were ends of turns.
    pub ambiguous_turns: u64,
}

impl PointStats {
    /// Adds those of another slice.
    pub fn add(&mut self, other: &Self) {
        if self.ambiguous == 0 {
            self.ambiguous_at = other.ambiguous_at;
        }
        self.reached += other.reached;
        self.ambiguous += other.ambiguous;
        self.ambiguous_turns += other.ambiguous_turns;
    }
}

/// The shared face of one slice.
#[repr(C)]
pub struct Slot {
    /// One of [`state`]; also the futex that both sides wait on.
    pub state: AtomicU32,
    /// Records in the log.
    pub records: AtomicU32,
    /// Bytes of log in the slot's RECORDS.
    pub log_len: AtomicU64,
    /// Bytes behind them: the record of the system call at the slice's end, by which the state before it becomes the next
    /// slice's first state. 0 if that isn't to be verified, or can't be.
    pub last_call_len: AtomicU64,
    /// Bytes of result in the slot's RESULT.
    pub result_len: AtomicU64,
    /// Bytes used of `report`.
    pub report_len: AtomicU32,
    /// Process that keeps the slice's first state unchanged; also a futex. 0 as long as there is none, [`NO_PROCESS`] when
    /// there will be none any more. The slice makes it when it boots; the control process kills it when the slice before,
    /// which compares itself with it, and the slice itself, which may have to be tried again, have finished.
    pub checkpoint: AtomicU32,
    /// Process that runs the slice, 0 while a new one is being made.
    pub process: AtomicU32,
    /// How often the slice was begun again; also the futex on which the checkpoint process of its first state waits.
    pub attempt: AtomicU32,
    /// 1 if the complete state at the slice's end was seen again without any input between: how often the app went
    /// through it can't be told.
    pub end_recurs: AtomicU32,
    /// Slot of the slice that starts where this one ends, for as long as that is compared with it; [`NO_SLOT`] if there is none.
    pub successor: AtomicU32,
    /// 1 if the app's thread with which the slice begins executes nothing before another one goes on.
    pub gives_way: AtomicU32,
    /// Which of the programs that the app is, one after the other, the slice executes: see [`crate::app_images::AppImages::program`].
    pub program: AtomicU32,
    /// Where the app's code goes on in the process that a serial run is about to start.
    pub child_at: AtomicU64,
    /// CPU time that the slice may use, in nanoseconds; 0: as much as it likes.
    pub cpu_bound_ns: AtomicU64,
    /// 1 if beginning the slice again makes no sense: it would fail in the same way.
    pub is_final: AtomicU32,
    /// Whether signals of a serial run are held back, see [`held`].
    pub held: AtomicU32,
    /// What the app blocks then.
    pub held_mask: AtomicU64,
    /// Signals that have arrived in a serial run (wraps round).
    pub arrived: AtomicU32,
    /// Of these, so many were delivered to the app's code. While it executes the tool none is.
    pub delivered: AtomicU32,
    /// What the slice's process is to do, one of [`crate::region::pass`].
    pub pass: AtomicU32,
    /// 1 if the tool has looked its last in this slice. Valid once it has finished.
    pub stopped: AtomicU32,
    /// How far the run has come where the slice begins. Of a slice that counts: nothing.
    pub begins: Progress,
    /// How far where it ends.
    pub ends: Progress,
    /// 1 if the app, which runs serially, is to leave the image: see [`crate::departure`].
    pub departs: AtomicU32,
    /// Places of its runtime.
    pub places: Places,
    /// Where the app's other threads come in.
    pub adoption: crate::adoption::Adoption,
    /// Why the slice failed, in words.
    pub report: [u8; REPORT_BYTES],
    /// Counters.
    pub stats: SliceStats,
    /// Where the slice ends.
    pub end: End,
}

/// Values of [`Slot::held`].
pub mod held {
    /// Signals come as they come.
    pub const NOT: u32 = 0;
    /// All are blocked. The control process sets the app's mask when the app has got on.
    pub const BACK: u32 = 1;
    /// The app stops by a trap, and the control process sets the mask when the app is at the entry of its next call.
    pub const UNTIL_CALL: u32 = 2;
}

impl Slot {
    /// Whether it is known that the app, in this slice, asked the outside for anything: it came there from the slice's start by itself, and by the thread that it started with.
    ///
    /// # Safety
    /// The slot was claimed and isn't given back meanwhile.
    pub unsafe fn comes_to_input(slot: *const Slot) -> bool {
        // SAFETY: the slot exists, and by its state the other fields aren't written any more.
        unsafe {
            (*slot).state.load(Ordering::Acquire) >= state::RELEASED
                && (*slot).gives_way.load(Ordering::Relaxed) == 0
                && ((*slot).records.load(Ordering::Relaxed) > 0 || (*slot).end.kind == EndKind::Syscall)
        }
    }
}

/// Offset of slot `index` in CONTROL.
pub const fn slot_at(index: usize) -> usize {
    let header = size_of::<RunHeader>().next_multiple_of(4096);
    header + index * size_of::<Slot>().next_multiple_of(64)
}

const _: () = assert!(slot_at(MAX_SLOTS) <= crate::map::CONTROL.size as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_comes_to_input_by_a_record_or_at_its_end() {
        // SAFETY: all fields are integers, or an enumeration that has a zero.
        let mut slot: Box<Slot> = unsafe { Box::new(std::mem::zeroed()) };
        slot.end.kind = EndKind::Signature;
        let comes = |slot: &Slot| {
            // SAFETY: a local variable.
            unsafe { Slot::comes_to_input(slot) }
        };
        slot.records = AtomicU32::new(1);
        slot.state = AtomicU32::new(state::BOOTING);
        assert!(!comes(&slot), "it isn't known yet");
        slot.state = AtomicU32::new(state::RELEASED);
        assert!(comes(&slot));
        slot.records = AtomicU32::new(0);
        assert!(!comes(&slot));
        slot.end.kind = EndKind::Syscall;
        assert!(comes(&slot));
    }
}
