//! All that was emitted, as one number.

use translator::emit::Translation;

/// A hash of all that was emitted, the same in each process, and what was in it.
#[derive(Default)]
pub struct Hash {
    pub hash: u64,
    /// A bit for each kind of exit.
    pub exits: u32,
    /// A bit for each thing that r11 can be for.
    pub reserved: u32,
}

impl Hash {
    pub fn word(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    pub fn translation(&mut self, made: &Translation) {
        [&made.code, &made.stubs, &made.arena].into_iter().for_each(|bytes| self.bytes(bytes));
        for exit in &made.exits {
            self.exits |= 1 << exit.kind as u32;
            [exit.pc.0, exit.kind as u64, exit.site.into(), exit.argument.into()]
                .into_iter()
                .for_each(|w| self.word(w));
        }
        let lengths = [made.map, made.map_len, made.block_calls, made.buffer_marks, made.call_marks];
        lengths.into_iter().for_each(|length| self.word(length.into()));
        for block in &made.counted {
            [block.first, block.code.into(), block.len.into(), block.done.into(), block.executed.into()]
                .into_iter()
                .for_each(|w| self.word(w));
        }
        self.word(made.self_checks.into());
    }
}
