//! Entries that routines append in place, to be looked at when there are many.

/// Entries that there is room for.
const ROOM: usize = 1 << 13;
/// Those that are still appended after a test has found the log full.
const SPARE: u64 = 64;

/// Entries of some words each.
///
/// Its routines are short enough to be put into translated code: a test of [`Self::is_full`] comes before what appends, and has the log emptied.
pub struct Log<const WORDS: usize> {
    entries: Box<[[u64; WORDS]; ROOM]>,
    count: u64,
}

impl<const WORDS: usize> Log<WORDS> {
    /// One without entries.
    pub fn new() -> Self {
        let entries = vec![[0; WORDS]; ROOM].into_boxed_slice();
        Self { entries: entries.try_into().unwrap_or_else(|_| unreachable!("it has ROOM entries")), count: 0 }
    }

    /// Appends one.
    #[inline(always)]
    pub fn push(&mut self, entry: [u64; WORDS]) {
        self.entries[self.count as usize % ROOM] = entry;
        self.count += 1;
    }

    /// Whether it is to be emptied.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.count >= ROOM as u64 - SPARE
    }

    /// What is in it.
    pub fn entries(&self) -> &[[u64; WORDS]] {
        &self.entries[..self.count as usize]
    }

    /// Forgets it.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}
