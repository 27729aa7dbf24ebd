//! The part of the recorder's code ([`super::super::code`]) that looks at the descriptor that a call is about.

/// Labels 29 to 35: the descriptor is in rdi, the entry's second word in rcx. Back to 2, or on to 61 if it is a socket.
macro_rules! descriptors_assembly {
    () => {
        concat!(
            // The descriptor must be known, or become so: a file or directory of a known device, a pipe, a socket, a terminal, or one of two
            // devices of which reading and writing never wait.
            "superpin_recorder_knows:\n",
            "30: cmp rdi, {MAX_FILES}\n",
            "jae 90f\n",
            "bt [rip + superpin_recorder_start + {FILES}], rdi\n",
            "jc 33f\n",
            "lea rdx, [rip + superpin_recorder_start + {DEVICES}]\n",
            "cmp qword ptr [rdx], 0\n",
            "je 90f\n",
            "lea rsi, [rip + superpin_recorder_start + {STATUS}]\n",
            "mov eax, {FSTAT}\n",
            "syscall\n",
            "test eax, eax\n",
            "jnz 90f\n",
            "mov ecx, [rsi + 24]\n",
            "and ecx, {S_IFMT}\n",
            "cmp ecx, {S_IFIFO}\n",
            "je 32f\n",
            "cmp ecx, {S_IFSOCK}\n",
            "je 35f\n",
            "cmp ecx, {S_IFCHR}\n",
            "je 29f\n",
            "cmp ecx, {S_IFREG}\n",
            "je 31f\n",
            "cmp ecx, {S_IFDIR}\n",
            "jne 90f\n",
            "31: mov rax, [rdx]\n",
            "add rdx, 8\n",
            "test rax, rax\n",
            "jz 90f\n",
            "cmp rax, [rsi]\n",
            "jne 31b\n",
            "jmp 34f\n",
            "29: mov ecx, [rsi + 40]\n",
            "cmp ecx, {NULL_DEVICE}\n",
            "je 34f\n",
            "cmp ecx, {ZERO_DEVICE}\n",
            "je 34f\n",
            "and ecx, {TERMINALS_MASK}\n",
            "cmp ecx, {TERMINALS}\n",
            "je 32f\n",
            "jmp 90f\n",
            "35: bts [rip + superpin_recorder_start + {SOCKETS}], rdi\n",
            "jmp 34f\n",
            "32: bts [rip + superpin_recorder_start + {WAITS}], rdi\n",
            "34: bts [rip + superpin_recorder_start + {FILES}], rdi\n",
            "mov rsi, [rip + superpin_recorder_start + {RSI}]\n",
            "mov rcx, [rip + superpin_recorder_start + {ENTRY}]\n",
            "mov rcx, [rcx + 8]\n",
            "33: bt [rip + superpin_recorder_start + {SOCKETS}], rdi\n",
            "jc 61f\n",
            // What is written to one that waits must not be broken off in its middle.
            "test ecx, {WRITES}\n",
            "jz 2b\n",
            "cmp qword ptr [rbx + 48], {MOST_AT_ONCE}\n",
            "jbe 2b\n",
            "bt [rip + superpin_recorder_start + {WAITS}], rdi\n",
            "jnc 2b\n",
            "jmp 90f\n",
        )
    };
}

pub(in crate::sliced::recorder) use descriptors_assembly;
