//! Standard tools against other programs that see the same: valgrind's tools, strace, ltrace, objdump, and readers of the formats that are written. Where one of them isn't there the test says so.

mod cachegrind;
mod champsim;
mod coverage;
mod drmemtrace;
mod heap;
mod ltrace;
mod perhaps;
mod programs;
mod reuse;
mod simpoints;
mod slices;
mod strace;
mod valgrind;
