//! Oracle test of what the translator writes itself: iced's reading of the bytes.

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Mnemonic};
use isa::{Code, Condition};
use machine::{CachePc, Gpr};

const BASE: u64 = 0x5555_1000_0000;

/// Text of the code that `write` produces.
fn text(write: impl FnOnce(&mut Code)) -> String {
    let mut code = Code::new(CachePc(BASE));
    write(&mut code);
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_gas_show_mnemonic_size_suffix(false);
    formatter.options_mut().set_rip_relative_addresses(false);
    formatter.options_mut().set_signed_immediate_operands(true);
    let mut all = Vec::new();
    for i in Decoder::with_ip(64, &code.bytes, BASE, DecoderOptions::NONE).iter() {
        let mut one = String::new();
        formatter.format(&i, &mut one);
        all.push(one);
    }
    all.join("; ")
}

#[test]
fn moves_take_every_register() {
    for a in Gpr::ALL {
        let an = a.name();
        assert_eq!(text(|c| c.mov_imm(a, u64::MAX)), format!("mov $-1,%{an}"));
        assert_eq!(text(|c| c.mov_imm(a, 0x1234_5678_9abc_def0)), format!("movabs $0x123456789ABCDEF0,%{an}"));
        assert_eq!(text(|c| c.store_gs(0x40, a)), format!("mov %{an},%gs:0x40"));
        assert_eq!(text(|c| c.load_gs(a, 0x1240)), format!("mov %gs:0x1240,%{an}"));
        assert_eq!(text(|c| c.cmp_gs(a, 8)), format!("cmp %gs:8,%{an}"));
        assert_eq!(text(|c| c.push(a)), format!("push %{an}"));
        assert_eq!(text(|c| c.pop(a)), format!("pop %{an}"));
        assert_eq!(text(|c| c.jmp_reg(a)), format!("jmp *%{an}"));
        assert_eq!(text(|c| c.call_reg(a)), format!("call *%{an}"));
        assert_eq!(text(|c| c.add_imm(a, 0x1000)), format!("add $0x1000,%{an}"));
        assert_eq!(text(|c| c.test32(a, 0x1000)).split('%').next(), Some("test $0x1000,"));
        assert_eq!(text(|c| c.cmp_imm(a, -2)), format!("cmp $-2,%{an}"));
        assert_eq!(text(|c| c.cmp_mem(a, BASE + 0x1000)), format!("cmp 0x555510001000,%{an}"));
        assert_eq!(text(|c| c.test(a, a)), format!("test %{an},%{an}"));
        for quadword in 0..32 {
            let read = if quadword % 2 == 0 { "movq " } else { "pextrq $1," };
            assert_eq!(text(|c| c.vector_quadword(a, quadword)), format!("{read}%xmm{},%{an}", quadword / 2));
        }
        for b in Gpr::ALL {
            let bn = b.name();
            assert_eq!(text(|c| c.mov(a, b)), format!("mov %{bn},%{an}"));
            assert_eq!(text(|c| c.add(a, b)), format!("add %{bn},%{an}"));
            assert_eq!(text(|c| c.load(a, b, 0)), format!("mov (%{bn}),%{an}"));
            assert_eq!(text(|c| c.load(a, b, -8)), format!("mov -8(%{bn}),%{an}"));
            assert_eq!(text(|c| c.store(a, 0x1000, b)), format!("mov %{bn},0x1000(%{an})"));
            assert_eq!(text(|c| c.lea(a, b, 1)), format!("lea 1(%{bn}),%{an}"));
            if b != Gpr::Rsp {
                assert_eq!(text(|c| c.lea_sum(a, a, b)), format!("lea (%{an},%{bn}),%{an}"));
                assert_eq!(text(|c| c.load_indexed(a, a, b, 8, 16)), format!("mov 0x10(%{an},%{bn},8),%{an}"));
            }
        }
    }
}

