//! Routines as a compiler made them: what the inliner makes of their code is executed and must leave in memory what
//! a call of the routine leaves there.

mod page;
mod routines;

use iced_x86::{Decoder, DecoderOptions};
use isa::{Code, routine};
use machine::{CachePc, Gpr};

use page::Page;
use routines::*;

fn bytes_of(routine: Routine) -> &'static [u8] {
    // SAFETY: a function's code is readable, and what follows it in this program's text too.
    unsafe { std::slice::from_raw_parts(routine as usize as *const u8, 256) }
}

fn inlined(routine: Routine, known: &[Option<u64>; 6]) -> Option<routine::Inlined> {
    routine::inline(bytes_of(routine), routine as usize as u64, known)
}

const ARGUMENTS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx, Gpr::R8, Gpr::R9];
const SCRATCH: [Gpr; 3] = [Gpr::R10, Gpr::R11, Gpr::Rax];

fn text(code: &Code) -> String {
    let decoder = &mut Decoder::with_ip(64, &code.bytes, code.base.0, DecoderOptions::NONE);
    decoder.iter().map(|i| i.to_string()).collect::<Vec<_>>().join("; ")
}

/// Compares a call with the inlined code, for every choice of which arguments are known.
fn check(name: &str, routine: Routine, must_inline: bool, most_instructions: usize) {
    let samples = [
        [0, 0, 0, 0, 0],
        [1, 2, 3, 4, 5],
        [u64::MAX, 1 << 63, 0x7fff_ffff, 0x8000_0000, 0x1234_5678_9abc_def0],
        [0xfff, 0x80, 0xffff_ffff_8000_0000, 1 << 40, 17],
    ];
    for sample in samples {
        for mask in 0..64 {
            let page = Page::new();
            let mut arguments = [page.local() as u64, 0, 0, 0, 0, 0];
            arguments[1..].copy_from_slice(&sample);
            let known = std::array::from_fn(|i| (mask >> i & 1 != 0).then_some(arguments[i]));
            let Some(inlined) = inlined(routine, &known) else {
                assert!(!must_inline, "{name} isn't inlined with known arguments {mask:b}");
                continue;
            };
            let mut code = Code::new(CachePc(page.code() as u64));
            let places = std::array::from_fn(|i| known[i].is_none().then_some(ARGUMENTS[i]));
            let free = (0..6).filter(|&i| known[i].is_some()).map(|i| ARGUMENTS[i]);
            let scratch = SCRATCH.into_iter().chain(free).collect::<Vec<_>>();
            if inlined.scratch_count() > scratch.len() {
                assert!(!inlined.emit(&mut code, &scratch, &places), "{name}");
                continue;
            }
            assert!(inlined.emit(&mut code, &scratch, &places), "{name}");
            let written = text(&code);
            assert!(inlined.instructions() <= most_instructions, "{name}: {written}");
            code.ret();

            let start = Local { a: 77, b: 5, c: u32::MAX, d: 200, table: [9; 16] };
            let mut expected = start.clone();
            routine(&mut expected, sample[0], sample[1], sample[2], sample[3], sample[4]);
            // SAFETY: the page is zeroed memory of this test, aligned and large enough.
            unsafe { page.local().write(start) };
            // Known arguments must not be taken from registers.
            let poisoned = std::array::from_fn(|i| if known[i].is_some() { 0xdead_dead_dead } else { arguments[i] });
            page.run(&code.bytes, poisoned);
            // SAFETY: as above.
            let got = unsafe { &*page.local() };
            // A stored address of the local state itself differs between the two.
            assert_eq!(*got, expected, "{name} with {sample:x?}, known {mask:b}: {written}");
        }
    }
}

