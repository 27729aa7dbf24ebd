//! The app's signal dispositions, mask and alternate stack: virtual, since the real ones serve the engine.
//!
//! * A disposition that calls a handler, or that ends the process, has the engine's handler for real: so the app's
//!   handler runs translated, and a fatal signal finds time to hand in the result. What ignores or stops is real.
//! * Flags by which the kernel acts itself (SA_RESTART, SA_NOCLDWAIT, SA_NOCLDSTOP) are real too.
//! * The mask is real except for the fault signals.

use machine::Memory;

use super::action::{Action, Consequence, DEFAULT, IGNORE, SA_ONSTACK, SA_RESETHAND, UNBLOCKABLE, set_real_action};
use super::alt_stack::AltStack;
use super::arrivals::{Arrivals, Hook, NOBODYS};
use super::sets::{FAULTS, bit};
use super::throttle::{self, Throttle};
use crate::ports::raw_syscall;
use crate::serial::calls::interruptible;

/// SA_NOCLDSTOP, SA_NOCLDWAIT and SA_RESTART.
const REAL_FLAGS: u64 = 0x1000_0003;
const SS_AUTODISARM: u32 = 1 << 31;
const MIN_ALTSTACK: u64 = 2048;
/// Default actions that don't end the process.
const DEFAULT_IGNORED: u64 = bit(libc::SIGCHLD) | bit(libc::SIGCONT) | bit(libc::SIGURG) | bit(libc::SIGWINCH);
const DEFAULT_STOPS: u64 = bit(libc::SIGSTOP) | bit(libc::SIGTSTP) | bit(libc::SIGTTIN) | bit(libc::SIGTTOU);
/// Default actions that end it with a core dump.
const DEFAULT_DUMPS: u64 =
    FAULTS | bit(libc::SIGQUIT) | bit(libc::SIGABRT) | bit(libc::SIGSYS) | bit(libc::SIGXCPU) | bit(libc::SIGXFSZ);

const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

/// An error number as a system call returns it.
const fn error(number: i32) -> u64 {
    -(number as i64) as u64
}

const EINVAL: u64 = error(libc::EINVAL);
const EFAULT: u64 = error(libc::EFAULT);

/// What each thread has of its own.
#[derive(Debug)]
pub struct OfThread {
    pub mask: u64,
    pub altstack: AltStack,
    pub arrivals: &'static Arrivals,
}

/// The app's signal state: of the process, and of the thread whose turn it is.
pub struct Signals {
    actions: [Action; 65],
    mask: u64,
    pub altstack: AltStack,
    /// What has arrived for that thread.
    pub arrivals: &'static Arrivals,
    pub throttle: Throttle,
    /// A fault signal that somebody had sent before the process was taken over, which blocks it.
    waited: Option<(i32, libc::siginfo_t)>,
}

impl Signals {
    /// The dispositions and the alternate stack that the process has now, and the app's mask. To be called before the engine
    /// has its own: a program that was just loaded has no handlers, but a copy of another process has.
    pub fn inherited(mask: u64) -> Self {
        let mut actions = [Action::default(); 65];
        for signal in SIGNALS {
            let action = &mut actions[signal as usize];
            let args = [signal as u64, 0, (&raw mut *action) as u64, 8, 0, 0];
            raw_syscall(libc::SYS_rt_sigaction as u64, args);
        }
        let mut altstack = [0; 3];
        raw_syscall(libc::SYS_sigaltstack as u64, [0, altstack.as_mut_ptr() as u64, 0, 0, 0, 0]);
        Self {
            actions,
            mask,
            altstack: AltStack::from_words(altstack),
            arrivals: &NOBODYS,
            throttle: Throttle::default(),
            waited: take_waiting_fault(),
        }
    }

    /// Goes on for another thread, whose part is in `other`; gives that of the last one for it.
    pub fn exchange(&mut self, other: &mut OfThread) {
        std::mem::swap(&mut self.mask, &mut other.mask);
        std::mem::swap(&mut self.altstack, &mut other.altstack);
        std::mem::swap(&mut self.arrivals, &mut other.arrivals);
    }

    /// Whether the app handles a signal that instructions raise.
    pub fn handles_faults(&self) -> bool {
        SIGNALS.into_iter().any(|signal| FAULTS & bit(signal) != 0 && self.actions[signal as usize].handler > IGNORE)
    }

    /// Puts the real dispositions and the real mask into effect. From now on signals arrive, by the hook, for the first thread to begin with.
    pub fn start(&mut self, arrivals: &'static Arrivals, hook: Hook) {
        self.arrivals = arrivals;
        engine::on_signal(hook);
        for signal in SIGNALS {
            self.install(signal);
        }
        if let Some((signal, info)) = self.waited.take() {
            self.arrivals.hold(signal, &info);
        }
        self.set_mask(self.mask);
    }

