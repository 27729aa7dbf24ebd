//! Descriptors of analysis calls that the runtime makes itself: calls out of line, and corrections of block-level calls. And of words that it computes.

use isa::{Instruction, Segment};

use super::cpu::Cpu;
use super::state::State;
use super::values::{element, is_taken, is_unconditional, memory_address, segment_base, taken, takes_effect};
use crate::trace::{AnalysisCall, Arg, Form, MAX_ARGS, MAX_LIST, Point};

/// How one argument is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Value,
    BlockInstructions,
    Register,
    MemoryAddress,
    BranchTaken,
    BranchTarget,
    Flags,
    SegmentBase,
    Vector,
    Mask,
    ElementAddress,
    ElementSize,
    FirstRepetition,
    Kept,
    TakesEffect,
    Thread,
}

impl Source {
    const ALL: [Source; 16] = [
        Source::Value,
        Source::BlockInstructions,
        Source::Register,
        Source::MemoryAddress,
        Source::BranchTaken,
        Source::BranchTarget,
        Source::Flags,
        Source::SegmentBase,
        Source::Vector,
        Source::Mask,
        Source::ElementAddress,
        Source::ElementSize,
        Source::FirstRepetition,
        Source::Kept,
        Source::TakesEffect,
        Source::Thread,
    ];
}

/// An argument: how it is found, and what goes with that.
type Found = (Source, u64);

/// A call. Its form in the arena, which other processes read, too, is words: the routine, the local state, `packed`, more sources if there are many, and the arguments
/// that aren't constant zeroes at the end. There is one for nearly each block of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallDescriptor {
    routine: u64,
    local: u64,
    predicated: bool,
    /// Whether the routine's result decides if the call is made that the next descriptor describes.
    tests: bool,
    form: Form,
    /// Whether the instruction has been executed.
    behind: bool,
    /// How many of `args` there are.
    count: u8,
    args: [Found; MAX_ARGS],
    /// Those of a list that don't fit.
    more: Vec<Found>,
}

/// Words of a descriptor without its arguments.
const HEAD: usize = 3;

/// Sources in a word that has nothing else.
const IN_WORD: usize = 16;

impl CallDescriptor {
    /// Describes `call` before `instruction`, which belongs to a block of `block_len` instructions.
    ///
    /// # Panics
    /// If the call has more than [`MAX_ARGS`] arguments, or a list more than [`MAX_LIST`]: the typed interface doesn't let that happen.
    pub fn new(call: &AnalysisCall, instruction: &Instruction, block_len: usize) -> Self {
        let most = if call.form == Form::List { MAX_LIST } else { MAX_ARGS };
        assert!(call.args.len() <= most, "at most {most} arguments");
        let found = |arg: &Arg| find(*arg, call.point, instruction, block_len);
        let mut args = [(Source::Value, 0); MAX_ARGS];
        args.iter_mut().zip(&call.args).for_each(|(slot, arg)| *slot = found(arg));
        let more = call.args.iter().skip(MAX_ARGS).map(found).collect();
        let count = call.args.len().min(MAX_ARGS) as u8;
        let (routine, local, predicated, form) = (call.routine as u64, call.local, call.predicated, call.form);
        let behind = matches!(call.point, Point::After(_) | Point::Taken(_));
        Self { routine, local, predicated, tests: false, form, behind, count, args, more }
    }

    /// Describes words that are written before `instruction`, which [`Self::words`] computes.
    pub fn of_words(words: &[Arg], index: usize, instruction: &Instruction) -> Self {
        let mut call = AnalysisCall::new(Point::Before(index), 0, 0, words.to_vec());
        call.form = Form::List;
        Self::new(&call, instruction, 1)
    }

    /// Appends its words.
    pub fn store(&self, words: &mut Vec<u64>) {
        words.extend([self.routine, self.local, self.packed()]);
        if self.form == Form::List {
            words.push(self.more.len() as u64);
        }
        words.extend(self.more.chunks(IN_WORD).map(pack));
        words.extend(self.stored_args().iter().chain(&self.more).map(|(_, value)| value));
    }

