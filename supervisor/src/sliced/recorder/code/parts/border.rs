//! How the recorder's code ([`super::super::code`]) is entered and left, whatever it is to carry out.

/// A stub has stored rcx, and put the address after the site there. The app's registers are kept, and the request to stop is looked at: `jne` is to follow.
macro_rules! enter_assembly {
    () => {
        concat!(
            "mov [rip + superpin_recorder_start + {R11}], r11\n",
            "mov [rip + superpin_recorder_start + {RSP}], rsp\n",
            "mov [rip + superpin_recorder_start + {AFTER}], rcx\n",
            "lea rsp, [rip + superpin_recorder_start + {STACK_END}]\n",
            "pushfq\n",
            "pop r11\n",
            "mov [rip + superpin_recorder_start + {FLAGS}], r11\n",
            "mov [rip + superpin_recorder_start + {RAX}], rax\n",
            "mov [rip + superpin_recorder_start + {RBX}], rbx\n",
            "mov [rip + superpin_recorder_start + {RDI}], rdi\n",
            "mov [rip + superpin_recorder_start + {RSI}], rsi\n",
            "mov [rip + superpin_recorder_start + {RDX}], rdx\n",
            "mov [rip + superpin_recorder_start + {R10}], r10\n",
            "cmp qword ptr [rip + superpin_recorder_start + {STOP}], 0\n",
        )
    };
}
pub(in crate::sliced::recorder) use enter_assembly;

/// The app's flags and stack are there again.
macro_rules! leave_assembly {
    () => {
        concat!(
            "push qword ptr [rip + superpin_recorder_start + {FLAGS}]\n",
            "popfq\n",
            "mov rsp, [rip + superpin_recorder_start + {RSP}]\n",
        )
    };
}
pub(in crate::sliced::recorder) use leave_assembly;
