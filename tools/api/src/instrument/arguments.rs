//! Analysis routines and what they are called with.
//!
//! The problem: the engine wants the address of a C function and a list of arguments; an author has a plain `fn` and
//! should not be able to pass it the wrong number of arguments. The approach: [`Routine`] is implemented for every
//! function and closure without captured variables whose parameters are the local state and as many `u64` as the
//! tuple [`Arguments`] has elements. The C function is a thunk made for that very function, which the compiler fuses with it.

use isa::{Segment, SegmentRegister};
use machine::Gpr;

use super::tool_register::ToolRegister;

/// An argument of an analysis routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A constant. Integers convert into it.
    Const(u64),
    /// How many instructions the call stands for: those of the block for [`crate::At::Anywhere`] calls, one for calls at an
    /// instruction. For routines that add it up.
    ///
    /// If a signal, a fault or code that changes stops the app before all of them were executed, the routine is called once
    /// more, with minus the number of those that were not (as a wrapping `u64`): so add with `wrapping_add`, and the
    /// sum is exact.
    BlockInstructions,
    /// Address of the instruction (for a block: of its first instruction).
    Pc,
    /// Value of an app register: before the instruction, or after it for calls [`crate::At::After`] and [`crate::At::Taken`].
    Register(Gpr),
    /// An integer or pointer argument of a call of the app's, from 0 to 5: at the first instruction of a routine ([`crate::Instruction::enters`]), or at a call
    /// instruction. By the convention of System V, which C, C++ and Rust (`extern "C"`) follow: whether the routine has that argument nobody knows. Of those that are `float` or
    /// `double` the first eight are in [`Self::Vector`], word 0 of registers 0 to 7, as bits; of integers those from the seventh on are on the stack, see [`crate::memory::stack_argument`].
    Argument(u8),
    /// The integer or pointer that a routine returns: at a return instruction ([`crate::Instruction::returns_from`]).
    ReturnValue,
    /// Effective address of the instruction's memory operand with this index, which it must have, see
    /// [`crate::Instruction::memory_operands`].
    MemoryAddress(usize),
    /// Whether a branch is taken: 1 or 0. It is 1 for jumps, calls and returns, and 0 for what never branches.
    BranchTaken,
    /// Whether the instruction takes effect (Pin's `IARG_EXECUTING`): 0 for a conditional move whose condition doesn't hold and a REP instruction with rcx 0, else 1. Before it only.
    /// Of a REP instruction words in the buffer cost a call for it.
    Executing,
    /// Where a branch, call or return goes if it is taken. Of an indirect one only for calls [`crate::At::Taken`]: before it the target may not be readable.
    BranchTarget,
    /// Number of the thread that executes it (Pin's `IARG_THREAD_ID`): 0 for the first, see [`crate::ThreadInfo::number`]. It costs one load.
    ThreadId,
    /// What was kept before in the same block: see [`crate::Instruction::keep`]. [`ToolRegister`] converts into it.
    Tool(ToolRegister),
    /// The flags (`rflags`), as `pushf` would store them. Only in tools that say [`crate::Tool::READS_FLAGS`].
    ///
    /// A routine that is called from the cache finds it there; words in the buffer cost a call for it.
    Flags,
    /// The base of a segment: that of FS or GS, and zero for others. As costly as flags.
    SegmentBase(SegmentRegister),
    /// 64 bits of a vector register. Zero where the processor doesn't have them.
    ///
    /// It is read by translated code: some nanoseconds.
    Vector {
        /// The register's number, 0 to 31: of xmm3, ymm3 and zmm3 it is 3.
        register: u8,
        /// Which 64 bits, from 0, the lowest ones, to 7.
        word: u8,
    },
    /// A mask register, k0 to k7. Zero where the processor has none.
    Mask(u8),
    /// 1 at the first step of a string instruction that repeats, 0 at further ones: with [`crate::Repeat::Each`]. 1 at all other instructions. If a signal's handler ran
    /// in the middle, the next step is a first one again.
    FirstRepetition,
    /// Address of an element of a memory operand, see [`crate::Instruction::elements`]; also of one that a mask leaves out.
    ElementAddress {
        /// The operand's index in [`crate::Instruction::memory_operands`].
        operand: usize,
        /// The element's number.
        element: usize,
    },
    /// How many bytes of it are accessed: none if a mask leaves it out.
    ElementSize {
        /// The operand's index in [`crate::Instruction::memory_operands`].
        operand: usize,
        /// The element's number.
        element: usize,
    },
}

macro_rules! constants {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Arg {
            fn from(value: $integer) -> Arg {
                Arg::Const(value as u64)
            }
        }
    )*};
}
constants!(u8, u16, u32, u64, usize, bool);

impl From<machine::AppPc> for Arg {
    fn from(pc: machine::AppPc) -> Arg {
        Arg::Const(pc.0)
    }
}

