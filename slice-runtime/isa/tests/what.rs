//! What an instruction is: operands, registers, class, extension, properties.

use isa::{Class, Extension, Instruction, OperandKind, Property, Register, RegisterSet, SegmentRegister};
use machine::{AppPc, Gpr};

fn decode(bytes: &[u8]) -> Instruction {
    Instruction::decode(bytes, AppPc(0x40_0000)).unwrap()
}

fn set<const N: usize>(registers: [Register; N]) -> RegisterSet {
    registers.into_iter().collect()
}

const RAX: Register = Register::Gpr(Gpr::Rax);
const RBX: Register = Register::Gpr(Gpr::Rbx);
const RCX: Register = Register::Gpr(Gpr::Rcx);
const RDX: Register = Register::Gpr(Gpr::Rdx);
const RSP: Register = Register::Gpr(Gpr::Rsp);
const RSI: Register = Register::Gpr(Gpr::Rsi);
const RDI: Register = Register::Gpr(Gpr::Rdi);
const R11: Register = Register::Gpr(Gpr::R11);
const FLAGS: Register = Register::Flags;
const IP: Register = Register::Ip;

#[test]
fn registers_are_whole_and_implicit_ones_count() {
    let v = Register::Vector;
    let fs = Register::Segment(SegmentRegister::Fs);
    let cases: &[(&[u8], RegisterSet, RegisterSet)] = &[
        // add %ah,(%rbx,%rcx,4)
        (&[0x00, 0x24, 0x8b], set([RAX, RBX, RCX]), set([FLAGS])),
        // mov %bl,%al
        (&[0x88, 0xd8], set([RBX]), set([RAX])),
        // mul %rcx
        (&[0x48, 0xf7, 0xe1], set([RAX, RCX]), set([RAX, RDX, FLAGS])),
        // adc %ebx,%ebx
        (&[0x11, 0xdb], set([RBX, FLAGS]), set([RBX, FLAGS])),
        // push %rbx; pushf; ret; call +0; call *%rax; je +0; jmp *%rax
        (&[0x53], set([RBX, RSP]), set([RSP])),
        (&[0x9c], set([RSP, FLAGS]), set([RSP])),
        (&[0xc3], set([RSP]), set([RSP, IP])),
        (&[0xe8, 0, 0, 0, 0], set([RSP, IP]), set([RSP, IP])),
        (&[0xff, 0xd0], set([RAX, RSP, IP]), set([RSP, IP])),
        (&[0x74, 0], set([FLAGS, IP]), set([IP])),
        (&[0xff, 0xe0], set([RAX]), set([IP])),
        // rep movsb; loop +0; syscall
        (&[0xf3, 0xa4], set([RCX, RSI, RDI, FLAGS]), set([RCX, RSI, RDI])),
        (&[0xe2, 0], set([RCX, IP]), set([RCX, IP])),
        (&[0x0f, 0x05], set([FLAGS, IP]), set([RCX, R11, FLAGS, IP])),
        // mov 0x10(%rip),%eax; mov %fs:0x28,%rax; rdfsbase %rax; wrfsbase %rax
        (&[0x8b, 0x05, 0x10, 0, 0, 0], set([IP]), set([RAX])),
        (&[0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0], set([fs]), set([RAX])),
        (&[0xf3, 0x48, 0x0f, 0xae, 0xc0], set([fs]), set([RAX])),
        (&[0xf3, 0x48, 0x0f, 0xae, 0xd0], set([RAX]), set([fs])),
        // addps %xmm1,%xmm0; vaddps %ymm2,%ymm1,%ymm0
        (&[0x0f, 0x58, 0xc1], set([v(0), v(1)]), set([v(0)])),
        (&[0xc5, 0xf4, 0x58, 0xc2], set([v(1), v(2)]), set([v(0)])),
        // vpaddd %zmm2,%zmm1,%zmm16{%k3}
        (&[0x62, 0xe1, 0x75, 0x4b, 0xfe, 0xc2], set([v(1), v(2), v(16), Register::Mask(3)]), set([v(16)])),
        // ldmxcsr (%rax); stmxcsr (%rax)
        (&[0x0f, 0xae, 0x10], set([RAX]), set([Register::Mxcsr])),
        (&[0x0f, 0xae, 0x18], set([RAX, Register::Mxcsr]), set([])),
        // xor %eax,%eax
        (&[0x31, 0xc0], set([]), set([RAX, FLAGS])),
    ];
    for (bytes, read, written) in cases {
        let i = decode(bytes);
        assert_eq!((i.registers_read(), i.registers_written()), (*read, *written), "{i:?}");
    }
    // fadd %st(2),%st
    let fadd = decode(&[0xd8, 0xc2]);
    assert!(fadd.registers_read().contains(Register::X87(2)) && fadd.registers_written().contains(Register::X87(0)));
    // paddb %mm1,%mm0
    assert!(decode(&[0x0f, 0xfc, 0xc1]).registers_written().contains(Register::Mmx(0)));
}

