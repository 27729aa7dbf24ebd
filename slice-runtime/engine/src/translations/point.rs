//! The end of a slice, or a point on the way to it, as the engine sees it: an app pc at which the host wants to be asked. One is armed at a time.
//!
//! The check is put before the instruction at the end, for this process alone. All traces that run across the end, or start there, are *hidden*: their
//! entries become jumps to this process's own translations, which check at it. Nearly always the app comes to the end by a branch or the like, and it so starts
//! a block: then these may run across it in the middle of another. If it lies in the middle of a block, the check does, too: a block stays whole.
//!
//! The check compares a few things inline, and the host is asked only if all agree. What is compared is learnt from the states that the host refused: a
//! register that differed, or, where all registers agree, a half of a vector register or a memory word.

use std::collections::BTreeSet;

use bubble::end::EndStands;
use machine::{AppPc, Gpr, Registers, flags};
use translator::abi::{QUICK, SpaceId, TraceId};
use translator::emit::{Check, QuickCondition};
use translator::trace::{Border, Trace};

/// Times that the conditions may be chosen anew: each costs a translation.
const CHOICES: u32 = 64;

/// Registers that are compared first at the next end, because they were telling at this one.
const TELLING: usize = 2;

/// Where an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPlace {
    /// The instruction before which the host is asked.
    pub pc: AppPc,
    /// Whether only where it starts a block.
    pub starts_block: bool,
}

impl EndPlace {
    /// No address of the app's has it.
    const INSIDE: u64 = 1 << 63;

    /// As a word of memory that processes share; 0 is none.
    pub fn encoded(self) -> u64 {
        self.pc.0 | if self.starts_block { 0 } else { Self::INSIDE }
    }

    /// From such a word.
    pub fn decoded(word: u64) -> Self {
        Self { pc: AppPc(word & !Self::INSIDE), starts_block: word & Self::INSIDE == 0 }
    }

    /// The instruction of a trace before which the app may be at the end. `starts_block`: the trace's first instruction starts a block.
    pub fn index_in(self, trace: &Trace, starts_block: bool) -> Option<usize> {
        let index = trace.instructions.iter().position(|instruction| instruction.pc() == self.pc)?;
        let starts = index == 0 && starts_block;
        (starts || !self.starts_block).then_some(index)
    }

    /// What a trace has to heed before the instruction at `pc`. Code of this process's own is left in the middle of a block if there is an end; code that others
    /// run, too, has no such block.
    pub fn border(self, pc: AppPc, space: SpaceId) -> Border {
        match (self.pc == pc, self.starts_block || space == SpaceId::Own) {
            (false, _) => Border::None,
            (true, true) => Border::Block,
            (true, false) => Border::Instruction,
        }
    }
}

/// An armed end.
#[derive(Clone, Debug)]
pub struct EndPoint {
    /// Registers that the end must have; `rip` is where it is.
    pub registers: Registers,
    /// How the instruction stands in its block.
    pub stands: EndStands,
    /// Flags that the app doesn't read after it: what they are there means nothing.
    pub dead_flags: u64,
    /// What is compared inline, the most telling first.
    quick: Vec<QuickCondition>,
    /// What the host named when it refused the last state.
    named: Option<QuickCondition>,
    choices: u32,
}

impl EndPoint {
    /// An end about which nothing was learnt yet. `telling`: registers in which other states differ, most probably.
    pub fn new(registers: &Registers, stands: EndStands, dead_flags: u64, telling: &[Gpr]) -> Self {
        let quick = telling.iter().map(|&r| QuickCondition::Register(r, registers.get(r))).collect();
        Self { registers: *registers, stands, dead_flags, quick, named: None, choices: 0 }
    }

    /// Where it is.
    pub fn place(&self) -> EndPlace {
        EndPlace { pc: AppPc(self.registers.rip), starts_block: self.stands == EndStands::First }
    }

    /// What to compare inline.
    pub fn check(&self) -> Check {
        Check { conditions: self.quick.clone(), may_change_flags: self.dead_flags == flags::ARITHMETIC }
    }

    /// To be called from [`crate::Host::end_reached`]: the state that is about to be refused differs from the end in this.
    pub fn require(&mut self, condition: QuickCondition) {
        self.named = Some(condition);
    }

    /// A state passed the quick check but was refused. Returns whether there is something new to compare.
    pub fn learn(&mut self, seen: &Registers) -> bool {
        let register = Gpr::ALL.into_iter().find(|&r| seen.get(r) != self.registers.get(r));
        let register = register.map(|r| QuickCondition::Register(r, self.registers.get(r)));
        let Some(new) = register.or(self.named.take()) else { return false };
        if self.choices == CHOICES || self.quick.contains(&new) {
            return false;
        }
        self.choices += 1;
        self.quick.insert(0, new);
        self.quick.truncate(QUICK);
        true
    }
}

/// The places at which the host is asked, in this process.
///
/// Invariant: no trace that this process may enter runs across an armed point without a check at it ([`EndPlace::border`]).
pub struct Points {
    end: Option<EndPoint>,
    /// Registers that told states apart where an end was armed last. At first rax and rdx, which change often.
    telling: Vec<Gpr>,
    /// Traces of the shared space that this process must not run, with their entries redirected.
    hidden: BTreeSet<TraceId>,
    /// Where an end was armed: a trace that starts there is this process's own.
    past: BTreeSet<AppPc>,
}

impl Default for Points {
    /// None.
    fn default() -> Self {
        Self { end: None, telling: vec![Gpr::Rax, Gpr::Rdx], hidden: BTreeSet::default(), past: BTreeSet::default() }
    }
}

