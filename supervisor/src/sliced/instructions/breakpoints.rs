//! Hardware breakpoints, of which each thread has its own.

use tracee::{BREAKPOINTS, Stopped, TraceError};

/// The breakpoint at which something takes place that has to wait for the end of a repeated string instruction, or of a block. The others are for what is recorded.
pub const AWAITED: usize = BREAKPOINTS - 1;

/// Those for what is recorded, as they were last set in a thread.
#[derive(Default)]
pub struct Breakpoints([Option<u64>; AWAITED]);

impl Breakpoints {
    /// Sets these in the thread.
    ///
    /// # Errors
    /// If it was killed.
    pub fn become_those(&mut self, wanted: &[Option<u64>; AWAITED], thread: &mut Stopped) -> Result<(), TraceError> {
        for (n, (wanted, there)) in wanted.iter().zip(&mut self.0).enumerate() {
            match wanted {
                _ if wanted == there => {}
                Some(address) => thread.set_breakpoint(n, *address)?,
                None => thread.clear_breakpoint(n)?,
            }
            *there = *wanted;
        }
        Ok(())
    }
}