/// An operand in short: what, size, how it is accessed.
fn operands(bytes: &[u8]) -> Vec<String> {
    let describe = |operand: isa::Operand| {
        let what = match operand.kind {
            OperandKind::Register(register) => register.to_string(),
            OperandKind::Memory(n) => format!("memory {n}"),
            OperandKind::Address(memory) => format!("address {:#x}", memory.displacement),
            OperandKind::Immediate(value) => format!("{value:#x}"),
            OperandKind::BranchTarget(pc) => format!("to {pc}"),
        };
        let flag = |is: bool, text: &'static str| if is { text } else { "" };
        let [r, w] = [flag(operand.read, "r"), flag(operand.write, "w")];
        format!("{what} {}{} {r}{w}{}", operand.size, flag(operand.high, "h"), flag(operand.implicit, " implicit"))
    };
    decode(bytes).operands().into_iter().map(describe).collect()
}

#[test]
fn operands_are_explicit_ones_first() {
    // add %ah,(%rbx,%rcx,4)
    assert_eq!(operands(&[0x00, 0x24, 0x8b]), ["memory 0 1 rw", "rax 1h r", "rflags 8 w implicit"]);
    // add $-1,%rax
    assert_eq!(operands(&[0x48, 0x83, 0xc0, 0xff]), ["rax 8 rw", "0xffffffffffffffff 1 r", "rflags 8 w implicit"]);
    // mul %rcx
    assert_eq!(
        operands(&[0x48, 0xf7, 0xe1]),
        ["rcx 8 r", "rax 8 rw implicit", "rdx 8 w implicit", "rflags 8 w implicit"]
    );
    // push 8(%rsp): the second memory operand is the stack's
    assert_eq!(operands(&[0xff, 0x74, 0x24, 0x08]), ["memory 0 8 r", "memory 1 8 w implicit", "rsp 8 rw implicit"]);
    // pop 0x40(%rsp)
    assert_eq!(operands(&[0x8f, 0x44, 0x24, 0x40])[..2], ["memory 0 8 w", "memory 1 8 r implicit"]);
    // push %rbx
    assert_eq!(operands(&[0x53]), ["rbx 8 r", "memory 0 8 w implicit", "rsp 8 rw implicit"]);
    // lea 0x10(%rax),%ecx; prefetcht0 0x10(%rax)
    assert_eq!(operands(&[0x8d, 0x48, 0x10]), ["rcx 4 w", "address 0x10 8 r"]);
    assert_eq!(operands(&[0x0f, 0x18, 0x48, 0x10]), ["address 0x10 8 r"]);
    // je +2
    assert_eq!(operands(&[0x74, 2]), ["to 0x400004 8 r", "rflags 8 r implicit", "rip 8 rw implicit"]);
    // rep movsq
    assert_eq!(operands(&[0xf3, 0x48, 0xa5])[..2], ["memory 0 8 w", "memory 1 8 r"]);
    // movaps %xmm1,%xmm0; vmovaps %ymm1,%ymm0
    assert_eq!(operands(&[0x0f, 0x28, 0xc1]), ["zmm0 16 w", "zmm1 16 r"]);
    assert_eq!(operands(&[0xc5, 0xfc, 0x28, 0xc1]), ["zmm0 32 w", "zmm1 32 r"]);
}

