//! Facts about single instructions that liveness, instrumentation and dispatch rely on.

use isa::{Condition, DecodeError, IndirectOperand, Instruction, Kind, NondeterministicKind, Segment, SelectorSource};
use machine::{AppPc, Gpr, flags};

const PC: u64 = 0x40_0000;

fn decode(bytes: &[u8]) -> Instruction {
    Instruction::decode(bytes, AppPc(PC)).unwrap()
}

fn set(registers: &[Gpr]) -> u16 {
    registers.iter().fold(0, |all, &r| all | 1 << r as u16)
}

#[test]
fn mnemonics_have_numbers() {
    let ret = Instruction::decode(&[0xc3], AppPc(0)).unwrap();
    assert_eq!((isa::mnemonics()[ret.mnemonic_number()], ret.mnemonic()), ("ret", "ret"));
    assert!(isa::mnemonics().len() <= isa::MNEMONICS);
}

#[test]
fn kinds() {
    let cases: &[(&[u8], Kind)] = &[
        (&[0x90], Kind::Plain),
        (&[0xeb, 0x10], Kind::Jump { target: AppPc(PC + 0x12) }),
        (&[0x0f, 0x84, 0, 0, 0, 0], Kind::Branch { target: AppPc(PC + 6), condition: Condition::E }),
        (&[0x7f, 0xfe], Kind::Branch { target: AppPc(PC), condition: Condition::G }),
        (&[0xe2, 0xfe], Kind::CountBranch { target: AppPc(PC) }),
        (&[0x67, 0xe3, 0x00], Kind::CountBranch { target: AppPc(PC + 3) }),
        (&[0xe8, 1, 0, 0, 0], Kind::Call { target: AppPc(PC + 6) }),
        (&[0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0], Kind::Call { target: AppPc(PC + 8) }),
        (&[0xf2, 0xff, 0x25, 0, 0, 0, 0], Kind::JumpIndirect),
        (&[0x41, 0xff, 0xd3], Kind::CallIndirect),
        (&[0xf3, 0xc3], Kind::Return { extra_pop: 0 }),
        (&[0xc2, 0x10, 0], Kind::Return { extra_pop: 16 }),
        (&[0x0f, 0x05], Kind::Syscall),
        (&[0x0f, 0x31], Kind::Nondeterministic(NondeterministicKind::Rdtsc)),
        (&[0x0f, 0x01, 0xf9], Kind::Nondeterministic(NondeterministicKind::Rdtscp)),
        (&[0x0f, 0xa2], Kind::Nondeterministic(NondeterministicKind::Cpuid)),
        (&[0xc7, 0xf8, 0x10, 0, 0, 0], Kind::XBegin { abort: AppPc(PC + 0x16) }),
        (&[0x0f, 0x01, 0xd6], Kind::Plain),
        (
            &[0xf3, 0x48, 0x0f, 0xae, 0xc1],
            Kind::SegmentBase { write: false, segment: Segment::Fs, register: Gpr::Rcx, wide: true },
        ),
        (
            &[0xf3, 0x0f, 0xae, 0xd9],
            Kind::SegmentBase { write: true, segment: Segment::Gs, register: Gpr::Rcx, wide: false },
        ),
        (&[0xcc], Kind::Trap),
        (&[0x0f, 0x0b], Kind::Trap),
        (&[0xf4], Kind::Trap),
        (&[0xf1], Kind::Trap),
        (&[0xcd, 0x03], Kind::Trap),
        (&[0xcd, 0x80], Kind::Unsupported("int 0x80")),
        (&[0x0f, 0x34], Kind::Unsupported("sysenter")),
        (&[0x66, 0xe9, 0, 0, 0, 0], Kind::Unsupported("near branch with an operand size prefix")),
        (&[0x8e, 0xe8], Kind::SelectorLoad { segment: Segment::Gs, from: SelectorSource::Register(Gpr::Rax) }),
        (&[0x41, 0x8e, 0xe3], Kind::SelectorLoad { segment: Segment::Fs, from: SelectorSource::Register(Gpr::R11) }),
        (&[0x0f, 0xa1], Kind::SelectorLoad { segment: Segment::Fs, from: SelectorSource::Stack(8) }),
        (&[0x66, 0x0f, 0xa9], Kind::SelectorLoad { segment: Segment::Gs, from: SelectorSource::Stack(2) }),
        (&[0x8e, 0x20], Kind::Unsupported("load of the FS or GS selector from memory")),
        (&[0x8e, 0xd8], Kind::Plain),
        (&[0x48, 0xcf], Kind::Unsupported("far or interrupt return")),
        (&[0x65, 0xa4], Kind::Unsupported("GS-relative string instruction, xlat or gather")),
        (&[0x64, 0xa4], Kind::Plain),
        (&[0x8c, 0xe8], Kind::Plain),
    ];
    for (bytes, kind) in cases {
        assert_eq!(decode(bytes).kind(), *kind, "{:?}", decode(bytes));
    }
}

