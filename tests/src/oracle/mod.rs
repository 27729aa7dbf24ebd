//! An independent count of a program's instructions: one at a time, by the CPU's trap flag.
//!
//! Nothing of superpin's is used here: no decoder, no ptrace layer, no translation. What a count means must be the same, though:
//!
//! * Every user instruction from the first after exec to the one that ends the program; not the attempts that fault.
//! * A REP instruction is one, however many iterations it makes. The CPU traps after each, with an unmoved rip; so it does in a gather or
//!   scatter whose first elements are done when another one faults.
//! * The program sees no vDSO, no rseq and unrandomised addresses, since the number of instructions depends on them.
//! * All threads count, each a step at a time, in whatever order they run; a system call counts once it is begun, even if it never returns.
//! * A program that it execs is counted on; children that it forks are not.
//!
//! What a program could see of being single-stepped is undone: the trap flag in the image that `pushf` writes and in r11 after
//! `syscall`. `mov ss` holds the trap back until after the next instruction, which is counted with it.

mod instruction;
mod stepper;

pub use stepper::{Count, count, count_command};
