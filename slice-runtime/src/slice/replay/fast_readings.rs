//! The part of the fast path ([`super::fast_path`]) that replays readings of the time stamp counter.

use syscall_replay::NondeterministicKind;
use syscall_replay::log::nondeterministic_head;

/// Its entry for readings, and label 35, where it comes back from the look-up of the next piece of code. On to 36, with that code's address in rcx and r10, and
/// from 35 to 32.
macro_rules! readings_assembly {
    () => {
        concat!(
            "superpin_fast_path_reading:\n",
            "mov gs:[{rax}], rax\n",
            "mov gs:[{rcx}], rcx\n",
            "mov gs:[{rdx}], rdx\n",
            "mov gs:[{rbx}], rbx\n",
            "mov gs:[{rsp}], rsp\n",
            "mov gs:[{rsi}], rsi\n",
            "mov gs:[{rdi}], rdi\n",
            "mov gs:[{r8}], r8\n",
            "mov rsp, gs:[{runtime_rsp}]\n",
            "pushfq\n",
            // rbx: the record, which must not be the last.
            "mov rbx, [rip + {cursor} + {next}]\n",
            "mov rcx, [rip + {cursor} + {last}]\n",
            "sub rcx, rbx\n",
            "cmp rcx, {READING_BYTES}\n",
            "jbe 90f\n",
            // r10: the app pc after the instruction; rcx: 0, or 1 for `rdtscp`, which is longer by one byte.
            "mov ecx, gs:[{exit}]\n",
            "mov edx, ecx\n",
            "and edx, 0x3fffffff\n",
            "shr ecx, 30\n",
            "and ecx, 1\n",
            "mov rcx, gs:[rcx * 8 + {exits}]\n",
            "imul rdx, rdx, {EXIT_BYTES}\n",
            "add rdx, rcx\n",
            "mov r10, [rdx]\n",
            "mov ecx, [rdx + {exit_kind}]\n",
            "sub ecx, {AT_RDTSC}\n",
            "cmp ecx, 1\n",
            "ja 90f\n",
            // The same instruction's at the same place?
            "mov eax, ecx\n",
            "shl eax, 8\n",
            "add eax, {RDTSC}\n",
            "cmp [rbx], rax\n",
            "jne 90f\n",
            "cmp qword ptr [rbx + 8], {READING_BYTES}\n",
            "jne 90f\n",
            // Nor before a point.
            "cmp byte ptr [rbx + {READING_BYTES}], {POINT}\n",
            "je 90f\n",
            "lea rax, [r10 - 2]\n",
            "sub rax, rcx\n",
            "cmp [rbx + 16], rax\n",
            "jne 90f\n",
            // Done: what it gives lies where registers come from.
            "mov rax, [rbx + 32]\n",
            "mov gs:[{rdx}], rax\n",
            "test ecx, ecx\n",
            "jz 37f\n",
            "mov rax, [rbx + 40]\n",
            "mov gs:[{rcx}], rax\n",
            "37: lea r9, [rbx + {READING_BYTES}]\n",
            "mov [rip + {cursor} + {next}], r9\n",
            "inc qword ptr [rip + {cursor} + {replayed}]\n",
            "mov rcx, r10\n",
            "jmp 36b\n",
            "35: mov rcx, gs:[{rcx}]\n",
            "mov rax, [rbx + 24]\n",
            "jmp 32b\n",
        )
    };
}
pub(super) use readings_assembly;

const _: () = assert!(
    nondeterministic_head(NondeterministicKind::Rdtscp)
        == nondeterministic_head(NondeterministicKind::Rdtsc) + (1 << 8)
);