    /// Reads the descriptor at this offset of the arena, and gives the offset behind it. `bytes` gives bytes of the arena: from an offset on, so many.
    ///
    /// # Panics
    /// If none was stored there.
    pub fn load<'a>(offset: u32, bytes: impl Fn(u32, usize) -> &'a [u8]) -> (Self, u32) {
        let word = |n: usize| {
            let word = bytes(offset + (n * size_of::<u64>()) as u32, size_of::<u64>());
            u64::from_ne_bytes(word.try_into().expect("a word"))
        };
        let packed = word(HEAD - 1);
        let [bits, stored, ..] = packed.to_le_bytes();
        let (form, behind, stored) = (bits >> 2 & 3 | stored >> 3 & 4, stored & 16 != 0, usize::from(stored & 15));
        let form = Form::ALL[usize::from(form)];
        let (more, sources) = if form == Form::List { (word(HEAD) as usize, HEAD + 1) } else { (0, HEAD) };
        let values = sources + more.div_ceil(IN_WORD);
        let mut args = [(Source::Value, 0); MAX_ARGS];
        for (n, arg) in args[..stored].iter_mut().enumerate() {
            *arg = (source(packed >> 16, n), word(values + n));
        }
        let of_more = |n: usize| (source(word(sources + n / IN_WORD), n % IN_WORD), word(values + stored + n));
        let loaded = Self {
            routine: word(0),
            local: word(1),
            predicated: bits & 1 != 0,
            tests: bits & 2 != 0,
            form,
            behind,
            count: bits >> 4,
            args,
            more: (0..more).map(of_more).collect(),
        };
        (loaded, offset + ((values + stored + more) * size_of::<u64>()) as u32)
    }

    /// What is neither an address nor an argument's value. A byte: whether it is predicated, whether it is a test, its form, how many arguments it has; a byte: how many
    /// of these are stored, whether the instruction has been executed, the rest of its form; then how these are found.
    fn packed(&self) -> u64 {
        let form = self.form as u64;
        let bits = u64::from(self.predicated) | u64::from(self.tests) << 1 | (form & 3) << 2;
        let stored = self.stored_args();
        let stored_and_behind = stored.len() as u64 | u64::from(self.behind) << 4 | (form >> 2) << 5;
        bits | u64::from(self.count) << 4 | stored_and_behind << 8 | pack(stored) << 16
    }

    fn stored_args(&self) -> &[Found] {
        let args = &self.args[..usize::from(self.count)];
        let last = args.iter().rposition(|&arg| arg != (Source::Value, 0));
        if self.more.is_empty() { &args[..last.map_or(0, |last| last + 1)] } else { args }
    }

    /// The same as the test of the call whose descriptor follows.
    pub fn as_test(self) -> Self {
        Self { tests: true, ..self }
    }

    /// Whether it is a test: [`Self::call`] says if the call is made whose descriptor follows.
    pub fn is_test(&self) -> bool {
        self.tests
    }

    /// Whether [`Self::call`] looks at the instruction.
    pub fn needs_instruction(&self) -> bool {
        let looks = |source| {
            use Source::{BranchTaken, ElementAddress, ElementSize, MemoryAddress, TakesEffect};
            matches!(source, MemoryAddress | BranchTaken | ElementAddress | ElementSize | TakesEffect)
        };
        let form = self.form == Form::State || self.form.changes();
        self.predicated || form && !self.behind || self.found().any(|(source, _)| looks(source))
    }

    /// How the routine gets its arguments.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Whether the call is made at all with the app's registers as they are.
    pub fn takes_effect(&self, cpu: &Cpu, instruction: Option<&Instruction>) -> bool {
        !self.predicated || takes_effect(instruction.expect("an instruction, if it is needed"), &cpu.registers)
    }

    /// Address of the local state.
    pub fn local(&self) -> u64 {
        self.local
    }

    /// The same call of `routine`, which does what this one's does, with the local state at `local`.
    pub fn instead(&self, routine: u64, local: u64) -> Self {
        Self { routine, local, ..self.clone() }
    }

    /// Makes the call with the app's state at it. `instruction`: before which it is, if it is needed. `moved`: see [`super::ThreadState::moved`]. What a routine returns means something only if it is a
    /// test.
    pub fn call(&self, cpu: &Cpu, instruction: Option<&Instruction>, moved: u64) -> u64 {
        let decoded = || instruction.expect("an instruction, if it is needed");
        if self.predicated && !takes_effect(decoded(), &cpu.registers) {
            return 0;
        }
        let local = self.local.wrapping_add(moved);
        self.invoke(local, &State::new(cpu, instruction), |source, value| valued(source, value, cpu, instruction))
    }

    /// The arguments' values.
    pub fn words(&self, cpu: &Cpu, instruction: Option<&Instruction>) -> Vec<u64> {
        self.found().map(|(source, value)| valued(source, value, cpu, instruction)).collect()
    }

    fn found(&self) -> impl Iterator<Item = Found> {
        self.args[..usize::from(self.count)].iter().chain(&self.more).copied()
    }

    /// The routine.
    pub fn routine(&self) -> u64 {
        self.routine
    }

    /// Makes the call with `count` in place of the number of the block's instructions. Only constants and the thread go with that number, see
    /// [`AnalysisCall::is_compensated`].
    pub fn correct(&self, count: u64, cpu: &Cpu, moved: u64) {
        let value = |source, value| match source {
            Source::BlockInstructions => count,
            Source::Thread => cpu.thread,
            _ => value,
        };
        self.invoke(self.local.wrapping_add(moved), &State::new(cpu, None), value);
    }

    fn invoke(&self, local: u64, state: &State<'_>, value: impl Fn(Source, u64) -> u64) -> u64 {
        assert!(!self.form.changes(), "a routine that changes the app's state is called by who can let it");
        if self.form == Form::List {
            let words: Vec<u64> = self.found().map(|(source, v)| value(source, v)).collect();
            // SAFETY: the routine is an `extern "C"` function of the image with these parameters (the typed interface guarantees it).
            let routine: extern "C" fn(u64, *const u64, usize) -> u64 =
                unsafe { std::mem::transmute(self.routine as usize) };
            return routine(local, words.as_ptr(), words.len());
        }
        let mut a = self.args.map(|(source, v)| value(source, v));
        let mut last = 0;
        if self.form == Form::State {
            last = a[MAX_ARGS - 1];
            a.rotate_right(1);
            a[0] = std::ptr::from_ref(state) as u64;
        }
        // SAFETY: the routine is an `extern "C"` function of the image with at most so many integer arguments (the typed interface
        // guarantees it); further arguments are ignored by the C convention. One that returns nothing leaves any number in the register that is read as its result.
        unsafe {
            #[rustfmt::skip]
            type Routine = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
            let routine: Routine = std::mem::transmute(self.routine as usize);
            routine(local, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], last)
        }
    }
}

