//! How to translate.

use bubble::switches::Off;

/// How to translate.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Basic blocks that a trace holds at most.
    pub max_blocks: usize,
    /// Instructions that a trace holds at most.
    pub max_instructions: usize,
    /// Whether traces are linked.
    pub linking: bool,
    /// Whether translations of unchanging files are shared through the run memory.
    pub sharing: bool,
    /// Whether what is shared is also for other runs, or from them.
    pub outlives_run: bool,
    /// Bytes of each code cache that may be used.
    pub cache_bytes: u64,
    /// Optimisations that are off.
    pub off: Off,
    /// The slot of this process, for the list of ends.
    pub slot: usize,
    /// Whether the app may see its flags at a fault, see [`crate::Control::expect_faults`].
    pub exact_faults: bool,
    /// Whether the host replays what the app did elsewhere: it is then asked for every result that the app's state doesn't
    /// determine, see [`crate::Nondeterministic::Unrepeatable`].
    pub replays: bool,
    /// Whether the tool is told of each repetition of a string instruction.
    pub each_repetition: bool,
    /// XCR0 of the processor on which the app asks, for hosts that replay.
    pub xcr0: u64,
    /// Whether the base of FS or GS is zero after a null selector was loaded, on the processor on which the app loads it; others leave it alone.
    pub null_selector_clears_base: bool,
    /// Whether a repeated comparison that faults or is interrupted shows the flags from before it, as on Intel's processors; on AMD's it shows those of its last step.
    pub comparisons_keep_flags: bool,
    /// The process that has the run memory open, and its descriptor, if it can be opened by its name; and where in it the tables of the shared cache are.
    pub run_memory: Option<(i32, i32, u64)>,
    /// What those who work on superpin asked for.
    pub watched: Watched,
}

/// Places in the app that somebody asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// Traces that hold the instruction at this pc are written out when they are translated.
    pub written_out: Option<u64>,
    /// The process stops before it executes the app's instruction at this pc for the first time. Its translations must not be shared: others would lead to
    /// that instruction without the engine's knowledge.
    pub stops_at: Option<u64>,
}

impl Watched {
    /// Nothing.
    pub const NOTHING: Watched = Watched { written_out: None, stops_at: None };
}
