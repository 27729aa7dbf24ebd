//! General registers, instruction pointer, flags and segment bases.

/// A general register by its hardware number.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names are the hardware's
pub enum Gpr {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
}

impl Gpr {
    /// All sixteen, in the order of their numbers.
    pub const ALL: [Gpr; 16] = [
        Gpr::Rax,
        Gpr::Rcx,
        Gpr::Rdx,
        Gpr::Rbx,
        Gpr::Rsp,
        Gpr::Rbp,
        Gpr::Rsi,
        Gpr::Rdi,
        Gpr::R8,
        Gpr::R9,
        Gpr::R10,
        Gpr::R11,
        Gpr::R12,
        Gpr::R13,
        Gpr::R14,
        Gpr::R15,
    ];

    /// All sixteen, in the order in which a signal frame has them (`struct sigcontext_64`, `mcontext_t`).
    pub const IN_SIGNAL_FRAME: [Gpr; 16] = [
        Gpr::R8,
        Gpr::R9,
        Gpr::R10,
        Gpr::R11,
        Gpr::R12,
        Gpr::R13,
        Gpr::R14,
        Gpr::R15,
        Gpr::Rdi,
        Gpr::Rsi,
        Gpr::Rbp,
        Gpr::Rbx,
        Gpr::Rdx,
        Gpr::Rax,
        Gpr::Rcx,
        Gpr::Rsp,
    ];

    /// The register's 64-bit name, in lower case.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 16] = [
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15",
        ];
        NAMES[self as usize]
    }
}

/// Bits of `rflags`.
pub mod flags {
    /// Carry.
    pub const CF: u64 = 1 << 0;
    /// Parity.
    pub const PF: u64 = 1 << 2;
    /// Auxiliary carry.
    pub const AF: u64 = 1 << 4;
    /// Zero.
    pub const ZF: u64 = 1 << 6;
    /// Sign.
    pub const SF: u64 = 1 << 7;
    /// Trap: single step.
    pub const TF: u64 = 1 << 8;
    /// Interrupts enabled: always set in user code.
    pub const IF: u64 = 1 << 9;
    /// Direction of string instructions.
    pub const DF: u64 = 1 << 10;
    /// Overflow.
    pub const OF: u64 = 1 << 11;
    /// Resume.
    pub const RF: u64 = 1 << 16;
    /// Alignment check.
    pub const AC: u64 = 1 << 18;
    /// The six that arithmetic sets.
    pub const ARITHMETIC: u64 = CF | PF | AF | ZF | SF | OF;
    /// What a signature compares: arithmetic, direction and alignment check, not the debugger's bits.
    pub const VISIBLE: u64 = ARITHMETIC | DF | AC;
}

/// The part of the register state that fits no vector register.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// General registers, indexed by [`Gpr`].
    pub gpr: [u64; 16],
    /// Instruction pointer.
    pub rip: u64,
    /// Flags, see [`flags`].
    pub rflags: u64,
    /// Base of FS: the app's thread pointer.
    pub fs_base: u64,
    /// Base of GS.
    pub gs_base: u64,
}

impl Registers {
    /// Value of a general register.
    pub fn get(&self, r: Gpr) -> u64 {
        self.gpr[r as usize]
    }

    /// Sets a general register.
    pub fn set(&mut self, r: Gpr, value: u64) {
        self.gpr[r as usize] = value;
    }

    /// The stack pointer.
    pub fn rsp(&self) -> u64 {
        self.get(Gpr::Rsp)
    }

    /// Arguments of a system call that is about to be made (or was just made) with this state.
    pub fn syscall_args(&self) -> [u64; 6] {
        [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::R10, Gpr::R8, Gpr::R9].map(|r| self.get(r))
    }

    /// Applies what the `syscall` instruction and its return leave in registers: the result in rax,
    /// the next pc in rcx and the flags in r11. `rip` must already be that next pc.
    pub fn finish_syscall(&mut self, result: u64) {
        self.set(Gpr::Rax, result);
        self.set(Gpr::Rcx, self.rip);
        self.set(Gpr::R11, self.rflags);
    }
}
