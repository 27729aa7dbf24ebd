//! What the x87 unit knows of its last instruction: its address (FIP) and opcode (FOP), its operand's address (FDP), and both selectors. `fnstenv` stores
//! it, `fldenv` loads it.
//!
//! An image of XSAVE doesn't hold all of it. AMD's processors store zeros, unless an exception is pending, and none stores selectors in the form for
//! 64-bit code, although older ones have them. So the kernel loses it as well when it gives the processor to somebody else: an app that looks sees it, or,
//! seldom, zeros. Where a processor does so the gateway notes it beside the image, in bytes that XSAVE and XRSTOR leave to software.

use std::arch::asm;
use std::sync::OnceLock;

/// Where the gateway notes it in an [`XState`](crate::XState): the last sixteen bytes of an environment (`fnstenv` in 64-bit code).
pub const LAST_AT: usize = 464;
/// Behind it: a half that isn't 0 if the address that the next half holds is the app's own, and not one in the code cache.
pub(crate) const IS_APP_AT: usize = LAST_AT + 16;

/// What XSAVE and XRSTOR lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Lost {
    /// Nothing (there are no selectors then).
    Nothing = 0,
    /// What XSAVE should have stored; XRSTOR loads it from an image that has it.
    Saved = 1,
    /// XRSTOR doesn't load it either.
    Everything = 2,
    /// The selectors.
    Selectors = 3,
}

/// What is lost on this processor.
pub fn lost() -> Lost {
    static LOST: OnceLock<Lost> = OnceLock::new();
    *LOST.get_or_init(find_out)
}

/// Room for the legacy area and the header of an image.
#[repr(C, align(64))]
struct X87Image([u8; 576]);

/// Has an instruction executed, saves and loads the state, and compares environments.
fn find_out() -> Lost {
    let mut image = X87Image([0; 576]);
    let mut environments = [[0_u32; 7]; 2];
    let [before, after] = &mut environments;
    let mut value = 0_u64;
    // Where addresses lie in the image is filled in, if XSAVE hasn't done it, before it is loaded.
    let mut stored = 0_u64;
    // SAFETY: the unit is in the state of a C function's start afterwards, the image has room for the x87 component, and the processor has XSAVE.
    unsafe {
        asm!(
            "fninit",
            "fld1",
            "fstp qword ptr [{value}]",
            "fnstenv [{before}]",
            "xsave64 [{image}]",
            "mov {stored}, [{image} + 8]",
            "mov {scratch:e}, [{before} + 12]",
            "mov [{image} + 8], {scratch}",
            "fninit",
            "xrstor64 [{image}]",
            "fnstenv [{after}]",
            "fninit",
            value = in(reg) &raw mut value,
            before = in(reg) before.as_mut_ptr(),
            after = in(reg) after.as_mut_ptr(),
            image = in(reg) &raw mut image,
            stored = inout(reg) stored,
            scratch = out(reg) _,
            in("eax") 1,
            in("edx") 0,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack),
        );
    }
    let [before, after] = environments;
    let (address, selectors) = (3, |environment: [u32; 7]| (environment[4] as u16, environment[6] as u16));
    if before[address] != after[address] {
        Lost::Everything
    } else if stored as u32 != before[address] {
        Lost::Saved
    } else if selectors(before) != selectors(after) {
        Lost::Selectors
    } else {
        Lost::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::XState;

    #[test]
    fn an_address_in_the_cache_becomes_the_apps() {
        let mut state = XState::initial();
        assert_eq!(state.noted_x87_pc(), None);
        state.bytes[LAST_AT..LAST_AT + 4].copy_from_slice(&0x1000_4711_u32.to_le_bytes());
        assert_eq!(state.noted_x87_pc(), Some(0x1000_4711));
        state.bytes[LAST_AT + 6..LAST_AT + 8].copy_from_slice(&0x318_u16.to_le_bytes());
        state.note_app_x87_pc(0x40_1223, 0x31d);
        assert_eq!(state.last_x87()[1], 0x31d << 16);
        assert_eq!((state.noted_x87_pc(), state.bytes[LAST_AT]), (None, 0x23));
        state.bytes[LAST_AT] = 0x24;
        assert_eq!(state.noted_x87_pc(), Some(0x40_1224));
    }
}
