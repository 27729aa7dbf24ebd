//! The `superpin` command: a tool image with the standard tools.

#![no_main]

use standard_tools::{
    AllCache, BranchPredictor, Branches, DCache, ITrace, Icount1, Icount2, MemAddr, MemTrace, Nothing, Opcodes, Strace,
};

superpin_tool::image!(
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