impl From<Gpr> for Arg {
    fn from(register: Gpr) -> Arg {
        Arg::Register(register)
    }
}

impl From<ToolRegister> for Arg {
    fn from(register: ToolRegister) -> Arg {
        Arg::Tool(register)
    }
}

/// Where integer arguments of the app's calls are.
const ARGUMENTS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx, Gpr::R8, Gpr::R9];

impl Arg {
    pub(crate) fn to_engine(self) -> translator::trace::Arg {
        use translator::trace::Arg as To;
        match self {
            Arg::Const(value) => To::Const(value),
            Arg::Pc => To::InstructionPointer,
            Arg::Register(register) => To::Register(register),
            Arg::Argument(number) => To::Register(ARGUMENTS[usize::from(number)]),
            Arg::ReturnValue => To::Register(Gpr::Rax),
            Arg::MemoryAddress(index) => To::MemoryAddress(index),
            Arg::BlockInstructions => To::BlockInstructions,
            Arg::BranchTaken => To::BranchTaken,
            Arg::BranchTarget => To::BranchTarget,
            Arg::Executing => To::TakesEffect,
            Arg::ThreadId => To::Thread,
            Arg::Tool(register) => register.to_engine(),
            Arg::Flags => To::Flags,
            Arg::SegmentBase(SegmentRegister::Fs) => To::SegmentBase(Segment::Fs),
            Arg::SegmentBase(SegmentRegister::Gs) => To::SegmentBase(Segment::Gs),
            Arg::SegmentBase(_) => To::Const(0),
            Arg::Vector { register, word } => To::Vector { register, word },
            Arg::Mask(register) => To::Mask(register),
            Arg::FirstRepetition => To::FirstRepetition,
            Arg::ElementAddress { operand, element } => To::ElementAddress { operand, element },
            Arg::ElementSize { operand, element } => To::ElementSize { operand, element },
        }
    }
}

/// A tuple of up to twelve things that convert into [`Arg`]. For more, and for lists made at run time, there is [`crate::Instruction::call_with`].
pub trait Arguments {
    /// The arguments in order.
    fn into_args(self) -> Vec<Arg>;
}

/// An analysis routine: `fn(&mut Local, u64, …)` with one `u64` for each element of the tuple `A`.
///
/// It runs in the middle of the app, perhaps inside the app's malloc or with the app's locks held. It may do what it
/// likes with the local state, allocate included: the heap and everything else of the tool's lives apart from the
/// app. It must not make system calls: no printing, no files, no clock, no threads. And it should not panic: that ends
/// the run as a failure. A small one, without loops and calls, is copied into the translated code, where it
/// costs a few instructions. One that uses neither vectors nor thread-local storage and can't panic is called for a few nanoseconds, any other with more of the app's state
/// aside, which takes up to some tenths of a microsecond: the report (`-report`) says how each is called, and why.
///
/// What doesn't fit doesn't compile: another number of arguments,
///
/// ```compile_fail,E0277
/// # use superpin_tool::{Arg, At, Trace};
/// fn touches(sum: &mut u64, address: u64) {
///     *sum += address;
/// }
/// fn instrument(trace: &Trace<'_, u64>) {
///     trace.instructions().for_each(|instruction| instruction.call(At::Before, touches, (Arg::Pc, 1)));
/// }
/// ```
///
/// and another local state than the tool's.
///
/// ```compile_fail,E0277
/// # use superpin_tool::{Arg, At, Trace};
/// fn touches(sum: &mut i32, address: u64) {
///     *sum += address as i32;
/// }
/// fn instrument(trace: &Trace<'_, u64>) {
///     trace.instructions().for_each(|instruction| instruction.call(At::Before, touches, (Arg::Pc,)));
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be called with the local state `{L}` and the arguments `{A}`",
    label = "must be a `fn(&mut {L}, u64, …)` with one `u64` for each argument, and capture nothing",
    note = "a routine can't capture variables, not even with `move`: what it needs to know is passed as an argument, and what it learns goes into `{L}`"
)]
pub trait Routine<L, A>: Copy + 'static {
    /// Address of a C function that does the same.
    fn address(self) -> usize;

    /// [`Self::address`], whose name messages are to tell.
    fn named_address(self) -> usize {
        let address = self.address();
        engine::routines::name(address, std::any::type_name::<Self>());
        address
    }
}

/// A test: like a [`Routine`], but it returns whether a call is to be made.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a test with the local state `{L}` and the arguments `{A}`",
    label = "must be a `fn(&mut {L}, u64, …) -> bool` with one `u64` for each argument, and capture nothing",
    note = "a routine can't capture variables, not even with `move`: what it needs to know is passed as an argument, and what it learns goes into `{L}`"
)]
pub trait Test<L, A>: Copy + 'static {
    /// Address of a C function that does the same and returns 0 or 1 as 64 bits.
    fn address(self) -> usize;

    /// [`Self::address`], whose name messages are to tell.
    fn named_address(self) -> usize {
        let address = self.address();
        engine::routines::name(address, std::any::type_name::<Self>());
        address
    }
}

