//! A place in the app's code at which a signal came, or a turn ended, as the log tells it.

use bubble::end::{End, EndKind, EndStands, Fatal, STACK_WORDS, SharedContents};
use machine::{SavedXState, XState};

/// Such a place.
pub struct Point {
    /// Its signature.
    pub end: End,
    /// Where live stack begins on its page.
    pub live_from: u64,
    /// Whether a turn ends there; a signal comes there else.
    pub ends_turn: bool,
}

impl Point {
    /// That of a record. `xstate`: its extended state on this processor.
    pub fn new(told: &syscall_replay::Point<'_>, xstate: &XState, ends_turn: bool) -> Self {
        let mut stack = [0; STACK_WORDS];
        for (word, bytes) in stack.iter_mut().zip(told.stack.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        let end = End {
            kind: EndKind::Signature,
            stack_words: (told.stack.len() / 8) as u32,
            goes_on: 0,
            stands: if told.starts_block { EndStands::First } else { EndStands::Anywhere },
            frame: [0; 2],
            fatal: Fatal::default(),
            shared: SharedContents::default(),
            registers: told.registers,
            stack,
            xstate: SavedXState::from(xstate),
        };
        Self { end, live_from: told.live_from, ends_turn }
    }
}
