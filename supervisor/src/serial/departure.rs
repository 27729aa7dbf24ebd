//! An app that runs serially goes on natively for good, with nothing of ours in it: see [`bubble::departure`].
//!
//! Each of its threads comes by itself to a place where its state is the app's, and stops there by a trap. One that waits in a call of the app's is
//! moved out of it: the call was broken off by an interrupt, which natively makes it again, and so it is made again. Interrupts are sent again and again
//! until all threads are there, since a thread may be about to enter a call.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bubble::departure::{Departure, MARK, Places, SIGNAL};
use machine::{Gpr, Memory, Status};
use syscall_replay::{is_restart, restarted_by};
use tracee::{Remote, Running, Stop, Stopped, TraceError, UserRegisters};

use crate::app::{Borrowed, gadget_of, give_back_first, unmap_bubble};
use crate::base::{Failure, Moment};
use crate::run_memory::ClaimedSlot;

/// How long threads have to come by themselves before they are interrupted again.
pub const AGAIN: Duration = Duration::from_millis(5);

/// Whether the app goes on without us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parting {
    /// No.
    #[default]
    Not,
    /// Somebody has asked for it.
    Asked,
    /// It does, since the tool looks at nothing any more.
    BehindRegion,
    /// It does, as somebody has asked for.
    Done,
}

/// Threads on their way out of the image.
#[derive(Default)]
pub struct Departed {
    /// Those that have left it, and stand still.
    threads: BTreeMap<i32, Stopped>,
    /// Those that were moved out of a call. They are on their way; an interrupt would take from the kernel what it knows of the call.
    moved: BTreeSet<i32>,
    /// When all others were interrupted last.
    interrupted: Option<Moment>,
}

impl Departed {
    /// Takes a thread that has stopped because it has left, or gives it back.
    ///
    /// # Errors
    /// If it was killed.
    pub fn take(&mut self, stopped: Stopped, stop: &Stop, slot: &ClaimedSlot) -> Result<Option<Stopped>, TraceError> {
        let is_trap = matches!(stop, Stop::Signal(info) if info.si_signo == libc::SIGTRAP);
        let Some(places) = slot.places().filter(|_| is_trap) else { return Ok(Some(stopped)) };
        if stopped.registers()?.rip() != places.trap.load(Relaxed) {
            return Ok(Some(stopped));
        }
        self.threads.insert(stopped.pid(), stopped);
        Ok(None)
    }

    /// Whether a thread is among them.
    pub fn has(&self, tid: i32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// Forgets one that has been killed.
    pub fn forget(&mut self, tid: i32) {
        self.threads.remove(&tid);
    }

    /// Whether all threads have left: none of these is left behind but in name.
    pub fn are_all<'a>(&self, others: impl Iterator<Item = &'a Running>) -> bool {
        !self.threads.is_empty() && others.into_iter().all(|other| has_ended(other.pid()))
    }

    /// How long until all that are left are to be interrupted; `None`: now. Each interrupt is an event after which this is asked again.
    pub fn wait_for(&mut self) -> Option<Duration> {
        let left = self.interrupted.and_then(|since| AGAIN.checked_sub(since.elapsed())).filter(|left| !left.is_zero());
        if left.is_none() {
            self.interrupted = Some(Moment::now());
        }
        left
    }

    /// Interrupts a thread that is to leave, unless it is on its way.
    pub fn interrupt(&self, thread: &Running) {
        if !self.moved.contains(&thread.pid()) {
            // An error means that it has ended.
            drop(thread.interrupt());
        }
    }

    /// A thread that is to leave has been interrupted. One that is about to make a call of the app's, or waits in one, is moved out of it.
    ///
    /// # Errors
    /// If it was killed.
    pub fn interrupted(&mut self, stopped: &mut Stopped, pid: i32, slot: &ClaimedSlot) -> Result<(), TraceError> {
        let Some(places) = slot.places().filter(|_| !self.moved.contains(&stopped.pid())) else { return Ok(()) };
        let mut registers = stopped.registers()?;
        if registers.rip() == places.trap.load(Relaxed) {
            // Its trap comes next. A signal would come after that, and be the app's.
            return Ok(());
        }
        if out_of_call(&mut registers, places) {
            self.moved.insert(stopped.pid());
            return stopped.set_registers(&registers);
        }
        ask(pid, stopped.pid());
        Ok(())
    }

