//! The kernel, asked without libc.

use std::arch::asm;
use std::time::Duration;

use machine::{Gpr, Registers};

/// Makes a system call without libc: nothing touches errno, and no result is taken for an error.
pub fn raw_syscall(number: u64, args: [u64; 6]) -> u64 {
    let result;
    // SAFETY: whoever passes the arguments answers for what the call does, here as with libc's `syscall`: the
    // hosts pass the app's own calls, or ones that touch only what is theirs.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
             in("r10") args[3], in("r8") args[4], in("r9") args[5], out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// `cpuid`, as this processor answers it.
pub fn execute_cpuid(registers: &mut Registers) {
    let answer = machine::cpuid::ask(registers.get(Gpr::Rax) as u32, registers.get(Gpr::Rcx) as u32);
    let places = [Gpr::Rax, Gpr::Rbx, Gpr::Rcx, Gpr::Rdx];
    places.into_iter().zip(answer).for_each(|(register, value)| registers.set(register, value.into()));
}

/// Has the kernel write eight bytes at `address`: if that is below a stack, the stack grows down to there. What was
/// written is to be overwritten.
pub fn grow_stack(address: u64) {
    raw_syscall(libc::SYS_rt_sigprocmask as u64, [libc::SIG_BLOCK as u64, 0, address, 8, 0, 0]);
}

/// CPU time of this process so far.
pub fn cpu_time() -> Duration {
    time_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The processor on which this is executed, or has just been; [`u32::MAX`] if that isn't known. Asks no kernel, whose answer the app might have forbidden: its number is in the limit
/// of a segment that is there for this.
pub fn processor() -> u32 {
    /// `__CPUNODE_SEG` of Linux.
    const SEGMENT: u32 = 0x7b;
    /// `VDSO_CPUNODE_MASK`.
    const NUMBER: u32 = 0xfff;
    let mut limit = u32::MAX;
    // SAFETY: the instruction only reads a descriptor's limit; where there is none it leaves the register as it is.
    unsafe {
        asm!("lsl {0:e}, {1:e}", inout(reg) limit, in(reg) SEGMENT, options(nomem, nostack));
    }
    if limit == u32::MAX { limit } else { limit & NUMBER }
}

/// Time on one of the kernel's clocks.
pub fn time_of(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_passed_as_they_are() {
        assert_eq!(raw_syscall(libc::SYS_getpid as u64, [0; 6]), u64::from(std::process::id()));
        let bad = raw_syscall(libc::SYS_close as u64, [u64::MAX, 0, 0, 0, 0, 0]);
        assert_eq!(bad as i64, -i64::from(libc::EBADF));
    }
}
