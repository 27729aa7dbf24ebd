//! Signals of the master: which end a slice, and which only look like signals.

use bubble::shared::SharedContents;
use syscall_replay::is_restart;
use tracee::{Stop, Stopped, is_breakpoint};

use super::interrupts::point;
use super::master::Master;
use crate::app::{Delivery, Dispositions, delivery, is_synchronous};
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{
    Cut, CutPoint, Next, TRAP_FLAG, Then, call_end, cut_here, entry_registers, traps_itself,
};
use crate::sliced::instructions::{BEHIND_STRING, clock, random, vsyscall};
use crate::sliced::slices::Recording;

impl Master {
    pub(in crate::sliced) fn signal(
        &mut self,
        mut stopped: Stopped,
        info: libc::siginfo_t,
        slice: &mut Recording,
    ) -> Result<Next, Failure> {
        if is_breakpoint(&info) {
            return match self.awaits_breakpoint && stopped.has_hit(BEHIND_STRING)? {
                true => self.behind_string(stopped, slice),
                false => self.random_result(stopped, slice),
            };
        }
        if self.random.traps.has_hit(&mut stopped, &info)? {
            return self.random_result(stopped, slice);
        }
        if info.si_signo == libc::SIGTRAP && info.si_code == libc::TRAP_TRACE && traps_itself(&stopped)? {
            return Ok(Next::GiveUp(stopped, Stop::Signal(info), Failure::Unsupported(TRAP_FLAG.to_owned())));
        }
        if let Some(next) = self.clock_reading(&mut stopped, &info, slice)? {
            return match next {
                ClockReading::Recorded => Ok(Next::Resume(stopped, 0)),
                // The instruction will be executed, and trap, again: as the first of the next slice.
                ClockReading::NoRoom(why) => cut_here(stopped, why, Then::Fork),
            };
        }
        let signal = info.si_signo;
        let what = delivery(signal, self.dispositions()?);
        if what == Delivery::Pass {
            return Ok(Next::Resume(stopped, signal));
        }
        if self.must_wait(&mut stopped, &info)? {
            return Ok(Next::Resume(stopped, 0));
        }
        if what == Delivery::Handler && self.is_behind_recorded_call(&stopped, &info, slice)? {
            return self.deliver_behind_call(stopped, signal, slice);
        }
        self.boundary(stopped, &info, what, slice)
    }

    /// What it has set for its signals at the moment. Signals are rare enough to read it each time.
    fn dispositions(&self) -> Result<Dispositions, Failure> {
        let unknown = || Failure::Unsupported("/proc/PID/status doesn't tell the app's signal handlers".into());
        self.hold.status().dispositions().ok_or_else(unknown)
    }

    /// The repeated string instruction is behind us: what was waiting for that takes place now.
    fn behind_string(&mut self, mut stopped: Stopped, slice: &mut Recording) -> Result<Next, Failure> {
        stopped.clear_breakpoint(BEHIND_STRING)?;
        self.awaits_breakpoint = false;
        match self.put_off.take() {
            Some(info) => {
                stopped.set_signal_info(&info)?;
                let what = delivery(info.si_signo, self.dispositions()?);
                self.boundary(stopped, &info, what, slice)
            }
            None if self.is_due => cut_here(stopped, Boundary::Timeout, Then::Fork),
            None => Ok(Next::Resume(stopped, 0)),
        }
    }

    /// The master is about to execute an instruction like `rdrand`, perhaps.
    fn random_result(&mut self, mut stopped: Stopped, slice: &mut Recording) -> Result<Next, Failure> {
        let before = stopped.registers()?;
        self.random.traps.lift(&mut stopped);
        if vsyscall::stands_before_call(&stopped)? {
            return self.call_of_page(stopped, slice);
        }
        let (mut stopped, record) = random::execute(stopped)?;
        self.random.traps.set(&mut stopped);
        let Some(record) = record else { return Ok(Next::Resume(stopped, 0)) };
        self.last_recorded = None;
        if slice.log(|log| log.random(record)).is_ok() {
            return Ok(Next::Resume(stopped, 0));
        }
        stopped.set_registers(&before)?;
        allow_breakpoint_again(&mut stopped)?;
        cut_here(stopped, Boundary::Log, Then::Fork)
    }

