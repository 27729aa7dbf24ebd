//! Write a tool: what to look at in a running program, and how to add up what was seen.
//!
//! A tool is one type that implements [`Tool`]. A program that consists of `image!(MyTool);` is a *tool image*: run it
//! by itself (`my-tool -sp 1 -t my-tool -- app`) or hand it to `superpin -t PATH`. The same file then plays three
//! roles in several processes:
//!
//! | role | process | what of the tool runs there |
//! |---|---|---|
//! | supervisor | the one a person started | nothing but the check of its options |
//! | injected | the app (serial), or each slice | [`Tool::new`], [`Tool::begin`], [`Tool::instrument`], analysis routines, [`Tool::finish`] |
//! | collector | one, beside the others | [`Tool::new`], [`Tool::fold`], [`Tool::fini`] |
//!
//! So no variable of the tool's is seen by two of them: what a slice found travels to the collector as the encoded
//! [`Tool::Result`], and slices are folded in the order of the app's execution, whatever order they finished in.
//!
//! # A whole tool
//!
//! ```no_run,standalone_crate
//! # // A doc test is a program with a `main` of its own, so `image!` is left out here.
//! use superpin_tool::{At, NoOptions, Out, SliceInfo, Tool, Trace};
//!
//! struct Calls;
//!
//! fn count(calls: &mut u64) {
//!     *calls += 1;
//! }
//!
//! impl Tool for Calls {
//!     const NAME: &'static str = "calls";
//!     const ABOUT: &'static str = "Counts executed call instructions";
//!     type Options = NoOptions;
//!     type Local = u64;
//!     type Result = u64;
//!     type Total = u64;
//!
//!     fn new(_: NoOptions) -> Result<Self, String> {
//!         Ok(Calls)
//!     }
//!
//!     fn instrument(&self, trace: &Trace<'_, u64>) {
//!         for instruction in trace.instructions().filter(|i| i.is_call()) {
//!             instruction.call(At::Before, count, ());
//!         }
//!     }
//!
//!     fn begin(&self, _: SliceInfo) -> u64 {
//!         0
//!     }
//!
//!     fn finish(&self, local: &u64) -> u64 {
//!         *local
//!     }
//!
//!     fn fold(&self, total: &mut u64, _: SliceInfo, result: u64) {
//!         *total += result;
//!     }
//!
//!     fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
//!         writeln!(out, "Calls: {total}")
//!     }
//! }
//! # use std::io::Write;
//! ```
//!
//! `docs/tools.md` builds a tool step by step, outside this workspace.
//!
//! # Its rooms
//!
//! ```text
//!   code, names ◄─ instrument ◄─ tool ◄─ image
//!         ◄─ files ◄─────────┤  ▲
//!           kernel, threads ◄┘ models
//! ```
//!
//! * `code`: how often code was executed.
//! * `names`: images and routines of the app. `files`: reading them.
//! * `kernel`: the app's system calls and signals.
//! * `instrument`: a trace, and what is inserted into it.
//! * `threads`: the app's threads.
//! * `tool`: the trait, options, results.
//! * [`models`]: caches, predictors, tables and heaps, exact in slices.
//! * `records`: words in the buffer of several kinds.
//! * [`memory`]: what routines read of the app's memory.
//! * `image`: a program that plays the three roles.
//! * [`testing`]: a test kit for tools.

mod code;
mod files;
mod image;
mod instrument;
mod kernel;
pub mod memory;
pub mod models;
mod names;
mod records;
pub mod testing;
mod threads;
mod tool;

/// For options of a tool: `use superpin_tool::clap;`, then `#[derive(clap::Args)]`. So a tool's project needs no dependency but this crate.
pub use clap;
/// For results of a tool's own: `use superpin_tool::serde;`, then `#[derive(serde::Serialize, serde::Deserialize)]` and
/// `#[serde(crate = "superpin_tool::serde")]`.
pub use serde;

pub use code::{BlockCounts, BranchKind, Code, CodeAddress, CodeBlock, CodeInstruction, CountsBlocks};
pub use files::{Asked, Images, Line};
pub use image::{Entry, main};

/// For [`image!`] alone.
#[doc(hidden)]
pub mod listed {
    pub use crate::image::{Listed, ListedSerialTool, ListedTool};
}

pub use engine::StateMut;
pub use instrument::{
    Access, AnalysisRoutine, App, AppRoutine, Arg, Arguments, At, Block, ChangeRoutine, Class, Extension, Instruction,
    InstructionMut, ListRoutine, MNEMONICS, MemoryOperand, Operand, OperandKind, Property, Register, RegisterRoutine,
    RegisterSet, Repeat, Replaced, ReplacementRoutine, SegmentRegister, State, StateRoutine, Test, ToolRegister, Trace,
    TraceMut, ValueRoutine, Versions, mnemonic_name,
};
pub use kernel::{
    AppRange, Signal, SignalEvent, SignalMut, Syscall, SyscallArgument, SyscallArgumentKind, SyscallEvent, SyscallKind,
    SyscallMut, error_name, signal_name, syscall_name,
};
pub use machine::{AddressHasher, AppPc, Gpr, X87};
pub use names::{Image, ImageEvent, LoadedImages, Routine, RoutineKind, Section, Variable};
pub use records::{Record, Records};
/// Values for [`Tool::values`].
pub use serde_json as json;
pub use threads::{ThreadEvent, ThreadInfo, ThreadPath, Threads};
pub use tool::{
    CallStack, ChangeSignal, ChangeSyscall, CountsBefore, FirstPass, Frame, NoOptions, OnFirstPass, OnImage, OnPrefix,
    OnSignal, OnSyscall, OnThread, Out, PerThread, Prefix, SerialTool, SliceInfo, Stream, Tool, Total, end_slice,
    leave_slice, merge, stop,
};

#[cfg(test)]
suites::watch_tests!();