/// How these arguments are found, four bits each, the first one lowest.
fn pack(sources: &[Found]) -> u64 {
    sources.iter().enumerate().fold(0, |all, (n, (source, _))| all | (*source as u64) << (4 * n))
}

fn source(packed: u64, n: usize) -> Source {
    Source::ALL[(packed >> (4 * n) & 15) as usize]
}

fn find(arg: Arg, point: Point, instruction: &Instruction, block_len: usize) -> Found {
    let both = |low: usize, high: usize| low as u64 | (high as u64) << 8;
    match arg {
        Arg::Const(value) => (Source::Value, value),
        Arg::BlockInstructions => (Source::BlockInstructions, block_len as u64),
        Arg::InstructionPointer => (Source::Value, instruction.pc().0),
        Arg::Register(r) => (Source::Register, r as u64),
        Arg::MemoryAddress(n) => (Source::MemoryAddress, n as u64),
        Arg::BranchTaken => match taken(point, instruction) {
            Some(taken) => (Source::Value, taken),
            None => (Source::BranchTaken, 0),
        },
        Arg::TakesEffect if is_unconditional(instruction) => (Source::Value, 1),
        Arg::TakesEffect => (Source::TakesEffect, 0),
        Arg::BranchTarget => match instruction.kind().target() {
            Some(target) => (Source::Value, target.0),
            None => (Source::BranchTarget, 0),
        },
        Arg::Flags => (Source::Flags, 0),
        Arg::SegmentBase(segment) => (Source::SegmentBase, u64::from(segment == Segment::Gs)),
        Arg::Vector { register, word } => (Source::Vector, both(register.into(), word.into())),
        Arg::Mask(register) => (Source::Mask, register.into()),
        Arg::ElementAddress { operand, element } => (Source::ElementAddress, both(operand, element)),
        Arg::ElementSize { operand, element } => (Source::ElementSize, both(operand, element)),
        Arg::FirstRepetition => (Source::FirstRepetition, instruction.pc().0),
        Arg::Kept(n) => (Source::Kept, n.into()),
        Arg::KeptAt(n) => (Source::Kept, both(n.into(), 1)),
        Arg::Thread => (Source::Thread, 0),
    }
}

