//! Oracle test of everything that copies instructions: the text of real libraries is decoded, rewritten, decoded
//! again by iced, and compared with the original in everything that must not have changed.

use iced_x86::{Decoder, DecoderOptions, OpKind, Register};
use isa::{Code, Instruction, Kind, MAX_LEN, Segment};
use machine::{AppPc, CachePc, Gpr};
use object::{Object, ObjectSection};

/// Code with all of AVX-512, x87 and hand-written assembly in it; those that a machine lacks are left out.
const CORPUS: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libm.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/lib64/ld-linux-x86-64.so.2",
];

/// Where rewritten code is said to lie: within reach of `TEXT`.
const CACHE: u64 = 0x5555_1000_0000;
const TEXT: u64 = 0x5555_5555_4000;

/// Calls `f` for each instruction of the corpus; data between functions is skipped byte by byte.
fn for_each_instruction(mut f: impl FnMut(&Instruction)) {
    let mut seen = 0_u64;
    for path in CORPUS {
        let Ok(file) = std::fs::read(path) else { continue };
        let elf = object::File::parse(&*file).expect("a library is an ELF file");
        let text = elf.section_by_name(".text").expect("a library has code").data().unwrap().to_vec();
        let mut at = 0;
        while at < text.len() {
            let end = text.len().min(at + MAX_LEN);
            match Instruction::decode(&text[at..end], AppPc(TEXT + at as u64)) {
                Ok(instruction) => {
                    f(&instruction);
                    seen += 1;
                    at += instruction.len();
                }
                Err(_) => at += 1,
            }
        }
    }
    assert!(seen > 100_000, "the corpus holds only {seen} instructions");
}

fn decode(code: &Code) -> iced_x86::Instruction {
    let mut decoder = Decoder::with_ip(64, &code.bytes, code.base.0, DecoderOptions::NONE);
    let decoded = decoder.decode();
    assert_eq!(decoder.position(), code.bytes.len(), "one instruction and nothing else: {:02x?}", code.bytes);
    decoded
}

fn original(instruction: &Instruction) -> iced_x86::Instruction {
    Decoder::with_ip(64, instruction.bytes(), instruction.pc().0, DecoderOptions::NONE).decode()
}

/// Clears what belongs to the memory operand and to the place.
fn without_memory(mut i: iced_x86::Instruction) -> iced_x86::Instruction {
    i.set_memory_base(Register::None);
    i.set_memory_index(Register::None);
    i.set_memory_index_scale(1);
    i.set_memory_displacement64(0);
    i.set_memory_displ_size(0);
    i.set_segment_prefix(Register::None);
    i
}

#[test]
fn every_instruction_has_a_consistent_description() {
    let mut by_kind = std::collections::BTreeMap::<String, u64>::new();
    for_each_instruction(|i| {
        assert_eq!(Instruction::decode(i.bytes(), i.pc()).unwrap().bytes(), i.bytes());
        assert_eq!(
            Instruction::decode(&i.bytes()[..i.len() - 1], i.pc()).err(),
            Some(isa::DecodeError::Truncated),
            "{i:?}"
        );
        let u = i.usage();
        assert_eq!(u.gpr_killed & !u.gpr_written, 0, "{i:?} {u:x?}");
        assert_eq!(u.gpr_killed & u.gpr_read, 0, "{i:?} {u:x?}");
        assert_eq!(u.flags_killed & !u.flags_written, 0, "{i:?} {u:x?}");
        for m in i.memory_operands().iter() {
            assert!(u.may_fault, "{i:?}");
            assert!(m.read || m.write, "{i:?} {m:?}");
            for r in [m.base, m.index].into_iter().flatten() {
                assert_ne!(u.gpr_read & 1 << r as u16, 0, "{i:?} addresses through {r:?}");
            }
        }
        let kind = format!("{:?}", i.kind());
        *by_kind.entry(kind.split([' ', '(']).next().unwrap().to_owned()).or_default() += 1;
    });
    for expected in [
        "Plain",
        "Jump",
        "Branch",
        "Call",
        "JumpIndirect",
        "CallIndirect",
        "Return",
        "Syscall",
        "Trap",
        "Nondeterministic",
    ] {
        assert!(by_kind.contains_key(expected), "no {expected} in {by_kind:?}");
    }
    assert!(by_kind["Plain"] > by_kind["Branch"]);
}

#[test]
fn rip_relative_copies_name_the_same_address() {
    let mut copied = 0;
    for_each_instruction(|i| {
        let Some(target) = i.rip_target() else { return };
        let mut code = Code::new(CachePc(CACHE));
        // Data that was read as code names far addresses: refused, and only then.
        let distance = target.wrapping_sub(CACHE + i.len() as u64) as i64;
        let reaches = i32::try_from(distance).is_ok() && original(i).memory_base() == Register::RIP;
        assert_eq!(code.copy_rip_relative(i), reaches, "{i:?}");
        if !reaches {
            assert!(code.bytes.is_empty());
            return;
        }
        let there = decode(&code);
        assert_eq!(there.ip_rel_memory_address(), target, "{i:?}");
        assert_eq!(there.len(), i.len());
        assert!(without_memory(there).eq(&without_memory(original(i))), "{i:?} became {there}");
        copied += 1;
    });
    assert!(copied > 1000);
}