/// The same where each thread has its own data: translated for those of one page, executed for those of another.
fn check_for_others(name: &str, routine: Routine) {
    let (first, other) = (Page::new(), Page::new());
    let sample = [1, 2, 3, 4, 5];
    for is_known in [true, false] {
        let mut known: [Option<u64>; 6] = std::array::from_fn(|i| i.checked_sub(1).map(|i| sample[i]));
        known[0] = is_known.then_some(first.local() as u64);
        let inlined = inlined(routine, &known).expect("it is with known arguments");
        let places = [Some(Gpr::Rdi), None, None, None, None, None].map(|place| place.filter(|_| !is_known));
        let mut code = Code { through_gs: first.data(), ..Code::new(CachePc(other.code() as u64)) };
        let scratch = [Gpr::R10, Gpr::R11, Gpr::Rax, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx];
        let is_emitted = inlined.emit(&mut code, &scratch, &places);
        assert_eq!(is_emitted, !inlined.makes_address_in(&first.data()), "{name}: {}", text(&code));
        if !is_emitted {
            assert!(is_known && code.bytes.is_empty(), "{name}: what is at run time known can be had in a register");
            continue;
        }
        code.ret();
        let start = Local { a: 77, b: 5, c: u32::MAX, d: 200, table: [9; 16] };
        let mut expected = start.clone();
        routine(&mut expected, 1, 2, 3, 4, 5);
        // SAFETY: zeroed memory of this test, aligned and large enough.
        unsafe { other.local().write(start) };
        other.run_for(&code.bytes, [other.local() as u64, 0, 0, 0, 0, 0]);
        // SAFETY: as above.
        let (got, untouched) = unsafe { (&*other.local(), &*first.local()) };
        assert_eq!((got, untouched), (&expected, &Local::default()), "{name}: {}", text(&code));
    }
}

#[test]
fn inlined_routines_find_what_is_each_threads_own() {
    let all = [add, increment, two_counters, narrow, store, arithmetic, histogram, kinds, greatest, within, signed];
    for (n, routine) in all.into_iter().enumerate() {
        check_for_others(&format!("routine {n}"), routine);
    }
}

#[test]
fn inlined_routines_do_what_a_call_does() {
    check("add", add, true, 2);
    check("increment", increment, true, 2);
    check("two_counters", two_counters, true, 4);
    check("narrow", narrow, true, 4);
    check("store", store, true, 2);
    check("arithmetic", arithmetic, true, 14);
    check("histogram", histogram, true, 6);
    check("taken", taken, false, 10);
    check("mix", mix, false, 14);
    check("kinds", kinds, true, 14);
    check("greatest", greatest, true, 8);
    check("within", within, true, 18);
    check("signed", signed, true, 12);
}

#[test]
fn a_counter_is_one_instruction() {
    let page = Page::new();
    let local = page.local() as u64;
    let here = CachePc(page.code() as u64);
    let known = |n| [Some(local), Some(n), None, None, None, None];
    for (routine, n, expected) in [
        (add as Routine, 5, Some((local, 5))),
        (add, 1000, Some((local, 1000))),
        (add, u64::MAX, Some((local, -1))),
        (increment, 0, Some((local + 8, 1))),
        (add, 1 << 40, None),
        (two_counters, 1, None),
    ] {
        let inlined = inlined(routine, &known(n)).expect("short and straight");
        assert_eq!(inlined.as_counter_add(), expected);
        if expected.is_some() {
            assert_eq!(inlined.scratch_count(), 0);
            assert_ne!(inlined.flags_written() & machine::flags::ZF, 0);
            let mut code = Code::new(here);
            assert!(inlined.emit(&mut code, &[], &[None; 6]));
            assert_eq!(Decoder::new(64, &code.bytes, DecoderOptions::NONE).iter().count(), 1, "{}", text(&code));
        }
    }
}

extern "C" fn every_tenth(l: &mut Local) -> u64 {
    l.a = l.a.wrapping_sub(1);
    let due = l.a == 0;
    l.a = if due { 10 } else { l.a };
    u64::from(due)
}

extern "C" fn always(l: &mut Local) -> u64 {
    l.b = l.b.wrapping_add(2);
    7
}

/// What a test in place finds is what a call of it returns.
#[test]
fn results_are_kept_where_they_are_wanted() {
    for routine in [every_tenth as extern "C" fn(&mut Local) -> u64, always] {
        let page = Page::new();
        let local = page.local() as u64;
        let known = [Some(local), None, None, None, None, None];
        // SAFETY: a function's code is readable, and what follows it in this program's text too.
        let bytes = unsafe { std::slice::from_raw_parts(routine as *const u8, 256) };
        let inlined =
            routine::inline_with_result(bytes, routine as *const () as u64, &known).expect("short and straight");
        let mut code = Code::new(CachePc(page.code() as u64));
        assert!(inlined.emit(&mut code, &SCRATCH, &[None; 6]), "{inlined:?}");
        let result = SCRATCH[inlined.result().expect("it was wanted")];
        code.store_mem(local + std::mem::offset_of!(Local, table) as u64, result);
        code.ret();
        let mut expected = Local { a: 3, ..Local::default() };
        // SAFETY: the page is zeroed memory of this test, aligned and large enough.
        unsafe { page.local().write(expected.clone()) };
        for _ in 0..25 {
            expected.table[0] = routine(&mut expected);
            page.run(&code.bytes, [0; 6]);
            // SAFETY: as above.
            assert_eq!(unsafe { &*page.local() }, &expected, "{}", text(&code));
        }
    }
}

