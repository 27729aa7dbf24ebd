//! Registers and extended state of a stopped process, in ptrace's layout and in ours.

use machine::{Gpr, Registers, XSTATE_CAPACITY, XState};

use crate::TraceError;
use crate::kernel::request;
use crate::stop::Stopped;

const NT_X86_XSTATE: usize = 0x202;
/// Where the kernel leaves notes of its own in the legacy region; they are no state of the app.
const SOFTWARE_RESERVED: std::ops::Range<usize> = 464..512;

/// All that ptrace knows as "user registers": the app's, and the kernel's note of which system call it is in.
#[derive(Clone, Copy)]
pub struct UserRegisters {
    raw: libc::user_regs_struct,
}

impl UserRegisters {
    /// The app's registers.
    pub fn app(&self) -> Registers {
        let r = &self.raw;
        let mut registers =
            Registers { gpr: [0; 16], rip: r.rip, rflags: r.eflags, fs_base: r.fs_base, gs_base: r.gs_base };
        for gpr in Gpr::ALL {
            registers.set(gpr, *field(&mut { *r }, gpr));
        }
        registers
    }

    /// Sets the app's registers; segment selectors stay.
    pub fn set_app(&mut self, registers: &Registers) {
        for gpr in Gpr::ALL {
            *field(&mut self.raw, gpr) = registers.get(gpr);
        }
        self.raw.rip = registers.rip;
        self.raw.eflags = registers.rflags;
        self.raw.fs_base = registers.fs_base;
        self.raw.gs_base = registers.gs_base;
    }

    /// Number of the system call that the process is in or has just left; negative if it is in none.
    pub fn syscall_number(&self) -> i64 {
        self.raw.orig_rax as i64
    }

    /// Changes the kernel's note of the system call. At an entry stop this decides which call is made, and -1
    /// makes none; elsewhere -1 keeps the kernel from restarting an interrupted one.
    pub fn set_syscall_number(&mut self, number: i64) {
        self.raw.orig_rax = number as u64;
    }

    /// Instruction pointer.
    pub fn rip(&self) -> u64 {
        self.raw.rip
    }

    /// Sets the instruction pointer.
    pub fn set_rip(&mut self, rip: u64) {
        self.raw.rip = rip;
    }

    /// Whether a trap follows the next instruction.
    pub(crate) fn has_trap_flag(&self) -> bool {
        self.raw.eflags & machine::flags::TF != 0
    }

    /// No trap after the next instruction.
    pub(crate) fn clear_trap_flag(&mut self) {
        self.raw.eflags &= !machine::flags::TF;
    }

    /// A general register.
    pub fn get(&self, gpr: Gpr) -> u64 {
        *field(&mut { self.raw }, gpr)
    }

    /// Sets a general register.
    pub fn set(&mut self, gpr: Gpr, value: u64) {
        *field(&mut self.raw, gpr) = value;
    }

    /// Turns the state after an interrupted system call into the state before it, as if the `syscall`
    /// instruction were still to be executed.
    pub fn rewind_syscall(&mut self) {
        self.raw.rip -= 2;
        self.raw.rax = self.raw.orig_rax;
        self.raw.orig_rax = u64::MAX;
    }
}

fn field(raw: &mut libc::user_regs_struct, gpr: Gpr) -> &mut u64 {
    match gpr {
        Gpr::Rax => &mut raw.rax,
        Gpr::Rcx => &mut raw.rcx,
        Gpr::Rdx => &mut raw.rdx,
        Gpr::Rbx => &mut raw.rbx,
        Gpr::Rsp => &mut raw.rsp,
        Gpr::Rbp => &mut raw.rbp,
        Gpr::Rsi => &mut raw.rsi,
        Gpr::Rdi => &mut raw.rdi,
        Gpr::R8 => &mut raw.r8,
        Gpr::R9 => &mut raw.r9,
        Gpr::R10 => &mut raw.r10,
        Gpr::R11 => &mut raw.r11,
        Gpr::R12 => &mut raw.r12,
        Gpr::R13 => &mut raw.r13,
        Gpr::R14 => &mut raw.r14,
        Gpr::R15 => &mut raw.r15,
    }
}

