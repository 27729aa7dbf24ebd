//! Leaving for native code: a child process, or the app itself when it does what a serial run can't follow.
//!
//! The child of a `fork` has memory of its own, the child of a `vfork` runs in its parent's: between its `syscall`
//! instruction and the app's next one it must not write to anything that the parent still needs, so it can't return into
//! Rust code, whose stack frames are the parent's. Everything that is to be done is therefore prepared
//! in [`LAUNCH`] by the parent, and done by a piece of assembly that uses no other memory. The parent sleeps until
//! a vfork's child is done with it, and a fork's child has its own copy, so one [`LAUNCH`] is enough.
//!
//! What the process is to the kernel becomes the app's first: dispositions, alternate stack, mask. Then the whole
//! register state is loaded, GS base included, and rip last.

use std::arch::global_asm;
use std::cell::UnsafeCell;
use std::mem::offset_of;

use bubble::map::{BUBBLE, IMAGE, WINDOWS};
use machine::{Registers, XState, component};
use translator::abi::Cpu;

use crate::ports::raw_syscall;
use crate::serial::calls::load_call;
use crate::serial::memory::locked;
use crate::serial::signals::{Action, AltStack, Signals};

/// 63 dispositions, the stack, the mask.
const MOST_CALLS: usize = 66;

/// All that the way to native code needs.
#[repr(C, align(64))]
struct Launch {
    xstate: XState,
    registers: Registers,
    /// Number and four arguments of each call, and how many there are.
    calls: [[u64; 5]; MOST_CALLS],
    call_count: u64,
    /// Components to load.
    xstate_mask: u64,
    /// What the calls point to.
    actions: [Action; 65],
    altstack: [u64; 3],
    mask: u64,
    /// For one push.
    scratch: [u64; 2],
}

struct LaunchCell(UnsafeCell<Launch>);

// SAFETY: one thread prepares it and the same thread, or its child while the thread sleeps, uses it.
unsafe impl Sync for LaunchCell {}

/// Named in assembly, so that no register has to hold its address.
#[unsafe(export_name = "superpin_launch")]
static LAUNCH: LaunchCell = LaunchCell(UnsafeCell::new(Launch {
    xstate: XState { bytes: [0; machine::XSTATE_CAPACITY] },
    registers: Registers { gpr: [0; 16], rip: 0, rflags: 0, fs_base: 0, gs_base: 0 },
    calls: [[0; 5]; MOST_CALLS],
    call_count: 0,
    xstate_mask: 0,
    actions: [Action { handler: 0, flags: 0, restorer: 0, mask: 0 }; 65],
    altstack: [0; 3],
    mask: 0,
    scratch: [0; 2],
}));

const REGISTERS: usize = offset_of!(Launch, registers);

global_asm!(
    ".pushsection .text.superpin_native, \"ax\", @progbits",
    // extern "C" fn (call: *const [u64; 7]) -> u64. Returns in the parent; the child goes native.
    ".globl superpin_split",
    "superpin_split:",
    load_call!(),
    "syscall",
    "test rax, rax",
    "jz superpin_go_native",
    "ret",
    // fn () -> !
    ".globl superpin_go_native",
    "superpin_go_native:",
    "lea rbx, [rip + superpin_launch + {calls}]",
    "mov rbp, [rip + superpin_launch + {call_count}]",
    "2:",
    "test rbp, rbp",
    "jz 3f",
    "mov rax, [rbx]",
    "mov rdi, [rbx + 8]",
    "mov rsi, [rbx + 16]",
    "mov rdx, [rbx + 24]",
    "mov r10, [rbx + 32]",
    "syscall",
    "add rbx, 40",
    "dec rbp",
    "jmp 2b",
    "3:",
    "mov eax, [rip + superpin_launch + {xstate_mask}]",
    "mov edx, [rip + superpin_launch + {xstate_mask} + 4]",
    "xrstor64 [rip + superpin_launch]",
    "mov rax, [rip + superpin_launch + {fs_base}]",
    "wrfsbase rax",
    "mov rax, [rip + superpin_launch + {gs_base}]",
    "wrgsbase rax",
    "lea rsp, [rip + superpin_launch + {scratch} + 16]",
    "push qword ptr [rip + superpin_launch + {rflags}]",
    "popfq",
    machine::load_registers!("[rip + superpin_launch + "),
    "jmp qword ptr [rip + superpin_launch + {rip}]",
    ".popsection",
    calls = const offset_of!(Launch, calls),
    call_count = const offset_of!(Launch, call_count),
    xstate_mask = const offset_of!(Launch, xstate_mask),
    scratch = const offset_of!(Launch, scratch),
    registers = const REGISTERS,
    rip = const REGISTERS + offset_of!(Registers, rip),
    rflags = const REGISTERS + offset_of!(Registers, rflags),
    fs_base = const REGISTERS + offset_of!(Registers, fs_base),
    gs_base = const REGISTERS + offset_of!(Registers, gs_base),
);

