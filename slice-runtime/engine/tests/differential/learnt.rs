//! Twelve arguments and lists, as routines get them that translated code calls itself, against what a state tells.

use bubble::map;
use isa::Segment;
use machine::{Gpr, flags};
use translator::trace::{AnalysisCall, Arg, Form, Point};

use super::whole::Told;

/// What routines learn that translated code calls itself.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learnt {
    one_by_one: u64,
    by_list: u64,
}

/// In the tool's memory, behind what other instruments use.
const LEARNT: u64 = map::LOCAL.start + (1 << 16);

fn mixed(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[allow(clippy::too_many_arguments)] // that is what is tested
extern "C" fn learn(
    l: &mut Learnt,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    g: u64,
    h: u64,
    i: u64,
    j: u64,
    k: u64,
    m: u64,
) {
    for word in [a, b, c & flags::VISIBLE, d, e, f, g, h, i, j, k, m] {
        l.one_by_one = mixed(l.one_by_one, word);
    }
}

extern "C" fn learn_list(l: &mut Learnt, words: *const u64, count: usize) {
    for n in 0..count {
        // SAFETY: so many words are there.
        let word = unsafe { *words.add(n) };
        l.by_list = mixed(l.by_list, if n == 2 { word & flags::VISIBLE } else { word });
    }
}

/// Of the state's words those that these routines get: of those that the runtime isn't needed for.
fn learnt() -> [Arg; 12] {
    let [rax, rcx, rdx, rsp, rsi, rdi, r9, r10] =
        [Gpr::Rax, Gpr::Rcx, Gpr::Rdx, Gpr::Rsp, Gpr::Rsi, Gpr::Rdi, Gpr::R9, Gpr::R10].map(Arg::Register);
    let [fs, gs] = [Segment::Fs, Segment::Gs].map(Arg::SegmentBase);
    [rax, rcx, Arg::Flags, rdx, rsp, rsi, rdi, r9, r10, fs, gs, Arg::InstructionPointer]
}

/// The same of what was told of a state.
fn learnt_of(told: &Told) -> [u64; 12] {
    let r = |r: Gpr| told[13 + r as usize];
    let general = [Gpr::Rdx, Gpr::Rsp, Gpr::Rsi, Gpr::Rdi, Gpr::R9, Gpr::R10].map(r);
    let [d, e, f, g, h, i] = general;
    [r(Gpr::Rax), r(Gpr::Rcx), told[8], d, e, f, g, h, i, told[10], told[11], told[12]]
}

#[test]
fn what_is_learnt_is_learnt_in_translated_code() {
    let follows = |routine: usize| {
        // SAFETY: the code of this program is readable, and more of it follows.
        isa::routine::clobbers(routine as u64, |pc| unsafe { *(pc as *const [u8; isa::MAX_LEN]) }).is_some()
    };
    assert!(follows(learn as *const () as usize) && follows(learn_list as *const () as usize));
}

/// The calls before an instruction.
pub fn calls(n: usize) -> [AnalysisCall; 2] {
    [(learn as *const (), Form::Words), (learn_list as *const (), Form::List)].map(|(routine, form)| {
        let call = AnalysisCall::new(Point::Before(n), routine as usize, LEARNT, learnt().to_vec());
        AnalysisCall { form, ..call }
    })
}

/// Nothing has been learnt.
pub fn forget() {
    // SAFETY: the tool's memory is mapped, and nobody else uses this part of it.
    unsafe { (engine::own(LEARNT) as *mut Learnt).write(Learnt::default()) };
}

/// What was learnt, and what should have been, from what calls were told by states.
pub fn compared(by_state: &[Told]) -> (Learnt, Learnt) {
    let sum = by_state.iter().flat_map(learnt_of).fold(0, mixed);
    // SAFETY: as above; no routine runs.
    let learnt = unsafe { (engine::own(LEARNT) as *const Learnt).read() };
    (learnt, Learnt { one_by_one: sum, by_list: sum })
}
