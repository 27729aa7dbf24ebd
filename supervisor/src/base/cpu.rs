//! What this processor can do.

/// arch_prctl(2): whether `cpuid` is allowed.
pub const ARCH_SET_CPUID: u64 = 0x1012;

/// Whether this machine can make `cpuid` trap.
pub fn can_trap_cpuid() -> bool {
    // SAFETY: allowing what is allowed changes nothing; no memory is involved.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, 1) == 0 }
}