#[test]
fn small_forms() {
    assert_eq!(text(|c| c.test_stack_byte(1, 4)), "testb $4,1(%rsp)");
    assert_eq!(text(|c| c.test_stack_word(0x100)), "testw $0x100,(%rsp)");
    assert_eq!(text(|c| c.mov_imm(Gpr::R9, 0)), "mov $0,%r9d");
    assert_eq!(text(|c| c.movzx16(Gpr::R9, Gpr::Rcx)), "movzwl %cx,%r9d");
    assert_eq!(text(|c| c.rotate_right32(Gpr::R9, Gpr::R10, 4)), "rorx $4,%r10d,%r9d");
    assert_eq!(text(|c| c.rotate_right32(Gpr::Rax, Gpr::R15, 7)), "rorx $7,%r15d,%eax");
    assert_eq!(text(|c| c.rotate_right32(Gpr::R8, Gpr::Rdi, 9)), "rorx $9,%edi,%r8d");
    assert_eq!(text(|c| c.movzx32(Gpr::R9, Gpr::Rcx)), "mov %ecx,%r9d");
    assert_eq!(text(|c| c.load32(Gpr::R9, Gpr::Rcx, 4)), "mov 4(%rcx),%r9d");
    assert_eq!(text(|c| c.load16(Gpr::R9, Gpr::Rcx, 4)), "movzwl 4(%rcx),%r9d");
    assert_eq!(text(|c| c.load8(Gpr::Rcx, Gpr::R10, 0)), "movzbl (%r10),%ecx");
    assert_eq!(text(|c| c.lea32(Gpr::R9, Gpr::R9, -5)), "lea -5(%r9),%r9d");
    assert_eq!(text(|c| c.store_gs_imm32(0x20, -1)), "movq $-1,%gs:0x20");
    assert_eq!(text(|c| c.store_gs_imm64(0x20, 0x5555_8000_0001)), "movl $-0x7FFFFFFF,%gs:0x20; movl $0x5555,%gs:0x24");
    assert_eq!(text(|c| c.jmp_gs(0x20)), "jmpq *%gs:0x20");
    assert_eq!(text(|c| c.extract_bits_gs(Gpr::R9, Gpr::R10, 0x80)), "pext %gs:0x80,%r10,%r9");
    assert_eq!(text(|c| c.extract_bits_gs(Gpr::Rax, Gpr::R15, 0x80)), "pext %gs:0x80,%r15,%rax");
    assert_eq!(text(|c| c.extract_bits_gs(Gpr::R14, Gpr::Rdi, 8)), "pext %gs:8,%rdi,%r14");
    assert_eq!(text(|c| c.load_gs_indexed(Gpr::R9, Gpr::R10, 0x800)), "mov %gs:0x800(,%r10,8),%r9");
    assert_eq!(text(|c| c.jmp_indexed(Gpr::R9, Gpr::R10)), "jmpq *(%r9,%r10,8)");
    assert_eq!(text(|c| c.jmp_indexed(Gpr::R13, Gpr::Rax)), "jmpq *(%r13,%rax,8)");
    assert_eq!(text(|c| c.prefetch(Gpr::R9)), "prefetcht0 (%r9)");
    assert_eq!(text(|c| c.jmp_gs_indexed(Gpr::R13, 0x800)), "jmpq *%gs:0x800(,%r13,8)");
    assert_eq!(text(|c| c.push_imm32(-5)), "push $-5");
    assert_eq!(text(|c| c.set_condition(Condition::E, Gpr::R8)), "sete %r8b; movzbl %r8b,%r8d");
    assert_eq!(text(|c| c.set_condition(Condition::A, Gpr::Rdi)), "seta %dil; movzbl %dil,%edi");
    assert_eq!(
        text(|c| {
            c.lahf();
            c.seto_al();
            c.restore_of_from_al();
            c.sahf();
            c.pushfq();
            c.popfq();
            c.ret();
            c.int3();
        }),
        "lahf; seto %al; add $0x7F,%al; sahf; pushf; popf; ret; int3"
    );
}