/// What these bytes at 0x1000 change as a routine; `ret` is everywhere else.
fn changed(bytes: &[u8]) -> Option<u16> {
    let code_at = |pc: u64| {
        std::array::from_fn(|i| {
            (pc as usize + i).checked_sub(0x1000).and_then(|at| bytes.get(at)).copied().unwrap_or(0xc3)
        })
    };
    routine::clobbers(0x1000, code_at)
}

#[test]
fn what_a_routine_changes_is_found_on_all_its_ways() {
    let bits = |registers: &[Gpr]| Some(registers.iter().fold(0, |all, &r| all | 1 << r as u16));
    assert_eq!(changed(&[0x48, 0x01, 0x37]), bits(&[]), "add %rsi,(%rdi)");
    assert_eq!(changed(&[0x53, 0x89, 0xc3, 0x5b]), bits(&[]), "push rbx; mov ebx, eax; pop rbx");
    // test edi, edi; je +2; mov ecx, eax; mov eax, esi
    assert_eq!(changed(&[0x85, 0xff, 0x74, 2, 0x89, 0xc1, 0x89, 0xf0]), bits(&[Gpr::Rax, Gpr::Rcx]), "both ways");
    // xor eax, eax; jmp -4
    assert_eq!(changed(&[0x31, 0xc0, 0xeb, 0xfc]), bits(&[Gpr::Rax]), "a loop without end");
    // call +1; ret; xor edx, edx
    assert_eq!(changed(&[0xe8, 1, 0, 0, 0, 0xc3, 0x31, 0xd2]), bits(&[Gpr::Rdx]), "what it calls");
    assert_eq!(changed(&[0x74, 2, 0x0f, 0x0b]), bits(&[]), "je +2; ud2");
    assert_eq!(changed(&[0x0f, 0x11, 0x07]), bits(&[]), "movups %xmm0,(%rdi), which changes memory alone");
    for (bytes, why) in [
        (&[0xff, 0xd0][..], "an indirect call"),
        (&[0xff, 0xe0], "an indirect jump"),
        (&[0x0f, 0x10, 0x07], "vector registers"),
        (&[0xd9, 0xe8], "x87 registers"),
        (&[0x64, 0x48, 0x89, 0x37], "thread-local storage"),
        (&[0xfd], "the direction flag"),
        (&[0x0f, 0x05], "a system call"),
        (&[0x0f, 0xae, 0x17], "the vector unit's control register"),
        (&[0x06], "no instruction"),
    ] {
        assert_eq!(changed(bytes), None, "{why}");
    }
}

#[test]
fn what_cannot_be_inlined_is_called() {
    let known = [Some(0x1000), None, None, None, None, None];
    assert!(routine::inline(&[0x48, 0xff, 0xce, 0x75, 0xfb, 0xc3], 0, &known).is_none(), "a loop");
    assert!(
        routine::inline(&[0x48, 0x85, 0xf6, 0x75, 1, 0xf6, 0xc0, 0x10, 0xc3], 0, &known).is_none(),
        "into an instruction"
    );
    assert!(routine::inline(&[0x75, 3, 0x48, 0x01, 0x37, 0xc3], 0, &known).is_none(), "branches on the app's flags");
    assert!(routine::inline(&[0x48, 0x85, 0xf6, 0x75, 2, 0xff, 0xd6, 0xc3], 0, &known).is_none(), "calls on one way");
    assert!(routine::inline(&[], 0, &known).is_none(), "no bytes");
    assert!(routine::inline(&[0x48, 0x01, 0x37], 0, &known).is_none(), "no ret");
    assert!(routine::inline(&[0x53, 0x5b, 0xc3], 0, &known).is_none(), "uses the stack");
    assert!(routine::inline(&[0x48, 0x89, 0x1f, 0xc3], 0, &known).is_none(), "stores a register it doesn't own");
    assert!(routine::inline(&[0x64, 0x48, 0x89, 0x37, 0xc3], 0, &known).is_none(), "thread-local");
    assert!(routine::inline(&[0x48, 0xd3, 0x27, 0xc3], 0, &known).is_none(), "shl [rdi], cl needs rcx itself");
    assert!(routine::inline(&[0x11, 0x37, 0xc3], 0, &known).is_none(), "adc reads the app's carry");
    assert!(routine::inline(&[0x0f, 0x11, 0x07, 0xc3], 0, &known).is_none(), "vector registers");
    assert!(routine::inline(&[0x55, 0x48, 0x01, 0x37, 0xc3], 0, &known).is_none(), "rbp isn't restored");
}

