//! The parts of the recorder's code ([`super::super::code`]) that look at paths.

/// Labels 41 to 43: a path's address goes to rsi and its length to rcx, for 45, which hashes it. It may not be there.
macro_rules! paths_assembly {
    () => {
        concat!(
            "41: mov rsi, rdi\n",
            "movabs rdi, {SEED}\n",
            "test ecx, {PATH_IS_SECOND}\n",
            "cmovnz rsi, [rip + superpin_recorder_start + {RSI}]\n",
            "42: test rsi, rsi\n",
            "jz superpin_recorder_unreadable\n",
            "xor ecx, ecx\n",
            "xor edx, edx\n",
            "43: shl edx, 8\n",
            "mov dl, [rsi + rcx]\n",
            "test dl, dl\n",
            "jz 45f\n",
            "cmp edx, {MAPS}\n",
            "je superpin_recorder_unreadable\n",
            "inc ecx\n",
            "cmp ecx, {MOST_PATH}\n",
            "jb 43b\n",
            "jmp superpin_recorder_unreadable\n",
        )
    };
}

/// Labels 43 and 44: the file that a call opens, the entry's second word being in rcx. Back to 6.
macro_rules! opens_assembly {
    () => {
        concat!(
            // A file that slices may look at, and that is opened for writing, is left to the control process. A new one isn't there yet.
            "mov rdx, [rip + superpin_recorder_start + {RDX}]\n",
            "test ecx, {PATH_IS_SECOND}\n",
            "jnz 43f\n",
            "mov rdx, rsi\n",
            "mov eax, {O_CREATED}\n",
            "bt rcx, {CREATES}\n",
            "cmovc rdx, rax\n",
            "mov rsi, rdi\n",
            "mov rdi, {AT_FDCWD}\n",
            "43: test edx, {O_WRITES}\n",
            "jz 44f\n",
            "and edx, {O_NEW}\n",
            "cmp edx, {O_NEW}\n",
            "je 44f\n",
            "lea rdx, [rip + superpin_recorder_start + {STATUS}]\n",
            "xor r10d, r10d\n",
            "mov eax, {NEWFSTATAT}\n",
            "syscall\n",
            "mov r10, [rip + superpin_recorder_start + {R10}]\n",
            "test eax, eax\n",
            "jnz 44f\n",
            // Only such files are kept.
            "mov ecx, [rdx + 24]\n",
            "and ecx, {S_IFMT}\n",
            "cmp ecx, {S_IFREG}\n",
            "jne 44f\n",
            "mov ecx, [rdx + 8]\n",
            "and ecx, {KEPT_BITS} - 1\n",
            "bt [rip + superpin_recorder_start + {KEPT}], rcx\n",
            "jc 90f\n",
            "44: mov rdi, [rip + superpin_recorder_start + {RDI}]\n",
            "mov rsi, [rip + superpin_recorder_start + {RSI}]\n",
            "jmp 6b\n",
        )
    };
}

pub(in crate::sliced::recorder) use {opens_assembly, paths_assembly};
