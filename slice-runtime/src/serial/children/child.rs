//! The state in which a process starts that the app starts.

use machine::Gpr;
use translator::abi::Cpu;

use crate::serial::calls::AppCall;

/// How a child process starts.
pub struct Child {
    pub cpu: Cpu,
    /// Whether its dispositions are copies of ours.
    pub dispositions: bool,
    /// Whether it runs in our memory, while we wait.
    pub shares_memory: bool,
}

impl Child {
    /// The state in which the call's child starts. `None` if it would run at the same time as its parent in the
    /// same memory.
    pub fn of(call: &AppCall, cpu: &Cpu, memory: &dyn machine::Memory) -> Option<Self> {
        const CLONE_CLEAR_SIGHAND: u64 = 1 << 32;
        let mut cpu = cpu.clone();
        cpu.registers.finish_syscall(0);
        let (flags, stack, tls) = match call.number as i64 {
            libc::SYS_clone => (call.args[0], call.args[1], call.args[4]),
            libc::SYS_clone3 => clone3_arguments(call.args[0], memory),
            libc::SYS_vfork => ((libc::CLONE_VM | libc::CLONE_VFORK) as u64, 0, 0),
            _ => (0, 0, 0),
        };
        let has = |flag: i32| flags & flag as u64 != 0;
        if has(libc::CLONE_VM) && !has(libc::CLONE_VFORK) || has(libc::CLONE_SIGHAND) {
            return None;
        }
        if stack != 0 {
            cpu.registers.set(Gpr::Rsp, stack);
        }
        if has(libc::CLONE_SETTLS) {
            cpu.registers.fs_base = tls;
        }
        Some(Self { cpu, dispositions: flags & CLONE_CLEAR_SIGHAND == 0, shares_memory: has(libc::CLONE_VM) })
    }
}

/// Flags, end of the stack and TLS of a `clone_args`. Fields that can't be read make the call fail.
fn clone3_arguments(address: u64, memory: &dyn machine::Memory) -> (u64, u64, u64) {
    let word = |i: u64| memory.read_u64(address + i * 8).unwrap_or(0);
    (word(0), word(5).wrapping_add(word(6)), word(7))
}