#[test]
fn absolute_copies_name_the_same_address() {
    const LOW: u64 = 0x40_0000;
    let (mut copied, mut refused) = (0, 0);
    for_each_instruction(|i| {
        let low = Instruction::decode(i.bytes(), AppPc(i.pc().0 - TEXT + LOW)).unwrap();
        let Some(target) = low.rip_target() else { return };
        let mut code = Code::new(CachePc(CACHE));
        if !code.copy_absolute(&low) {
            // Data that was read as code has prefixes that mean something only with an index.
            assert!(code.bytes.is_empty());
            refused += i32::from(i32::try_from(target).is_ok());
            return;
        }
        let there = decode(&code);
        assert_eq!((there.memory_base(), there.memory_index()), (Register::None, Register::None), "{low:?}");
        assert_eq!(there.memory_displacement64(), target, "{low:?}");
        assert!(without_memory(there).eq(&without_memory(original(&low))), "{low:?} became {there}");
        copied += 1;
    });
    assert!(copied > 1000 && refused < copied / 100, "{refused} refused, {copied} copied");
}

#[test]
fn copies_with_a_base_change_the_memory_operand_only() {
    let mut copied = 0;
    for_each_instruction(|i| {
        if !i.has_replaceable_operand() {
            return;
        }
        for base in [Gpr::Rbp, Gpr::Rsp, Gpr::R12, Gpr::R13, Gpr::R9] {
            if i.uses_high_byte() && base as u8 >= 8 {
                continue;
            }
            let mut code = Code::new(CachePc(CACHE));
            assert!(code.copy_with_base(i, base), "{i:?} with {base:?}");
            let there = decode(&code);
            assert_eq!(there.memory_base(), Register::RAX + base as u32, "{i:?} became {there}");
            assert_eq!(
                (there.memory_index(), there.memory_displacement64()),
                (Register::None, 0),
                "{i:?} became {there}"
            );
            let before = original(i);
            if before.op_kinds().any(|k| k == OpKind::Memory) && before.code() == there.code() {
                assert!(without_memory(there).eq(&without_memory(before)), "{i:?} became {there}");
            } else {
                assert!(i.mnemonic() == "mov", "{i:?} became {there}");
            }
            copied += 1;
        }
        let scratch = i.scratch_for_operand(0).expect("some register is free");
        assert!(Code::new(CachePc(CACHE)).copy_with_base(i, scratch), "{i:?} with {scratch:?}");
    });
    assert!(copied > 10_000);
}

#[test]
fn operand_addresses_are_those_of_the_instruction() {
    for_each_instruction(|i| {
        if !i.has_replaceable_operand() || i.mnemonic() == "pop" {
            return;
        }
        let mut code = Code::new(CachePc(CACHE));
        code.lea_operand(Gpr::R10, i);
        let (there, before) = (decode(&code), original(i));
        match i.rip_target() {
            Some(target) => assert_eq!(there.try_immediate(1).unwrap(), target, "{i:?} became {there}"),
            None if before.memory_base() == Register::None && before.memory_index() == Register::None => {
                assert_eq!(there.try_immediate(1).unwrap(), before.memory_displacement64(), "{i:?} became {there}");
            }
            None => {
                let address = |i: &iced_x86::Instruction| {
                    i.virtual_address(
                        (0..i.op_count()).find(|&n| i.op_kind(n) == OpKind::Memory).unwrap(),
                        0,
                        |r, _, _| {
                            if r.is_segment_register() { Some(0) } else { Some(r.number() as u64 * 0x123_4567 + 99) }
                        },
                    )
                };
                assert_eq!(address(&there), address(&before), "{i:?} became {there}");
                let short = before.memory_base().size() == 4 || before.memory_index().size() == 4;
                assert_eq!(there.op0_register().size(), if short { 4 } else { 8 }, "{i:?} became {there}");
            }
        }
    });
}

#[test]
fn branch_targets_are_loaded_from_the_operand() {
    let mut seen = 0;
    for_each_instruction(|i| {
        if !matches!(i.kind(), Kind::JumpIndirect | Kind::CallIndirect) || i.segment() == Some(Segment::Gs) {
            return;
        }
        seen += 1;
        let before = original(i);
        let mut code = Code::new(CachePc(CACHE));
        code.load_branch_target(Gpr::R11, i);
        if before.op0_kind() == OpKind::Register {
            let there = decode(&code);
            assert_eq!((there.op0_register(), there.op1_register()), (Register::R11, before.op0_register()));
        } else if i.rip_target().is_none() {
            let there = decode(&code);
            assert_eq!(there.op0_register(), Register::R11);
            assert_eq!(there.memory_base(), before.memory_base());
            assert_eq!(there.memory_index(), before.memory_index());
            assert_eq!(there.memory_displacement64(), before.memory_displacement64());
        } else {
            assert!(code.bytes.ends_with(&[0x4d, 0x8b, 0x1b]), "mov r11, [r11]: {:02x?}", code.bytes);
        }
    });
    assert!(seen > 100);
}
