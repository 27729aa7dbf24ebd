//! What is known of the instructions that routines are made of, against the processor: nothing else changes.

use isa::random::{Generator, Program, Rng};
use isa::routine::Touched;
use isa::{Instruction, MAX_LEN};
use machine::{AppPc, Gpr};

use super::arena::{Arena, Where};
use super::state::State;
use super::{Outcome, alone, catalogue, has_passed_alone, native};

/// What the instructions of a program touch; `None` if one of them isn't followed.
fn touched_by(program: &Program, start: u64) -> Option<Touched> {
    let (mut all, mut at) = (Touched::default(), 0);
    while at < program.end {
        let mut bytes = [0; MAX_LEN];
        let len = MAX_LEN.min(program.code.len() - at);
        bytes[..len].copy_from_slice(&program.code[at..at + len]);
        let instruction = Instruction::decode(&bytes, AppPc(start + at as u64)).ok()?;
        all = all.and(Touched::of(&instruction)?);
        at += instruction.len();
    }
    Some(all)
}

/// What has changed that isn't among what is touched.
fn more(touched: Touched, before: &State, after: &State) -> Vec<String> {
    let mut found = Vec::new();
    for r in Gpr::ALL {
        if touched.general & 1 << r as u16 == 0 && before.registers.get(r) != after.registers.get(r) {
            found.push(r.name().to_owned());
        }
    }
    let (a, b) = (&before.xstate, &after.xstate);
    for n in 0..32 {
        let from = if n < 16 && touched.vectors & 1 << n != 0 { 16 } else { 0 };
        if a.vector(n)[from..] != b.vector(n)[from..] {
            found.push(format!("vector {n}"));
        }
    }
    found.extend((0..8).filter(|n| a.mask(*n) != b.mask(*n)).map(|n| format!("mask {n}")));
    if !touched.mxcsr && a.mxcsr() != b.mxcsr() {
        found.push("MXCSR".into());
    }
    if a.x87().stack != b.x87().stack || a.x87().control != b.x87().control {
        found.push("x87".into());
    }
    found
}

#[test]
fn nothing_changes_that_is_not_touched() {
    if has_passed_alone() {
        return;
    }
    alone::must_be();
    let arena = Arena::new(Where::Near, false);
    let catalogue = catalogue(&arena);
    let unused = catalogue.clone();
    let (mut general, mut vectors, mut floating) = (0, 0, 0);
    let mut all = catalogue.clone();
    all.retain(|form| {
        for seed in 0..4 {
            let Some(program) = Generator::new(&unused, arena.layout(), seed).single(form) else { continue };
            let Some(touched) = touched_by(&program, arena.layout().code) else { continue };
            let start = State::random(&mut Rng(seed), &arena);
            let (Outcome::End, end) = native::run(&arena, &program, &start) else { continue };
            let found = more(touched, &start, &end);
            assert!(found.is_empty(), "{found:?} changed: {touched:?}\n{}", program.listing(&arena.layout()));
            general += u32::from(touched.is_general());
            vectors += u32::from(touched.vectors != 0);
            floating += u32::from(touched.mxcsr);
        }
        true
    });
    eprintln!("{general} general, {vectors} with vectors, {floating} with floating point");
    assert!(general > 500 && vectors > 500 && floating > 100, "{general} {vectors} {floating}");
}
