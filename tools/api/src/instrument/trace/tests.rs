use translator::trace::Point;

use super::*;
use crate::code::BranchKind;
use crate::instrument::{Arg, At, Repeat, State};

/// `add (%rax),%rcx; je +0; rep stosb; ret` as two blocks.
fn instructions() -> Vec<isa::Instruction> {
    let code = [0x48, 0x03, 0x08, 0x74, 0x00, 0xf3, 0xaa, 0xc3];
    let mut all = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let next = isa::Instruction::decode(&code[at..], AppPc(0x1000 + at as u64)).unwrap();
        at += next.len();
        all.push(next);
    }
    all
}

fn touch(_: &mut u8, _: u64) {}

#[test]
fn blocks_and_instructions_are_what_the_engine_decoded() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0);
    let lens: Vec<usize> = trace.blocks().map(|block| block.len()).collect();
    assert_eq!(lens, [2, 2]);
    let second = trace.blocks().next_back().unwrap();
    assert_eq!((second.address(), second.end_address()), (AppPc(0x1005), AppPc(0x1008)));
    assert!(second.first().is_rep());
    assert_eq!(second.last().branch(), Some(BranchKind::Return));
    let first = trace.blocks().next().unwrap();
    assert_eq!(first.last().branch_target(), Some(AppPc(0x1005)));
    assert_eq!(first.first().memory_operands()[0].base, Some(machine::Gpr::Rax));
    assert_eq!(first.first().to_string(), "add (%rax),%rcx");
}

#[test]
#[should_panic(expected = "At::Anywhere")]
fn a_block_is_not_counted_at_its_first_instruction() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0);
    trace.blocks().next().unwrap().call(At::Before, touch, (Arg::BlockInstructions,));
}

#[test]
#[should_panic(expected = "nothing comes after")]
fn nothing_comes_after_a_return() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0);
    trace.instructions().next_back().unwrap().call(At::After, touch, (Arg::Pc,));
}

#[test]
#[should_panic(expected = "isn't known At::Before")]
fn the_target_of_a_return_is_not_known_before_it() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0);
    trace.instructions().next_back().unwrap().call(At::Before, touch, (Arg::BranchTarget,));
}

#[test]
fn what_repeats_has_nothing_after_each_step() {
    let all = instructions();
    let has_after = |repeat| {
        let trace = Trace::<u8>::new(&all, &[2, 4], 0).repeating(repeat);
        trace.instructions().map(|instruction| instruction.has_after()).collect::<Vec<_>>()
    };
    assert_eq!(has_after(Repeat::Once), [true, true, true, false]);
    assert_eq!(has_after(Repeat::Each), [true, true, false, false]);
}

#[test]
#[should_panic(expected = "READS_FLAGS")]
fn who_looks_at_flags_says_so() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0);
    trace.instructions().next().unwrap().call(At::Before, touch, (Arg::Flags,));
}

#[test]
#[should_panic(expected = "255 at most")]
fn a_list_has_a_bound() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0);
    let long = vec![Arg::Pc; 256];
    trace.instructions().next().unwrap().call_with(At::Before, |_: &mut u8, _: &[u64]| {}, &long);
}

#[test]
fn calls_say_how_their_routines_get_arguments() {
    use translator::trace::Form;
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0).reading_flags(true);
    let first = trace.instructions().next().unwrap();
    first.call_with(At::Before, |_: &mut u8, _: &[u64]| {}, &[Arg::Pc, Arg::Flags]);
    first.call_with_state(At::After, |_: &mut u8, _: &State<'_>| {});
    first.call(At::Before, |_: &mut u8, _: u64| {}, (Arg::Vector { register: 31, word: 7 },));
    let (calls, ..) = trace.into_inserted();
    assert_eq!(calls.iter().map(|call| call.form).collect::<Vec<_>>(), [Form::List, Form::State, Form::Words]);
    assert_eq!(calls.iter().map(|call| call.args.len()).collect::<Vec<_>>(), [2, 0, 1]);
}

#[test]
fn calls_name_their_point_and_keep_their_order() {
    let all = instructions();
    let trace = Trace::<u8>::new(&all, &[2, 4], 0x77);
    let second = trace.blocks().next_back().unwrap();
    second.call(At::Anywhere, touch, (Arg::BlockInstructions,));
    second.call(At::Before, touch, (Arg::Pc,));
    second.first().call_predicated(At::Before, touch, (Arg::MemoryAddress(0),));
    let (calls, _, _) = trace.into_inserted();
    let points: Vec<Point> = calls.iter().map(|call| call.point).collect();
    assert_eq!(points, [Point::Anywhere(1), Point::Before(2), Point::Before(2)]);
    assert_eq!(calls[0].args, [translator::trace::Arg::BlockInstructions]);
    assert!(calls.iter().all(|call| call.local == 0x77));
    assert_eq!(calls.iter().map(|call| call.predicated).collect::<Vec<_>>(), [false, false, true]);
}
