//! A routine of the tool's that calls routines of the app's, on a stack of its own.
//!
//! ```text
//!   the run loop ── resume ──► routine ── App::call ──► (Step::Calls) the run loop … the app's routine … resume ──► routine ── returns ──► (Step::Done) the run loop
//! ```

use std::arch::global_asm;
use std::mem::MaybeUninit;

use machine::AppPc;
use translator::abi::CallDescriptor;

use super::state_mut::StateMut;

/// Bytes of a routine's stack.
const STACK: usize = 256 << 10;

/// Registers that a function of C's convention keeps.
const KEPT: usize = 6;

/// What lies at a stack's end, which nothing may reach.
const GUARD: u128 = 0x5afe_5afe_5afe_5afe_5afe_5afe_5afe_5afe;

global_asm!(
    ".pushsection .text.superpin_gateway, \"ax\", @progbits",
    // extern "C" fn switch(left: *mut u64, to: u64): goes on where `to` was left, and notes where this one was.
    ".balign 16",
    "superpin_switch_stack:",
    machine::keep_registers!(),
    "mov [rdi], rsp",
    "mov rsp, rsi",
    machine::return_with_kept_registers!(),
    // A fiber begins here: its address is in rbx.
    "superpin_fiber_begins:",
    "mov rdi, rbx",
    "call {begins}",
    "ud2",
    ".popsection",
    begins = sym begins,
);

unsafe extern "C" {
    fn superpin_switch_stack(left: *mut u64, to: u64);
    fn superpin_fiber_begins();
}

/// A routine of the app's that is to be called.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its address. `None`: the routine at whose entry the tool's is, which goes on as if that weren't there.
    pub function: Option<AppPc>,
    pub args: Vec<u64>,
}

/// Why the run loop goes on.
pub enum Step {
    /// The routine has returned.
    Done,
    /// It waits for a routine of the app's.
    Calls(Call),
}

/// What a routine and the run loop tell each other. Both use it by its address alone: it changes while either waits.
struct Shared {
    /// The state, for as long as the routine runs.
    state: *mut StateMut<'static>,
    /// Where the run loop was left, and where the routine was.
    run_loop: u64,
    routine: u64,
    request: Option<Call>,
    result: u64,
    is_done: bool,
    call: (Routine, u64, Vec<u64>),
    stack: Stack,
}

/// What a routine that may call the app's gets.
pub struct App {
    shared: *mut Shared,
}

impl App {
    /// The app's state.
    pub fn state(&mut self) -> &mut StateMut<'_> {
        // SAFETY: the run loop has it point to a state while the routine runs, and doesn't use that until the routine waits, or has returned. The borrow of `self` ends before it waits.
        unsafe { &mut *(*self.shared).state.cast() }
    }

    /// Calls a routine of the app's and waits until it returns: what it leaves in rax. `None`: the routine at whose entry this one is, which goes on as if this one weren't there.
    pub fn call(&mut self, function: Option<AppPc>, args: &[u64]) -> u64 {
        // SAFETY: it stays where it is until the routine has returned, and the run loop waits where `resume` was called, which it goes on from.
        unsafe {
            (*self.shared).request = Some(Call { function, args: args.to_vec() });
            superpin_switch_stack(&raw mut (*self.shared).routine, (*self.shared).run_loop);
            (*self.shared).result
        }
    }
}

/// What a call of [`Form::App`](translator::trace::Form::App) calls.
type Routine = extern "C" fn(u64, *mut App, *const u64, usize);

/// A call of a routine, with its stack. One that never returns is given up, with all that it owns.
pub struct Fiber {
    shared: *mut Shared,
}

/// A stack, to be used again.
pub struct Stack(Box<[MaybeUninit<u128>]>);

impl Stack {
    /// A new one.
    pub fn new() -> Self {
        let mut stack = Box::new_uninit_slice(STACK / size_of::<u128>());
        stack[0].write(GUARD);
        Self(stack)
    }

    fn is_whole(&self) -> bool {
        // SAFETY: it was written when the stack was made.
        unsafe { self.0[0].assume_init_read() == GUARD }
    }
}

