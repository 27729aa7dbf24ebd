//! Calls from translated code of routines that may change anything that a call may change.
//!
//! Translated code has saved general registers and flags, and is on the runtime's stack. What is done here is what `leave` and `enter` do with the rest, without the way through
//! the run loop. A signal finds the image's code, and is only noted.

use std::arch::global_asm;
use std::mem::offset_of;

use machine::Registers;
use translator::abi::{Doors, ThreadState};

use super::extended::{load_extended_state, store_extended_state};
use super::switch::{REGISTERS, XSTATE, leave_by_stub_pc, stub_miss_pc};
use crate::routines;

global_asm!(
    ".pushsection .text.superpin_gateway, \"ax\", @progbits",
    // Called by translated code, on the runtime's stack: calls the routine in rax with the runtime's extended state and FS, and whatever arguments there are in registers and on the stack.
    ".balign 16",
    ".globl superpin_aside",
    ".hidden superpin_aside",
    "superpin_aside:",
    "pop qword ptr gs:[{aside}]",
    "mov gs:[{aside} + 8], rax",
    "mov r10, rdx",
    "mov r11, rcx",
    store_extended_state!(),
    "mov rax, gs:[{runtime_fs}]",
    "wrfsbase rax",
    "push 0x1f80",
    "ldmxcsr [rsp]",
    "fninit",
    "add rsp, 8",
    "mov rdx, r10",
    "mov rcx, r11",
    "mov rax, gs:[{aside} + 8]",
    "mov [rip + {current}], rax",
    // Its place among those that are counted: of some calls the time is taken.
    "lea r10, [rip + {counted}]",
    "lea r11, [r10 + {most_counted} * 24]",
    "2:",
    "cmp [r10], rax",
    "je 4f",
    "cmp qword ptr [r10], 0",
    "je 3f",
    "add r10, 24",
    "cmp r10, r11",
    "jb 2b",
    "jmp 5f",
    "3:",
    "mov [r10], rax",
    "4:",
    "mov r11, [r10 + 8]",
    "inc r11",
    "mov [r10 + 8], r11",
    "cmp r11b, 1",
    "jne 5f",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "push rax",
    "push r10",
    "mov rdi, r10",
    "call {sample}",
    "pop r10",
    "pop rax",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "5:",
    "call rax",
    "mov qword ptr [rip + {current}], 0",
    "cmp qword ptr [rip + {sampled}], 0",
    "je 5f",
    "call {sampled_end}",
    "5:",
    load_extended_state!(),
    "mov rax, gs:[{fs_base}]",
    "wrfsbase rax",
    "push qword ptr gs:[{aside}]",
    "ret",
    ".popsection",
    aside = const offset_of!(ThreadState, aside),
    current = sym routines::CURRENT,
    counted = sym routines::ASIDE,
    most_counted = const routines::MOST_ASIDE,
    sample = sym routines::sample,
    sampled = sym routines::SAMPLED,
    sampled_end = sym routines::end_of_sample,
    runtime_fs = const offset_of!(ThreadState, runtime_fs),
    xsave_mask = const offset_of!(ThreadState, xsave_mask),
    xstate = const XSTATE,
    last_x87 = const XSTATE + machine::x87::LAST_AT,
    loses_x87 = const offset_of!(ThreadState, loses_x87),
    restores_x87 = const offset_of!(ThreadState, restores_x87),
    selectors = const machine::x87::Lost::Selectors as u64,
    forgets_zeros = const offset_of!(ThreadState, forgets_zeros),
    zeros = const offset_of!(ThreadState, zeros),
    environment = const offset_of!(ThreadState, environment),
    fs_base = const REGISTERS + offset_of!(Registers, fs_base),
);

unsafe extern "C" {
    fn superpin_aside();
}

/// Addresses that emitted code goes to.
pub fn doors() -> Doors {
    let aside = superpin_aside as *const () as u64;
    Doors { leave_by_stub: leave_by_stub_pc(), stub_miss: stub_miss_pc(), aside }
}
