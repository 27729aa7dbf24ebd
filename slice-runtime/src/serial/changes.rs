//! What a tool changes of the app's system calls and signals.

use std::sync::atomic::Ordering;

use engine::{Control, Fault, StateMut, write_app};
use machine::{Here, Memory, SignalOrigin};
use translator::abi::Cpu;

use super::host::{SYSCALL_LEN, SerialHost};
use crate::ports::{CallChange, SignalArrival};
use crate::serial::calls::{AppCall, ChangedCall};
use crate::serial::signals::Arrived;

/// What became of a call.
pub(super) enum Changed {
    /// A signal has come first.
    NotEntered,
    /// This one is made.
    Made(AppCall),
    /// The app gets this result, and no call is made.
    Instead(u64),
}

/// What the app gets of a signal that its instruction has raised.
pub(super) enum ChangedFault {
    /// That signal.
    Itself,
    /// Nothing.
    Nothing,
    /// Another one, as if it had been sent.
    Another(Arrived),
}

impl SerialHost {
    /// The app is about to make a call, which the tool may change. It is asked once about a call that is begun again after a signal.
    pub(super) fn change_call(&mut self, app: AppCall, cpu: &Cpu, control: &mut dyn Control) -> Changed {
        let pc = cpu.registers.rip.wrapping_sub(SYSCALL_LEN);
        let is_open = |open: &ChangedCall| open.pc == pc && (open.app.number, open.app.args) == (app.number, app.args);
        let open = match self.changed.open.filter(is_open) {
            Some(open) => open,
            None => {
                if self.signals.arrivals.flag().load(Ordering::Acquire) != 0 {
                    return Changed::NotEntered;
                }
                let mut write = |address: u64, bytes: &[u8]| write_app(control, address, bytes);
                let (number, args) = (app.number, app.args);
                let mut call = CallChange { number, args, pc, is_made: false, result: None, write: &mut write };
                self.tool.change_call(&mut call);
                let (made, instead) = (AppCall { number: call.number, args: call.args }, call.result);
                *self.changed.open.insert(ChangedCall { pc, app, made, instead })
            }
        };
        match open.instead {
            Some(result) => {
                self.changed.forget();
                Changed::Instead(result)
            }
            None => Changed::Made(open.made),
        }
    }

    /// A call was made: what the app gets.
    pub(super) fn change_result(&mut self, result: u64, write: &mut dyn FnMut(u64, &[u8]) -> usize) -> u64 {
        let Some(ChangedCall { pc, made, .. }) = self.changed.open.take() else { return result };
        let AppCall { number, args } = made;
        let mut call = CallChange { number, args, pc, is_made: true, result: Some(result), write };
        self.tool.change_call(&mut call);
        call.result.unwrap_or(result)
    }

    /// The same where nothing of the app's that was translated lies in what it may write.
    pub(super) fn change_result_at_once(&mut self, result: u64) -> u64 {
        self.change_result(result, &mut |address, bytes| Here::new().write(address, bytes).map_or(0, |()| bytes.len()))
    }

    /// A signal has arrived for the app: what it gets, if anything.
    pub(super) fn change_signal(
        &mut self,
        mut arrived: Arrived,
        cpu: &mut Cpu,
        control: &mut dyn Control,
    ) -> Option<Arrived> {
        let signal = self.changed_signal(arrived.signal, &arrived.info, false, cpu, control)?;
        arrived.signal = signal;
        arrived.info.si_signo = signal;
        Some(arrived)
    }

    /// An instruction of the app's has raised a signal: what it gets.
    pub(super) fn change_fault(&mut self, fault: &Fault, cpu: &mut Cpu, control: &mut dyn Control) -> ChangedFault {
        match self.changed_signal(fault.signal, &fault.info, true, cpu, control) {
            None => ChangedFault::Nothing,
            Some(signal) if signal == fault.signal => ChangedFault::Itself,
            Some(signal) => {
                let mut info = fault.info;
                info.si_signo = signal;
                ChangedFault::Another(Arrived { signal, info })
            }
        }
    }

    fn changed_signal(
        &mut self,
        signal: i32,
        info: &libc::siginfo_t,
        is_fault: bool,
        cpu: &mut Cpu,
        control: &mut dyn Control,
    ) -> Option<i32> {
        if !self.tool.changes_signals() {
            return Some(signal);
        }
        let mut write = |address: u64, bytes: &[u8]| write_app(control, address, bytes);
        let mut state = StateMut::new(cpu, None, &mut write);
        let origin = SignalOrigin::of(info);
        let mut arrival = SignalArrival { signal, origin, is_fault, is_wanted: true, state: &mut state };
        self.tool.change_signal(&mut arrival);
        let (signal, is_wanted, goes_to) = (arrival.signal, arrival.is_wanted, arrival.state.goes_to());
        if let Some(to) = goes_to {
            cpu.registers.rip = to.0;
        }
        is_wanted.then_some(signal)
    }
}
