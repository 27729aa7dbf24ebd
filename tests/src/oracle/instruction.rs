//! The few instructions that single-stepping must know.

/// What an instruction means to the single-stepper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It may trap before it is complete: a string instruction with a repeat prefix at each iteration, a gather or scatter where an element
    /// faults after others were done.
    InParts,
    /// `pushf`, which would show the trap flag.
    PushFlags,
    /// `mov ss`, after which one instruction runs without a trap.
    MovToSs,
    /// `syscall`.
    Syscall,
    /// Any other.
    Other,
}

/// Looks at an instruction's bytes.
pub fn kind(bytes: &[u8]) -> Kind {
    let mut rep = false;
    let mut rest = bytes;
    while let [prefix, tail @ ..] = rest {
        match prefix {
            0xf2 | 0xf3 => rep = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0x40..=0x4f => {}
            _ => break,
        }
        rest = tail;
    }
    match rest {
        [0xa4..=0xa7 | 0xaa..=0xaf | 0x6c..=0x6f, ..] if rep => Kind::InParts,
        [0xc4, map, _, 0x90..=0x93, ..] if map & 0x1f == 2 => Kind::InParts,
        [0x62, map, _, _, 0x90..=0x93 | 0xa0..=0xa3, ..] if map & 7 == 2 => Kind::InParts,
        [0x9c, ..] => Kind::PushFlags,
        [0x8e, modrm, ..] if modrm >> 3 & 7 == 2 => Kind::MovToSs,
        [0x0f, 0x05, ..] => Kind::Syscall,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_do_not_hide_an_instruction() {
        assert_eq!(kind(&[0xf3, 0x48, 0xab]), Kind::InParts);
        assert_eq!(kind(&[0x67, 0xf2, 0xae]), Kind::InParts);
        assert_eq!(kind(&[0x67, 0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x8a]), Kind::InParts); // vpgatherdd
        assert_eq!(kind(&[0x66, 0x9c]), Kind::PushFlags);
        assert_eq!(kind(&[0x8e, 0xd0]), Kind::MovToSs);
        assert_eq!(kind(&[0x0f, 0x05]), Kind::Syscall);
    }

    #[test]
    fn other_instructions_with_the_same_prefixes_are_not_meant() {
        assert_eq!(kind(&[0xf3, 0xc3]), Kind::Other); // rep ret
        assert_eq!(kind(&[0xf3, 0x90]), Kind::Other); // pause
        assert_eq!(kind(&[0xf3, 0x0f, 0x1e, 0xfa]), Kind::Other); // endbr64
        assert_eq!(kind(&[0xab]), Kind::Other); // stosd, once
        assert_eq!(kind(&[0x8e, 0xd8]), Kind::Other); // mov ds
        assert_eq!(kind(&[0xc4, 0xe2, 0x6d, 0x8c, 0x00]), Kind::Other); // vpmaskmovd
        assert_eq!(kind(&[]), Kind::Other);
    }
}
