//! Assembly that moves all general registers from and to [`Registers`], and those that a function of C's convention keeps.
//!
//! ```text
//!   global_asm!(load_registers!("gs:["), registers = const …)      ─►   mov rax, gs:[{registers} + 0]
//!                                                                       mov rcx, gs:[{registers} + 8]   …
//! ```
//! The argument is the beginning of an operand, up to the offset of the structure, which is the operand `registers`: `"gs:["`, or `"[rip + symbol + "`.

use crate::Registers;

const _: () = assert!(std::mem::offset_of!(Registers, gpr) == 0);

/// Instructions that load all general registers, the stack pointer last.
#[macro_export]
macro_rules! load_registers {
    ($from:literal) => {
        concat!(
            "mov rax, ",
            $from,
            "{registers} + 0]\n",
            "mov rcx, ",
            $from,
            "{registers} + 8]\n",
            "mov rdx, ",
            $from,
            "{registers} + 16]\n",
            "mov rbx, ",
            $from,
            "{registers} + 24]\n",
            "mov rbp, ",
            $from,
            "{registers} + 40]\n",
            "mov rsi, ",
            $from,
            "{registers} + 48]\n",
            "mov rdi, ",
            $from,
            "{registers} + 56]\n",
            "mov r8, ",
            $from,
            "{registers} + 64]\n",
            "mov r9, ",
            $from,
            "{registers} + 72]\n",
            "mov r10, ",
            $from,
            "{registers} + 80]\n",
            "mov r11, ",
            $from,
            "{registers} + 88]\n",
            "mov r12, ",
            $from,
            "{registers} + 96]\n",
            "mov r13, ",
            $from,
            "{registers} + 104]\n",
            "mov r14, ",
            $from,
            "{registers} + 112]\n",
            "mov r15, ",
            $from,
            "{registers} + 120]\n",
            "mov rsp, ",
            $from,
            "{registers} + 32]\n",
        )
    };
}

/// Instructions that store them all.
#[macro_export]
macro_rules! store_registers {
    ($to:literal) => {
        concat!(
            "mov ",
            $to,
            "{registers} + 0], rax\n",
            "mov ",
            $to,
            "{registers} + 8], rcx\n",
            "mov ",
            $to,
            "{registers} + 16], rdx\n",
            "mov ",
            $to,
            "{registers} + 24], rbx\n",
            "mov ",
            $to,
            "{registers} + 40], rbp\n",
            "mov ",
            $to,
            "{registers} + 48], rsi\n",
            "mov ",
            $to,
            "{registers} + 56], rdi\n",
            "mov ",
            $to,
            "{registers} + 64], r8\n",
            "mov ",
            $to,
            "{registers} + 72], r9\n",
            "mov ",
            $to,
            "{registers} + 80], r10\n",
            "mov ",
            $to,
            "{registers} + 88], r11\n",
            "mov ",
            $to,
            "{registers} + 96], r12\n",
            "mov ",
            $to,
            "{registers} + 104], r13\n",
            "mov ",
            $to,
            "{registers} + 112], r14\n",
            "mov ",
            $to,
            "{registers} + 120], r15\n",
            "mov ",
            $to,
            "{registers} + 32], rsp\n",
        )
    };
}

/// Instructions that put the registers on the stack which a function leaves as they are.
#[macro_export]
macro_rules! keep_registers {
    () => {
        concat!("push rbx\n", "push rbp\n", "push r12\n", "push r13\n", "push r14\n", "push r15\n",)
    };
}

/// Instructions that take them from there and return.
#[macro_export]
macro_rules! return_with_kept_registers {
    () => {
        concat!("pop r15\n", "pop r14\n", "pop r13\n", "pop r12\n", "pop rbp\n", "pop rbx\n", "ret\n",)
    };
}