#[test]
fn classes_and_extensions_have_the_names_that_users_know() {
    let cases: &[(&[u8], &str, &str)] = &[
        (&[0x90], "NOP", "BASE"),
        (&[0x0f, 0x1f, 0x00], "NOP", "BASE"),
        (&[0x89, 0xd8], "DATAXFER", "BASE"),
        (&[0x53], "PUSH", "BASE"),
        (&[0x01, 0xd8], "BINARY", "BASE"),
        (&[0x31, 0xc0], "LOGICAL", "BASE"),
        (&[0x8d, 0x00], "MISC", "BASE"),
        (&[0x0f, 0x44, 0xc3], "CMOV", "BASE"),
        (&[0x0f, 0x94, 0xc0], "SETCC", "BASE"),
        (&[0x74, 0], "COND_BR", "BASE"),
        (&[0xe2, 0], "COND_BR", "BASE"),
        (&[0xeb, 0], "UNCOND_BR", "BASE"),
        (&[0xff, 0xd0], "CALL", "BASE"),
        (&[0xc3], "RET", "BASE"),
        (&[0x0f, 0x05], "SYSCALL", "BASE"),
        (&[0xf3, 0xa4], "STRINGOP", "BASE"),
        (&[0xf0, 0x0f, 0xb1, 0x18], "SEMAPHORE", "BASE"),
        (&[0xd9, 0xe8], "X87_ALU", "X87"),
        (&[0x0f, 0xfc, 0xc1], "MMX", "MMX"),
        (&[0x0f, 0x58, 0xc1], "SSE", "SSE"),
        (&[0x66, 0x0f, 0x58, 0xc1], "SSE", "SSE2"),
        (&[0x0f, 0x28, 0xc1], "DATAXFER", "SSE"),
        (&[0x0f, 0x57, 0xc0], "LOGICAL_FP", "SSE"),
        (&[0xf2, 0x0f, 0x2a, 0xc0], "CONVERT", "SSE2"),
        (&[0xc5, 0xf4, 0x58, 0xc2], "AVX", "AVX"),
        (&[0xc5, 0xf5, 0xfe, 0xc2], "AVX2", "AVX2"),
        (&[0x62, 0xf1, 0x75, 0x48, 0xfe, 0xc2], "AVX512", "AVX512F"),
        (&[0x62, 0xf1, 0x75, 0x28, 0xfc, 0xc2], "AVX512", "AVX512BW"),
        (&[0xc4, 0xe2, 0x69, 0x90, 0x04, 0x08], "GATHER", "AVX2"),
        (&[0xc5, 0xf8, 0x92, 0xc8], "KMASK", "AVX512F"),
        (&[0x0f, 0x18, 0x08], "PREFETCH", "SSE"),
        (&[0x66, 0x0f, 0x38, 0xdc, 0xc1], "AES", "AES"),
        (&[0x0f, 0xae, 0xe8], "MISC", "SSE2"),
        (&[0x0f, 0xa2], "MISC", "BASE"),
        (&[0xf3, 0x0f, 0xb8, 0xc0], "SSE", "POPCNT"),
        (&[0xc4, 0xe2, 0x78, 0xf3, 0xc8], "BMI1", "BMI1"),
    ];
    for (bytes, class, extension) in cases {
        let i = decode(bytes);
        assert_eq!((i.class().name(), &i.extension().name()[..]), (*class, *extension), "{i:?}");
    }
    assert_eq!(decode(&[0x0f, 0x58, 0xc1]).extension(), Extension::SSE);
    assert_eq!(decode(&[0xc3]).class(), Class::Return);
    let mut names: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Class::ALL.len());
}

