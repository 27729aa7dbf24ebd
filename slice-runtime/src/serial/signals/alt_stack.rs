//! Alternate signal stacks.

/// An alternate signal stack as the kernel's `stack_t` lays it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AltStack {
    pub start: u64,
    pub flags: u32,
    pub size: u64,
}

impl AltStack {
    /// No alternate stack.
    pub const NONE: AltStack = AltStack { start: 0, flags: libc::SS_DISABLE as u32, size: 0 };

    /// Whether the stack pointer is on it.
    pub fn holds(&self, rsp: u64) -> bool {
        rsp > self.start && rsp - self.start <= self.size
    }

    /// From three words.
    pub fn from_words(words: [u64; 3]) -> Self {
        Self { start: words[0], flags: words[1] as u32, size: words[2] }
    }

    /// As three words.
    pub fn words(&self) -> [u64; 3] {
        [self.start, self.flags.into(), self.size]
    }
}
