//! What this processor can do, and what it does where processors differ.

use std::arch::asm;

use machine::cpuid;

/// Whether the base of FS and GS is zero after a null selector was loaded. Intel's processors do that, and AMD's newer ones; the older ones leave the base alone.
pub fn null_selector_clears_base() -> bool {
    let base: u64;
    // SAFETY: the kernel allows FSGSBASE, or no app is started. GS isn't used by Rust code, nor by the C library, and gets back its base.
    unsafe {
        asm!(
            "rdgsbase {own}",
            "wrgsbase {some}",
            "mov gs, {null:x}",
            "rdgsbase {base}",
            "wrgsbase {own}",
            own = out(reg) _,
            some = in(reg) 0x1000_u64,
            null = in(reg) 0_u64,
            base = lateout(reg) base,
            options(nomem, nostack, preserves_flags),
        );
    }
    base == 0
}

/// Whether a repeated comparison (`repe cmps`, `repne scas`) that faults after some steps shows the flags from before it. Intel's processors do that;
/// AMD's, and Hygon's that are built like them, show those of the last step.
pub fn comparisons_keep_flags() -> bool {
    let [_, first, third, second] = cpuid::ask(0, 0);
    let vendor = [first, second, third].map(u32::to_le_bytes);
    ![b"AuthenticAMD", b"HygonGenuine"].contains(&vendor.as_flattened().try_into().expect("three words of four bytes"))
}
