//! The app's memory, with the engine told of writes.

use engine::Control;
use machine::Here;

/// The app's memory, with the engine told before each write.
pub(super) struct NotifyingMemory<'a> {
    pub(super) memory: Here,
    pub(super) control: &'a mut dyn Control,
}

impl machine::Memory for NotifyingMemory<'_> {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), machine::MemoryError> {
        self.memory.read(address, buf)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), machine::MemoryError> {
        self.control.before_write(address, bytes.len() as u64);
        self.memory.write(address, bytes)
    }
}
