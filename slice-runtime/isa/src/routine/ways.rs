//! The ways through a routine: its branches, which all go forward.
//!
//! Instructions are read in the order of their addresses. What is known at a branch is kept for its target; where ways meet, only what is
//! known on both is known. A constant is in its register on both sides of a branch, so that where ways meet with different ones the register tells.
//! A template's branch has the number of the template that it goes to as its target.

use iced_x86::{Code, Instruction as Iced, Mnemonic, OpKind};
use machine::flags::{CF, OF, PF, SF, ZF};

use super::fold::{Folder, State, Value};
use crate::condition::Condition;
use crate::instruction::Instruction;
use crate::kind::Kind;

/// A branch whose target is still to be come to.
pub(super) struct Way {
    /// Address in the routine, or [`END`].
    target: u64,
    /// The template that branches.
    from: usize,
    state: State,
}

/// Behind the routine: where `ret` goes.
const END: u64 = u64::MAX;

impl Folder {
    /// The instruction at `pc` is the next one. `None`: a branch goes backwards, or into an instruction.
    pub(super) fn come_to(&mut self, pc: u64) -> Option<()> {
        if self.ways.iter().any(|way| way.target < pc) {
            return None;
        }
        self.meet(pc)
    }

    /// Whether all ways have come to the routine's end.
    pub(super) fn is_complete(&self) -> bool {
        !self.reached && self.ways.iter().all(|way| way.target == END)
    }

    /// Reads the next instruction, unless no way leads to it. `None`: it isn't understood.
    pub(super) fn read(&mut self, instruction: &Instruction) -> Option<()> {
        if !self.reached {
            return Some(());
        }
        match instruction.kind() {
            Kind::Return { extra_pop: 0 } => self.jump(END),
            Kind::Jump { target } => self.jump(target.0),
            Kind::Branch { target, condition } => self.branch(condition, target.0),
            _ => self.add(instruction),
        }
    }

    /// The templates, when all ways have come to the end. With `result` they leave its result in rax.
    pub(super) fn finish(mut self, result: bool) -> Option<Vec<Iced>> {
        self.meet(END)?;
        self.end(result)
    }

    fn jump(&mut self, target: u64) -> Option<()> {
        self.leave(Code::Jmp_rel32_64, target)?;
        self.reached = false;
        Some(())
    }

    fn branch(&mut self, condition: Condition, target: u64) -> Option<()> {
        if let Some(flags) = self.state.flags {
            return if condition.holds(flags) { self.jump(target) } else { Some(()) };
        }
        if !self.state.flags_valid {
            return None;
        }
        self.load_constants()?;
        self.branched = true;
        self.leave(jcc(condition), target)
    }

    fn leave(&mut self, code: Code, target: u64) -> Option<()> {
        self.ways.push(Way { target, from: self.templates.len(), state: self.state.clone() });
        self.templates.push(Iced::with_branch(code, 0).ok()?);
        Some(())
    }

    /// Ways to `target` meet here.
    fn meet(&mut self, target: u64) -> Option<()> {
        let here = self.templates.len() as u64;
        for way in self.ways.extract_if(.., |way| way.target == target) {
            self.templates[way.from].set_near_branch64(here);
            self.state = if self.reached { self.state.met_by(&way.state)? } else { way.state };
            self.reached = true;
        }
        Some(())
    }
}

impl State {
    /// What is known on both of two ways.
    fn met_by(&self, other: &State) -> Option<State> {
        let mut values = self.values;
        for (value, other) in values.iter_mut().zip(other.values) {
            *value = match (*value, other) {
                (one, other) if one == other => one,
                (Value::Foreign, _) | (_, Value::Foreign) => Value::Foreign,
                (Value::Undefined, _) | (_, Value::Undefined) => Value::Undefined,
                (Value::Known { loaded: false, .. }, _) | (_, Value::Known { loaded: false, .. }) => return None,
                (Value::Low, _) | (_, Value::Low) => Value::Low,
                _ => Value::Dynamic,
            };
        }
        let flags = self.flags.filter(|_| self.flags == other.flags);
        let flags_valid = self.flags_valid && other.flags_valid;
        (self.frame == other.frame).then_some(State { values, flags_valid, flags, frame: self.frame })
    }
}

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

fn jcc(condition: Condition) -> Code {
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
