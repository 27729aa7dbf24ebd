//! Flags, vectors and the whole state, by all the ways in which a tool gets them.

use superpin_tool::{Arg, At, Gpr, NoOptions, Out, Repeat, SegmentRegister, SliceInfo, State, Tool, Trace};

/// What was seen.
#[derive(Default)]
pub struct Seen {
    /// Conditional branches, those that the flags said would be taken, those that were.
    branches: [u64; 3],
    /// Sums of words: of twelve arguments, of lists, of states, of the buffer.
    sums: [u64; 4],
    /// How many words each of these had.
    words: u64,
    /// Bytes of accesses by the state, and by the operands.
    accesses: [u64; 2],
    /// Steps of string instructions that repeat, and those that were the first.
    steps: [u64; 2],
}

/// The tool.
pub struct Whole;

/// Whether a branch on these conditions is taken, by the manual.
fn holds(mnemonic: &str, flags: u64) -> Option<bool> {
    let flag = |bit: u32| flags >> bit & 1 == 1;
    let (carry, zero, sign, overflow) = (flag(0), flag(6), flag(7), flag(11));
    Some(match mnemonic {
        "je" => zero,
        "jne" => !zero,
        "jb" => carry,
        "jae" => !carry,
        "jbe" => carry || zero,
        "ja" => !carry && !zero,
        "jl" => sign != overflow,
        "jge" => sign == overflow,
        "jle" => zero || sign != overflow,
        "jg" => !zero && sign == overflow,
        "js" => sign,
        "jns" => !sign,
        _ => return None,
    })
}

const MNEMONICS: [&str; 12] = ["je", "jne", "jb", "jae", "jbe", "ja", "jl", "jge", "jle", "jg", "js", "jns"];

fn branch(seen: &mut Seen, mnemonic: u64, flags: u64) {
    seen.branches[0] += 1;
    seen.branches[1] += u64::from(holds(MNEMONICS[mnemonic as usize], flags).expect("a branch by flags"));
}

fn taken(seen: &mut Seen) {
    seen.branches[2] += 1;
}

fn add(seen: &mut Seen, which: usize, words: &[u64]) {
    for (n, word) in words.iter().enumerate() {
        let weighed = (word ^ word >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.wrapping_add(2 * n as u64));
        seen.sums[which] = seen.sums[which].wrapping_add(weighed);
    }
}

#[allow(clippy::too_many_arguments)] // that is what is tested
fn twelve(
    seen: &mut Seen,
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
    l: u64,
) {
    add(seen, 0, &[a, b, c, d, e, f, g, h, i, j, k, l]);
    seen.words += 12;
}

fn list(seen: &mut Seen, words: &[u64]) {
    add(seen, 1, words);
}

fn state(seen: &mut Seen, state: &State<'_>) {
    let vector = state.vector(1);
    let word = |n: usize| u64::from_le_bytes(vector[8 * n..8 * n + 8].try_into().expect("eight bytes"));
    let words = [
        state.gpr(Gpr::Rax),
        state.gpr(Gpr::R11),
        state.gpr(Gpr::Rsp),
        state.gpr(Gpr::R9),
        state.gpr(Gpr::R10),
        state.flags(),
        state.segment_base(SegmentRegister::Fs),
        word(0),
        word(1),
        word(3),
        state.mask(1),
        state.ip().0,
    ];
    add(seen, 2, &words);
    seen.accesses[0] += state.accesses().iter().map(|access| u64::from(access.size)).sum::<u64>();
}

fn accessed(seen: &mut Seen, bytes: u64) {
    seen.accesses[1] += bytes;
}

fn step(seen: &mut Seen, first: u64) {
    seen.steps[0] += 1;
    seen.steps[1] += first;
}

impl Tool for Whole {
    const NAME: &'static str = "whole";
    const ABOUT: &'static str = "Check flags, vectors and the whole state";
    const READS_FLAGS: bool = true;
    type Options = NoOptions;
    type Local = Seen;
    type Result = Vec<u64>;
    type Total = Vec<u64>;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn repeat(&self) -> Repeat {
        Repeat::Each
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for instruction in trace.instructions() {
            if instruction.is_rep() {
                instruction.call(At::Before, step, (Arg::FirstRepetition,));
            }
            if let Some(number) = MNEMONICS.iter().position(|name| *name == instruction.mnemonic()) {
                instruction.call(At::Before, branch, (number, Arg::Flags));
                instruction.call(At::Taken, taken, ());
            }
            // One in some.
            if instruction.address().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 != 0 {
                continue;
            }
            let vector = |word| Arg::Vector { register: 1, word };
            let [rax, r11, rsp, r9, r10] = [Gpr::Rax, Gpr::R11, Gpr::Rsp, Gpr::R9, Gpr::R10].map(Arg::Register);
            let fs = Arg::SegmentBase(SegmentRegister::Fs);
            let all = [rax, r11, rsp, r9, r10, Arg::Flags, fs, vector(0), vector(1), vector(3), Arg::Mask(1), Arg::Pc];
            let [a, b, c, d, e, f, g, h, i, j, k, l] = all;
            instruction.buffer((a, b, c, d, e, f));
            instruction.buffer((g, h, i, j, k, l));
            instruction.call(At::Before, twelve, (a, b, c, d, e, f, g, h, i, j, k, l));
            instruction.call_with(At::Before, list, &all);
            instruction.call_with_state(At::Before, state);
            for (n, operand) in instruction.memory_operands().iter().enumerate() {
                if instruction.elements(n) == 1 {
                    instruction.call(At::Before, accessed, (operand.size,));
                }
                for element in 0..instruction.elements(n) {
                    if instruction.elements(n) > 1 {
                        instruction.call(At::Before, accessed, (Arg::ElementSize { operand: n, element },));
                    }
                }
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Seen {
        Seen::default()
    }

    fn drain(&self, seen: &mut Seen, words: &[u64]) {
        words.chunks(12).for_each(|some| add(seen, 3, some));
    }

    fn finish(&self, seen: &Seen) -> Vec<u64> {
        let differ = seen.sums.iter().any(|sum| *sum != seen.sums[0]);
        [&seen.branches[..], &[seen.words, differ.into()], &seen.accesses, &seen.steps].concat()
    }

    fn fold(&self, total: &mut Vec<u64>, _: SliceInfo, result: Vec<u64>) {
        total.resize(result.len(), 0);
        total.iter_mut().zip(result).for_each(|(all, one)| *all += one);
    }

    fn fini(&self, total: Vec<u64>, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "whole: {total:?}")
    }
}