    fn clock_reading(
        &mut self,
        stopped: &mut Stopped,
        info: &libc::siginfo_t,
        slice: &mut Recording,
    ) -> Result<Option<ClockReading>, Failure> {
        let amount = slice.amount();
        let before = stopped.registers()?;
        let Some((instruction, record)) = clock::read(stopped, info, self.clock_wish, &self.in_process.counter)? else {
            return Ok(None);
        };
        self.last_recorded = None;
        self.in_process.was_read(instruction, record.pc);
        let is_enough = amount.is_enough_for_readings(self.call_limit);
        if !is_enough && slice.log(|log| log.volatile(record)).is_ok() {
            return Ok(Some(ClockReading::Recorded));
        }
        stopped.set_registers(&before)?;
        Ok(Some(ClockReading::NoRoom(if is_enough { Boundary::Records } else { Boundary::Log })))
    }

    /// A signal that came in the middle of a repeated string instruction is put off to its end, unless the instruction itself
    /// raised it.
    fn must_wait(&mut self, stopped: &mut Stopped, info: &libc::siginfo_t) -> Result<bool, Failure> {
        if is_synchronous(info.si_signo, info.si_code) {
            if self.awaits_breakpoint {
                stopped.clear_breakpoint(BEHIND_STRING)?;
                self.awaits_breakpoint = false;
                self.send_again();
            }
            return Ok(false);
        }
        if self.interrupted.is_some() {
            return Ok(false);
        }
        let CutPoint::At(address) = point(stopped)? else { return Ok(false) };
        self.send_again();
        self.put_off = Some(*info);
        if !self.awaits_breakpoint {
            stopped.set_breakpoint(BEHIND_STRING, address)?;
            self.awaits_breakpoint = true;
        }
        Ok(true)
    }

    /// Sends the signal that was put off once more: another has come first.
    fn send_again(&mut self) {
        if let Some(info) = self.put_off.take() {
            self.passing.send(&info);
        }
    }

    /// The slice ends where the signal is delivered: at the call that it interrupted, or before the instruction at hand.
    fn boundary(
        &mut self,
        stopped: Stopped,
        info: &libc::siginfo_t,
        what: Delivery,
        slice: &mut Recording,
    ) -> Result<Next, Failure> {
        let signal = info.si_signo;
        // A trap, unlike a fault, comes after its instruction.
        let by_instruction = is_synchronous(signal, info.si_code) && signal != libc::SIGTRAP;
        let (kind, then) = match what {
            Delivery::Pass => return Ok(Next::Resume(stopped, signal)),
            Delivery::Handler => {
                if !is_synchronous(signal, info.si_code) {
                    self.hold.expect();
                }
                (Boundary::Signal, Then::Handler(signal))
            }
            Delivery::Death => (Boundary::Exit, Then::Death { signal, by_instruction }),
        };
        let registers = stopped.registers()?;
        match self.interrupted.take() {
            Some(number) if self.is_rewound || is_restart(registers.get(machine::Gpr::Rax)) => {
                let mut entry = entry_registers(&registers, number);
                if std::mem::take(&mut self.is_rewound) {
                    entry.rip += SYSCALL_BYTES;
                }
                let end = Some(call_end(&entry, SharedContents::default()));
                return Ok(Next::Cut(stopped, Cut { kind, end, then }));
            }
            _ => {}
        }
        match self.end_at_last_call(&stopped, slice)? {
            Some(end) => Ok(Next::Cut(stopped, Cut { kind, end: Some(end), then })),
            None => cut_here(stopped, kind, then),
        }
    }
}

/// The instruction at hand will be executed, or executed again, as the first of the next slice: there the breakpoint must stop it again.
pub(in crate::sliced) fn allow_breakpoint_again(stopped: &mut Stopped) -> Result<(), Failure> {
    let mut registers = stopped.registers()?;
    let mut again = registers.app();
    again.rflags &= !machine::flags::RF;
    registers.set_app(&again);
    Ok(stopped.set_registers(&registers)?)
}

/// Length of the `syscall` instruction.
const SYSCALL_BYTES: u64 = 2;

enum ClockReading {
    Recorded,
    NoRoom(Boundary),
}
