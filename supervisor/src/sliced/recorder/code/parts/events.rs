//! The part of the recorder's code ([`super::super::code`]) that deals with requests of `ioctl` and with calls that wait for events.
//!
//! The latter are made with a timeout of 0. If they fail, or nothing is there and they were to wait, that has left no trace, and the control process
//! makes the call as it is. So none of them waits inside the master.

/// Labels 46 to 48: before the call, from 40 on; 50 to 55: behind it.
macro_rules! events_assembly {
    () => {
        concat!(
            // Requests that write some bytes.
            "46: test ecx, {POLLS}\n",
            "jnz 47f\n",
            "cmp rsi, {TCGETS}\n",
            "je 6b\n",
            "cmp rsi, {TIOCGWINSZ}\n",
            "je 6b\n",
            "cmp rsi, {FIONREAD}\n",
            "je 6b\n",
            "jmp 90f\n",
            // Calls that wait are made with a timeout of 0. If nothing is there, and they were to wait, or if they fail, that was nothing.
            "47: test ecx, {IS_EPOLL}\n",
            "jz 36b\n",
            "mov rdx, [rbx + 48]\n",
            "cmp rdx, {MOST_EVENTS}\n",
            "ja 90f\n",
            // epoll_pwait has a mask besides.
            "cmp byte ptr [rbx + 1], 4\n",
            "je 49b\n",
            "test r8, r8\n",
            "jz 49b\n",
            "jmp 90f\n",
            "superpin_recorder_behind:\n",
            "55: mov rsi, [rbx + 48]\n",
            "mov edx, [rbx + 40]\n",
            "mov ecx, 36\n",
            "cmp edx, {TCGETS}\n",
            "je 12b\n",
            "mov ecx, 8\n",
            "cmp edx, {TIOCGWINSZ}\n",
            "je 12b\n",
            "mov ecx, 4\n",
            "jmp 12b\n",
            "50: cmp rax, -4095\n",
            "jae 90f\n",
            "test ecx, {IS_EPOLL}\n",
            "jnz 52f\n",
            "test eax, eax\n",
            "jnz 51f\n",
            "cmp dword ptr [rbx + 48], 0\n",
            "jne 90f\n",
            "51: mov rsi, [rbx + 32]\n",
            "mov ecx, [rbx + 40]\n",
            "test ecx, ecx\n",
            "jz 60b\n",
            "54: mov dx, [rdi + rcx * 8 - 2]\n",
            "mov [rsi + rcx * 8 - 2], dx\n",
            "dec ecx\n",
            "jnz 54b\n",
            "mov ecx, [rbx + 40]\n",
            "shl ecx, 3\n",
            "jmp 12b\n",
            "52: test eax, eax\n",
            "jnz 53f\n",
            "test r10d, r10d\n",
            "jnz 90f\n",
            "53: mov rsi, [rbx + 40]\n",
            "lea rcx, [rax + rax * 2]\n",
            "shl rcx, 2\n",
            "jmp 12b\n",
        )
    };
}
pub(in crate::sliced::recorder) use events_assembly;

/// Labels 36 to 38: `poll`, before the call.
macro_rules! polled_assembly {
    () => {
        concat!(
            // `poll` gets a copy of the list: it writes to that even if nothing is there. What it says is copied back, which can be done.
            "36: cmp rsi, {MOST_POLLED}\n",
            "ja superpin_recorder_unreadable\n",
            "lea rdx, [rip + superpin_recorder_start + {POLLED}]\n",
            "mov ecx, esi\n",
            "test ecx, ecx\n",
            "jz 38f\n",
            "37: mov rax, [rdi + rcx * 8 - 8]\n",
            "mov [rdx + rcx * 8 - 8], rax\n",
            "dec ecx\n",
            "jnz 37b\n",
            "or byte ptr [rdi], 0\n",
            "or byte ptr [rdi + rsi * 8 - 1], 0\n",
            "38: mov rdi, rdx\n",
            "xor edx, edx\n",
            "jmp 7b\n",
        )
    };
}
pub(in crate::sliced::recorder) use polled_assembly;