    /// Blocked signals.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Blocks exactly these. While a signal waits for the app everything stays blocked for real; its delivery will
    /// come here again.
    pub fn set_mask(&mut self, mask: u64) {
        self.mask = mask & !UNBLOCKABLE;
        self.arrivals.set_blocked(self.mask);
        throttle::end();
        let real = self.mask & !FAULTS;
        let args = [libc::SIG_SETMASK as u64, &raw const real as u64, 0, 8, 0, 0];
        // Not made if a signal has arrived: a second one would take the place of the first.
        let _ = interruptible(libc::SYS_rt_sigprocmask as u64, args, self.arrivals.flag());
    }

    /// A handler returns to code that blocks exactly these. Others stay blocked for a while where they would keep it from getting on.
    pub fn return_to(&mut self, mask: u64, may_throttle: bool) {
        if !(may_throttle && self.throttle.begins(mask)) {
            return self.set_mask(mask);
        }
        self.mask = mask & !UNBLOCKABLE;
        self.arrivals.set_blocked(self.mask);
        set_real_mask(!FAULTS);
        throttle::begin(self.mask & !FAULTS);
    }

    /// What a signal that arrived leads to; a handler that is to be called once only is forgotten.
    pub fn consequence(&mut self, signal: i32) -> Consequence {
        let action = self.actions[signal as usize];
        if !self.handles(signal) {
            return if self.kills(signal) { Consequence::Death } else { Consequence::Nothing };
        }
        if action.flags & SA_RESETHAND != 0 {
            self.actions[signal as usize].handler = DEFAULT;
            self.install(signal);
        }
        Consequence::Handler(action)
    }

    /// Whether the app has a handler for a signal.
    pub fn handles(&self, signal: i32) -> bool {
        ![IGNORE, DEFAULT].contains(&self.actions[signal as usize].handler)
    }

    /// Whether a signal that arrives ends the app.
    pub fn kills(&self, signal: i32) -> bool {
        let is_deadly = (DEFAULT_IGNORED | DEFAULT_STOPS) & bit(signal) == 0;
        self.actions[signal as usize].handler == DEFAULT && is_deadly
    }

    /// Whether a signal with that number ends all threads while it is sent, if it isn't blocked. One that dumps core does so when a thread takes it.
    pub fn ends_at_once(&self, signal: i32) -> bool {
        SIGNALS.contains(&signal)
            && self.actions[signal as usize].handler == DEFAULT
            && (DEFAULT_IGNORED | DEFAULT_STOPS | DEFAULT_DUMPS) & bit(signal) == 0
    }

    /// Whether a fault with this signal kills: it is blocked, ignored or has no handler.
    pub fn fault_kills(&self, signal: i32) -> bool {
        self.mask & bit(signal) != 0 || self.actions[signal as usize].handler <= IGNORE
    }

    /// `rt_sigaction`.
    pub fn sigaction(&mut self, args: [u64; 6], memory: &mut dyn Memory) -> u64 {
        let [signal, new, old, set_size, ..] = args;
        let signal = signal as i32;
        if set_size != 8 {
            return EINVAL;
        }
        let mut bytes = [0; 32];
        if new != 0 && memory.read(new, &mut bytes).is_err() {
            return EFAULT;
        }
        if !SIGNALS.contains(&signal) || new != 0 && UNBLOCKABLE & bit(signal) != 0 {
            return EINVAL;
        }
        let before = self.actions[signal as usize];
        if new != 0 {
            self.actions[signal as usize] = Action::from_bytes(&bytes);
            self.install(signal);
        }
        if old != 0 && memory.write(old, &before.to_bytes()).is_err() {
            return EFAULT;
        }
        0
    }

    /// `rt_sigprocmask`.
    pub fn sigprocmask(&mut self, args: [u64; 6], memory: &mut dyn Memory) -> u64 {
        let [how, new, old, set_size, ..] = args;
        if set_size != 8 {
            return EINVAL;
        }
        let before = self.mask;
        if new != 0 {
            let Ok(set) = memory.read_u64(new) else { return EFAULT };
            match how as i32 {
                libc::SIG_BLOCK => self.set_mask(before | set),
                libc::SIG_UNBLOCK => self.set_mask(before & !set),
                libc::SIG_SETMASK => self.set_mask(set),
                _ => return EINVAL,
            }
        }
        if old != 0 && memory.write(old, &before.to_le_bytes()).is_err() {
            return EFAULT;
        }
        0
    }

    /// `sigaltstack`, called with this stack pointer.
    pub fn sigaltstack(&mut self, args: [u64; 6], rsp: u64, memory: &mut dyn Memory) -> u64 {
        let [new, old, ..] = args;
        let mut bytes = [0; 24];
        if new != 0 && memory.read(new, &mut bytes).is_err() {
            return EFAULT;
        }
        let before = self.reported_altstack(rsp);
        if new != 0
            && let Err(error) = self.set_altstack(AltStack::from_words(words(&bytes)), rsp)
        {
            return error;
        }
        let before: Vec<u8> = before.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        if old != 0 && memory.write(old, &before).is_err() {
            return EFAULT;
        }
        0
    }

