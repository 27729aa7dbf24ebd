//! The signal frame: what the kernel puts on the stack when a handler is to run, and takes back at `rt_sigreturn`.
//!
//! ```text
//!   the interrupted stack pointer, less 128 bytes of red zone (or the end of the alternate stack)
//!     XSAVE area, aligned to 64, and four bytes of magic after it
//!     siginfo      128 bytes
//!     ucontext     304 bytes: flags, link, stack (24), sigcontext (256), signal mask (8)
//!     pretcode       8 bytes: where the handler returns to        <- rsp at the handler's start, 8 modulo 16
//! ```
//! The layout is the kernel's (`struct rt_sigframe`, `struct sigcontext_64`, `struct _fpx_sw_bytes`). A debugger, an
//! unwinder and a handler that changes registers all know it, so it has to be exactly this. How large the XSAVE area is, and which
//! components it has room for, is the kernel's choice on this processor: the control process asks for it ([`machine::signal_area`]).

use machine::{Gpr, Memory, MemoryError, Registers, XState};
use translator::abi::Cpu;

use super::alt_stack::AltStack;
use super::xstate_area::{area_size, put_area, take_area};

const RED_ZONE: u64 = 128;
const PRETCODE: usize = 8;
const UCONTEXT: usize = 304;
const SIGINFO: usize = 128;
const FRAME: usize = PRETCODE + UCONTEXT + SIGINFO;
/// Where the parts of a ucontext are.
const STACK_AT: usize = 16;
const SIGCONTEXT_AT: usize = 40;
const MASK_AT: usize = 296;
/// Words of a sigcontext after the registers.
const RIP: usize = 16;
const FLAGS: usize = 17;
const SEGMENTS: usize = 18;
const ERROR: usize = 19;
const TRAP: usize = 20;
const OLD_MASK: usize = 21;
const CR2: usize = 22;
const FPSTATE: usize = 23;
/// UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS.
const UC_FLAGS: u64 = 7;
/// User code and stack selectors; fs and gs are 0.
const SELECTORS: u64 = 0x2b << 48 | 0x33;
/// Flags that `rt_sigreturn` takes from the frame (the kernel's FIX_EFLAGS).
const RESTORED_FLAGS: u64 = 0x0005_0dd5;
/// The kernel aligns the area to what XSAVE needs.
const ALIGNMENT: u64 = 64;
/// What a frame says beside the registers.
pub struct Delivery<'a> {
    pub info: &'a libc::siginfo_t,
    /// Error code, trap number and address of a fault; zeros for other signals.
    pub fault: [u64; 3],
    /// Blocked signals to be restored.
    pub mask: u64,
    /// Alternate stack to be restored.
    pub altstack: AltStack,
    /// Where the handler returns to.
    pub restorer: u64,
}

/// A frame, ready to be written.
pub struct Frame {
    /// Where it starts: the handler's rsp.
    pub address: u64,
    /// From there up to the end of the extended state.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// Address of the siginfo: the handler's second argument.
    pub fn info(&self) -> u64 {
        self.address + (PRETCODE + UCONTEXT) as u64
    }

    /// Address of the ucontext: the handler's third argument.
    pub fn ucontext(&self) -> u64 {
        self.address + PRETCODE as u64
    }
}

/// Makes the frame for a handler that interrupts `cpu`. It goes to the alternate stack whose end is `alternate`, or
/// else below the interrupted stack pointer. What the kernel doesn't write of it stays as it is in `memory`.
pub fn build(cpu: &Cpu, delivery: &Delivery<'_>, alternate: Option<u64>, memory: &dyn Memory) -> Frame {
    let top = alternate.unwrap_or(cpu.registers.rsp().wrapping_sub(RED_ZONE));
    let area_size = area_size();
    let area = top.wrapping_sub(area_size as u64 + 4) & !(ALIGNMENT - 1);
    let address = (area.wrapping_sub(FRAME as u64) & !15).wrapping_sub(8);
    let area_at = area.wrapping_sub(address) as usize;
    let mut bytes = vec![0; area_at + area_size + 4];
    memory.read_prefix(address, &mut bytes);
    let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    put(0, delivery.restorer);
    put(PRETCODE, UC_FLAGS);
    put(PRETCODE + 8, 0);
    let [start, flags, size] = delivery.altstack.words();
    put(PRETCODE + STACK_AT, start);
    put(PRETCODE + STACK_AT + 16, size);
    let context = PRETCODE + SIGCONTEXT_AT;
    for (i, gpr) in Gpr::IN_SIGNAL_FRAME.into_iter().enumerate() {
        put(context + i * 8, cpu.registers.get(gpr));
    }
    let [error_code, trap, address_of_fault] = delivery.fault;
    let rest = [
        (RIP, cpu.registers.rip),
        (FLAGS, cpu.registers.rflags),
        (SEGMENTS, SELECTORS),
        (ERROR, error_code),
        (TRAP, trap),
        (OLD_MASK, delivery.mask),
        (CR2, address_of_fault),
        (FPSTATE, area),
    ];
    for (word, value) in rest {
        put(context + word * 8, value);
    }
    put(PRETCODE + MASK_AT, delivery.mask);
    let flags_at = PRETCODE + STACK_AT + 8;
    bytes[flags_at..flags_at + 4].copy_from_slice(&(flags as u32).to_le_bytes());
    bytes[PRETCODE + UCONTEXT..FRAME].copy_from_slice(info_bytes(delivery.info));
    put_area(&mut bytes[area_at..], &cpu.xstate, area_size);
    Frame { address, bytes }
}

