//! A way round the runtime: what a host has that does a system call's work itself, in a few instructions.
//!
//! To leave translated code and to enter it again costs as much as a system call. So a host may put a routine of its own between an exit
//! at a system call and [`crate::Host::syscall`]. It is jumped to as `leave` is, from translated code: GS points to the thread
//! state, FS and all other registers are the app's, but for r11 if that is reserved. It goes one of three ways:
//!
//! * *given up*: with all registers as it found them, to `superpin_leave`. Then it is as if there were no fast path.
//! * *done*: rax, rcx and r11 (see [`at`]), or what a reading of the time stamp counter gives, are as the instruction leaves them; with r10 the app pc after it, through the table of indirect
//!   branches. The home slots of r10 and r9 are as they were: whoever is there takes both back.
//! * *done and interrupted*: the same, to `superpin_indirect_miss`.
//!
//! It may fault: then it gives up. A signal may arrive before it looks at `interrupted`; from there to the end of its *window* the handler
//! lets it go the third way.

use std::ops::Range;

/// GS offsets of what a fast path uses.
pub mod at {
    use std::mem::offset_of;

    use bubble::map;
    use machine::{Gpr, Registers};
    use translator::abi::{Cpu, HOME_R9, HOME_R10, SLOT_R11, ThreadState};

    /// Where `leave` stores a register: a place to keep it.
    pub const fn register(r: Gpr) -> usize {
        offset_of!(ThreadState, cpu) + offset_of!(Cpu, registers) + offset_of!(Registers, gpr) + r as usize * 8
    }

    /// What r10 holds at a block's end.
    pub const R10_HOME: usize = ThreadState::spill_at(HOME_R10) as usize;
    /// What r9 holds there.
    pub const R9_HOME: usize = ThreadState::spill_at(HOME_R9) as usize;
    /// The app's r11, if that is reserved.
    pub const KEPT_R11: usize = ThreadState::spill_at(SLOT_R11) as usize;
    /// 1 if it is, 0 if r11 is the app's.
    pub const IS_R11_RESERVED: usize = offset_of!(ThreadState, is_r11_reserved);
    /// A stack.
    pub const RUNTIME_RSP: usize = offset_of!(ThreadState, runtime_rsp);
    /// Not 0: the run loop is wanted.
    pub const INTERRUPTED: usize = offset_of!(ThreadState, interrupted);
    /// Which exit was taken, 32 bits: bit 30 is its space's number, the bits below its own.
    pub const EXIT: usize = offset_of!(ThreadState, exit);
    /// Addresses of the exits of each space.
    pub const EXITS: usize = offset_of!(ThreadState, exits);
    /// Words of an exit, the first of which is the app pc after the call.
    pub const EXIT_WORDS: usize = size_of::<translator::abi::TraceExit>() / 8;
    /// In such an exit, which instruction it is at, 32 bits.
    pub const EXIT_KIND: usize = offset_of!(translator::abi::TraceExit, kind);
    /// That for `rdtsc`; for `rdtscp` it is one more.
    pub const AT_RDTSC: u32 = translator::abi::ExitKind::Rdtsc as u32;
    const _: () = assert!(translator::abi::ExitKind::Rdtscp as u32 == AT_RDTSC + 1);
    /// 1 if targets are looked up in the target map, 0 if in the table of IBL stubs.
    pub const LOOKS_IN_MAP: usize = offset_of!(ThreadState, looks_in_map);
    /// The bits of a target that choose its window in the map.
    pub const TARGET_BITS: usize = offset_of!(ThreadState, target_bits);
    /// The map's windows: for each value of these bits where the word of address 0 would be.
    pub const WINDOWS: usize = (map::TARGET_WINDOWS.start - map::THREADS.start) as usize;
    /// How many of the lowest bits of a target its place in the IBL table doesn't depend on, 32 bits; the next 16 say it.
    pub const DROPPED_BITS: usize = offset_of!(ThreadState, dropped_bits);
    /// That table: an address for each place.
    pub const INDIRECT: u64 = ThreadState::indirect_address(0);
}

/// A fast path's places.
#[derive(Clone, Debug)]
pub struct FastPath {
    /// All of its code, which starts with its first instruction.
    pub code: Range<u64>,
    /// Where it starts for a reading of the time stamp counter.
    pub reading: u64,
    /// Where it goes on after a fault.
    pub gives_up: u64,
    /// From its look at `interrupted` on.
    pub window: Range<u64>,
    /// Where it goes on if it is interrupted there.
    pub interrupted: u64,
    /// Its last instruction, which jumps to the app's next code. If that faults, it is as if it were interrupted.
    pub jump: u64,
}

impl FastPath {
    /// Where it goes on if `pc`, which raised a fault, is in it.
    pub fn after_fault(&self, pc: u64) -> Option<u64> {
        self.code.contains(&pc).then_some(if pc == self.jump { self.interrupted } else { self.gives_up })
    }

    /// Where it goes on if it was interrupted at `pc` and doesn't notice that by itself.
    pub fn after_interrupt(&self, pc: u64) -> Option<u64> {
        self.window.contains(&pc).then_some(self.interrupted)
    }
}
