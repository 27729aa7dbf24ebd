//! Running a program natively, with a state of our choice, until it ends or faults.
//!
//! The kernel does the work: a trap enters a handler whose frame is overwritten with the program's state; its end is a
//! trap again, whose frame is the result. The handler runs on the alternate stack and switches FS by itself, so nothing of
//! the program's state is lost or needed.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use isa::random::Program;
use machine::{Gpr, flags};

use crate::Outcome;
use crate::arena::Arena;
use crate::state::{State, copy_components};

std::arch::global_asm!(
    ".globl superpin_native_entry",
    "superpin_native_entry:",
    "push rbx",
    "rdfsbase rcx",
    "mov rax, [rip + {runtime_fs}]",
    "wrfsbase rax",
    "call {handle}",
    "wrfsbase rax",
    "pop rbx",
    "ret",
    runtime_fs = sym RUNTIME_FS,
    handle = sym handle,
);

unsafe extern "C" {
    fn superpin_native_entry();
}

static mut RUNTIME_FS: u64 = 0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Starting,
    Running,
}

struct Run {
    phase: Phase,
    state: State,
    signal: i32,
    error_rip: u64,
    /// The frame of the trap that started the program.
    harness_registers: [i64; 23],
    harness_xstate: Vec<u8>,
    /// The states before the instructions that were executed, but for the first one, if the run is one by single steps; the last ones are left out if there are too many.
    steps: Option<Vec<State>>,
}

/// Steps that are noted at most.
pub const MOST_STEPS: usize = 2000;

/// Shared with the handler, which only runs while `run` does.
struct Shared(UnsafeCell<Option<Run>>);

// SAFETY: used by one thread at a time: `run` is called with the lock of the process held.
unsafe impl Sync for Shared {}

static RUN: Shared = Shared(UnsafeCell::new(None));

/// The frame's XSAVE area.
fn area(context: &mut libc::ucontext_t) -> &mut [u8] {
    let start = context.uc_mcontext.fpregs.cast::<u8>();
    // SAFETY: the kernel stores an XSAVE area there whose size is in its software bytes (464: magic, 480: size).
    unsafe {
        assert_eq!(start.add(464).cast::<u32>().read_unaligned(), 0x4650_5853, "the frame has no XSAVE area");
        let len = start.add(464 + 16).cast::<u32>().read_unaligned() as usize;
        std::slice::from_raw_parts_mut(start, len)
    }
}

/// Returns the FS base to go on with.
extern "C" fn handle(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t, fs_base: u64) -> u64 {
    // SAFETY: see `Shared`; `run` doesn't touch it between its trap and its return.
    let run = unsafe { &mut *RUN.0.get() }.as_mut().expect("a run is in progress");
    let gregs = &mut context.uc_mcontext.gregs;
    match run.phase {
        Phase::Starting => {
            run.phase = Phase::Running;
            run.harness_registers = *gregs;
            for (word, r) in gregs.iter_mut().zip(Gpr::IN_SIGNAL_FRAME) {
                *word = run.state.registers.get(r) as i64;
            }
            gregs[libc::REG_RIP as usize] = run.state.registers.rip as i64;
            gregs[libc::REG_EFL as usize] = run.state.registers.rflags as i64;
            let area = area(context);
            run.harness_xstate = area.to_vec();
            copy_components(&run.state.xstate.bytes, area);
            run.state.registers.fs_base
        }
        Phase::Running if signal == libc::SIGTRAP && info.si_code == TRAP_TRACE && run.steps.is_some() => {
            let mut state = State { registers: run.state.registers, xstate: run.state.xstate.clone() };
            for (word, r) in gregs.iter().zip(Gpr::IN_SIGNAL_FRAME) {
                state.registers.set(r, *word as u64);
            }
            state.registers.rip = gregs[libc::REG_RIP as usize] as u64;
            state.registers.rflags = gregs[libc::REG_EFL as usize] as u64 & !flags::TF;
            state.registers.fs_base = fs_base;
            // SAFETY: GS is the program's, and its base can be read.
            unsafe { std::arch::asm!("rdgsbase {}", out(reg) state.registers.gs_base) };
            copy_components(area(context), &mut state.xstate.bytes);
            let steps = run.steps.as_mut().expect("it is there");
            if steps.len() < MOST_STEPS {
                steps.push(state);
            } else {
                context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !(flags::TF as i64);
            }
            fs_base
        }
        Phase::Running => {
            run.phase = Phase::Idle;
            run.signal = signal;
            run.error_rip = gregs[libc::REG_RIP as usize] as u64;
            for (word, r) in gregs.iter().zip(Gpr::IN_SIGNAL_FRAME) {
                run.state.registers.set(r, *word as u64);
            }
            run.state.registers.rflags = gregs[libc::REG_EFL as usize] as u64;
            run.state.registers.fs_base = fs_base;
            *gregs = run.harness_registers;
            let area = area(context);
            copy_components(area, &mut run.state.xstate.bytes);
            let len = area.len().min(run.harness_xstate.len());
            area[..len].copy_from_slice(&run.harness_xstate[..len]);
            // SAFETY: written by `run` before.
            unsafe { (&raw const RUNTIME_FS).read() }
        }
        Phase::Idle => {
            // SAFETY: the harness itself faulted: the default action tells where.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            fs_base
        }
    }
}

