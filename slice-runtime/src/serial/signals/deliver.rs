//! From a signal that arrived, or a fault of the app, to the app's handler, and back by `rt_sigreturn`.

use engine::Control;
use machine::{Here, Memory, SignalOrigin};
use translator::abi::Cpu;

use super::action::{Action, Consequence, SA_NODEFER, SA_RESTORER};
use super::actions::Signals;
use super::arrivals::Arrived;
use super::frame::{self, Delivery};
use super::sets::bit;
use super::xstate_area::at_handler;
use crate::ports::grow_stack;

/// The app is to end by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// Which.
    pub signal: i32,
    /// Where it came from.
    pub origin: SignalOrigin,
}

impl Death {
    fn by(signal: i32, info: &libc::siginfo_t) -> Self {
        Self { signal, origin: SignalOrigin::of(info) }
    }

    /// A handler can't begin, or return: as the kernel does then.
    pub fn without_frame() -> Self {
        Self { signal: libc::SIGSEGV, origin: SignalOrigin { code: libc::SI_KERNEL.into(), value: 0 } }
    }
}

/// Makes the app's next instruction the first of its handler for a signal that arrived, or drops the signal if
/// nobody wants it: true if a handler begins. `waiting_mask` is the mask that a call like `sigsuspend` had set while it waited.
pub fn arrived(
    signals: &mut Signals,
    arrived: &Arrived,
    waiting_mask: Option<u64>,
    cpu: &mut Cpu,
    control: &mut dyn Control,
) -> Result<bool, Death> {
    match signals.consequence(arrived.signal) {
        Consequence::Nothing => {
            signals.set_mask(signals.mask());
            Ok(false)
        }
        Consequence::Death => Err(Death::by(arrived.signal, &arrived.info)),
        Consequence::Handler(action) => {
            signals.throttle.delivers(arrived);
            let blocked = waiting_mask.unwrap_or(signals.mask());
            call_handler(signals, action, arrived, [0; 3], blocked, cpu, control).map(|()| true)
        }
    }
}

/// The same for a fault: error code, trap number and address go to the frame.
pub fn fault(
    signals: &mut Signals,
    fault: &engine::Fault,
    cpu: &mut Cpu,
    control: &mut dyn Control,
) -> Result<(), Death> {
    if signals.fault_kills(fault.signal) {
        return Err(Death::by(fault.signal, &fault.info));
    }
    let Consequence::Handler(action) = signals.consequence(fault.signal) else {
        return Err(Death::by(fault.signal, &fault.info));
    };
    let arrived = Arrived { signal: fault.signal, info: fault.info };
    let details = [fault.error_code, fault.trap, fault.address];
    call_handler(signals, action, &arrived, details, signals.mask(), cpu, control)
}

fn call_handler(
    signals: &mut Signals,
    action: Action,
    arrived: &Arrived,
    fault: [u64; 3],
    blocked: u64,
    cpu: &mut Cpu,
    control: &mut dyn Control,
) -> Result<(), Death> {
    if action.flags & SA_RESTORER == 0 {
        // There is nowhere for the handler to return to, and the kernel doesn't make up a place.
        return Err(Death::without_frame());
    }
    let alternate = signals.alternate_for(action.flags, cpu.registers.rsp());
    let delivery = Delivery {
        info: &arrived.info,
        fault,
        mask: signals.mask(),
        altstack: signals.altstack,
        restorer: action.restorer,
    };
    let frame = frame::build(cpu, &delivery, alternate, &Here::new());
    let start = signals.altstack.start;
    if alternate.is_some() && frame.address < start || write_stack(frame.address, &frame.bytes, control).is_err() {
        return Err(Death::without_frame());
    }
    signals.keep_altstack();
    frame::enter_handler(&mut cpu.registers, &frame, arrived.signal, action.handler);
    cpu.xstate = at_handler();
    let itself = if action.flags & SA_NODEFER == 0 { bit(arrived.signal) } else { 0 };
    signals.set_mask(blocked | action.mask | itself);
    Ok(())
}

/// `rt_sigreturn`. `may_throttle`: other signals may be held back.
pub fn sigreturn(signals: &mut Signals, cpu: &mut Cpu, may_throttle: bool) -> Result<(), Death> {
    let restored = frame::restore(cpu, &Here::new()).map_err(|_| Death::without_frame())?;
    // A stack that can't be set is left as it is, as the kernel does.
    let _ = signals.set_altstack(restored.altstack, cpu.registers.rsp());
    signals.return_to(restored.mask, may_throttle);
    Ok(())
}

/// Writes to a stack, which grows down for the kernel's own writes but not for `process_vm_writev`.
fn write_stack(address: u64, bytes: &[u8], control: &mut dyn Control) -> Result<(), machine::MemoryError> {
    control.before_write(address, bytes.len() as u64);
    let mut memory = Here::new();
    memory.write(address, bytes).or_else(|_| {
        grow_stack(address);
        memory.write(address, bytes)
    })
}