#[test]
fn branches_on_constants_are_decided() {
    let page = Page::new();
    let local = page.local() as u64;
    for (x, expected) in [(0, Some((local, 1))), (1, Some((local + 8, 7))), (2, None)] {
        let known = [Some(local), Some(x), Some(7), None, None, None];
        let inlined = inlined(kinds, &known).expect("short");
        assert_eq!((inlined.instructions(), inlined.as_counter_add()), (1, expected));
    }
}

#[test]
fn what_is_done_in_parts_is_told() {
    let known = [Some(0x1000), None, None, None, None, None];
    // test rsi, rsi; je +3; add [rdi], rsi; ret
    let once = [0x48, 0x85, 0xf6, 0x74, 3, 0x48, 0x01, 0x37, 0xc3];
    // test rsi, rsi; je +4; add [rdi], rsi; ret; sub [rdi], rsi; ret
    let twice = [0x48, 0x85, 0xf6, 0x74, 4, 0x48, 0x01, 0x37, 0xc3, 0x48, 0x29, 0x37, 0xc3];
    let inline = |bytes: &[u8]| routine::inline(bytes, 0, &known).unwrap();
    assert!(inline(&once).works_at_once() && !inline(&twice).works_at_once());
    assert_eq!((inline(&once).instructions(), inline(&twice).instructions()), (3, 5));
}

/// A result that depends on the way is in its register on both.
#[test]
fn ways_with_different_constants_meet() {
    extern "C" fn seldom(l: &mut Local) -> u64 {
        if l.a < 9 {
            l.a += 1;
            return 0;
        }
        l.a = 0;
        l.b += 1;
        1
    }
    let page = Page::new();
    let local = page.local() as u64;
    // SAFETY: a function's code is readable, and what follows it in this program's text too.
    let bytes = unsafe { std::slice::from_raw_parts(seldom as *const u8, 256) };
    let known = [Some(local), None, None, None, None, None];
    let inlined = routine::inline_with_result(bytes, seldom as *const () as u64, &known).expect("short");
    let mut code = Code::new(CachePc(page.code() as u64));
    assert!(inlined.emit(&mut code, &SCRATCH, &[None; 6]), "{inlined:?}");
    let result = SCRATCH[inlined.result().expect("it was wanted")];
    code.store_mem(local + std::mem::offset_of!(Local, table) as u64, result);
    code.ret();
    let mut expected = Local::default();
    for _ in 0..25 {
        expected.table[0] = seldom(&mut expected);
        page.run(&code.bytes, [0; 6]);
        // SAFETY: the page is zeroed memory of this test, aligned and large enough.
        assert_eq!(unsafe { &*page.local() }, &expected, "{}", text(&code));
    }
}

#[test]
fn a_frame_pointer_costs_nothing() {
    // push rbp; mov rbp, rsp; add [rdi], rsi; pop rbp; ret
    let bytes = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x01, 0x37, 0x5d, 0xc3];
    let known = [Some(0x1000), Some(3), None, None, None, None];
    assert_eq!(routine::inline(&bytes, 0, &known).unwrap().as_counter_add(), Some((0x1000, 3)));
}

#[test]
fn out_of_reach_writes_nothing() {
    let known = [Some(0x7fff_0000_0000), Some(3), None, None, None, None];
    let inlined = inlined(add, &known).unwrap();
    let mut code = Code::new(CachePc(0x5555_1000_0000));
    code.nop(1);
    assert!(!inlined.emit(&mut code, &SCRATCH, &[None; 6]));
    assert_eq!(code.bytes, [0x90]);
}
