//! The `superpin` command: a tool image with the standard tools, which also makes projects for tools and reads traces.

#![no_main]

use standard_tools::{
    AllCache, Bbv, Blocks, BranchPredictor, Branches, CacheProfile, CallTrace, Callgrind, ChampSim, CmpCache, Coverage,
    DCache, DataProfile, EdgeProfile, Footprint, HeapProfile, Hot, ITrace, Icount1, Icount2, MallocTrace, MemAddr,
    MemTrace, Mix, Nothing, Opcodes, Reuse, Shadow, SimPoints, Stacks, Strace,
};
use superpin_tool::PerThread;

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
    PerThread<BranchPredictor>,
    PerThread<MemAddr>,
    PerThread<DCache>,
    PerThread<AllCache>,
    PerThread<CacheProfile>,
    ITrace,
    MemTrace,
    ChampSim,
    CallTrace,
    MallocTrace,
    HeapProfile,
    Mix,
    PerThread<Hot>,
    Shadow,
    Callgrind,
    Stacks,
    PerThread<Blocks>,
    PerThread<EdgeProfile>,
    Coverage,
    Bbv,
    SimPoints,
    PerThread<Footprint>,
    PerThread<Reuse>,
    CmpCache,
    DataProfile,
    Strace
);
