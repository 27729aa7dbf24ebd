//! The further threads of an app that was attached to come into the image: see [`bubble::adoption`].

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bubble::adoption::{AdoptedState, Adoption, ThreadStack};
use machine::{Gpr, Memory, Registers};
use tracee::{Mode, Running, Stopped, TraceError};

use super::serial::Serial;

/// How long until it is looked again whether the image is ready for them.
const AGAIN: Duration = Duration::from_millis(1);
/// Interrupts are on, and nothing else.
const FLAGS: u64 = 0x202;

impl Serial<'_> {
    /// Threads that stand still since the app was attached to come into the image, if that is ready. When to look again if it isn't.
    pub(super) fn adopt_others(&mut self) -> Option<Duration> {
        if self.joining.is_empty() {
            return None;
        }
        let Some(adoption) = self.slot.as_ref().and_then(|slot| slot.adoption()) else { return Some(AGAIN) };
        for (number, thread) in std::mem::take(&mut self.joining).into_iter().enumerate() {
            match enter(thread, number, adoption) {
                Ok(running) => drop(self.threads.insert(running.pid(), running)),
                Err(error) if error.is_gone() => {}
                Err(error) => {
                    self.fail(error.into());
                    break;
                }
            }
        }
        None
    }
}

/// Lets a thread go on with the image's first instruction, with its state on the `number`th stack.
fn enter(mut thread: Stopped, number: usize, adoption: &Adoption) -> Result<Running, TraceError> {
    let pid = thread.pid();
    let failed = |source| TraceError::Memory { pid, source };
    let Adoption { stacks, entry, begin, fs_base, gs_base } = adoption;
    let [stacks, entry, begin, fs_base, gs_base] =
        [stacks, entry, begin, fs_base, gs_base].map(|word| word.load(Relaxed));
    let place = stacks + (number * size_of::<ThreadStack>()) as u64;
    let mut words = [0; 3];
    for (n, word) in words.iter_mut().enumerate() {
        *word = thread.read_u64(place + 8 * n as u64).map_err(failed)?;
    }
    let stack = ThreadStack { block: words[0], start: words[1], size: words[2] };
    let mut registers = thread.registers()?;
    let state = Box::new(AdoptedState {
        registers: registers.app(),
        signal_mask: thread.signal_mask()?,
        xstate: (&*thread.xstate()?).into(),
    });
    // SAFETY: plain data, all of whose bytes are initialised but padding, which nobody reads.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *state).cast::<u8>(), size_of::<AdoptedState>()) };
    thread.write(stack.start, bytes).map_err(failed)?;
    let mut first = Registers { rip: entry, rflags: FLAGS, fs_base, gs_base, ..Registers::default() };
    for (register, value) in [(Gpr::Rax, begin), (Gpr::Rdi, stack.block), (Gpr::Rsp, stack.start + stack.size)] {
        first.set(register, value);
    }
    registers.set_app(&first);
    registers.set_syscall_number(-1);
    thread.set_registers(&registers)?;
    thread.set_signal_mask(u64::MAX)?;
    thread.resume(Mode::Free, 0)
}
