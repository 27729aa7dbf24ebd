//! The last instructions of a thread that leaves the image: what comes then is the control process's, see [`bubble::departure`].

use std::arch::global_asm;
use std::sync::atomic::Ordering;

use bubble::departure::{Departure, MARK, Places, SIGNAL};
use machine::{XState, component};
use translator::abi::Cpu;

use crate::serial::memory::locked;
use crate::serial::signals::Signals;

global_asm!(
    ".pushsection .text.superpin_depart, \"ax\", @progbits",
    // extern "C" fn (departure: *const Departure, xstate: *const XState, components: u64) -> !. rdi is what the control process reads.
    ".globl superpin_depart",
    "superpin_depart:",
    "mov eax, edx",
    "shr rdx, 32",
    "xrstor64 [rsi]",
    "int3",
    ".globl superpin_departed",
    "superpin_departed:",
    "ud2",
    ".popsection",
);

unsafe extern "C" {
    fn superpin_depart(departure: *const Departure, xstate: *const XState, components: u64) -> !;
    static superpin_departed: u8;
}

/// A thread that is ready to leave.
pub struct Leaver {
    xstate: XState,
    departure: Departure,
}

impl Leaver {
    /// From this state, with these signals. All that can be blocked is, and nothing has arrived that the app hasn't got.
    pub fn new(cpu: &Cpu, signals: &Signals) -> Box<Self> {
        let mut actions = [[0; 4]; 65];
        let mut differing = 0;
        for (signal, action) in signals.differing() {
            differing |= 1 << (signal - 1);
            actions[signal as usize] = [action.handler, action.flags, action.restorer, action.mask];
        }
        let mut departure = Departure {
            registers: cpu.registers,
            mask: signals.mask(),
            altstack: signals.altstack.words(),
            differing,
            actions,
            held: 0,
            held_info: [0; 16],
        };
        if let Some(held) = signals.arrivals.take_held() {
            departure.held = held.signal as u64;
            // SAFETY: both are 128 bytes of plain data.
            departure.held_info = unsafe { std::mem::transmute::<libc::siginfo_t, [u64; 16]>(held.info) };
        }
        locked::leaves();
        let mut xstate = cpu.xstate.clone();
        xstate.forget_notes();
        Box::new(Self { xstate, departure })
    }

    /// Leaves. The calling thread must not have the turn.
    pub fn leave(self: Box<Self>) -> ! {
        let Self { xstate, departure } = Box::leak(self);
        let components = component::enabled() & component::KEPT;
        // SAFETY: both live for ever, the state is one that this processor can load, and nothing of this thread is used afterwards.
        unsafe { superpin_depart(&raw const *departure, &raw const *xstate, components) }
    }
}

/// Tells the control process where a thread stands that leaves.
pub fn tell_place(places: &Places) {
    places.trap.store(&raw const superpin_departed as u64, Ordering::Release);
}

/// Whether a signal is the control process's, by which it interrupts a thread that is to leave.
pub fn is_request(signal: i32, info: &libc::siginfo_t) -> bool {
    // SAFETY: the structure has 16 words, all of them initialised by the kernel.
    let value = unsafe { (info as *const libc::siginfo_t).cast::<u64>().add(3).read() };
    signal == SIGNAL && info.si_code == libc::SI_QUEUE && value == MARK
}
