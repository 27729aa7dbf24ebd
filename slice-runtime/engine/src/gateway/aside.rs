//! Calls from translated code of routines that may change anything that a call may change.
//!
//! Translated code has saved general registers and flags, and is on the runtime's stack. What is done here is what `leave` and `enter` do with the rest, without the way through
//! the run loop. A signal finds the image's code, and is only noted.

use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

use bubble::routines::way;
use translator::abi::{Doors, ThreadState};

use super::clean;
use super::extended::{gateway_asm, initialise_x87, load_extended_state, store_extended_state, store_fs_base};
use super::prepare::prepare;
use super::switch::{leave_by_stub_pc, stub_miss_pc};
use crate::routines::{self, Counted};

/// The routine in rax is about to be called: r10 = what is counted of it, or 0 if there is no room; its call is counted. Flags, r10 and r11 are free.
macro_rules! count_call {
    ($way:literal, or $otherwise:literal) => {
        concat!(
            "mov [rip + {current}], rax\n",
            "mov r10d, eax\n",
            "shr r10d, 4\n",
            "and r10d, {first_called} - 1\n",
            "imul r10d, r10d, {counted_size}\n",
            "lea r11, [rip + {counted}]\n",
            "add r10, r11\n",
            "2:\n",
            "cmp [r10], rax\n",
            "je 4f\n",
            "cmp qword ptr [r10], 0\n",
            "je 3f\n",
            "add r10, {counted_size}\n",
            "lea r11, [rip + {counted} + {most_counted} * {counted_size}]\n",
            "cmp r10, r11\n",
            "jb 2b\n",
            "xor r10d, r10d\n",
            "jmp ",
            $otherwise,
            "\n3:\n",
            "mov [r10], rax\n",
            "lea r11, [rip + superpin_all_aside]\n",
            "mov [r10 + {through}], r11\n",
            "mov qword ptr [r10 + {way}], ",
            $way,
            "\n4:\n",
            "inc qword ptr [r10 + {calls}]\n",
        )
    };
}

gateway_asm!(
    ".pushsection .text.superpin_gateway, \"ax\", @progbits",
    // Called by translated code, on the runtime's stack: calls the routine in rax. Most often it is known by now how. Of some calls the time is taken.
    ".balign 16",
    ".globl superpin_partly",
    ".hidden superpin_partly",
    "superpin_partly:",
    count_call!("{partly}", or "superpin_all_aside"),
    "cmp byte ptr [r10 + {calls}], 1",
    "je superpin_all_aside",
    "jmp [r10 + {through}]",
    // It is the runtime that makes the call of the routine in rax.
    ".balign 16",
    ".globl superpin_clean_call",
    ".hidden superpin_clean_call",
    "superpin_clean_call:",
    count_call!("{aside_way}", or "5f"),
    "5:",
    "lea rax, [rip + {call}]",
    "jmp superpin_all_aside",
    ".globl superpin_clean_words",
    ".hidden superpin_clean_words",
    "superpin_clean_words:",
    "xor r10d, r10d",
    "lea rax, [rip + {words}]",
    "jmp superpin_all_aside",
    ".balign 16",
    ".globl superpin_aside",
    ".hidden superpin_aside",
    "superpin_aside:",
    count_call!("{aside_way}", or "superpin_all_aside"),
    // Goes on to the routine in rax with the runtime's extended state and FS, and whatever arguments there are in registers and on the stack; r10 as above.
    ".globl superpin_all_aside",
    ".hidden superpin_all_aside",
    "superpin_all_aside:",
    "pop qword ptr gs:[{aside}]",
    "mov gs:[{aside} + 8], rax",
    "mov gs:[{counted_now}], r10",
    "mov r10, rdx",
    "mov r11, rcx",
    store_fs_base!(),
    store_extended_state!(),
    "mov rax, gs:[{runtime_fs}]",
    "wrfsbase rax",
    "push 0x1f80",
    "ldmxcsr [rsp]",
    "add rsp, 8",
    initialise_x87!(),
    "mov rdx, r10",
    "mov rcx, r11",
    "mov rax, gs:[{aside} + 8]",
    "mov r10, gs:[{counted_now}]",
    "test r10, r10",
    "jz 5f",
    "cmp byte ptr [r10 + {calls}], 1",
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
    "call {begins}",
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
    counted = sym routines::CALLED,
    counted_now = const offset_of!(ThreadState, counted_now),
    counted_size = const size_of::<Counted>(),
    first_called = const routines::FIRST_CALLED,
    most_counted = const routines::MOST_CALLED,
    calls = const offset_of!(Counted, calls),
    through = const offset_of!(Counted, through),
    way = const offset_of!(Counted, way),
    partly = const way::PARTLY,
    aside_way = const way::ASIDE,
    call = sym clean::call,
    words = sym clean::words,
    begins = sym begins,
    sampled = sym routines::SAMPLED,
    sampled_end = sym routines::end_of_sample,
);

unsafe extern "C" {
    fn superpin_partly();
    fn superpin_aside();
    fn superpin_clean_call();
    fn superpin_clean_words();
}

/// A call begins whose time is taken, the first one among them. All of the app's state is aside.
extern "C" fn begins(entry: &Counted) {
    if entry.way.load(Relaxed) == way::PARTLY && entry.calls.load(Relaxed) == 1 {
        // Where there is no room for it, each is called as this one.
        if let Some(through) = prepare(entry.routine.load(Relaxed)) {
            entry.through.store(through, Relaxed);
        }
    }
    routines::sample(entry);
}

/// Addresses that emitted code goes to.
pub fn doors() -> Doors {
    let address = |door: unsafe extern "C" fn()| door as *const () as u64;
    Doors {
        leave_by_stub: leave_by_stub_pc(),
        stub_miss: stub_miss_pc(),
        aside: address(superpin_aside),
        partly: address(superpin_partly),
        clean_call: address(superpin_clean_call),
        clean_words: address(superpin_clean_words),
    }
}