#[test]
fn properties() {
    use Property::*;
    let cases: &[(&[u8], &[Property])] = &[
        (&[0x90], &[Nop]),
        (&[0x8d, 0x05, 0, 0, 0, 0], &[Lea, IpRelative]),
        (&[0x89, 0xd8], &[Mov]),
        (&[0x0f, 0x18, 0x08], &[Prefetch]),
        // lock add %eax,(%rax); xchg %eax,(%rax); xchg %eax,%ebx
        (&[0xf0, 0x01, 0x00], &[Locked, Atomic, ReadsMemory, WritesMemory]),
        (&[0x87, 0x00], &[Atomic, ReadsMemory, WritesMemory]),
        (&[0x87, 0xd8], &[]),
        (&[0x0f, 0xae, 0xf0], &[Fence]),
        (&[0xf3, 0xa4], &[String, ReadsMemory, WritesMemory]),
        (&[0x53], &[Stack, WritesMemory]),
        (&[0x0f, 0x44, 0x03], &[ConditionalMove, ReadsMemory]),
        // vpgatherdd %xmm2,(%rax,%xmm1),%xmm0; vmovdqu8 (%rax),%zmm0{%k1}; vpscatterdd %zmm0,(%rax,%zmm1){%k1}
        (&[0xc4, 0xe2, 0x69, 0x90, 0x04, 0x08], &[Gather, Masked, ReadsMemory]),
        (&[0x62, 0xf1, 0x7f, 0x49, 0x6f, 0x00], &[Masked, ReadsMemory]),
        (&[0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x04, 0x08], &[Scatter, Masked, WritesMemory]),
        (&[0xf4], &[Privileged]),
    ];
    let all = [
        Nop,
        Lea,
        Mov,
        Prefetch,
        Locked,
        Atomic,
        Fence,
        Masked,
        String,
        Stack,
        ConditionalMove,
        Gather,
        Scatter,
        ReadsMemory,
        WritesMemory,
        IpRelative,
        Privileged,
    ];
    for (bytes, expected) in cases {
        let i = decode(bytes);
        let found: Vec<Property> = all.into_iter().filter(|&property| i.is(property)).collect();
        let expected: Vec<Property> = all.into_iter().filter(|property| expected.contains(property)).collect();
        assert_eq!(found, expected, "{i:?}");
    }
}

/// For any bytes there is an answer, and answers agree with each other and with what translators ask.
#[test]
fn any_instruction_has_an_answer() {
    let mut state = 7_u64;
    let mut byte = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    let mut classes = std::collections::BTreeSet::new();
    for round in 0..300_000_u32 {
        let mut bytes: [u8; 15] = std::array::from_fn(|_| byte());
        match round % 8 {
            0 | 1 => bytes[0] = 0x0f,
            2 => bytes[..2].copy_from_slice(&[0x66, 0x0f]),
            3 => bytes[0] = 0xc4,
            4 => bytes[0] = 0x62,
            _ => {}
        }
        let Ok(i) = Instruction::decode(&bytes, AppPc(0x40_0000)) else { continue };
        let (usage, memory) = (i.usage(), i.memory_operands());
        let (read, written) = (i.registers_read(), i.registers_written());
        let gprs =
            |set: RegisterSet| Gpr::ALL.into_iter().filter(|&r| set.contains(r)).fold(0, |all, r| all | 1 << r as u16);
        let keeps = matches!(i.mnemonic(), "rdsspd" | "rdsspq");
        assert!(keeps || gprs(read) == usage.gpr_read, "{i:?}: {read:?}");
        assert_eq!(gprs(written), usage.gpr_written, "{i:?}: {written:?}");
        assert!(usage.flags_written == 0 || written.contains(FLAGS), "{i:?}");
        for operand in i.operands() {
            match operand.kind {
                OperandKind::Memory(n) => {
                    let of = memory[n];
                    assert_eq!((operand.read, operand.write, operand.size), (of.read, of.write, of.size), "{i:?}");
                }
                OperandKind::Register(register) => {
                    assert!(!operand.read || read.contains(register), "{i:?}: {operand:?}");
                    assert!(!operand.write || written.contains(register), "{i:?}: {operand:?}");
                }
                _ => {}
            }
        }
        classes.insert(i.class());
        assert!(!i.extension().name().is_empty());
    }
    assert!(classes.len() > 35, "{classes:?}");
}