    /// Sets the alternate stack as `sigaltstack` would.
    pub fn set_altstack(&mut self, new: AltStack, rsp: u64) -> Result<(), u64> {
        let mode = (new.flags & !SS_AUTODISARM) as i32;
        if self.is_on_altstack(rsp) {
            return Err(error(libc::EPERM));
        }
        if mode != libc::SS_DISABLE && mode != libc::SS_ONSTACK && mode != 0 {
            return Err(EINVAL);
        }
        if mode == libc::SS_DISABLE {
            self.altstack = AltStack { flags: new.flags, ..AltStack::NONE };
        } else if new.size < MIN_ALTSTACK {
            return Err(error(libc::ENOMEM));
        } else {
            self.altstack = new;
        }
        Ok(())
    }

    /// The end of the alternate stack, if a handler with these flags that interrupts this stack pointer runs there.
    pub fn alternate_for(&self, flags: u64, rsp: u64) -> Option<u64> {
        let enabled = self.altstack.size != 0;
        (flags & SA_ONSTACK != 0 && enabled && !self.is_on_altstack(rsp))
            .then_some(self.altstack.start + self.altstack.size)
    }

    /// The alternate stack as a frame keeps it; one with SS_AUTODISARM is off while the handler runs.
    pub fn keep_altstack(&mut self) -> AltStack {
        let kept = self.altstack;
        if kept.flags & SS_AUTODISARM != 0 {
            self.altstack = AltStack::NONE;
        }
        kept
    }

    /// Signal and disposition for each signal whose real disposition isn't the app's.
    pub fn differing(&self) -> impl Iterator<Item = (i32, Action)> {
        let differs = |signal: i32| {
            // What is ignored has its flags, too, as whoever asks is told.
            let has_others = self.actions[signal as usize].flags & !REAL_FLAGS != 0;
            self.is_taken(signal) || has_others && UNBLOCKABLE & bit(signal) == 0
        };
        SIGNALS.filter(move |signal| differs(*signal)).map(|signal| (signal, self.actions[signal as usize]))
    }

    fn is_on_altstack(&self, rsp: u64) -> bool {
        self.altstack.flags & SS_AUTODISARM == 0 && self.altstack.holds(rsp)
    }

    fn reported_altstack(&self, rsp: u64) -> AltStack {
        let mode = if self.altstack.size == 0 {
            libc::SS_DISABLE
        } else if self.is_on_altstack(rsp) {
            libc::SS_ONSTACK
        } else {
            0
        };
        AltStack { flags: mode as u32 | self.altstack.flags & SS_AUTODISARM, ..self.altstack }
    }

    /// Whether the engine's handler stands for the app's disposition.
    fn is_taken(&self, signal: i32) -> bool {
        let harmless = DEFAULT_IGNORED | DEFAULT_STOPS | UNBLOCKABLE;
        FAULTS & bit(signal) != 0
            || match self.actions[signal as usize].handler {
                IGNORE => false,
                DEFAULT => harmless & bit(signal) == 0,
                _ => true,
            }
    }

    /// Makes the real disposition fit the app's.
    fn install(&self, signal: i32) {
        if (FAULTS | UNBLOCKABLE) & bit(signal) != 0 {
            return;
        }
        let action = self.actions[signal as usize];
        if self.is_taken(signal) && engine::install_signal(signal, (action.flags & REAL_FLAGS) as i32).is_ok() {
            return;
        }
        set_real_action(signal, &Action { flags: action.flags & REAL_FLAGS, ..action });
    }
}

fn words(bytes: &[u8; 24]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")))
}

/// Takes a fault signal from the kernel that waits because it is blocked: it won't be, for real.
fn take_waiting_fault() -> Option<(i32, libc::siginfo_t)> {
    // SAFETY: the structure is plain data, for which zero is a value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let (set, at_once) = (FAULTS, [0_u64; 2]);
    let args = [&raw const set as u64, &raw mut info as u64, at_once.as_ptr() as u64, 8, 0, 0];
    let signal = raw_syscall(libc::SYS_rt_sigtimedwait as u64, args) as i64;
    (signal > 0).then_some((signal as i32, info))
}

/// Sets the mask that the kernel goes by, whatever waits.
pub fn set_real_mask(mask: u64) {
    throttle::end();
    raw_syscall(libc::SYS_rt_sigprocmask as u64, [libc::SIG_SETMASK as u64, &raw const mask as u64, 0, 8, 0, 0]);
}

#[cfg(test)]
mod tests;
