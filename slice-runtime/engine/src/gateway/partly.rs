//! What calls of routines that change little have in common, see `prepare`: the end, and the way to all of the app's state being aside.

use std::mem::offset_of;

use translator::abi::ThreadState;

use super::extended::{gateway_asm, initialise_x87, load_extended_state, store_extended_state};
use crate::routines;

gateway_asm!(
    ".pushsection .text.superpin_gateway, \"ax\", @progbits",
    // The routine has returned, and what was aside is back.
    ".balign 16",
    "superpin_called:",
    "mov qword ptr [rip + {current}], 0",
    "push qword ptr gs:[{aside}]",
    "ret",
    // Whether the first sixteen vector registers are in use; ZF if not. The app may know, see `machine::in_use`.
    "superpin_vectors_in_use:",
    "push rax",
    "push rcx",
    "push rdx",
    "mov ecx, 1",
    "xgetbv",
    "test al, 2",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "ret",
    // From a copy of a routine: puts all aside, unless it is, and goes on where the thread state says. All registers and flags are as they were, and so is what is below the stack pointer.
    ".balign 16",
    "superpin_escape:",
    "lea rsp, [rsp - 128]",
    "pushfq",
    "push rax",
    "push rcx",
    "push rdx",
    "cmp qword ptr gs:[{escaped}], 0",
    "jne 5f",
    "mov qword ptr gs:[{escaped}], 1",
    // It is the image's if the routine uses it: then the app's has been put aside.
    "rdfsbase rax",
    "cmp rax, gs:[{runtime_fs}]",
    "je 4f",
    "mov gs:[{fs_base}], rax",
    "4:",
    store_extended_state!(),
    "mov rax, gs:[{runtime_fs}]",
    "wrfsbase rax",
    "push 0x1f80",
    "ldmxcsr [rsp]",
    "add rsp, 8",
    initialise_x87!(),
    "5:",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "popfq",
    "lea rsp, [rsp + 128]",
    "jmp qword ptr gs:[{escape_to}]",
    // Gives that back.
    "superpin_unescape:",
    load_extended_state!(),
    "mov rax, gs:[{fs_base}]",
    "wrfsbase rax",
    "ret",
    ".popsection",
    current = sym routines::CURRENT,
    aside = const offset_of!(ThreadState, aside),
    escaped = const offset_of!(ThreadState, escaped),
    escape_to = const offset_of!(ThreadState, escape_to),
);

unsafe extern "C" {
    fn superpin_called();
    fn superpin_vectors_in_use();
    fn superpin_escape();
    fn superpin_unescape();
}

/// Where a call goes when it is over.
pub fn called() -> u64 {
    superpin_called as *const () as u64
}

/// A function that tells by ZF that vector registers aren't in use, and changes nothing else.
pub fn vectors_in_use() -> u64 {
    superpin_vectors_in_use as *const () as u64
}

/// Where a copy goes that needs all of the app's state aside.
pub fn escape() -> u64 {
    superpin_escape as *const () as u64
}

/// A function that takes that back.
pub fn unescape() -> u64 {
    superpin_unescape as *const () as u64
}