fn info_bytes(info: &libc::siginfo_t) -> &[u8] {
    // SAFETY: siginfo_t is 128 bytes of plain data, all written by the kernel or zeroed.
    unsafe { std::slice::from_raw_parts((info as *const libc::siginfo_t).cast(), SIGINFO) }
}

/// What `rt_sigreturn` restores.
#[derive(Debug)]
pub struct Restored {
    pub mask: u64,
    pub altstack: AltStack,
}

/// Takes back the frame to which rsp points (just after its `pretcode`, which the handler's return popped).
///
/// # Errors
/// If it can't be read.
pub fn restore(cpu: &mut Cpu, memory: &dyn Memory) -> Result<Restored, MemoryError> {
    let mut bytes = [0; UCONTEXT];
    memory.read(cpu.registers.rsp(), &mut bytes)?;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let context = |i: usize| word(SIGCONTEXT_AT + i * 8);
    let xstate = match context(FPSTATE) {
        0 => XState::initial(),
        area => take_area(area, memory)?,
    };
    let registers = &mut cpu.registers;
    for (i, gpr) in Gpr::IN_SIGNAL_FRAME.into_iter().enumerate() {
        registers.set(gpr, context(i));
    }
    registers.rip = context(RIP);
    registers.rflags = registers.rflags & !RESTORED_FLAGS | context(FLAGS) & RESTORED_FLAGS;
    cpu.xstate = xstate;
    let altstack = AltStack::from_words([word(STACK_AT), word(STACK_AT + 8), word(STACK_AT + 16)]);
    Ok(Restored { mask: word(MASK_AT), altstack })
}