#[test]
fn segments_count_only_where_memory_is_accessed() {
    assert_eq!(decode(&[0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0]).segment(), Some(Segment::Fs));
    assert_eq!(decode(&[0x65, 0x8b, 0x00]).segment(), Some(Segment::Gs));
    assert_eq!(decode(&[0x64, 0xa4]).segment(), Some(Segment::Fs), "source of movs");
    assert_eq!(decode(&[0x64, 0x48, 0x8d, 0x00]).segment(), None, "lea");
    assert_eq!(decode(&[0x2e, 0x8b, 0x00]).segment(), None, "cs");
}

#[test]
fn registers() {
    // add rax, [rbx + rcx*4]
    let u = decode(&[0x48, 0x03, 0x04, 0x8b]).usage();
    assert_eq!(u.gpr_read, set(&[Gpr::Rax, Gpr::Rbx, Gpr::Rcx]));
    assert_eq!((u.gpr_written, u.gpr_killed), (set(&[Gpr::Rax]), 0));
    assert!(u.may_fault);
    // mov eax, ebx replaces all of rax; mov ax, bx and mov ah, bl don't
    assert_eq!(decode(&[0x89, 0xd8]).usage().gpr_killed, set(&[Gpr::Rax]));
    assert_eq!(decode(&[0x66, 0x89, 0xd8]).usage().gpr_killed, 0);
    assert_eq!(decode(&[0x88, 0xdc]).usage().gpr_written, set(&[Gpr::Rax]));
    // cmove eax, ebx and bsf eax, ebx may keep the old value
    for bytes in [[0x0f, 0x44, 0xc3], [0x0f, 0xbc, 0xc3], [0x0f, 0xbd, 0xc3]] {
        let i = decode(&bytes);
        assert_eq!(i.usage().gpr_killed, 0, "{i:?}");
        assert_eq!(i.usage().gpr_written, set(&[Gpr::Rax]), "{i:?}");
    }
    assert_eq!(decode(&[0x0f, 0x44, 0xc3]).cmov_condition(), Some(Condition::E));
    assert_eq!(decode(&[0x74, 0]).cmov_condition(), None);
    // rdsspq r10 keeps it where there are no shadow stacks
    let i = decode(&[0xf3, 0x49, 0x0f, 0x1e, 0xca]);
    assert_eq!((i.usage().gpr_killed, i.usage().gpr_written), (0, set(&[Gpr::R10])));
    // xor eax, eax reads nothing
    assert_eq!(decode(&[0x31, 0xc0]).usage().gpr_read, 0);
    // lea eax, [rax] reads what it replaces
    assert_eq!(decode(&[0x8d, 0x00]).usage().gpr_killed, 0);
    assert!(!decode(&[0x8d, 0x00]).usage().may_fault);
}

#[test]
fn flags_that_may_survive_are_not_killed() {
    // shl eax, cl; shl eax, 0; rep cmpsb; mul ebx; div ebx; bt eax, ebx; bsf eax, ebx; inc eax keeps CF
    let shl_cl = decode(&[0xd3, 0xe0]).usage();
    assert_eq!(shl_cl.flags_killed, 0);
    assert_eq!(shl_cl.flags_written, flags::ARITHMETIC);
    assert_eq!(decode(&[0xc1, 0xe0, 0]).usage().flags_killed, 0);
    assert_eq!(decode(&[0xf3, 0xa6]).usage().flags_killed, 0);
    assert_eq!(decode(&[0xf7, 0xe3]).usage().flags_killed, flags::CF | flags::OF);
    assert_eq!(decode(&[0xf7, 0xf3]).usage().flags_killed, 0);
    assert!(decode(&[0xf7, 0xf3]).usage().may_fault);
    // enclu, tpause ecx: flags that they would set are still the old ones where they are refused.
    assert!(decode(&[0x0f, 0x01, 0xd7]).usage().may_fault && decode(&[0x66, 0x0f, 0xae, 0xf1]).usage().may_fault);
    assert_eq!(decode(&[0x0f, 0xa3, 0xd8]).usage().flags_killed & flags::ZF, 0);
    assert_eq!(decode(&[0x0f, 0xbc, 0xc3]).usage().flags_killed, flags::ZF);
    assert_eq!(decode(&[0xff, 0xc0]).usage().flags_killed, flags::ARITHMETIC & !flags::CF);
    // shl eax, 4 leaves OF and AF undefined
    assert_eq!(decode(&[0xc1, 0xe0, 4]).usage().flags_killed, flags::ARITHMETIC & !(flags::OF | flags::AF));
}

