//! How an app leaves the image for good, to live on natively: what the runtime and the control process tell each other about that.
//!
//! ```text
//!   control process                                     runtime of a serial run
//!   asks: the slot's `departs`, an interrupt,   --->    comes to a place where the app's state is complete
//!     a signal that says [`MARK`]
//!                                               <---    result handed in; in each thread a [`Departure`], its address in rdi, and a trap at
//!                                                       the slot's `places.trap`
//!   in the app's threads, which stand still: dispositions, alternate stacks,
//!   masks, registers; the bubble is unmapped; nobody traces it any more
//! ```
//! The last step is the control process's, since nothing of the runtime's may be left that could do it.

use std::sync::atomic::AtomicU64;

use machine::Registers;

/// In the signal by which the control process interrupts a thread: "leave".
pub const MARK: u64 = 0x6c65_6176_6520_6974;
/// Which signal that is: one that a serial run never blocks.
pub const SIGNAL: i32 = libc::SIGFPE;

/// Places of the runtime's code by which the control process moves a thread that is about to make a call of the app's, or waits in one.
#[repr(C)]
#[derive(Default)]
pub struct Places {
    /// From here on a call is about to be made; 0 as long as nothing is known.
    pub window: AtomicU64,
    /// Up to here; whoever stands right here is behind the call's instruction.
    pub done: AtomicU64,
    /// Where to go on in place of making it.
    pub abort: AtomicU64,
    /// Where to go on if it was broken off, and is to be made again.
    pub restarts: AtomicU64,
    /// Where a thread stands whose [`Departure`] is complete, behind the trap.
    pub trap: AtomicU64,
}

/// A thread that leaves. Its extended state is loaded already.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Departure {
    /// The app's registers.
    pub registers: Registers,
    /// Signals that it blocks.
    pub mask: u64,
    /// Its alternate stack, as `sigaltstack` takes it.
    pub altstack: [u64; 3],
    /// A bit for each signal whose real disposition isn't the app's.
    pub differing: u64,
    /// The app's dispositions, as `rt_sigaction` takes them, by signal.
    pub actions: [[u64; 4]; 65],
    /// A signal that waits for the thread to unblock it, where the kernel doesn't keep it; 0 if there is none.
    pub held: u64,
    /// What is known of it.
    pub held_info: [u64; 16],
}