    /// They go on natively, traced by nobody. `borrowed`: what was to be given back.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn part(&mut self, borrowed: Option<&mut Borrowed>) -> Result<(), Failure> {
        let mut threads: Vec<Stopped> = std::mem::take(&mut self.threads).into_values().collect();
        let departures = threads.iter().map(departure).collect::<Result<Vec<_>, _>>()?;
        for (number, (thread, (at, departure))) in threads.iter_mut().zip(&departures).enumerate() {
            give_back(thread, *at, departure, number == 0)?;
        }
        if let Some(thread) = threads.first_mut() {
            if let Some(borrowed) = borrowed {
                let gadget = gadget_of(thread)?;
                borrowed.give_back(thread, gadget)?;
            }
            let gadget = gadget_of(thread)?;
            unmap_bubble(thread, gadget)?;
            give_back_first(thread.pid());
        }
        for (mut thread, (_, departure)) in threads.into_iter().zip(departures) {
            let mut registers = thread.registers()?;
            registers.set_app(&departure.registers);
            registers.set_syscall_number(-1);
            thread.set_registers(&registers)?;
            thread.set_signal_mask(departure.mask)?;
            thread.detach(0)?;
        }
        Ok(())
    }
}

/// What a thread has left in its memory, and where.
fn departure(thread: &Stopped) -> Result<(u64, Box<Departure>), Failure> {
    let at = thread.registers()?.get(Gpr::Rdi);
    let mut bytes = [0; size_of::<Departure>()];
    thread.read(at, &mut bytes).map_err(|source| TraceError::Memory { pid: thread.pid(), source })?;
    // SAFETY: it consists of integers.
    Ok((at, Box::new(unsafe { bytes.as_ptr().cast::<Departure>().read_unaligned() })))
}

/// Makes what the kernel knows of a thread the app's. `is_first`: and of its process.
fn give_back(thread: &mut Stopped, at: u64, departure: &Departure, is_first: bool) -> Result<(), Failure> {
    let tid = thread.pid();
    let gadget = gadget_of(thread)?;
    let mut remote = Remote::new(thread, gadget)?;
    let stack = at + offset_of!(Departure, altstack) as u64;
    remote.call(libc::SYS_sigaltstack, [stack, 0, 0, 0, 0, 0])?;
    for signal in (1..=64).filter(|signal| is_first && departure.differing >> (signal - 1) & 1 != 0) {
        let action = at + offset_of!(Departure, actions) as u64 + signal * size_of::<[u64; 4]>() as u64;
        remote.expect("set its handlers", libc::SYS_rt_sigaction, [signal, action, 0, 8, 0, 0])?;
    }
    if departure.held != 0 {
        let info = at + offset_of!(Departure, held_info) as u64;
        let process = remote.call(libc::SYS_getpid, [0; 6])? as u64;
        let thread = remote.call(libc::SYS_gettid, [0; 6]).map_or(tid as u64, |tid| tid as u64);
        remote.call(libc::SYS_rt_tgsigqueueinfo, [process, thread, departure.held, info, 0, 0])?;
    }
    Ok(())
}

/// Whether the thread was in a call. Then its registers are those behind it, unmade.
fn out_of_call(registers: &mut UserRegisters, places: &Places) -> bool {
    let [window, done, abort, restarts] =
        [&places.window, &places.done, &places.abort, &places.restarts].map(|place| place.load(Relaxed));
    let (rip, rax) = (registers.rip(), registers.get(Gpr::Rax));
    if rip == done && registers.syscall_number() >= 0 && is_restart(rax) {
        let number = registers.syscall_number() as u64;
        registers.set(Gpr::Rax, restarted_by(rax, number));
        registers.set_syscall_number(-1);
        registers.set_rip(restarts);
        return true;
    }
    if !(window..done).contains(&rip) {
        return false;
    }
    registers.set_rip(if registers.get(Gpr::Rcx) == done { restarts } else { abort });
    true
}

/// Interrupts translated code.
fn ask(pid: i32, tid: i32) {
    let mut info = [0_u64; 16];
    // Number, error and code are halves of words; the code says that the value in the fourth word is the sender's.
    info[0] = SIGNAL as u64;
    info[1] = u64::from(libc::SI_QUEUE as u32);
    info[3] = MARK;
    // SAFETY: the information is valid. An error means that the thread has ended.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, SIGNAL, info.as_ptr()) };
}

/// Whether a thread is there in name only: the first one of a process, whose others live on.
fn has_ended(tid: i32) -> bool {
    Status::of(tid).map_or(true, |status| status.field("State").is_some_and(|state| state.starts_with(['Z', 'X'])))
}
