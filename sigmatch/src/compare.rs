//! Capturing a point and comparing with it.

use std::fmt::Write;

use bubble::end::{End, EndKind, EndStands, Fatal, STACK_WORDS, SharedContents};
use machine::{Gpr, Memory, Registers, XState, flags};

use crate::extended::{extended_differences, extended_equal};
use crate::xsave_image::Images;

/// Outcome of a comparison: the first step that failed, or a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// General registers, rip, flags or segment bases differ.
    Registers,
    /// Extended state differs.
    Extended,
    /// The stack word with this index differs or can't be read.
    Stack(usize),
    /// The same point, as far as a signature can tell.
    Match,
}

/// Takes a point's signature.
pub fn capture(kind: EndKind, registers: &Registers, xstate: &XState, memory: &dyn Memory) -> End {
    let mut stack = [0; STACK_WORDS];
    let words = read_stack(registers.rsp(), memory, &mut stack);
    End {
        kind,
        stack_words: words as u32,
        goes_on: 0,
        stands: EndStands::Anywhere,
        frame: [0; 2],
        fatal: Fatal::default(),
        shared: SharedContents::default(),
        registers: *registers,
        stack,
        xstate: xstate.into(),
    }
}

/// Whether the state is the point that `end` describes. `images` were stored on the way to it.
pub fn matches(end: &End, registers: &Registers, xstate: &XState, memory: &dyn Memory, images: &Images) -> Verdict {
    if !registers_equal(&end.registers, registers) {
        return Verdict::Registers;
    }
    if !extended_equal(&end.xstate, xstate) {
        return Verdict::Extended;
    }
    stack_difference(end, registers, memory, images).map_or(Verdict::Match, Verdict::Stack)
}

/// In what the state differs from the point, for a report: `rax 0x1 instead of 0x2; mxcsr; stack word 3 …`.
pub fn explain(end: &End, registers: &Registers, xstate: &XState, memory: &dyn Memory) -> String {
    let mut text = String::new();
    let mut differ = |name: &str, expected: u64, got: u64| {
        if expected != got {
            let _ = write!(text, "{name} {got:#x} instead of {expected:#x}; ");
        }
    };
    let expected = &end.registers;
    for gpr in Gpr::ALL {
        differ(gpr.name(), expected.get(gpr), registers.get(gpr));
    }
    differ("rip", expected.rip, registers.rip);
    differ("flags", expected.rflags & flags::VISIBLE, registers.rflags & flags::VISIBLE);
    differ("fs base", expected.fs_base, registers.fs_base);
    differ("gs base", expected.gs_base, registers.gs_base);
    for name in extended_differences(&end.xstate, xstate) {
        let _ = write!(text, "{name} differ; ");
    }
    if let Some(index) = stack_difference(end, registers, memory, &Images::new()) {
        let _ = write!(text, "stack word {index} isn't {:#x}; ", end.stack[index]);
    }
    if text.is_empty() {
        return "nothing differs".to_owned();
    }
    text.truncate(text.len() - 2);
    text
}

fn registers_equal(a: &Registers, b: &Registers) -> bool {
    a.gpr == b.gpr
        && a.rip == b.rip
        && (a.rflags ^ b.rflags) & flags::VISIBLE == 0
        && a.fs_base == b.fs_base
        && a.gs_base == b.gs_base
}

/// Index of the first word of the signature's stack that differs. Where the stack ended for the signature, what
/// lies beyond is not compared.
pub fn stack_difference(end: &End, registers: &Registers, memory: &dyn Memory, images: &Images) -> Option<usize> {
    let expected = &end.stack[..(end.stack_words as usize).min(STACK_WORDS)];
    // What can't be read counts as zero: a stack grows when it is touched, and an end may lie at an instruction that touches it,
    // with the master already a page further.
    let mut got = [0; STACK_WORDS];
    let rsp = registers.rsp();
    read_stack(rsp, memory, &mut got[..expected.len()]);
    (0..expected.len()).find(|&i| expected[i] != got[i] && !images.leave_open(rsp + i as u64 * 8, expected[i], got[i]))
}

