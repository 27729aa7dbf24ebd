//! The extended state, and the base of FS, from the processor to the [`ThreadState`](translator::abi::ThreadState) and back: as instructions.

use std::mem::offset_of;

use machine::XState;
use translator::abi::{Cpu, ThreadState};

/// Where in the thread state the app's registers are, and its extended state.
pub(super) const REGISTERS: usize = offset_of!(ThreadState, cpu) + offset_of!(Cpu, registers);
/// See [`REGISTERS`].
pub(super) const XSTATE: usize = offset_of!(ThreadState, cpu) + offset_of!(Cpu, xstate) + offset_of!(XState, bytes);

/// Instructions that load the app's extended state, by way of rax, rcx and rdx. XRSTOR loads the selectors of the last x87 instruction from no image, and on some
/// processors nothing about it (see [`machine::x87`]): where that is about to be seen it is put into the unit's environment. If an exception is pending
/// the image has all but the selectors, and addresses in full. And where XRSTOR takes registers that hold zero out of use ([`machine::in_use`]), those that were in use are so again.
macro_rules! load_extended_state {
    () => {
        concat!(
            "mov eax, gs:[{xsave_mask}]\n",
            "mov edx, gs:[{xsave_mask} + 4]\n",
            "xrstor64 gs:[{xstate}]\n",
            "cmp qword ptr gs:[{restores_x87}], 0\n",
            "je 8f\n",
            "test byte ptr gs:[{xstate} + 512], 1\n",
            "jz 8f\n",
            "test byte ptr gs:[{xstate} + 2], 0x80\n",
            "jz 7f\n",
            "cmp qword ptr gs:[{restores_x87}], 2\n",
            "jne 8f\n",
            "7:\n",
            "fnstenv gs:[{environment}]\n",
            "mov rax, gs:[{last_x87}]\n",
            "mov gs:[{environment} + 12], rax\n",
            "mov rax, gs:[{last_x87} + 8]\n",
            "mov gs:[{environment} + 20], rax\n",
            "fldenv gs:[{environment}]\n",
            "8:\n",
            "cmp qword ptr gs:[{forgets_zeros}], 0\n",
            "je 9f\n",
            // Most often the upper halves are out of use and the first registers hold something.
            "test byte ptr gs:[{xstate} + 512], 0x44\n",
            "jnz 6f\n",
            "mov rax, gs:[{xstate} + 160]\n",
            "or rax, gs:[{xstate} + 168]\n",
            "or rax, gs:[{xstate} + 176]\n",
            "or rax, gs:[{xstate} + 184]\n",
            "jnz 9f\n",
            "6:\n",
            "mov ecx, 1\n",
            "xgetbv\n",
            "not eax\n",
            "and eax, gs:[{xstate} + 512]\n",
            "test al, 0x46\n",
            "jz 9f\n",
            "test al, 2\n",
            "jz 2f\n",
            "movaps xmm0, gs:[{xstate} + 160]\n",
            "2:\n",
            "test al, 4\n",
            "jz 3f\n",
            "vinserti128 ymm0, ymm0, gs:[{zeros}], 1\n",
            "3:\n",
            "test al, 0x40\n",
            "jz 9f\n",
            "vinserti64x4 zmm0, zmm0, gs:[{zeros}], 1\n",
            "9:\n",
        )
    };
}

/// Instructions that store the base of FS, by way of rax.
macro_rules! store_fs_base {
    () => {
        concat!("rdfsbase rax\n", "mov gs:[{fs_base}], rax\n")
    };
}

/// Instructions that store the extended state, by way of rax, rcx and rdx.
macro_rules! store_extended_state {
    () => {
        concat!(
            "mov eax, gs:[{xsave_mask}]\n",
            "mov edx, gs:[{xsave_mask} + 4]\n",
            "xsave64 gs:[{xstate}]\n",
            "cmp qword ptr gs:[{loses_x87}], 0\n",
            "je 9f\n",
            "test byte ptr gs:[{xstate} + 512], 1\n",
            "jz 9f\n",
            "mov rax, gs:[{loses_x87}]\n",
            "shr rax, 1\n",
            "mov gs:[{restores_x87}], rax\n",
            "fnstenv gs:[{environment}]\n",
            "mov rax, gs:[{environment} + 12]\n",
            "mov rdx, gs:[{environment} + 20]\n",
            // The same address without selectors: XRSTOR loaded that, and none was executed since.
            "cmp eax, gs:[{last_x87}]\n",
            "jne 7f\n",
            "cmp word ptr gs:[{environment} + 16], 0\n",
            "je 8f\n",
            "7:\n",
            "mov gs:[{last_x87}], rax\n",
            "mov gs:[{last_x87} + 8], rdx\n",
            // The last sixteen bits of an environment mean nothing.
            "mov word ptr gs:[{last_x87} + 14], 0\n",
            "8:\n",
            "test byte ptr gs:[{xstate} + 2], 0x80\n",
            "jnz 9f\n",
            "cmp qword ptr gs:[{loses_x87}], {selectors}\n",
            "je 9f\n",
            "mov ecx, eax\n",
            "mov gs:[{xstate} + 8], rcx\n",
            "mov ecx, edx\n",
            "mov gs:[{xstate} + 16], rcx\n",
            "shr rax, 48\n",
            "mov gs:[{xstate} + 6], ax\n",
            "9:\n",
        )
    };
}

/// Makes the x87 unit what a function expects, after its state was stored. That takes some fifty cycles, and most apps leave the unit as it was at their start: then nothing is to be done. Changes flags.
macro_rules! initialise_x87 {
    () => {
        "test byte ptr gs:[{xstate} + 512], 1\njz 9f\nfninit\n9:\n"
    };
}

/// `global_asm!` with the operands that these instructions name, behind its own.
macro_rules! gateway_asm {
    ($($asm:tt)*) => {
        std::arch::global_asm!(
            $($asm)*
            runtime_fs = const std::mem::offset_of!(translator::abi::ThreadState, runtime_fs),
            fs_base = const crate::gateway::extended::REGISTERS + std::mem::offset_of!(machine::Registers, fs_base),
            xstate = const crate::gateway::extended::XSTATE,
            xsave_mask = const std::mem::offset_of!(translator::abi::ThreadState, xsave_mask),
            last_x87 = const crate::gateway::extended::XSTATE + machine::x87::LAST_AT,
            loses_x87 = const std::mem::offset_of!(translator::abi::ThreadState, loses_x87),
            restores_x87 = const std::mem::offset_of!(translator::abi::ThreadState, restores_x87),
            selectors = const machine::x87::Lost::Selectors as u64,
            forgets_zeros = const std::mem::offset_of!(translator::abi::ThreadState, forgets_zeros),
            zeros = const std::mem::offset_of!(translator::abi::ThreadState, zeros),
            environment = const std::mem::offset_of!(translator::abi::ThreadState, environment),
        );
    };
}

pub(super) use {gateway_asm, initialise_x87, load_extended_state, store_extended_state, store_fs_base};
