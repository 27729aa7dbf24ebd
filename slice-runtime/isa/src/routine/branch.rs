//! Branches of templates, and comparisons of constants.

use iced_x86::{Code, Instruction as Iced, Mnemonic, OpKind};
use machine::flags::{CF, OF, PF, SF, ZF};

use crate::decode::Condition;

/// The template that a template branches to, and when; always without a condition. `None`: it isn't a branch.
pub(super) fn target(template: &Iced) -> Option<(usize, Option<Condition>)> {
    let is_branch = template.op_count() == 1 && template.op0_kind() == OpKind::NearBranch64;
    is_branch.then(|| (template.near_branch64() as usize, Condition::from_iced(template.condition_code())))
}

/// Removes the templates that aren't kept, and branches that go to the next one then. Whether there were such branches: nobody may need their flags any more.
pub(super) fn retain(templates: &mut Vec<Iced>, mut keep: Vec<bool>) -> bool {
    let mut idle = false;
    for (index, template) in templates.iter().enumerate() {
        let goes_on = |(to, _)| !keep[index + 1..to].contains(&true);
        if keep[index] && target(template).is_some_and(goes_on) {
            keep[index] = false;
            idle = true;
        }
    }
    let kept_before = |index: usize| keep[..index].iter().filter(|&&keep| keep).count() as u64;
    for template in templates.iter_mut() {
        if let Some((to, _)) = target(template) {
            template.set_near_branch64(kept_before(to));
        }
    }
    let mut keep = keep.into_iter();
    templates.retain(|_| keep.next().expect("one for each"));
    idle
}

/// The flags that a comparison of two constants of `size` bytes leaves.
pub(super) fn compared(mnemonic: Mnemonic, a: u64, b: u64, size: usize) -> Option<u64> {
    let bits = 8 * size as u32;
    let (a, b) = (a << (64 - bits) >> (64 - bits), b << (64 - bits) >> (64 - bits));
    let sign = 1 << (bits - 1);
    let (result, borrow, overflow) = match mnemonic {
        Mnemonic::Cmp => (a.wrapping_sub(b), a < b, (a ^ b) & (a ^ a.wrapping_sub(b)) & sign != 0),
        Mnemonic::Test => (a & b, false, false),
        _ => return None,
    };
    let all = u64::MAX >> (64 - bits);
    let flag = |holds: bool, flag: u64| if holds { flag } else { 0 };
    Some(
        flag(borrow, CF)
            | flag(overflow, OF)
            | flag(result & all == 0, ZF)
            | flag(result & sign != 0, SF)
            | flag((result as u8).count_ones().is_multiple_of(2), PF),
    )
}

pub(super) fn jcc(condition: Condition) -> Code {
    use Condition as C;
    match condition {
        C::O => Code::Jo_rel32_64,
        C::No => Code::Jno_rel32_64,
        C::B => Code::Jb_rel32_64,
        C::Ae => Code::Jae_rel32_64,
        C::E => Code::Je_rel32_64,
        C::Ne => Code::Jne_rel32_64,
        C::Be => Code::Jbe_rel32_64,
        C::A => Code::Ja_rel32_64,
        C::S => Code::Js_rel32_64,
        C::Ns => Code::Jns_rel32_64,
        C::P => Code::Jp_rel32_64,
        C::Np => Code::Jnp_rel32_64,
        C::L => Code::Jl_rel32_64,
        C::Ge => Code::Jge_rel32_64,
        C::Le => Code::Jle_rel32_64,
        C::G => Code::Jg_rel32_64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_leave_the_processors_flags() {
        const FLAGS: u64 = CF | OF | ZF | SF | PF;
        let values = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, u64::MAX >> 1, u64::MAX];
        for (a, b) in values.into_iter().flat_map(|a| values.map(|b| (a, b))) {
            macro_rules! flags_of {
                ($instruction:literal) => {{
                    let flags: u64;
                    // SAFETY: the flags are read by way of the stack, and nothing else changes.
                    unsafe { std::arch::asm!($instruction, "pushfq", "pop {f}", a = in(reg) a, b = in(reg) b, f = out(reg) flags) };
                    flags & FLAGS
                }};
            }
            let cmp = |size| compared(Mnemonic::Cmp, a, b, size).unwrap();
            let found = [cmp(8), cmp(4), cmp(2), compared(Mnemonic::Test, a, b, 8).unwrap()];
            let real = [
                flags_of!("cmp {a}, {b}"),
                flags_of!("cmp {a:e}, {b:e}"),
                flags_of!("cmp {a:x}, {b:x}"),
                flags_of!("test {a}, {b}"),
            ];
            assert_eq!(found, real, "{a:#x} {b:#x}");
        }
    }
}