impl Fiber {
    /// A call that is about to begin, with these arguments.
    pub fn new(call: &CallDescriptor, local: u64, args: Vec<u64>, mut stack: Stack) -> Self {
        // SAFETY: the routine of such a call is an `extern "C"` function of the image with these parameters (the typed interface guarantees it).
        let routine: Routine = unsafe { std::mem::transmute(call.routine() as usize) };
        let top = stack.0.as_mut_ptr_range().end as u64;
        // Behind what `switch` takes from there the stack is aligned as behind a call.
        let start = top - 16 - size_of::<[u64; KEPT + 1]>() as u64;
        let shared = Box::into_raw(Box::new(Shared {
            state: std::ptr::null_mut(),
            run_loop: 0,
            routine: start,
            request: None,
            result: 0,
            is_done: false,
            call: (routine, local, args),
            stack,
        }));
        let mut first = [0; KEPT + 1];
        // rbx is the last of the registers.
        first[KEPT - 1] = shared as u64;
        first[KEPT] = superpin_fiber_begins as *const () as u64;
        // SAFETY: the stack is larger than that, and nobody else's.
        unsafe { (start as *mut [u64; KEPT + 1]).write_unaligned(first) };
        Self { shared }
    }

    /// Has the routine go on until it waits or has returned. `result`: of what it has waited for.
    pub fn resume(&mut self, state: &mut StateMut<'_>, result: u64) -> Step {
        let shared = self.shared;
        // SAFETY: it is there until the fiber is gone. The routine was left there, or begins; it comes back here before `state` is gone.
        let (request, is_done, is_whole) = unsafe {
            (*shared).state = std::ptr::from_mut(state).cast();
            (*shared).result = result;
            superpin_switch_stack(&raw mut (*shared).run_loop, (*shared).routine);
            (*shared).state = std::ptr::null_mut();
            let request = (&raw mut (*shared).request).replace(None);
            (request, (*shared).is_done, (&raw const (*shared).stack).as_ref().is_some_and(Stack::is_whole))
        };
        assert!(is_whole, "a routine of the tool's that calls the app's has {STACK} bytes of stack, and needs more");
        match request {
            Some(call) => Step::Calls(call),
            None => {
                assert!(is_done, "a routine comes back when it waits or has returned");
                Step::Done
            }
        }
    }

    /// Its routine.
    pub fn routine(&self) -> u64 {
        // SAFETY: it is there until the fiber is gone, and the routine waits.
        unsafe { (*self.shared).call.0 as *const () as u64 }
    }

    /// The stack of one that has returned.
    pub fn into_stack(self) -> Stack {
        // SAFETY: it was made by `Box::into_raw`, and nobody else has its address any more.
        let shared = unsafe { Box::from_raw(self.shared) };
        shared.stack
    }
}

/// What a fiber does.
extern "C" fn begins(shared: *mut Shared) -> ! {
    // SAFETY: it stays where it is until the routine has returned, and the run loop waits where `resume` was called.
    unsafe {
        let (routine, local, args) = &(*shared).call;
        let (routine, local, args, count) = (*routine, *local, args.as_ptr(), args.len());
        routine(local, &mut App { shared }, args, count);
        (*shared).is_done = true;
        // Nobody comes back.
        superpin_switch_stack(&raw mut (*shared).routine, (*shared).run_loop);
    }
    unreachable!("a routine that has returned isn't resumed")
}

#[cfg(test)]
mod tests {
    use translator::abi::Cpu;
    use translator::trace::{AnalysisCall, Form, Point};

    use super::*;

    extern "C" fn asks(local: u64, app: *mut App, args: *const u64, count: usize) {
        // SAFETY: as the run loop calls it.
        let (app, args) = unsafe { (&mut *app, std::slice::from_raw_parts(args, count)) };
        let first = app.call(None, &[args[0] + 1]);
        let second = app.call(Some(AppPc(7)), &[first, local]);
        app.state().set_gpr(machine::Gpr::Rax, first + second);
    }

    #[test]
    fn a_routine_waits_where_it_calls() {
        let nop = isa::Instruction::decode(&[0x90; 15], AppPc(0)).unwrap();
        let mut call = AnalysisCall::new(Point::Before(0), asks as *const () as usize, 3, Vec::new());
        call.form = Form::App;
        let described = CallDescriptor::new(&call, &nop, 1);
        let mut cpu = Cpu::new(Default::default(), machine::XState::initial());
        let mut write = |_: u64, _: &[u8]| 0;
        let mut fiber = Fiber::new(&described, 3, vec![40], Stack::new());
        let mut step = |result| {
            let mut state = StateMut::new(&mut cpu, None, &mut write);
            let step = fiber.resume(&mut state, result);
            (step, state.gpr(machine::Gpr::Rax))
        };
        assert!(matches!(step(0).0, Step::Calls(Call { function: None, args }) if args == [41]));
        assert!(matches!(step(5).0, Step::Calls(Call { function: Some(AppPc(7)), args }) if args == [5, 3]));
        assert!(matches!(step(6), (Step::Done, 11)));
        assert!(fiber.into_stack().is_whole());
    }
}
