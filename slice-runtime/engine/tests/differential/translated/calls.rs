//! Routines of all sorts, those that are put in place and those that are called, and instrumentation that puts them in.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use bubble::map;
use isa::routine::{Own, Plan, Way};
use machine::Gpr;
use translator::trace::{AnalysisCall, Arg, Point, Test, Trace};

use super::local::Local;

/// Mixes what it is given into a sum: short enough to be inlined.
pub extern "C" fn mix(l: &mut Local, a: u64, b: u64, c: u64) {
    l.seen[0] = l.seen[0].rotate_left(7) ^ a.wrapping_add(b << 1).wrapping_add(c);
}

/// The same into another sum, and called.
pub extern "C" fn mix_out_of_line(l: &mut Local, a: u64, b: u64, c: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.seen[1] = l.seen[1].rotate_left(7) ^ a.wrapping_add(b << 1).wrapping_add(c);
    }
}

/// Does one thing or another, in one step or in two.
extern "C" fn choose(l: &mut Local, a: u64, b: u64, c: u64) {
    if a & 16 != 0 {
        l.chosen[0] = l.chosen[0].rotate_left(7) ^ a.wrapping_add(c);
    } else if b > c {
        l.chosen[0] = l.chosen[0].wrapping_add(b);
        l.ways[0] = l.ways[0].wrapping_add(1);
    }
}

/// The same, and called.
extern "C" fn choose_out_of_line(l: &mut Local, a: u64, b: u64, c: u64) {
    for _ in 0..std::hint::black_box(1) {
        if a & 16 != 0 {
            l.chosen[1] = l.chosen[1].rotate_left(7) ^ a.wrapping_add(c);
        } else if b > c {
            l.chosen[1] = l.chosen[1].wrapping_add(b);
            l.ways[1] = l.ways[1].wrapping_add(1);
        }
    }
}

/// Uses all that a routine may use: vector registers, x87, the stack, flags.
extern "C" fn work(l: &mut Local, a: u64, b: u64, c: u64, d: u64, e: u64) {
    let text = format!("{a:x}{b}{:?}{:e}", c as f64 / 3.0, d as f64);
    l.seen[3] = l.seen[3].wrapping_add(text.len() as u64 + e);
}

/// Computes with floating point.
extern "C" fn floating(l: &mut Local, a: u64, b: u64) {
    let next = (a as f64).sqrt() / 3.0 + f64::from_bits(l.partly[0]) / 7.0 - b as f64;
    l.partly[0] = if next.is_finite() { next.to_bits() } else { 0 };
    l.partly[1] += 1;
}

thread_local! {
    static SEEN: Cell<u64> = const { Cell::new(0) };
    static TABLE: RefCell<HashMap<u64, u64>> = RefCell::new(HashMap::new());
}

/// Uses thread-local storage.
extern "C" fn local(l: &mut Local, a: u64) {
    SEEN.set(SEEN.get().wrapping_add(a));
    l.partly[2] += 1;
}

/// Has a table in thread-local storage, which grows now and then.
extern "C" fn table(l: &mut Local, a: u64) {
    TABLE.with_borrow_mut(|table| *table.entry(a % 5000).or_default() += 1);
    l.partly[3] += 1;
}

/// Leaves its work to another function, which does more, if a number says so.
extern "C" fn seldom(l: &mut Local, a: u64) {
    l.partly[4] += 1;
    if a & 7 == 0 {
        work(l, a, a, a, a, a);
    }
}

/// Calls of those, at a place that depends on the code alone.
fn insert_partly(trace: &mut Trace, n: usize, choice: u64) {
    let instruction = &trace.instructions[n];
    let operand = instruction.memory_operands().iter().position(|m| !m.inexact);
    let address = operand.map_or(Arg::Const(7), Arg::MemoryAddress);
    let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
    let (routine, args) = match choice / 7 % 4 {
        0 => (floating as *const (), vec![register, address]),
        1 => (local as *const (), vec![register]),
        2 => (table as *const (), vec![register]),
        _ => (seldom as *const (), vec![register]),
    };
    let call = AnalysisCall::new(Point::Before(n), routine as usize, map::LOCAL.start, args);
    trace.calls.push(AnalysisCall { predicated: choice & 1 == 0, ..call });
}