/// `si_code` of a trap after a single step.
const TRAP_TRACE: i32 = 2;

const SIGNALS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

/// Puts this module's handler in place and returns what was there.
fn take_signals() -> [libc::sigaction; 5] {
    SIGNALS.map(|signal| {
        let mut old = MaybeUninit::uninit();
        // SAFETY: sigaction is plain data for which zero is valid; all pointers are valid.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = superpin_native_entry as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigfillset(&raw mut action.sa_mask);
            assert_eq!(libc::sigaction(signal, &raw const action, old.as_mut_ptr()), 0);
            old.assume_init()
        }
    })
}

/// Gives the thread a signal stack if it has none.
fn signal_stack() {
    const BYTES: usize = 256 << 10;
    // SAFETY: stack_t is plain data for which zero is valid; a new stack lives for ever.
    unsafe {
        let mut old: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &raw mut old);
        if old.ss_size < BYTES {
            let memory = Box::leak(vec![0_u8; BYTES].into_boxed_slice());
            let new = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
            assert_eq!(libc::sigaltstack(&raw const new, std::ptr::null_mut()), 0);
        }
    }
}

/// Runs the program, which is already loaded, from `start`.
pub fn run(arena: &Arena, program: &Program, start: &State) -> (Outcome, State) {
    let (outcome, state, _) = run_noting(arena, program, start, None);
    (outcome, state)
}

/// The same by single steps: the states before all instructions that it starts, but only [`MOST_STEPS`] and the first. A program that looks at its flags sees that.
pub fn step(arena: &Arena, program: &Program, start: &State) -> Vec<State> {
    let mut stepping = start.clone();
    stepping.registers.rflags |= flags::TF;
    let (_, _, steps) = run_noting(arena, program, &stepping, Some(vec![start.clone()]));
    steps.expect("they were noted")
}

fn run_noting(
    arena: &Arena,
    program: &Program,
    start: &State,
    steps: Option<Vec<State>>,
) -> (Outcome, State, Option<Vec<State>>) {
    let layout = arena.layout();
    let mut trapping = program.clone();
    trapping.code[program.end] = 0xcc;
    arena.load(&trapping);
    signal_stack();
    let old = take_signals();
    let (mut gs, mut app_gs): (u64, u64);
    // SAFETY: GS belongs to nobody while neither the engine nor the program runs. The trap enters `handle`, which
    // puts the program's state in place and later the harness's back, all registers included.
    unsafe {
        *RUN.0.get() = Some(Run {
            phase: Phase::Starting,
            state: State { registers: start.registers, xstate: start.xstate.clone() },
            signal: 0,
            error_rip: 0,
            harness_registers: [0; 23],
            harness_xstate: Vec::new(),
            steps,
        });
        (&raw mut RUNTIME_FS).write(layout.fs_base);
        std::arch::asm!("rdgsbase {}", out(reg) gs);
        std::arch::asm!("wrgsbase {}", "int3", in(reg) start.registers.gs_base);
        std::arch::asm!("rdgsbase {}", "wrgsbase {}", out(reg) app_gs, in(reg) gs);
        for (signal, action) in SIGNALS.iter().zip(&old) {
            libc::sigaction(*signal, action, std::ptr::null_mut());
        }
    }
    // SAFETY: the handler is done.
    let run = unsafe { (*RUN.0.get()).take() }.expect("the run is over");
    let mut state = run.state;
    state.registers.gs_base = app_gs;
    state.registers.rip = run.error_rip;
    arena.load(program);
    let offset = run.error_rip.wrapping_sub(layout.code);
    if run.signal == libc::SIGTRAP && offset == program.end as u64 + 1 {
        return (Outcome::End, state, run.steps);
    }
    (Outcome::Fault(run.signal, offset), state, run.steps)
}
