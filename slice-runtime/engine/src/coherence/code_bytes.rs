//! The bytes of the app's code, where they lie.

use machine::AppPc;

/// `len` bytes of code at `pc`, which lie in a mapping that is readable.
pub(crate) fn code_at(pc: AppPc, len: u64) -> &'static [u8] {
    if pc.0 == 0 {
        return copied_from_zero(len as usize);
    }
    // SAFETY: the callers have found mappings that are readable up to there. The app, which alone could change them, doesn't run meanwhile; the
    // slice is used only before it does.
    unsafe { std::slice::from_raw_parts(pc.0 as *const u8, len as usize) }
}

/// The code at address zero, where Rust has no slices. What is copied is never freed: it is little, and seldom.
fn copied_from_zero(len: usize) -> &'static [u8] {
    let mut bytes = vec![0_u8; len];
    // SAFETY: it reads what `code_at` may read, and fills the vector.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rsi") 0_u64 => _,
            inout("rdi") bytes.as_mut_ptr() => _,
            inout("rcx") len => _,
            options(nostack, preserves_flags),
        );
    }
    bytes.leak()
}
