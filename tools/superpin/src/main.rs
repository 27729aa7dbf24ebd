//! The `superpin` command: a tool image with the standard tools, which also makes projects for tools.

#![no_main]

use standard_tools::{
    AllCache, BranchPredictor, Branches, DCache, ITrace, Icount1, Icount2, MemAddr, MemTrace, Nothing, Opcodes, Strace,
};

mod new_tool;

superpin_tool::image!(
    "new-tool": new_tool::run;
    Nothing,
    Icount1,
    Icount2,
    Opcodes,
    Branches,
    BranchPredictor,
    MemAddr,
    DCache,
    AllCache,
    ITrace,
    MemTrace,
    Strace
);
