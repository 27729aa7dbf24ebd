//! The part of the recorder's code ([`super::super::code`]) that deals with sockets.
//!
//! Whether a call would wait is asked first, by `poll`; if so, and it is one that waits, the control process makes it. What is
//! sent must be little enough to go at once wherever something goes, for it would be broken off in its middle otherwise.

/// Labels 61 to 65: the descriptor, a socket, is in rdi, the entry's second word in rcx. Back to 2, or on to 59.
macro_rules! sockets_assembly {
    () => {
        concat!(
            "61: bt rcx, {GATHERS}\n",
            "jc 62f\n",
            "test ecx, {READS} | {WRITES}\n",
            "jz 2b\n",
            "bt rcx, {MESSAGE}\n",
            "jnc 62f\n",
            "test r8, r8\n",
            "jnz 90f\n",
            "test r10d, ~{MESSAGE_FLAGS}\n",
            "jnz 90f\n",
            "test r10d, {MSG_DONTWAIT}\n",
            "jnz 65f\n",
            "62: mov [rip + superpin_recorder_start + {POLLED}], edi\n",
            "mov edx, {POLLIN}\n",
            "test ecx, {READS}\n",
            "jnz 63f\n",
            "cmp qword ptr [rbx + 48], {MOST_AT_ONCE}\n",
            "ja 64f\n",
            "mov edx, {POLLOUT}\n",
            "63: mov [rip + superpin_recorder_start + {POLLED} + 4], edx\n",
            "lea rdi, [rip + superpin_recorder_start + {POLLED}]\n",
            "mov esi, 1\n",
            "xor edx, edx\n",
            "mov eax, {SYS_POLL}\n",
            "syscall\n",
            "mov rdi, [rip + superpin_recorder_start + {RDI}]\n",
            "cmp eax, 1\n",
            "je 65f\n",
            // It doesn't wait if the app has said so.
            "64: mov esi, {F_GETFL}\n",
            "mov eax, {SYS_FCNTL}\n",
            "syscall\n",
            "cmp rax, -4095\n",
            "jae 90f\n",
            "test eax, {O_NONBLOCK}\n",
            "jz 90f\n",
            "65: mov rsi, [rip + superpin_recorder_start + {RSI}]\n",
            "mov rcx, [rip + superpin_recorder_start + {ENTRY}]\n",
            "mov rcx, [rcx + 8]\n",
            "test ecx, {READS}\n",
            "jz 2b\n",
            "mov rax, [rbx + 48]\n",
            "jmp 59f\n",
        )
    };
}

pub(in crate::sliced::recorder) use sockets_assembly;