/// Makes a value of a type without size: a function item or a closure that captures nothing.
pub(in crate::instrument) fn conjure<F: Copy>() -> F {
    const {
        assert!(
            size_of::<F>() == 0,
            "an analysis routine can't capture variables, not even with `move` (pass what it needs as arguments), and can't be a function pointer"
        )
    };
    // SAFETY: a value of this type has no bytes, and `F: Copy` has no destructor that could count it. That one exists is
    // known: `Routine::address` was given one.
    unsafe { std::mem::zeroed() }
}

macro_rules! arities {
    ($(($($element:ident $value:ident $word:ident),*))*) => {$(
        impl<$($element: Into<Arg>),*> Arguments for ($($element,)*) {
            fn into_args(self) -> Vec<Arg> {
                let ($($value,)*) = self;
                vec![$($value.into()),*]
            }
        }

        impl<L: 'static, F, $($element),*> Routine<L, ($($element,)*)> for F
        where
            F: Fn(&mut L, $(arities!(@word $element)),*) + Copy + 'static,
        {
            fn address(self) -> usize {
                extern "C" fn thunk<L, F: Fn(&mut L, $(arities!(@word $element)),*) + Copy>(local: &mut L, $($word: u64),*) {
                    conjure::<F>()(local, $($word),*);
                }
                thunk::<L, F> as *const () as usize
            }
        }

        impl<L: 'static, F, $($element),*> Test<L, ($($element,)*)> for F
        where
            F: Fn(&mut L, $(arities!(@word $element)),*) -> bool + Copy + 'static,
        {
            fn address(self) -> usize {
                extern "C" fn thunk<L, F: Fn(&mut L, $(arities!(@word $element)),*) -> bool + Copy>(
                    local: &mut L,
                    $($word: u64),*
                ) -> u64 {
                    u64::from(conjure::<F>()(local, $($word),*))
                }
                thunk::<L, F> as *const () as usize
            }
        }
    )*};
    (@word $element:ident) => { u64 };
}

arities! {
    ()
    (A a0 w0)
    (A a0 w0, B a1 w1)
    (A a0 w0, B a1 w1, C a2 w2)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5, H a6 w6)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5, H a6 w6, I a7 w7)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5, H a6 w6, I a7 w7, J a8 w8)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5, H a6 w6, I a7 w7, J a8 w8, K a9 w9)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5, H a6 w6, I a7 w7, J a8 w8, K a9 w9, M a10 w10)
    (A a0 w0, B a1 w1, C a2 w2, D a3 w3, E a4 w4, G a5 w5, H a6 w6, I a7 w7, J a8 w8, K a9 w9, M a10 w10, N a11 w11)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<A: Arguments, R: Routine<u64, A>>(routine: R, args: A, local: &mut u64) {
        let args: Vec<u64> = args
            .into_args()
            .into_iter()
            .map(|arg| if let Arg::Const(value) = arg { value } else { panic!("not a constant") })
            .collect();
        let address = routine.address();
        // SAFETY: `address` is a C function with as many parameters as there are arguments.
        unsafe {
            match args[..] {
                [] => std::mem::transmute::<usize, extern "C" fn(&mut u64)>(address)(local),
                [a] => std::mem::transmute::<usize, extern "C" fn(&mut u64, u64)>(address)(local, a),
                [a, b] => std::mem::transmute::<usize, extern "C" fn(&mut u64, u64, u64)>(address)(local, a, b),
                _ => panic!("not tested"),
            }
        }
    }

    fn add(local: &mut u64, n: u64) {
        *local += n;
    }

    #[test]
    fn thunks_do_what_the_routine_does() {
        let mut local = 1;
        call(add, (41_u32,), &mut local);
        assert_eq!(local, 42);
        call(|local: &mut u64| *local *= 2, (), &mut local);
        assert_eq!(local, 84);
        call(|local: &mut u64, a: u64, b: u64| *local = a - b, (7_u8, 3_usize), &mut local);
        assert_eq!(local, 4);
    }

    #[test]
    fn a_small_routine_is_one_with_its_thunk() {
        let address = <_ as Routine<u64, (u64,)>>::address(add);
        // SAFETY: the thunk is at least as long as what is read of it: it ends with a return.
        let code = unsafe { std::slice::from_raw_parts(address as *const u8, 16) };
        let end = code.iter().position(|&b| b == 0xc3).expect("returns within a few bytes");
        assert!(!code[..end].contains(&0xe8), "calls something: {code:02x?}");
    }
}
