//! The border between the engine and what it runs for: a slice, a serial run, a test.
//!
//! The engine executes translated code until something comes up that translated code can't do. It then
//! leaves the code cache, puts the app's complete state into a [`Cpu`] and asks its [`Host`].

use bubble::end::EndStands;
use machine::Registers;
use translator::abi::Cpu;
use translator::trace::Instrument;

/// What to do after a host was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on with the state in the [`Cpu`], at its `rip`.
    Continue,
    /// Leave [`crate::Runner::run`].
    Leave,
}

/// An instruction whose result the app's state doesn't determine. Of all but `cpuid` only a host that replays is asked, see
/// [`crate::Settings::replays`]; otherwise the instruction is executed as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nondeterministic {
    /// `rdtsc`: edx:eax.
    Rdtsc,
    /// `rdtscp`: edx:eax and ecx.
    Rdtscp,
    /// `cpuid`: eax, ebx, ecx, edx from eax and ecx.
    Cpuid,
    /// Random numbers, the processor's number and the like ([`isa::Instruction::unrepeatable`]).
    Unrepeatable {
        /// Length of the instruction.
        len: u32,
    },
}

/// A fault or trap that an app instruction raised inside the code cache, mapped back to the app.
#[derive(Clone)]
pub struct Fault {
    /// Signal number.
    pub signal: i32,
    /// The kernel's description.
    pub info: libc::siginfo_t,
    /// Error code and trap number as a signal frame holds them.
    pub error_code: u64,
    /// Trap number.
    pub trap: u64,
    /// CR2.
    pub address: u64,
}

/// Signals by which the CPU reports what an instruction did.
pub const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

/// Number of the trap that a page fault is.
pub const TRAP_PAGE_FAULT: u64 = 14;

/// What is said of an app that wants a trap after each instruction.
pub const TRAP_FLAG: &str = "the app has set the trap flag, which isn't followed";

/// What the host may ask of the engine while it is being asked itself.
pub trait Control {
    /// The app's memory in `start .. start + len` was mapped, unmapped, re-protected or overwritten: translations
    /// of code there are dropped.
    fn code_changed(&mut self, start: u64, len: u64);

    /// The kernel or a replay is about to write app memory at `start .. start + len`: pages that the engine
    /// protected because it translated code from them become writable.
    fn before_write(&mut self, start: u64, len: u64);

    /// A call that may write app memory at `start .. start + len` begins, and other threads run until it ends: until then no page there is protected. To be called
    /// after [`Control::before_write`].
    fn call_begins(&mut self, start: u64, len: u64);

    /// That call is over.
    fn call_ends(&mut self, start: u64, len: u64);

    /// Another process has run in the app's memory, for a short while: what can't be written by the app itself is looked at again, as far as data goes.
    fn look_again(&mut self);

    /// The file with this inode may be written from now on: code of its mappings can change without any other notice.
    fn file_may_change(&mut self, inode: u64);

    /// The shared memory that there is may be written from elsewhere from now on, by a child or through another mapping: code there can change without any
    /// other notice.
    fn shared_memory_may_change(&mut self);

    /// The same of the memory that is mapped at `address`: some of it may be mapped twice from now on.
    fn object_may_change(&mut self, address: u64);

    /// From now on ask [`Host::end_reached`] when the app is about to execute the instruction at `registers.rip` with
    /// general registers as in `registers` (some are compared before the host is asked, it compares the rest). `stands`: how that
    /// instruction stands in its block. What was armed before isn't any more.
    fn arm(&mut self, registers: &Registers, stands: EndStands);

    /// From now on nothing is asked. To be called where the armed place was reached, or has become meaningless.
    fn disarm(&mut self);

    /// From now on other calls are inserted: what was translated is dropped. Not where translations are shared. To be called from [`Host::asked`]. `enters`: what is left of
    /// the block that the app is in is a block for the tool, and is entered.
    fn renew(&mut self, enters: bool);

    /// From now on this process neither runs nor makes translations of those that it shares with others. For a copy of a process that goes on with its end, which is in the others' list once: for
    /// what that one looks for. To be called where the app's state is complete.
    fn leave_shared(&mut self) {}

    /// From now on the app can see its state at a fault (it handles such signals): flags and registers that are about to be
    /// overwritten are exact there too. Costs speed.
    fn expect_faults(&mut self);

    /// Whether translations can be for several threads, each with what is its own in a window ([`bubble::map::WINDOWS`]).
    fn may_have_windows(&mut self) -> bool {
        false
    }

    /// They are to be from now on: what was translated is dropped. Only where they can.
    fn take_windows(&mut self) {}

    /// Whether the app's code is to return to a routine of the tool's that has called it: then it can't go on natively.
    fn returns_to_tool(&self) -> bool {
        false
    }

    /// To be called from [`Host::end_reached`] when it was not the end: the 64-bit word at `address`, which will stay
    /// mapped until the end, must be `value` there. It tells states apart that agree in all registers.
    fn require_word(&mut self, address: u64, value: u64);

    /// Likewise of a quadword of the vector registers xmm0 to xmm15, two for each, the lower one first.
    fn require_vector(&mut self, quadword: u8, value: u64);
}

/// For whom the engine runs. Every method gets the complete app state and may change it.
pub trait Host: Instrument {
    /// Takes the words that were written into the buffer since it was last asked, see [`crate::stream`].
    fn drain(&mut self, _words: &[u64]) {}

    /// A tool is checked, and this is a place where a slice could end: before the block at this pc.
    fn cut(&mut self, _pc: u64) {}

    /// The app executes a `syscall` instruction; `rip` is the address after it, rax the number.
    fn syscall(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow;

    /// The app executes a nondeterministic instruction; `rip` is the address after it.
    fn nondeterministic(&mut self, what: Nondeterministic, cpu: &mut Cpu, control: &mut dyn Control) -> Flow;

    /// The armed place may have been reached: `rip` and the quick registers match. `Continue` means it was not the state that is looked for; then nothing may
    /// change.
    fn end_reached(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow;

    /// It was: the block at hand is left, as before a signal. What takes place there is done now, and the app goes on from the state that is then in `cpu`.
    fn arrived(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let _ = (cpu, control);
        Flow::Leave
    }

    /// The instruction at `rip` faulted; nothing of it has taken effect.
    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, control: &mut dyn Control) -> Flow;

    /// The app is about to execute an instruction that the engine can't run; `reason` names it and its address.
    fn unsupported(&mut self, reason: &str, cpu: &mut Cpu, control: &mut dyn Control) -> Flow;

    /// A call that asks ([`translator::trace::AnalysisCall::asking`]) was made before the instruction at `rip`, of which nothing has begun.
    fn asked(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let _ = (cpu, control);
        Flow::Continue
    }

    /// Translated code is about to run, which others may do at the same time: what the calling thread has for itself while it is in the runtime is given up.
    fn enters_cache(&mut self) {}

    /// Translated code was left, and what is counted of it is the tool's. What was given up is to be had again when this returns.
    fn leaves_cache(&mut self) {}

    /// Whether another thread waits until the calling one is out of the cache, and refers to nothing there.
    fn is_awaited(&self) -> bool {
        false
    }

    /// It is, until the one that waits for that has done what it wants. Returns at once if nobody does.
    fn stands_still(&mut self) {}

    /// Returns when all other threads are out of the cache, and refer to nothing there. They stay so until [`Self::lets_go`].
    fn stop_others(&mut self) {}

    /// See [`Self::stop_others`].
    fn lets_go(&mut self) {}

    /// Asked after [`crate::interrupt`] at the next point where the app's state is complete.
    fn interrupted(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow;
}