/// An argument's value with the app's state at the call.
fn valued(source: Source, value: u64, cpu: &Cpu, instruction: Option<&Instruction>) -> u64 {
    let registers = &cpu.registers;
    let instruction = || instruction.expect("an instruction, if it is needed");
    let (low, high) = ((value & 0xff) as usize, (value >> 8) as usize);
    match source {
        Source::Value | Source::BlockInstructions => value,
        Source::Register => registers.gpr[value as usize],
        Source::MemoryAddress => memory_address(instruction(), value as usize, registers),
        Source::BranchTaken => u64::from(is_taken(instruction(), registers)),
        Source::TakesEffect => u64::from(takes_effect(instruction(), registers)),
        // The branch has taken effect.
        Source::BranchTarget => registers.rip,
        Source::Flags => registers.rflags,
        Source::SegmentBase => segment_base(if value == 0 { Segment::Fs } else { Segment::Gs }, registers),
        Source::Vector => u64::from_le_bytes(cpu.xstate.vector(low).as_chunks().0[high]),
        Source::Mask => cpu.xstate.mask(value as usize),
        Source::ElementAddress => element(instruction(), low, high, cpu).0,
        Source::ElementSize => element(instruction(), low, high, cpu).1.into(),
        Source::FirstRepetition => u64::from(cpu.repeating != value),
        // Or where it is.
        Source::Kept if high != 0 => std::ptr::from_ref(&cpu.kept[low]) as u64,
        Source::Kept => cpu.kept[low],
        Source::Thread => cpu.thread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_loaded() {
        let none = CallDescriptor {
            routine: 7,
            local: 8,
            predicated: false,
            tests: false,
            form: Form::Words,
            behind: false,
            count: 5,
            args: [(Source::Value, 0); MAX_ARGS],
            more: Vec::new(),
        };
        let few = CallDescriptor { predicated: true, ..none.clone().as_test() };
        let mut args = none.args;
        args[2] = (Source::BlockInstructions, u64::MAX);
        let some = CallDescriptor { args, form: Form::State, behind: true, ..few.clone() };
        let all =
            CallDescriptor { args: std::array::from_fn(|n| (Source::ALL[n], n as u64 + 1)), count: 12, ..none.clone() };
        let more = (0..40).map(|n| (Source::ALL[n % 12], n as u64)).collect();
        let list = CallDescriptor { form: Form::List, count: 12, more, ..none.clone() };
        let short_list = CallDescriptor { form: Form::List, ..few.clone() };
        let changes = [Form::Change, Form::App].map(|form| CallDescriptor { form, ..some.clone() });
        let [change, app] = changes;
        let descriptors = [all, none, some, list, few, short_list, change, app];
        let mut words = Vec::new();
        descriptors.iter().for_each(|descriptor| descriptor.store(&mut words));
        let bytes = crate::abi::as_bytes(&words);
        let mut at = 0;
        for descriptor in descriptors {
            let (loaded, behind) = CallDescriptor::load(at, |offset, len| &bytes[offset as usize..][..len]);
            assert_eq!(loaded, descriptor);
            at = behind;
        }
        assert_eq!(at as usize, bytes.len());
    }
}
