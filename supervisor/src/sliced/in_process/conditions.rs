//! The part of the recorder's code ([`super::code`]) that looks at conditions which few calls have.

/// Labels 56 to 59, where memory may be read that isn't there: back to 8 if the call may be made.
macro_rules! conditions_assembly {
    () => {
        concat!(
            "56: bt rcx, {MASKS}\n",
            "jnc 57f\n",
            // The signals by which the recorder stops must not be blocked.
            "test rsi, rsi\n",
            "jz 8b\n",
            "cmp edi, {SIG_UNBLOCK}\n",
            "je 8b\n",
            "test dword ptr [rsi], {NEEDED_SIGNALS}\n",
            "jz 8b\n",
            "jmp 90f\n",
            "57: bt rcx, {RANDOM}\n",
            "jnc 58f\n",
            "cmp rsi, {MOST_RANDOM}\n",
            "jbe 8b\n",
            "jmp 90f\n",
            "58: mov eax, esi\n",
            "and eax, 0x7f\n",
            "cmp eax, {FUTEX_WAKE}\n",
            "je 8b\n",
            "jmp 90f\n",
            // What is received must have its place: a message that can't be written there would be lost.
            "59: cmp rax, {MOST_RECEIVED}\n",
            "ja 90f\n",
            "test rax, rax\n",
            "jz 2b\n",
            "or byte ptr [rsi + rax - 1], 0\n",
            "9: or byte ptr [rsi], 0\n",
            "add rsi, 4096\n",
            "sub rax, 4096\n",
            "ja 9b\n",
            "mov rsi, [rip + superpin_recorder_start + {RSI}]\n",
            "jmp 2b\n",
        )
    };
}

pub(super) use conditions_assembly;
