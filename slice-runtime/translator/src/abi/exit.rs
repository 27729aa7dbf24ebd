//! Exits: the ways out of a trace into the runtime, and how they are numbered.

use machine::AppPc;

/// Which of the two spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceId {
    /// This process's own.
    Own = 0,
    /// Shared by all slices.
    Shared = 1,
}

/// Number of a trace in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceId(pub u32);

/// What an exit leads to.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// To the app pc `pc`; `site` is the offset of a rel32 that may be patched to link the exit.
    Direct = 1,
    /// A branch through a constant pointer, at `pc`, whose link word (`argument`) says nothing yet; `site` is the offset of what does it otherwise.
    ConstantPointer,
    /// A `syscall` instruction; `pc` is the address after it.
    Syscall,
    /// `rdtsc`; `pc` is the address after it.
    Rdtsc,
    /// `rdtscp`.
    Rdtscp,
    /// `cpuid`.
    Cpuid,
    /// Another instruction whose result must come from the host; `argument` is its length.
    Unrepeatable,
    /// An analysis routine is called out of line; `site` is the offset where the trace goes on, `pc` the app pc,
    /// `argument` the arena offset of the descriptor.
    Call,
    /// A call in place was begun when an interruption came, and has been made; `site` is the offset where the trace goes on.
    Interrupted,
    /// The instruction at `pc` stores the x87 unit's environment; `site` is the offset where the trace goes on.
    X87Environment,
    /// The instruction at `pc` takes the trap flag from the stack.
    PopFlags,
    /// The instruction at `pc` loads a selector to FS or GS.
    SelectorLoad,
    /// The buffer is to be emptied before the app goes on at `pc`.
    Drain,
    /// Words are written into the buffer that the runtime computes, before the instruction at `pc`; `site` is the offset where the trace goes on, `argument` the arena
    /// offset of the descriptor.
    Words,
    /// The quick check of the slice's end passed at `pc`; `site` is the offset where the trace goes on.
    End,
    /// The app code at `pc` isn't what the trace was made from any more.
    Changed,
    /// A store has changed the rest of its block, from `pc` on; `site` is an offset at which the app is there.
    Rewritten,
    /// The head of a trace that is no longer valid here: translate `pc` anew. `argument` is the trace's number, `site`
    /// its space.
    Invalid,
}

/// One way out of a trace into the runtime.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TraceExit {
    /// App pc, see [`ExitKind`].
    pub pc: AppPc,
    /// What it is.
    pub kind: ExitKind,
    /// Cache offset, see [`ExitKind`].
    pub site: u32,
    /// See [`ExitKind`].
    pub argument: u32,
    /// The trace that it leaves. Known when it is written to the tables.
    pub from: TraceId,
}

/// What a stub writes to `ThreadState::exit`.
pub fn exit_id(space: SpaceId, number: u32) -> i32 {
    ((space as u32) << 30 | number) as i32
}

/// Undoes [`exit_id`].
#[inline]
pub fn exit_of(id: u64) -> (SpaceId, u32) {
    let space = if id >> 30 & 1 == 1 { SpaceId::Shared } else { SpaceId::Own };
    (space, id as u32 & 0x3fff_ffff)
}

/// Doors: addresses of the runtime that emitted code jumps to directly, where it reaches them.
#[derive(Clone, Copy, Debug)]
pub struct Doors {
    /// Where an exit stub leaves.
    pub leave_by_stub: u64,
    /// Where an IBL stub goes on that isn't the target's, when there is no other.
    pub stub_miss: u64,
    /// Calls the routine in rax with all of the app's state aside that such a call may change, but general registers.
    pub aside: u64,
    /// The same of a routine of which it is known that it changes little else, see [`isa::routine::Plan`]: only that is put aside.
    pub partly: u64,
    /// Has the runtime make a call, with all of the app's state aside.
    pub clean_call: u64,
    /// Has it write the words before an instruction.
    pub clean_words: u64,
}
