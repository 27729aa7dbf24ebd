//! The app's state, for a routine that may change it.

use isa::{Instruction, Segment};
use machine::{AppPc, Gpr, flags};
use translator::abi::{Cpu, State};

/// The app's state at a call, to be read and changed: what it is when the routine returns is what the app goes on with. Like a routine that reads, it makes no system calls but by this.
pub struct StateMut<'a> {
    cpu: &'a mut Cpu,
    /// The instruction before which the call is.
    instruction: Option<Instruction>,
    /// Writes to memory and says how much it has written.
    write: &'a mut dyn FnMut(u64, &[u8]) -> usize,
    goes_to: Option<AppPc>,
}

impl<'a> StateMut<'a> {
    /// `instruction`: before which the call is. `write` writes to the app's memory, and says how much it has written.
    pub fn new(
        cpu: &'a mut Cpu,
        instruction: Option<Instruction>,
        write: &'a mut dyn FnMut(u64, &[u8]) -> usize,
    ) -> Self {
        Self { cpu, instruction, write, goes_to: None }
    }

    /// All of it, to be read.
    pub fn read(&self) -> State<'_> {
        State::new(self.cpu, self.instruction.as_ref())
    }

    /// Where the app goes on: the address of the instruction before which the call is, or where it goes from there.
    pub fn ip(&self) -> AppPc {
        self.goes_to.unwrap_or(AppPc(self.cpu.registers.rip))
    }

    /// A general register.
    pub fn gpr(&self, r: Gpr) -> u64 {
        self.cpu.registers.get(r)
    }

    /// Makes a general register this.
    pub fn set_gpr(&mut self, r: Gpr, value: u64) {
        self.cpu.registers.set(r, value);
    }

    /// The flags, as `pushf` would store them.
    pub fn flags(&self) -> u64 {
        self.cpu.registers.rflags
    }

    /// Makes the flags these: those that arithmetic sets, direction and alignment check. Others stay as they are.
    pub fn set_flags(&mut self, value: u64) {
        let rflags = &mut self.cpu.registers.rflags;
        *rflags ^= (*rflags ^ value) & flags::VISIBLE;
    }

    /// A vector register, `zmm0` to `zmm31`, the lowest byte first. What the processor doesn't have of it is zero.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn vector(&self, number: usize) -> [u8; 64] {
        self.cpu.xstate.vector(number)
    }

    /// Makes a vector register this, as far as the processor has it.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn set_vector(&mut self, number: usize, value: &[u8; 64]) {
        self.cpu.xstate.set_vector(number, value);
    }

    /// Makes a mask register this, if the processor has one.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn set_mask(&mut self, number: usize, value: u64) {
        self.cpu.xstate.set_mask(number, value);
    }

    /// Makes the control and status register of SSE this.
    pub fn set_mxcsr(&mut self, value: u32) {
        self.cpu.xstate.set_mxcsr(value);
    }

    /// Makes the base of FS or GS this.
    ///
    /// # Panics
    /// If that is no address.
    pub(crate) fn set_base(&mut self, segment: Segment, base: u64) {
        assert!((base << 16) as i64 >> 16 == base as i64, "{base:#x} is no address, which the base of a segment is");
        match segment {
            Segment::Fs => self.cpu.registers.fs_base = base,
            Segment::Gs => self.cpu.registers.gs_base = base,
        }
    }

    /// Makes the base of FS this: the app's thread pointer.
    ///
    /// # Panics
    /// If that is no address.
    pub fn set_fs_base(&mut self, base: u64) {
        self.set_base(Segment::Fs, base);
    }

    /// Makes the base of GS this.
    ///
    /// # Panics
    /// If that is no address.
    pub fn set_gs_base(&mut self, base: u64) {
        self.set_base(Segment::Gs, base);
    }

    /// Writes to the app's memory, where the app could write, and says how many bytes were written. Code that is written is executed as it is then. Cost: a system call.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> usize {
        (self.write)(address, bytes)
    }

    /// Has the app go on at another address when the routine has returned (Pin's `PIN_ExecuteAt`): the instruction at hand, or what it was about to go on with, isn't
    /// executed, and what else was inserted there behind this isn't done. The last one counts.
    pub fn execute_at(&mut self, pc: AppPc) {
        self.goes_to = Some(pc);
    }

    /// Returns from the routine that is just entered, with this result: to be called before its first instruction. False if there is no stack to return by.
    pub fn return_with(&mut self, value: u64) -> bool {
        let rsp = self.gpr(Gpr::Rsp);
        let Some(back) = crate::safe_reads::read_word(rsp) else { return false };
        self.set_gpr(Gpr::Rax, value);
        self.set_gpr(Gpr::Rsp, rsp.wrapping_add(8));
        self.execute_at(AppPc(back));
        true
    }

    /// Sends the app's thread a signal, which is delivered behind the instruction at hand, as one that the app has sent itself.
    ///
    /// # Panics
    /// If there is no such signal.
    pub fn raise(&mut self, signal: i32) {
        assert!((1..=64).contains(&signal), "there is no signal {signal}");
        send(signal);
    }

    /// Where the app goes on instead.
    pub fn goes_to(&self) -> Option<AppPc> {
        self.goes_to
    }
}

/// Sends the calling thread a signal. Without libc: the runtime may do what a tool's routine must not.
fn send(signal: i32) {
    let call = |number: i64, args: [u64; 3]| -> u64 {
        let result;
        // SAFETY: these calls touch no memory.
        unsafe {
            std::arch::asm!("syscall", inlateout("rax") number as u64 => result, in("rdi") args[0], in("rsi") args[1],
                in("rdx") args[2], out("rcx") _, out("r11") _, options(nostack));
        }
        result
    };
    let (process, thread) = (call(libc::SYS_getpid, [0; 3]), call(libc::SYS_gettid, [0; 3]));
    call(libc::SYS_tgkill, [process, thread, signal as u64]);
}
