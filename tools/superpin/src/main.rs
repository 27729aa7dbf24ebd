//! The `superpin` command: a tool image with the standard tools, which also makes projects for tools and reads traces.

#![no_main]

use standard_tools::{
    AllCache, Bbv, Blocks, BranchPredictor, Branches, CacheProfile, CallTrace, Callgrind, ChampSim, CmpCache, Coverage,
    DCache, DataProfile, Edges, Footprint, HeapProfile, Hot, ITrace, Icount1, Icount2, MallocTrace, MemAddr, MemTrace,
    Mix, Nothing, Opcodes, Reuse, Shadow, SimPoints, Stacks, Strace,
};

mod new_tool;
mod read;

superpin_tool::image!(
    "new-tool": new_tool::run,
    "read": read::run;
    Nothing,
    Icount1,
    Icount2,
    Opcodes,
    Branches,
    BranchPredictor,
    MemAddr,
    DCache,
    AllCache,
    CacheProfile,
    ITrace,
    MemTrace,
    ChampSim,
    CallTrace,
    MallocTrace,
    HeapProfile,
    Mix,
    Hot,
    Shadow,
    Callgrind,
    Stacks,
    Blocks,
    Edges,
    Coverage,
    Bbv,
    SimPoints,
    Footprint,
    Reuse,
    CmpCache,
    DataProfile,
    Strace
);