impl Stopped {
    /// Reads the user registers.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn registers(&self) -> Result<UserRegisters, TraceError> {
        if let Some(seen) = self.seen.get() {
            return Ok(UserRegisters { raw: **seen });
        }
        // SAFETY: the structure is plain numbers, for which zero is a value.
        let mut raw: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let data = &raw mut raw as usize;
        // SAFETY: `data` points to a structure of the type that this request fills.
        unsafe { request(libc::PTRACE_GETREGS, self.pid(), 0, data, "read its registers")? };
        self.seen.get_or_init(|| Box::new(raw));
        Ok(UserRegisters { raw })
    }

    /// Sets the user registers.
    ///
    /// # Errors
    /// If the process was killed, or a segment base isn't an address.
    pub fn set_registers(&mut self, registers: &UserRegisters) -> Result<(), TraceError> {
        // The kernel keeps some bits as they are: what it has made of it is to be asked for.
        self.seen.take();
        let data = &raw const registers.raw as usize;
        // SAFETY: `data` points to a structure of the type that this request reads.
        unsafe { request(libc::PTRACE_SETREGS, self.pid(), 0, data, "set its registers")? };
        Ok(())
    }

    /// Reads the extended state.
    ///
    /// # Errors
    /// If the process was killed, or the CPU has no XSAVE.
    pub fn xstate(&self) -> Result<Box<XState>, TraceError> {
        let mut xstate = Box::new(XState { bytes: [0; XSTATE_CAPACITY] });
        let mut vector = libc::iovec { iov_base: xstate.bytes.as_mut_ptr().cast(), iov_len: XSTATE_CAPACITY };
        let data = &raw mut vector as usize;
        // SAFETY: `data` points to an iovec that describes a buffer of ours.
        unsafe { request(libc::PTRACE_GETREGSET, self.pid(), NT_X86_XSTATE, data, "read its vector registers")? };
        xstate.bytes[SOFTWARE_RESERVED].fill(0);
        Ok(xstate)
    }

    /// Has the processor load the extended state anew when the process goes on, as it does when it has executed another in the meantime: what it loses by that
    /// is lost in the process as well as in a copy of it.
    ///
    /// # Errors
    /// If the process was killed, or the CPU has no XSAVE.
    pub fn reload_xstate(&mut self) -> Result<(), TraceError> {
        /// More than the kernel has for any processor.
        const ROOM: usize = 1 << 14;
        let mut image = vec![0_u8; ROOM];
        let mut vector = libc::iovec { iov_base: image.as_mut_ptr().cast(), iov_len: ROOM };
        let data = &raw mut vector as usize;
        // SAFETY: `data` points to an iovec that describes a buffer of ours; the kernel notes how much of it it has filled.
        unsafe {
            request(libc::PTRACE_GETREGSET, self.pid(), NT_X86_XSTATE, data, "read its vector registers")?;
            request(libc::PTRACE_SETREGSET, self.pid(), NT_X86_XSTATE, data, "set its vector registers")?;
        }
        Ok(())
    }

    /// The set of blocked signals.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn signal_mask(&self) -> Result<u64, TraceError> {
        let mut mask = 0_u64;
        let data = &raw mut mask as usize;
        // SAFETY: `data` points to the eight bytes that this request fills.
        unsafe { request(libc::PTRACE_GETSIGMASK, self.pid(), size_of::<u64>(), data, "read its signal mask")? };
        Ok(mask)
    }

    /// Sets the set of blocked signals.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn set_signal_mask(&mut self, mask: u64) -> Result<(), TraceError> {
        let data = &raw const mask as usize;
        // SAFETY: `data` points to the eight bytes that this request reads.
        unsafe { request(libc::PTRACE_SETSIGMASK, self.pid(), size_of::<u64>(), data, "set its signal mask")? };
        Ok(())
    }

    /// The kernel's description of the signal that is about to be delivered.
    ///
    /// # Errors
    /// If the process was killed or isn't at such a stop.
    pub fn signal_info(&self) -> Result<libc::siginfo_t, TraceError> {
        // SAFETY: the structure is plain data, for which zero is a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let data = &raw mut info as usize;
        // SAFETY: `data` points to a structure of the type that this request fills.
        unsafe { request(libc::PTRACE_GETSIGINFO, self.pid(), 0, data, "read its signal")? };
        Ok(info)
    }

    /// Descriptions of the signals that wait to be delivered to it, or to its process. A signal for which the kernel had no room is missing.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn waiting_signals(&self) -> Result<Vec<libc::siginfo_t>, TraceError> {
        const AT_A_TIME: usize = 32;
        /// Queues: the thread's and the process's.
        const QUEUES: [u32; 2] = [0, libc::PTRACE_PEEKSIGINFO_SHARED];
        let mut all = Vec::new();
        for flags in QUEUES {
            let mut off = 0;
            loop {
                let args = libc::ptrace_peeksiginfo_args { off, flags, nr: AT_A_TIME as i32 };
                // SAFETY: the structures are plain data, for which zero is a value.
                let mut infos: [libc::siginfo_t; AT_A_TIME] = unsafe { std::mem::zeroed() };
                let (address, data) = (&raw const args as usize, infos.as_mut_ptr() as usize);
                // SAFETY: `address` points to the arguments, `data` to room for as many descriptions as they say.
                let read = unsafe {
                    request(libc::PTRACE_PEEKSIGINFO, self.pid(), address, data, "read its waiting signals")?
                } as usize;
                all.extend_from_slice(&infos[..read]);
                if read < AT_A_TIME {
                    break;
                }
                off += read as u64;
            }
        }
        Ok(all)
    }

    /// Replaces the description of the signal that is about to be delivered.
    ///
    /// # Errors
    /// If the process was killed or isn't at such a stop.
    pub fn set_signal_info(&mut self, info: &libc::siginfo_t) -> Result<(), TraceError> {
        let data = info as *const libc::siginfo_t as usize;
        // SAFETY: `data` points to a structure of the type that this request reads.
        unsafe { request(libc::PTRACE_SETSIGINFO, self.pid(), 0, data, "set its signal")? };
        Ok(())
    }
}