#[test]
fn rip_relative_forms_reach_their_address() {
    let address = 0x5555_0800_0040_u64;
    let check = |write: &dyn Fn(&mut Code), name: &str| {
        let mut code = Code::new(CachePc(BASE));
        code.nop(5);
        write(&mut code);
        let i = Decoder::with_ip(64, &code.bytes[5..], BASE + 5, DecoderOptions::NONE).decode();
        assert_eq!(i.len(), code.bytes.len() - 5, "{name}");
        assert_eq!(i.ip_rel_memory_address(), address, "{name}");
        assert_eq!(format!("{:?}", i.mnemonic()).to_lowercase(), name);
    };
    for r in Gpr::ALL {
        check(&|c| c.load_mem(r, address), "mov");
        check(&|c| c.store_mem(address, r), "mov");
        check(&|c| c.lea_rip(r, address), "lea");
    }
    check(&|c| c.add_mem_imm(address, 1), "add");
    check(&|c| c.add_mem_imm(address, 1000), "add");
    check(&|c| c.sub_mem_imm(address, 1000), "sub");
    check(&|c| c.cmp_mem_imm(address, -1), "cmp");
    check(&|c| c.test_mem32(address, 0x1000), "test");
    check(&|c| c.push_rip_literal(CachePc(address)), "push");
    check(&|c| c.jmp_mem(address), "jmp");
    check(&|c| c.prefetch_mem(address), "prefetcht0");
}

/// Where what each thread has its own of lies, as the first one has it.
const OWN: std::ops::Range<u64> = 0x5555_0000_0000..0x5555_1000_0000;

#[test]
fn what_each_thread_has_its_own_of_is_named_through_gs() {
    let address = OWN.start + 0x800_0040;
    let check = |write: &dyn Fn(&mut Code, u64), expected: &str| {
        let through_gs = |c: &mut Code| {
            c.through_gs = OWN;
            write(c, address);
        };
        assert_eq!(text(through_gs), expected.replace('@', "%gs:0x8000040"));
        let by_rip = text(|c| write(c, address));
        assert_eq!(by_rip, expected.replace('@', &format!("{address:#x}")));
        let others = |c: &mut Code| {
            c.through_gs = OWN;
            write(c, OWN.end);
        };
        assert!(!text(others).contains("%gs"), "{expected}");
    };
    for r in Gpr::ALL {
        let name = r.name();
        check(&|c, at| c.load_mem(r, at), &format!("mov @,%{name}"));
        check(&|c, at| c.store_mem(at, r), &format!("mov %{name},@"));
        check(&|c, at| c.add_mem(at, r), &format!("add %{name},@"));
        check(&|c, at| c.cmp_mem(r, at), &format!("cmp @,%{name}"));
        check(&|c, at| c.or_mem(r, at), &format!("or @,%{name}"));
    }
    check(&|c, at| c.add_mem_imm(at, 1), "addq $1,@");
    check(&|c, at| c.add_mem_imm(at, 1000), "addq $0x3E8,@");
    check(&|c, at| c.sub_mem_imm(at, 1000), "subq $0x3E8,@");
    check(&|c, at| c.cmp_mem_imm(at, -1), "cmpq $-1,@");
    check(&|c, at| c.test_mem32(at, 0x1000), "testl $0x1000,@");
    check(&|c, at| c.store_mem32_imm(at, 7), "movl $7,@");
    check(&|c, at| c.pop_mem(at), "popq @");
    check(&|c, at| c.jmp_mem(at), "jmpq *@");
    check(&|c, at| c.prefetch_mem(at), "prefetcht0 @");
    check(&|c, at| c.store_mxcsr(at), "stmxcsr @");
    check(&|c, at| c.load_mxcsr(at), "ldmxcsr @");
    for n in 0..32 {
        check(&|c, at| c.store_zmm(at, n), &format!("vmovdqu64 %zmm{n},@"));
        if n < 16 {
            check(&|c, at| c.store_ymm(at, n), &format!("vmovdqu %ymm{n},@"));
            check(&|c, at| c.store_vector(at, n), &format!("movups %xmm{n},@"));
            check(&|c, at| c.load_vector(n, at), &format!("movups @,%xmm{n}"));
        }
    }
}