#[test]
fn flags_that_are_replaced_are_killed() {
    // add, cmp, test, and, ucomisd
    for bytes in [&[0x01, 0xd8][..], &[0x39, 0xd8], &[0x85, 0xc0], &[0x21, 0xd8], &[0x66, 0x0f, 0x2e, 0xc1]] {
        let i = decode(bytes);
        assert_eq!(i.usage().flags_killed, flags::ARITHMETIC, "{i:?}");
    }
    assert_eq!(decode(&[0x74, 0]).usage().flags_read, flags::ZF);
    assert_eq!(decode(&[0x9c]).usage().flags_read, flags::VISIBLE);
    assert_eq!(decode(&[0x11, 0xd8]).usage().flags_read, flags::CF);
    assert_eq!(decode(&[0xa4]).usage().flags_read, flags::DF);
    assert_eq!(decode(&[0xfd]).usage().flags_killed, flags::DF);
}

#[test]
fn memory_operands_include_the_stack() {
    let push = decode(&[0x50]).memory_operands();
    assert_eq!(push.len(), 1);
    assert!(push[0].stack && push[0].write && !push[0].read);
    assert_eq!((push[0].base, push[0].displacement, push[0].size), (Some(Gpr::Rsp), -8, 8));
    let call = decode(&[0xff, 0x53, 0x10]).memory_operands();
    assert_eq!(call.len(), 2);
    assert_eq!((call[0].base, call[0].displacement, call[0].stack), (Some(Gpr::Rbx), 0x10, false));
    assert!(call[1].stack && call[1].write);
    // pop [rsp + 0x40] computes its address after rsp has moved: 0x48 from rsp before.
    let pop = decode(&[0x8f, 0x44, 0x24, 0x40]).memory_operands();
    assert_eq!(pop.len(), 2);
    assert_eq!((pop[0].displacement, pop[0].stack, pop[0].write), (0x48, false, true));
    assert_eq!((pop[1].displacement, pop[1].stack, pop[1].read), (0, true, true));
    // push [rsp + 8] reads relative to rsp before
    let push = decode(&[0xff, 0x74, 0x24, 0x08]).memory_operands();
    assert_eq!((push[0].displacement, push[0].stack, push[1].stack), (8, false, true));
    let movs = decode(&[0xf3, 0x48, 0xa5]).memory_operands();
    assert_eq!(movs.len(), 2);
    assert_eq!(movs.iter().map(|m| m.size).collect::<Vec<_>>(), [8, 8]);
    let rip = decode(&[0x8b, 0x05, 0x10, 0, 0, 0]).memory_operands();
    assert_eq!((rip[0].base, rip[0].displacement), (None, PC as i64 + 0x16));
    let gather = decode(&[0xc4, 0xe2, 0x69, 0x90, 0x04, 0x08]).memory_operands();
    assert!(gather[0].inexact);
    assert!(decode(&[0x0f, 0x1f, 0]).memory_operands().is_empty());
    assert!(decode(&[0x0f, 0x18, 0x08]).memory_operands().is_empty(), "prefetch");
}

#[test]
fn indirect_operands() {
    assert_eq!(decode(&[0x41, 0xff, 0xe3]).indirect_operand(), Some(IndirectOperand::Register(Gpr::R11)));
    let Some(IndirectOperand::Memory(m)) = decode(&[0xff, 0x24, 0xc5, 0, 0x10, 0, 0]).indirect_operand() else {
        panic!("a jump table");
    };
    assert_eq!((m.base, m.index, m.scale, m.displacement), (None, Some(Gpr::Rax), 8, 0x1000));
    assert_eq!(decode(&[0x90]).indirect_operand(), None);
}

#[test]
fn names_and_errors() {
    assert_eq!(decode(&[0x0f, 0x05]).mnemonic(), "syscall");
    assert_eq!(decode(&[0x90]).mnemonic(), "nop");
    assert_eq!(format!("{:?}", decode(&[0x90]).opcode()), "Nopd");
    assert_eq!(decode(&[0x48, 0x89, 0xd8]).to_string(), "mov %rbx,%rax");
    assert_eq!(Instruction::decode(&[0x48], AppPc(0)).err(), Some(DecodeError::Truncated));
    assert_eq!(Instruction::decode(&[], AppPc(0)).err(), Some(DecodeError::Truncated));
    assert_eq!(Instruction::decode(&[0x06, 0], AppPc(0)).err(), Some(DecodeError::Invalid));
    assert_eq!(Instruction::decode(&[0x66; 15], AppPc(0)).err(), Some(DecodeError::Invalid));
}

#[test]
fn rep_is_seen_only_on_string_instructions() {
    assert!(decode(&[0xf3, 0xa4]).is_rep());
    assert!(decode(&[0xf2, 0xae]).is_rep());
    assert!(!decode(&[0xa4]).is_rep());
    assert!(!decode(&[0xf3, 0x90]).is_rep(), "pause");
    assert!(!decode(&[0xf3, 0xc3]).is_rep(), "ret");
}