const _: () = assert!(offset_of!(Launch, xstate) == 0);

unsafe extern "C" {
    fn superpin_split(call: *const [u64; 7]) -> u64;
    fn superpin_go_native() -> !;
}

/// Prepares the way to native code, at the state in `cpu`, with the app's own signal state. `dispositions` is false
/// where the child's are not to be touched.
fn prepare(cpu: &Cpu, signals: &Signals, dispositions: bool) {
    // SAFETY: nobody else refers to it: see `Sync`.
    let launch = unsafe { &mut *LAUNCH.0.get() };
    launch.registers = cpu.registers;
    launch.xstate = cpu.xstate.clone();
    launch.xstate.forget_notes();
    launch.xstate_mask = component::enabled() & component::KEPT;
    let mut count = 0;
    let mut call = |number: i64, args: [u64; 4]| {
        launch.calls[count] = [number as u64, args[0], args[1], args[2], args[3]];
        count += 1;
    };
    for (signal, action) in signals.differing().filter(|_| dispositions) {
        let place = &mut launch.actions[signal as usize];
        *place = action;
        call(libc::SYS_rt_sigaction, [signal as u64, (&raw const *place) as u64, 0, 8]);
    }
    launch.altstack = signals.altstack.words();
    if signals.altstack == AltStack::NONE {
        launch.altstack[1] = libc::SS_DISABLE as u64;
    }
    call(libc::SYS_sigaltstack, [launch.altstack.as_ptr() as u64, 0, 0, 0]);
    launch.mask = signals.mask();
    call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as u64, &raw const launch.mask as u64, 0, 8]);
    launch.call_count = count as u64;
}

/// What is in the bubble but isn't [`IMAGE`], from which a child leaves, goes no further: a copy of it would cost time, and memory if the child locks all that it has.
/// In [`WINDOWS`] the app may have something.
fn keep_from_children() {
    for [start, end] in [[WINDOWS.end(), IMAGE.start], [IMAGE.end(), BUBBLE.end()]] {
        // Without it children have more than they need.
        raw_syscall(libc::SYS_madvise as u64, [start, end - start, libc::MADV_DONTFORK as u64, 0, 0, 0]);
    }
}

/// Makes a call that starts a process. The child goes on natively with the state in `child`; the call's result
/// is the parent's. All signals must be blocked, and the call must not start a thread.
pub fn split(number: u64, args: [u64; 6], child: &Cpu, signals: &Signals, dispositions: bool) -> u64 {
    prepare(child, signals, dispositions);
    keep_from_children();
    let call = [number, args[0], args[1], args[2], args[3], args[4], args[5]];
    // SAFETY: the arguments are valid; the child never comes here, and touches nothing but LAUNCH until it is the app.
    unsafe { superpin_split(&raw const call) }
}

/// The app goes on natively for good.
pub fn go_native(cpu: &Cpu, signals: &Signals) -> ! {
    locked::leaves();
    prepare(cpu, signals, true);
    // SAFETY: everything that it uses was just prepared.
    unsafe { superpin_go_native() }
}