impl Points {
    /// The end, if it is armed.
    pub fn end(&self) -> Option<&EndPoint> {
        self.end.as_ref()
    }

    /// The same, to learn.
    pub fn end_mut(&mut self) -> Option<&mut EndPoint> {
        self.end.as_mut()
    }

    /// Whether `pc` is the end's.
    pub fn is_end(&self, pc: AppPc) -> bool {
        self.end.as_ref().is_some_and(|end| end.registers.rip == pc.0)
    }

    /// From now on this is the end, see [`EndPoint::new`].
    pub fn arm(&mut self, registers: &Registers, stands: EndStands, dead_flags: u64) {
        self.past.insert(AppPc(registers.rip));
        self.end = Some(EndPoint::new(registers, stands, dead_flags, &self.telling));
    }

    /// There is none any more. Gives what was armed.
    pub fn disarm(&mut self) -> Option<EndPoint> {
        let end = self.end.take()?;
        let telling = end.quick.iter().filter_map(|condition| condition.register());
        self.telling = telling.take(TELLING).collect();
        Some(end)
    }

    /// Whether an end is armed there, or was.
    pub fn has_end_at(&self, pc: AppPc) -> bool {
        self.past.contains(&pc)
    }

    /// Whether an end was armed in this process.
    pub fn has_ends(&self) -> bool {
        !self.past.is_empty()
    }

    /// This process must not run a trace of the shared space. Whether it might until now.
    pub fn hide(&mut self, id: TraceId) -> bool {
        self.hidden.insert(id)
    }

    /// Whether it must not.
    pub fn is_hidden(&self, id: TraceId) -> bool {
        self.hidden.contains(&id)
    }

    /// All that it must not run.
    pub fn hidden(&self) -> Vec<TraceId> {
        self.hidden.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_compared_next() {
        let mut end = EndPoint::new(&Registers::default(), EndStands::First, 0, &[Gpr::Rax, Gpr::Rdx]);
        let mut seen = Registers::default();
        assert!(!end.learn(&seen));
        seen.set(Gpr::Rbx, 1);
        assert!(end.learn(&seen));
        assert_eq!(end.check().conditions[0], QuickCondition::Register(Gpr::Rbx, 0));
        seen.set(Gpr::Rbx, 0);
        end.require(QuickCondition::Word(0x1000, 5));
        assert!(end.learn(&seen));
        assert_eq!(
            end.check().conditions[..2],
            [QuickCondition::Word(0x1000, 5), QuickCondition::Register(Gpr::Rbx, 0)]
        );
        end.require(QuickCondition::Vector(3, 7));
        assert!(end.learn(&seen));
        assert_eq!(end.check().conditions[..2], [QuickCondition::Vector(3, 7), QuickCondition::Word(0x1000, 5)]);
        for n in 0..QUICK as u64 {
            end.require(QuickCondition::Word(0x2000 + 8 * n, 0));
            assert!(end.learn(&seen));
        }
        let conditions = end.check().conditions;
        assert_eq!((conditions.len(), conditions[QUICK - 1]), (QUICK, QuickCondition::Word(0x2000, 0)));
    }

    #[test]
    fn an_end_in_the_middle_of_a_block_keeps_it_from_others() {
        let place = |starts_block| EndPlace { pc: AppPc(0x7fff_ffff_f000), starts_block };
        for end in [place(true), place(false)] {
            assert_eq!(EndPlace::decoded(end.encoded()), end);
            assert_eq!(end.border(AppPc(1), SpaceId::Shared), Border::None);
            assert_eq!(end.border(end.pc, SpaceId::Own), Border::Block);
            let shared = if end.starts_block { Border::Block } else { Border::Instruction };
            assert_eq!(end.border(end.pc, SpaceId::Shared), shared);
        }
    }

    #[test]
    fn what_was_telling_is_compared_first_where_the_next_is_armed() {
        let mut points = Points::default();
        let at = |rip| Registers { rip, ..Registers::default() };
        let registers = |points: &Points| {
            let check = points.end().unwrap().check();
            Vec::from_iter(check.conditions.iter().filter_map(|condition| condition.register()))
        };
        points.arm(&at(0x1000), EndStands::Anywhere, 0);
        assert_eq!(registers(&points), [Gpr::Rax, Gpr::Rdx]);
        let mut seen = at(0x1000);
        seen.set(Gpr::Rbx, 1);
        let end = points.end_mut().unwrap();
        end.require(QuickCondition::Word(0x1000, 5));
        assert!(end.learn(&seen));
        assert!(points.disarm().is_some() && points.end().is_none() && points.disarm().is_none());
        points.arm(&at(0x2000), EndStands::Anywhere, 0);
        assert_eq!(registers(&points), [Gpr::Rbx, Gpr::Rax]);
        let past = [0x1000, 0x2000, 0x3000].map(|pc| points.has_end_at(AppPc(pc)));
        assert_eq!((past, points.is_end(AppPc(0x1000))), ([true, true, false], false));
        assert!(points.hide(TraceId(7)) && !points.hide(TraceId(7)) && points.is_hidden(TraceId(7)));
    }

    #[test]
    fn flags_are_changed_only_if_all_are_dead() {
        let check = |dead| EndPoint::new(&Registers::default(), EndStands::First, dead, &[]).check();
        assert!(check(flags::ARITHMETIC).may_change_flags);
        assert!(!check(flags::ARITHMETIC & !flags::CF).may_change_flags);
    }
}
