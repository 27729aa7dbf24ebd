//! What the first in the queue has seen of who has the turn.

/// After so many looks at a thread that goes on and on it is asked to give the turn up.
pub(super) const PATIENCE: u32 = 25;

pub(super) const IN_CALL: u64 = 1;

pub(super) const ASKED: u64 = 2;

pub(super) const IN_CACHE: u64 = 4;

pub(super) const BITS: u64 = 7;

/// After so many looks that have found another thread each it is the first one's turn.
const MANY: u32 = 5;

/// What the first in the queue has seen so far.
#[derive(Default)]
pub(super) struct Watch {
    turn: u64,
    calls: u64,
    looks: u32,
    turns: u32,
}

/// What a look says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    /// The call at the last look goes on.
    LongCall,
    /// The same thread has had the turn for long.
    LongTurn,
    /// Many threads have had the turn, one after the other.
    ManyTurns,
}

impl Watch {
    pub(super) fn sees(&mut self, turn: u64, calls: u64) -> Seen {
        let is_same = turn & !BITS == self.turn & !BITS;
        let goes_on = is_same && turn == self.turn && calls == self.calls;
        self.looks = if is_same { self.looks + 1 } else { 0 };
        self.turns += u32::from(!is_same);
        (self.turn, self.calls) = (turn, calls);
        match turn & IN_CALL != 0 {
            true if goes_on || self.looks >= PATIENCE => Seen::LongCall,
            false if self.looks >= PATIENCE => Seen::LongTurn,
            _ if self.turns >= MANY => Seen::ManyTurns,
            _ => Seen::Nothing,
        }
    }
}
