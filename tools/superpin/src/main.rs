//! The `superpin` command: a tool image with the standard tools.

#![no_main]

use standard_tools::{Branches, DCache, Icount1, Icount2, MemAddr, Nothing, Opcodes};

superpin_tool::image!(Nothing, Icount1, Icount2, Opcodes, Branches, MemAddr, DCache);