#[test]
fn little_is_put_aside_for_most_routines() {
    // SAFETY: these are functions of this program.
    let plan = Plan::new(unsafe { Own::new() });
    let way = |routine: *const ()| plan.way(routine as u64);
    let Way::Itself(touched) = way(floating as *const ()) else { panic!("floating point can be followed") };
    assert!(touched.mxcsr && touched.vectors != 0 && !touched.fs, "{touched:?}");
    let Way::Itself(touched) = way(local as *const ()) else { panic!("what is initialised can be followed") };
    assert!(touched.fs, "{touched:?}");
    assert_eq!([way(table as *const ()), way(seldom as *const ())], [Way::Copy; 2]);
}

/// Calls of both kinds with all kinds of arguments, at places that depend on the code alone.
pub fn insert_calls(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        let instruction = &trace.instructions[n];
        let choice = instruction.pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let operand = instruction.memory_operands().iter().position(|m| !m.inexact);
        let address = operand.map_or(Arg::Const(7), Arg::MemoryAddress);
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        let (routines, args): (&[*const ()], _) = match choice % 7 {
            0 => (&[work as *const ()], vec![register, address, Arg::InstructionPointer, register, Arg::Const(9)]),
            1 | 2 => (&[mix as *const (), mix_out_of_line as *const ()], vec![register, address, Arg::Const(1 << 40)]),
            3 => (&[mix_out_of_line as *const (), mix as *const ()], vec![Arg::InstructionPointer, address, register]),
            4 => {
                (&[choose as *const (), choose_out_of_line as *const ()], vec![address, register, Arg::Const(1 << 20)])
            }
            5 => (
                &[choose as *const (), choose_out_of_line as *const ()],
                vec![Arg::InstructionPointer, register, address],
            ),
            _ => {
                insert_partly(trace, n, choice);
                continue;
            }
        };
        let predicated = choice & 1 == 0;
        for routine in routines {
            let (routine, args) = (*routine as usize, args.clone());
            let call = AnalysisCall::new(Point::Before(n), routine, map::LOCAL.start, args);
            trace.calls.push(AnalysisCall { predicated, ..call });
        }
    }
}

/// Says yes to some of what it is given, and counts how often.
extern "C" fn test(l: &mut Local, a: u64, b: u64) -> u64 {
    let yes = (a ^ b) & 3 == 0;
    l.tested[0] = l.tested[0].wrapping_add(u64::from(yes));
    u64::from(yes)
}

/// The same, and called.
extern "C" fn test_out_of_line(l: &mut Local, a: u64, b: u64) -> u64 {
    let yes = std::hint::black_box(a ^ b) & 3 == 0;
    for _ in 0..std::hint::black_box(u64::from(yes)) {
        l.tested[1] = l.tested[1].wrapping_add(1);
    }
    u64::from(yes)
}

extern "C" fn tested(l: &mut Local, which: u64, a: u64, b: u64) {
    let which = which as usize;
    l.passed[which] = l.passed[which].wrapping_add(1);
    l.mixed[which] = l.mixed[which].rotate_left(7) ^ a.wrapping_add(b << 1);
}

/// Calls with tests that are put in place and tests that are called, before the same instructions.
pub fn insert_tested(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        let choice = trace.instructions[n].pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let operand = trace.instructions[n].memory_operands().iter().position(|m| !m.inexact);
        let address = operand.map_or(Arg::InstructionPointer, Arg::MemoryAddress);
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        let routines = [test as *const () as usize, test_out_of_line as *const () as usize];
        for (which, routine) in routines.into_iter().enumerate() {
            let args = vec![Arg::Const(which as u64), register, address];
            let call = AnalysisCall::new(Point::Before(n), tested as *const () as usize, map::LOCAL.start, args);
            let test = Some(Test { routine, args: vec![register, address] });
            trace.calls.push(AnalysisCall { test, ..call });
        }
    }
}

#[test]
fn one_of_the_two_is_inlined() {
    let inlined = |routine: extern "C" fn(&mut Local, u64, u64, u64)| {
        // SAFETY: a function's code is readable, and what follows it in this program's text too.
        let code = unsafe { std::slice::from_raw_parts(routine as usize as *const u8, 256) };
        isa::routine::inline(code, routine as usize as u64, &[Some(1 << 30), None, None, Some(3), None, None]).is_some()
    };
    assert!(inlined(mix) && !inlined(mix_out_of_line));
    let test_in_place = |routine: extern "C" fn(&mut Local, u64, u64) -> u64| {
        // SAFETY: as above.
        let code = unsafe { std::slice::from_raw_parts(routine as usize as *const u8, 256) };
        let known = [Some(1 << 30), None, None, None, None, None];
        isa::routine::inline_with_result(code, routine as usize as u64, &known).is_some()
    };
    assert!(test_in_place(test) && !test_in_place(test_out_of_line));
}
