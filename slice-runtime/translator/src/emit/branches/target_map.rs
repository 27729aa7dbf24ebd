//! The three instructions that look a target up in the target map.

use bubble::map::TARGET_WINDOWS;
use isa::{Code, Instruction};
use machine::{AppPc, CachePc, Gpr};

use crate::abi::ThreadState;

/// Makes translated code go to the target in r10. r9 is borrowed.
pub fn look_up(code: &mut Code) {
    code.extract_bits_gs(Gpr::R9, Gpr::R10, ThreadState::TARGET_BITS_AT);
    code.load_gs_indexed(Gpr::R9, Gpr::R9, (TARGET_WINDOWS.start - bubble::map::THREADS.start) as u32);
    code.jmp_indexed(Gpr::R9, Gpr::R10);
}

/// Whether these are the bytes of an instruction that looks up the target in r10.
pub fn is_lookup(bytes: &[u8]) -> bool {
    let mut code = Code::new(CachePc(0));
    look_up(&mut code);
    let parts = std::iter::successors(Some(&code.bytes[..]), |rest| {
        let len = Instruction::decode(rest, AppPc(0)).ok()?.len();
        (len < rest.len()).then(|| &rest[len..])
    });
    parts.skip(1).any(|rest| {
        let len = Instruction::decode(rest, AppPc(0)).map_or(usize::MAX, |i| i.len());
        bytes.len() >= len && bytes[..len] == rest[..len]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_are_known_by_their_bytes() {
        let mut code = Code::new(CachePc(0));
        look_up(&mut code);
        assert!(!is_lookup(&code.bytes), "choosing a window can't fault");
        let first = Instruction::decode(&code.bytes, AppPc(0)).unwrap();
        assert_eq!(first.mnemonic(), "pext");
        let rest = &code.bytes[first.len()..];
        let second = Instruction::decode(rest, AppPc(0)).unwrap();
        assert_eq!(second.to_string(), "mov %gs:0x4000000(,%r9,8),%r9");
        assert!(is_lookup(rest));
        let last = &rest[second.len()..];
        assert_eq!(Instruction::decode(last, AppPc(0)).unwrap().to_string(), "jmpq *(%r9,%r10,8)");
        assert!(is_lookup(last) && !is_lookup(&last[1..]) && !is_lookup(&[0x90; 15]));
    }
}
