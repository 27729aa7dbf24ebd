//! The `superpin` command: a tool image with the standard tools.

#![no_main]

use standard_tools::{DCache, Icount1, Icount2, MemAddr, Nothing};

superpin_tool::image!(Nothing, Icount1, Icount2, MemAddr, DCache);
