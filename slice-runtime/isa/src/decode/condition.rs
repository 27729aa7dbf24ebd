//! Conditions of jumps and conditional moves.

/// A condition by its hardware number: the low four bits of the opcode of `jcc`, `setcc` and `cmovcc`.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the hardware's
pub enum Condition {
    O,
    No,
    B,
    Ae,
    E,
    Ne,
    Be,
    A,
    S,
    Ns,
    P,
    Np,
    L,
    Ge,
    Le,
    G,
}

impl Condition {
    /// All sixteen, in the order of their numbers.
    pub const ALL: [Condition; 16] = [
        Condition::O,
        Condition::No,
        Condition::B,
        Condition::Ae,
        Condition::E,
        Condition::Ne,
        Condition::Be,
        Condition::A,
        Condition::S,
        Condition::Ns,
        Condition::P,
        Condition::Np,
        Condition::L,
        Condition::Ge,
        Condition::Le,
        Condition::G,
    ];

    /// The condition that holds exactly when this one doesn't.
    pub fn inverted(self) -> Condition {
        Self::ALL[self as usize ^ 1]
    }

    /// Whether it holds with these flags.
    pub fn holds(self, rflags: u64) -> bool {
        use machine::flags::{CF, OF, PF, SF, ZF};
        let set = |mask: u64| rflags & mask != 0;
        let less = set(SF) != set(OF);
        let base = match self as u8 >> 1 {
            0 => set(OF),
            1 => set(CF),
            2 => set(ZF),
            3 => set(CF | ZF),
            4 => set(SF),
            5 => set(PF),
            6 => less,
            _ => less || set(ZF),
        };
        base != (self as u8 & 1 == 1)
    }

    pub(crate) fn from_iced(code: iced_x86::ConditionCode) -> Option<Condition> {
        use iced_x86::ConditionCode as C;
        Some(match code {
            C::o => Condition::O,
            C::no => Condition::No,
            C::b => Condition::B,
            C::ae => Condition::Ae,
            C::e => Condition::E,
            C::ne => Condition::Ne,
            C::be => Condition::Be,
            C::a => Condition::A,
            C::s => Condition::S,
            C::ns => Condition::Ns,
            C::p => Condition::P,
            C::np => Condition::Np,
            C::l => Condition::L,
            C::ge => Condition::Ge,
            C::le => Condition::Le,
            C::g => Condition::G,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_follow_the_flags() {
        use machine::flags::{SF, ZF};
        assert!(Condition::E.holds(ZF) && !Condition::Ne.holds(ZF));
        assert!(Condition::L.holds(SF) && Condition::Le.holds(ZF) && Condition::G.holds(0));
    }
}
