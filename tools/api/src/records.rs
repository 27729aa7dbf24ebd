//! Records in the buffer: words of several kinds, and such as aren't there each time, in one stream.
//!
//! ```text
//!   header │ word │ word …                    header: kind, how many words, whether a condition comes first
//!   header │ condition │ word │ word …        a record that isn't there if the condition is 0
//! ```
//!
//! So each place writes as many words each time, whatever becomes of them, as the engine wants it. What isn't there is left out where words are read.

/// What a header has in its upper bits, so that words which are none are noticed.
const MAGIC: u32 = 0x5a2 << 18;
const MAGIC_MASK: u32 = 0xfff << 18;

/// Words of a record at most.
pub const MAX_WORDS: usize = 255;

/// Which condition a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Condition {
    /// None: it is there.
    None = 0,
    /// The first word isn't 0.
    Word = 1,
    /// The lower half of the first word isn't 0.
    Half = 2,
}

/// The header of a record.
pub fn header(kind: u8, words: usize, condition: Condition) -> u64 {
    assert!(words <= MAX_WORDS, "a record of {words} words: {MAX_WORDS} at most");
    u64::from(MAGIC | (condition as u32) << 16 | (words as u32) << 8 | u32::from(kind))
}

/// A record: see [`crate::Instruction::record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its kind, as the tool has called it.
    pub kind: u8,
    /// Its values.
    pub words: &'a [u64],
}

/// The records among words that [`crate::Tool::drain`] gets, in the order of execution.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    words: &'a [u64],
}

impl<'a> Records<'a> {
    /// The records in these words, all of which were written by [`crate::Instruction::record`] and its kin.
    pub fn of(words: &'a [u64]) -> Self {
        Self { words }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    /// # Panics
    /// If there are words that [`crate::Instruction::buffer`] has written.
    #[inline]
    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            let (&header, rest) = self.words.split_first()?;
            let bits = header as u32;
            let count = (bits >> 8 & 0xff) as usize;
            let condition = bits >> 16 & 3;
            let fits = rest.len() >= count + usize::from(condition != 0);
            if header >> 32 != 0 || bits & MAGIC_MASK != MAGIC || !fits {
                not_a_record(header);
            }
            let (is_there, rest) = match condition {
                0 => (true, rest),
                1 => (rest[0] != 0, &rest[1..]),
                _ => (rest[0] as u32 != 0, &rest[1..]),
            };
            let (words, rest) = rest.split_at(count);
            self.words = rest;
            if is_there {
                return Some(Record { kind: bits as u8, words });
            }
        }
    }
}

#[cold]
fn not_a_record(word: u64) -> ! {
    panic!(
        "a word in the buffer begins no record ({word:#x}): a tool that reads Records writes all its words by Instruction::record, none by Instruction::buffer"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read() {
        let of = |kind, words, condition| header(kind, words, condition);
        let words = [
            of(7, 2, Condition::None),
            1,
            2,
            of(255, 0, Condition::None),
            of(1, 1, Condition::Word),
            0,
            3,
            of(2, 1, Condition::Word),
            1 << 40,
            4,
            of(3, 1, Condition::Half),
            1 << 40,
            5,
            of(4, 1, Condition::Half),
            1,
            6,
        ];
        let read: Vec<_> = Records::of(&words).map(|record| (record.kind, record.words.to_vec())).collect();
        assert_eq!(read, [(7, vec![1, 2]), (255, vec![]), (2, vec![4]), (4, vec![6])]);
        assert!(words.iter().all(|word| *word <= i32::MAX as u64 || *word == 1 << 40));
    }

    #[test]
    #[should_panic = "begins no record (0x5)"]
    fn other_words_are_noticed() {
        Records::of(&[5, 6]).count();
    }
}
