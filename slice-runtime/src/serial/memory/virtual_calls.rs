//! Calls that are answered by the runtime: dispositions, mask and alternate stack of signals, segment bases, limits, and mappings that are shown to the app.

use engine::Control;
use machine::Here;
use translator::abi::Cpu;

use super::maps::{self, MapsFiles};
use super::notifying_memory::NotifyingMemory;
use super::{limits, memory};
use crate::serial::calls::AppCall;
use crate::serial::signals::Signals;

/// Answers the calls that never become real: what they are about is virtual.
pub struct VirtualCalls<'a> {
    pub signals: &'a mut Signals,
    pub maps: &'a mut MapsFiles,
    pub memory: Here,
}

impl VirtualCalls<'_> {
    /// `arch_prctl` as far as it is about the segment bases.
    fn segment_base(&mut self, call: &AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Option<u64> {
        use machine::Memory;
        let [command, value, ..] = call.args;
        let base = match command as i32 {
            0x1001 | 0x1004 => &mut cpu.registers.gs_base,
            0x1002 | 0x1003 => &mut cpu.registers.fs_base,
            _ => return None,
        };
        if matches!(command as i32, 0x1003 | 0x1004) {
            control.before_write(value, 8);
            let written = self.memory.write(value, &base.to_le_bytes());
            return Some(if written.is_ok() { 0 } else { -i64::from(libc::EFAULT) as u64 });
        }
        if value >= 1 << 47 {
            return Some(-i64::from(libc::EPERM) as u64);
        }
        *base = value;
        Some(0)
    }

    /// `read` of a descriptor that shows the app its mappings.
    fn read_maps(&mut self, call: &AppCall, control: &mut dyn Control) -> Option<u64> {
        let text = self.maps.read(call, || {
            // Pages that the engine protected are lines of their own.
            memory::release_all(control);
            maps::current()
        })?;
        let mut memory = NotifyingMemory { memory: self.memory, control };
        let written = machine::Memory::write(&mut memory, call.args[1], &text);
        Some(if written.is_ok() { text.len() as u64 } else { -i64::from(libc::EFAULT) as u64 })
    }

    /// The result, if the call is one of them.
    pub fn answer(&mut self, call: &AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Option<u64> {
        let args = call.args;
        let memory = &mut NotifyingMemory { memory: self.memory, control };
        match call.number as i64 {
            libc::SYS_rt_sigaction => {
                let result = self.signals.sigaction(args, memory);
                if args[1] != 0 && is_fault(args[0]) {
                    control.expect_faults();
                }
                Some(result)
            }
            libc::SYS_rt_sigprocmask => Some(self.signals.sigprocmask(args, memory)),
            libc::SYS_sigaltstack => Some(self.signals.sigaltstack(args, cpu.registers.rsp(), memory)),
            libc::SYS_arch_prctl => self.segment_base(call, cpu, control),
            libc::SYS_read => self.read_maps(call, control),
            libc::SYS_getrlimit | libc::SYS_setrlimit | libc::SYS_prlimit64 => limits::call(call, memory),
            _ => memory::call(call.number, args, control),
        }
    }
}

/// Whether an instruction can raise this signal.
fn is_fault(signal: u64) -> bool {
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP].contains(&(signal as i32))
}