#[test]
fn jumps_reach_their_targets() {
    let target = CachePc(BASE + 0x1234);
    let near = |write: &dyn Fn(&mut Code) -> CachePc| {
        let mut code = Code::new(CachePc(BASE));
        let field = write(&mut code);
        assert_eq!(field.0, code.here().0 - 4, "the field is the last four bytes");
        Decoder::with_ip(64, &code.bytes, BASE, DecoderOptions::NONE).decode()
    };
    assert_eq!(near(&|c| c.jmp(target)).near_branch_target(), target.0);
    assert_eq!(near(&|c| c.call(target)).near_branch_target(), target.0);
    for condition in Condition::ALL {
        let jump = near(&|c| c.jcc(condition, target));
        assert_eq!(jump.near_branch_target(), target.0);
        let mut inverse = near(&|c| c.jcc(condition.inverted(), target));
        inverse.negate_condition_code();
        assert_eq!(inverse.code(), jump.code());
    }
}

#[test]
fn forward_jumps_are_bound() {
    let mut code = Code::new(CachePc(BASE));
    let fixups = [code.jmp_short(), code.jmp_near(), code.jcc_near(Condition::G), code.jrcxz()];
    let loop_instruction = isa::Instruction::decode(&[0xe2, 0x10], machine::AppPc(0)).unwrap();
    let last = code.count_branch(&loop_instruction);
    code.nop(20);
    let end = code.here();
    fixups.into_iter().for_each(|f| code.bind(f));
    code.bind(last);
    let jumps = Decoder::with_ip(64, &code.bytes, BASE, DecoderOptions::NONE).iter().take(5).collect::<Vec<_>>();
    assert!(jumps.iter().all(|j| j.near_branch_target() == end.0), "{jumps:?}");
}

#[test]
fn an_empty_transaction_goes_on_behind_its_end_in_any_case() {
    let mut code = Code::new(CachePc(BASE));
    code.empty_transaction();
    let two: Vec<_> = Decoder::with_ip(64, &code.bytes, BASE, DecoderOptions::NONE).iter().collect();
    let names: Vec<_> = two.iter().map(|i| i.mnemonic()).collect();
    assert_eq!(names, [Mnemonic::Xbegin, Mnemonic::Xend]);
    assert_eq!(two[0].near_branch_target(), code.here().0);
}

#[test]
#[should_panic(expected = "127 bytes")]
fn a_short_jump_that_does_not_reach_is_a_bug() {
    let mut code = Code::new(CachePc(BASE));
    let fixup = code.jmp_short();
    code.nop(128);
    code.bind(fixup);
}

#[test]
fn nops_have_their_length() {
    for n in 0..40 {
        let mut code = Code::new(CachePc(BASE));
        code.nop(n);
        assert_eq!(code.bytes.len(), n);
        let decoded = Decoder::with_ip(64, &code.bytes, BASE, DecoderOptions::NONE).iter().collect::<Vec<_>>();
        assert!(decoded.iter().all(|i| i.mnemonic() == Mnemonic::Nop));
        assert_eq!(decoded.len(), n.div_ceil(9));
    }
}

#[test]
fn vectors_and_masks_are_stored_whole() {
    for n in 0..32 {
        assert_eq!(text(|c| c.store_zmm(BASE + 0x1000, n)), format!("vmovdqu64 %zmm{n},{:#x}", BASE + 0x1000));
        if n < 16 {
            assert_eq!(text(|c| c.store_ymm(BASE + 0x1000, n)), format!("vmovdqu %ymm{n},{:#x}", BASE + 0x1000));
        }
    }
    for r in Gpr::ALL {
        for k in 0..8 {
            assert_eq!(text(|c| c.mov_mask(r, k)), format!("kmovq %k{k},%{}", r.name()));
        }
    }
}
