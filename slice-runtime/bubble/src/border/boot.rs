//! The boot block: what the image finds at [`crate::map::ENTRY`] when it starts inside a taken-over process.
//! Written by the control process while the process is stopped, read once by the image.

use crate::behind::Behind;
use machine::signal_area::SignalArea;
use machine::{Registers, SavedXState};

/// First word of a boot block.
pub const BOOT_MAGIC: u64 = 0x5375_7065_7250_696e; // "SuperPin"

/// `argv[0]` of an image that was started inside a taken-over process.
pub const INJECTED: &str = "superpin-injected";
/// `argv[0]` of an image that was started as a collector.
pub const COLLECTOR: &str = "superpin-collector";

/// How the process is to be run.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// The app itself under translation: its system calls are executed.
    Serial = 0,
    /// A slice: its system calls are replayed from the log.
    Slice = 1,
}

/// The app's state at a boundary, apart from where it goes on: nothing here names a process, a descriptor or anything else of the running system, and all of
/// it is the same for whoever runs the slice, whenever. Memory is the rest of the state.
#[repr(C)]
#[derive(Clone)]
pub struct State {
    /// Number of the slice that starts there, from 0; in a serial run, of the program image (exec starts the next).
    pub slice: u64,
    /// The app's signal mask (all signals are blocked when the image starts).
    pub signal_mask: u64,
    /// The app's program break (end of its heap).
    pub brk: u64,
    /// What the app is behind.
    pub behind: Behind,
    /// What the kernel calls the app's first thread: a number that the app has seen, by which nobody is to be found.
    pub tid: u64,
    /// 1 if the app may have shared mappings, of which each process that runs the slice needs copies of its own.
    pub shares_memory: u64,
    /// Registers.
    pub registers: Registers,
    /// Extended state.
    pub xstate: SavedXState,
}

impl State {
    /// Whether the app is at the first instruction of a program.
    pub fn begins_program(&self) -> bool {
        self.slice == 0 || self.behind.is_exec()
    }
}

/// Where, and as what, the app goes on from a [`State`]: this process in this run.
#[repr(C)]
#[derive(Clone)]
pub struct Site {
    /// How to run.
    pub mode: RunMode,
    /// Index of the slot that this process uses.
    pub slot: u32,
    /// Process id of the control process.
    pub supervisor: i32,
    /// A descriptor of /proc for this process, where it may not see or open the one of that name; else negative.
    pub proc: i32,
    /// Descriptor of the run memory in the control process, where this process may open it by its name; else negative.
    pub run_memory: i32,
    /// First address of the image's own data, and the first behind: a slice leaves a snapshot of it (and more) behind, if there is none yet. Both 0 if
    /// it isn't to.
    pub image_data: [u64; 2],
    /// The app's limit of open files, where another one was set for the take-over. Else both 0.
    pub open_files: [u64; 2],
    /// What the kernel knows of the thread, of an app that was running already: the word that it clears at the thread's end, the list of locks that it
    /// unlocks then, and the size of that list's head. Else all 0.
    pub registered: [u64; 3],
    /// In a serial run: further threads that the app has already, see [`crate::adoption`].
    pub others: u64,
    /// When the fork was made, on the monotonic clock, in nanoseconds. 0 in a serial run.
    pub forked_at: u64,
    /// In a serial run: what this machine's signal frames hold of the extended state.
    pub signal_area: SignalArea,
    /// 1: the control process isn't this process's parent, but traces it and those that it forks, which die with it.
    pub is_traced: u64,
}

/// The boot block.
#[repr(C)]
#[derive(Clone)]
pub struct BootBlock {
    /// [`BOOT_MAGIC`].
    pub magic: u64,
    /// What the app goes on from.
    pub state: State,
    /// Where it does.
    pub site: Site,
}

const _: () = assert!(size_of::<BootBlock>() <= crate::map::ENTRY.size as usize);
