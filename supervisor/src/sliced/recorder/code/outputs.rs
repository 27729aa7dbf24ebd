//! The part of the recorder's code ([`super::code`]) that copies what a call has written to its record.

/// Labels 10 to 15, 17: behind the call, its result in rax, the entry's second word in ecx, the record's end in r11. On to 60, with the end behind the bytes.
///
/// 12 is where those come who know the place (rsi) and the number (ecx, rcx) of the bytes.
macro_rules! outputs_assembly {
    () => {
        concat!(
            "10: test ecx, {ANY_BYTES}\n",
            "jz 17f\n",
            // It may have written some bytes up to where it couldn't.
            "cmp rax, -{EFAULT}\n",
            "je 90f\n",
            "test ecx, {POLLS}\n",
            "jnz 50f\n",
            "cmp rax, -4095\n",
            "jae 60f\n",
            "test ecx, {IOCTL}\n",
            "jnz 55f\n",
            "mov edx, ecx\n",
            "shr edx, {OUTPUT}\n",
            "and edx, 7\n",
            "mov rsi, [rbx + rdx * 8 + 32]\n",
            "test ecx, {READS}\n",
            "jnz 11f\n",
            "shr ecx, 16\n",
            "jmp 12f\n",
            "11: shr rcx, {ROOM_ARGUMENT}\n",
            "and ecx, 7\n",
            "mov rcx, [rbx + rcx * 8 + 32]\n",
            "cmp rax, rcx\n",
            "cmovb rcx, rax\n",
            "12: test rsi, rsi\n",
            "jz 60f\n",
            "test rcx, rcx\n",
            "jz 60f\n",
            "mov [r11], rsi\n",
            "mov [r11 + 8], rcx\n",
            "lea rdi, [r11 + 16]\n",
            // The padding's zeroes first.
            "lea r11, [rcx + 7]\n",
            "and r11, -8\n",
            "add r11, rdi\n",
            "mov qword ptr [r11 - 8], 0\n",
            "cld\n",
            "cmp rcx, 16\n",
            "jne 13f\n",
            "mov rcx, [rsi]\n",
            "mov [rdi], rcx\n",
            "mov rcx, [rsi + 8]\n",
            "mov [rdi + 8], rcx\n",
            "jmp 60f\n",
            // A log's memory is in no cache: what was asked for in advance comes in half the time.
            "13: mov rdx, rcx\n",
            "14: mov ecx, 4096\n",
            "cmp rdx, rcx\n",
            "cmovb rcx, rdx\n",
            "xor eax, eax\n",
            "15: prefetchw [rdi + rax]\n",
            "add rax, 64\n",
            "cmp rax, rcx\n",
            "jb 15b\n",
            "sub rdx, rcx\n",
            "rep movsb\n",
            "test rdx, rdx\n",
            "jnz 14b\n",
            "jmp 60f\n",
            // Slices make it again, and it maps no file.
            "17: bt rcx, {PROTECTS}\n",
            "jnc 60f\n",
            "mov qword ptr [r11], {NO_SOURCE}\n",
            "add r11, 8\n",
        )
    };
}

pub(in crate::sliced::recorder) use outputs_assembly;