fn read_stack(rsp: u64, memory: &dyn Memory, words: &mut [u64]) -> usize {
    let mut bytes = [0; STACK_WORDS * 8];
    let readable = memory.read_prefix(rsp, &mut bytes[..words.len() * 8]) / 8;
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)).take(readable) {
        *word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xsave_layout::Form;
    use machine::{Here, component};

    fn at(stack: &[u64]) -> Registers {
        let mut registers = Registers { rip: 0x1000, rflags: 0x246, ..Registers::default() };
        registers.set(Gpr::Rsp, stack.as_ptr() as u64);
        registers
    }

    #[test]
    fn the_same_state_matches() {
        let stack = [7; 200];
        let end = capture(EndKind::Signature, &at(&stack), &XState::initial(), &Here::new());
        assert_eq!(end.stack_words, 100);
        assert_eq!(matches(&end, &at(&stack), &XState::initial(), &Here::new(), &Images::new()), Verdict::Match);
        assert_eq!(explain(&end, &at(&stack), &XState::initial(), &Here::new()), "nothing differs");
    }

    #[test]
    fn each_difference_is_found_and_named() {
        let mut stack = vec![7; 200];
        let here = Here::new();
        let initial = XState::initial();
        let end = capture(EndKind::Signature, &at(&stack), &initial, &here);

        let mut registers = at(&stack);
        registers.set(Gpr::Rax, 5);
        assert_eq!(matches(&end, &registers, &initial, &here, &Images::new()), Verdict::Registers);
        assert_eq!(explain(&end, &registers, &initial, &here), "rax 0x5 instead of 0x0");

        let mut registers = at(&stack);
        registers.fs_base = 1;
        assert_eq!(matches(&end, &registers, &initial, &here, &Images::new()), Verdict::Registers);

        let mut extended = XState::initial();
        extended.bytes[512] = component::SSE as u8;
        extended.bytes[160] = 1;
        assert_eq!(matches(&end, &at(&stack), &extended, &here, &Images::new()), Verdict::Extended);

        stack[99] = 8;
        assert_eq!(matches(&end, &at(&stack), &initial, &here, &Images::new()), Verdict::Stack(99));
        assert_eq!(explain(&end, &at(&stack), &initial, &here), "stack word 99 isn't 0x7");
        stack[99] = 7;
        stack[100] = 8;
        assert_eq!(matches(&end, &at(&stack), &initial, &here, &Images::new()), Verdict::Match);
    }

    #[test]
    fn what_images_of_vector_registers_leave_open_does_not_count() {
        let mut stack = vec![0_u64; 600];
        stack[20] = 0x1234;
        let here = Here::new();
        let mut images = Images::new();
        images.note(stack.as_ptr() as u64, Form::Standard, component::X87 | component::SSE, &XState::initial(), &here);
        let initial = XState::initial();
        let end = capture(EndKind::Signature, &at(&stack), &initial, &here);
        stack[20] = 0;
        assert_eq!(matches(&end, &at(&stack), &initial, &here, &images), Verdict::Match);
        stack[20] = 1;
        assert_eq!(matches(&end, &at(&stack), &initial, &here, &images), Verdict::Stack(20));
    }

    #[test]
    fn the_debuggers_flags_do_not_count() {
        let stack = [0; 200];
        let end = capture(EndKind::Signature, &at(&stack), &XState::initial(), &Here::new());
        let mut registers = at(&stack);
        registers.rflags |= flags::TF | flags::RF;
        assert_eq!(matches(&end, &registers, &XState::initial(), &Here::new(), &Images::new()), Verdict::Match);
        registers.rflags |= flags::DF;
        assert_eq!(matches(&end, &registers, &XState::initial(), &Here::new(), &Images::new()), Verdict::Registers);
    }

    /// Memory that ends at an address.
    struct Ending(u64);

    impl Memory for Ending {
        fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), machine::MemoryError> {
            if address + buf.len() as u64 > self.0 {
                return Err(machine::MemoryError { address, len: buf.len() });
            }
            buf.fill(1);
            Ok(())
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), machine::MemoryError> {
            Err(machine::MemoryError { address, len: bytes.len() })
        }
    }

    #[test]
    fn a_stack_that_has_not_grown_yet_holds_zeroes() {
        let mut registers = Registers::default();
        registers.set(Gpr::Rsp, 0x8000 - 16);
        let mut end = capture(EndKind::Signature, &registers, &XState::initial(), &Ending(0x8000));
        end.stack = [0; STACK_WORDS];
        assert_eq!(matches(&end, &registers, &XState::initial(), &Ending(0x7000), &Images::new()), Verdict::Match);
        assert_eq!(matches(&end, &registers, &XState::initial(), &Ending(0x8000), &Images::new()), Verdict::Stack(0));
    }

    #[test]
    fn a_stack_may_end_early() {
        let mut registers = Registers::default();
        registers.set(Gpr::Rsp, 0x8000 - 16);
        let end = capture(EndKind::Signature, &registers, &XState::initial(), &Ending(0x8000));
        assert_eq!(end.stack_words, 2);
        assert_eq!(matches(&end, &registers, &XState::initial(), &Ending(0x8000), &Images::new()), Verdict::Match);
        assert_eq!(matches(&end, &registers, &XState::initial(), &Ending(0x7000), &Images::new()), Verdict::Stack(0));
    }
}