/// Registers at a handler's start.
pub fn enter_handler(registers: &mut Registers, frame: &Frame, signal: i32, handler: u64) {
    use machine::flags::DF;
    use machine::flags::RF;
    use machine::flags::TF;
    registers.set(Gpr::Rdi, signal as u64);
    registers.set(Gpr::Rsi, frame.info());
    registers.set(Gpr::Rdx, frame.ucontext());
    registers.set(Gpr::Rax, 0);
    registers.set(Gpr::Rsp, frame.address);
    registers.rip = handler;
    registers.rflags &= !(DF | RF | TF);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::signals::xstate_area::use_area;
    use machine::Here;
    use machine::component;
    use machine::signal_area::SignalArea;
    use std::arch::asm;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering;

    fn ask() -> SignalArea {
        let area = machine::signal_area::ask().unwrap();
        use_area(area);
        area
    }

    static UCONTEXT_AT: AtomicU64 = AtomicU64::new(0);
    static KERNELS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    /// Copies the kernel's frame while it is there.
    extern "C" fn copy_frame(_: i32, _: *const libc::siginfo_t, context: *const libc::ucontext_t) {
        UCONTEXT_AT.store(context as u64, Ordering::Relaxed);
        let start = context as u64 - PRETCODE as u64;
        let mut frame = KERNELS.lock().unwrap();
        // SAFETY: the handler got the frame's address; the extended state's size is what the kernel says there.
        unsafe {
            let area = (*context).uc_mcontext.fpregs as u64;
            let len = area + area_size() as u64 + 4 - start;
            frame.extend_from_slice(std::slice::from_raw_parts(start as *const u8, len as usize));
        }
    }

    /// Has the handler run on an alternate stack that ends at `end`.
    fn raise_and_copy(stack: &mut [u8], end: usize) {
        KERNELS.lock().unwrap().clear();
        // SAFETY: the handler follows the convention; the signal is used by no other test; the stack outlives its use.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = copy_frame as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut());
            let mut before = std::mem::zeroed();
            let alternate = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: end };
            assert_eq!(libc::sigaltstack(&alternate, &mut before), 0);
            // Something in the x87 unit.
            asm!("fld1", "fstp st(0)");
            libc::raise(libc::SIGUSR2);
            assert_eq!(libc::sigaltstack(&before, std::ptr::null_mut()), 0);
        }
    }

    /// The memory that the handler copied, at the addresses where it was.
    struct Copied {
        start: u64,
        bytes: Vec<u8>,
    }

    impl Memory for Copied {
        fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
            let at = address.wrapping_sub(self.start) as usize;
            let bytes = self.bytes.get(at..at + buf.len()).ok_or(MemoryError { address, len: buf.len() })?;
            buf.copy_from_slice(bytes);
            Ok(())
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
            Err(MemoryError { address, len: bytes.len() })
        }
    }

    /// Memory that holds [`OLD`] everywhere.
    struct Filled;

    const OLD: u8 = 0x5a;

    impl Memory for Filled {
        fn read(&self, _: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
            buf.fill(OLD);
            Ok(())
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
            Err(MemoryError { address, len: bytes.len() })
        }
    }

    /// Kernel's frames are read, made again from what was read, and compared with the kernel's, for all ways in which a stack may be aligned.
    #[test]
    fn frames_are_the_kernels() {
        ask();
        let mut stack = vec![0; 64 << 10];
        let len = stack.len();
        for end in (len - 128..=len).step_by(8) {
            stack.fill(OLD);
            raise_and_copy(&mut stack, end);
            the_last_frame_is_ours(stack.as_ptr() as u64 + end as u64);
        }
    }

    fn the_last_frame_is_ours(stack_end: u64) {
        let kernels = Copied {
            start: UCONTEXT_AT.load(Ordering::Relaxed) - PRETCODE as u64,
            bytes: KERNELS.lock().unwrap().clone(),
        };
        let word = |at: usize| kernels.read_u64(kernels.start + at as u64).unwrap();
        let mut cpu = Cpu::new(Registers::default(), XState::initial());
        cpu.registers.set(Gpr::Rsp, kernels.start + PRETCODE as u64);
        let restored = restore(&mut cpu, &kernels).unwrap();
        cpu.registers.rflags = word(PRETCODE + SIGCONTEXT_AT + FLAGS * 8);

        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: the frame holds a siginfo there, of the same size.
        let info = unsafe {
            let bytes = kernels.bytes[PRETCODE + UCONTEXT..FRAME].as_ptr();
            std::ptr::copy_nonoverlapping(bytes, info.as_mut_ptr().cast(), SIGINFO);
            info.assume_init()
        };
        let fault = [ERROR, TRAP, CR2].map(|i| word(PRETCODE + SIGCONTEXT_AT + i * 8));
        let Restored { mask, altstack } = restored;
        let delivery = Delivery { info: &info, fault, mask, altstack, restorer: word(0) };
        let ours = build(&cpu, &delivery, Some(stack_end), &Filled);

        assert_eq!(ours.address, kernels.start);
        assert_eq!(ours.bytes.len(), kernels.bytes.len());
        let area = (word(PRETCODE + SIGCONTEXT_AT + FPSTATE * 8) - kernels.start) as usize;
        let (kernels, ours) = (kernels.bytes, ours.bytes);
        let differing = (0..ours.len()).filter(|&at| ours[at] != kernels[at]);
        assert_eq!(differing.collect::<Vec<_>>(), Vec::<usize>::new(), "the area is at {area}");
    }

    fn some_cpu(stack: &mut [u8]) -> Cpu {
        let mut cpu = Cpu::new(Registers::default(), XState::initial());
        for (i, gpr) in Gpr::ALL.into_iter().enumerate() {
            cpu.registers.set(gpr, 0x1000 + i as u64);
        }
        cpu.registers.set(Gpr::Rsp, stack.as_ptr_range().end as u64);
        cpu.registers.rip = 0x4711;
        cpu.registers.rflags = 0x202 | machine::flags::ZF | machine::flags::DF;
        cpu.xstate.bytes[160] = 0x77;
        cpu.xstate.bytes[512] = component::SSE as u8;
        cpu
    }

    fn delivery(info: &libc::siginfo_t) -> Delivery<'_> {
        let altstack = AltStack { start: 0x10, flags: 0, size: 0x4000 };
        Delivery { info, fault: [4, 14, 0xdead], mask: 0x55, altstack, restorer: 0x99 }
    }

    #[test]
    fn what_was_interrupted_comes_back() {
        ask();
        let mut stack = vec![0; 16384];
        let before = some_cpu(&mut stack);
        // SAFETY: zero is a valid siginfo.
        let info = unsafe { std::mem::zeroed() };
        let frame = build(&before, &delivery(&info), None, &Here::new());
        Here::new().write(frame.address, &frame.bytes).unwrap();

        let mut cpu = before.clone();
        enter_handler(&mut cpu.registers, &frame, 11, 0x5000);
        assert_eq!((cpu.registers.rip, cpu.registers.get(Gpr::Rdi), cpu.registers.rsp() % 16), (0x5000, 11, 8));
        assert_eq!(cpu.registers.rflags & machine::flags::DF, 0);
        cpu.xstate = XState::initial();
        // The handler returns: the restorer's address is popped.
        cpu.registers.set(Gpr::Rsp, frame.address + 8);
        let restored = restore(&mut cpu, &Here::new()).unwrap();
        assert_eq!((cpu.registers, restored.mask, restored.altstack.size), (before.registers, 0x55, 0x4000));
        assert_eq!(sigmatch::extended_differences(&(&cpu.xstate).into(), &before.xstate), Vec::<&str>::new());
    }

    #[test]
    fn the_alternate_stack_is_used_from_its_end() {
        let size = ask().size;
        let mut stack = vec![0; 64];
        // SAFETY: zero is a valid siginfo.
        let info = unsafe { std::mem::zeroed() };
        let frame = build(&some_cpu(&mut stack), &delivery(&info), Some(0x8010), &Filled);
        assert!(frame.address + frame.bytes.len() as u64 <= 0x8010);
        assert!(frame.address > 0x8010 - u64::from(size) - 1024);
    }
}
