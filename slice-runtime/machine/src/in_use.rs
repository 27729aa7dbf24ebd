//! Which components of the extended state the processor takes to be in use (XINUSE): those that XSAVEC and its kin store.
//!
//! Registers that hold zero may be in use, as when they were loaded with zeros. AMD's XRSTOR takes them out of use, so that an image that the app makes
//! of its registers differs before and after it: old bytes in one, zeros in the other. The kernel does the same to the app whenever it gives the processor to
//! somebody else.

use std::arch::asm;
use std::sync::OnceLock;

use crate::{XState, component, cpuid};

/// Whether XGETBV tells what is in use.
fn tells() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const XGETBV1: u32 = 1 << 2;
    let ([last, ..], [_, _, features, _]) = (cpuid::ask(0, 0), cpuid::ask(1, 0));
    features & OSXSAVE != 0 && last >= 0xd && cpuid::ask(0xd, 1)[0] & XGETBV1 != 0
}

/// Whether XRSTOR takes registers that were loaded with zeros out of use, on this processor.
pub fn forgets_zeros() -> bool {
    static FORGETS: OnceLock<bool> = OnceLock::new();
    *FORGETS.get_or_init(|| {
        let mut image = XState::initial();
        let zeros = [0_u64; 2];
        if !tells() {
            return false;
        }
        let after: u32;
        // SAFETY: the image has room for the SSE component; all of its registers are named as changed, and the processor has XSAVE.
        unsafe {
            asm!(
                "xorps xmm0, xmm0", "xorps xmm1, xmm1", "xorps xmm2, xmm2", "xorps xmm3, xmm3",
                "xorps xmm4, xmm4", "xorps xmm5, xmm5", "xorps xmm6, xmm6", "xorps xmm7, xmm7",
                "xorps xmm8, xmm8", "xorps xmm9, xmm9", "xorps xmm10, xmm10", "xorps xmm11, xmm11",
                "xorps xmm12, xmm12", "xorps xmm13, xmm13", "xorps xmm14, xmm14", "xorps xmm15, xmm15",
                "movups xmm0, [{zeros}]",
                "xsave64 [{image}]",
                "xrstor64 [{image}]",
                "mov ecx, 1",
                "xgetbv",
                zeros = in(reg) zeros.as_ptr(),
                image = in(reg) &raw mut image,
                inout("eax") component::SSE as u32 => after,
                inout("edx") 0 => _,
                out("ecx") _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nostack),
            );
        }
        image.xstate_bv() & component::SSE != 0 && u64::from(after) & component::SSE == 0
    })
}
