//! Records about threads: which there are, and which goes on.

use machine::{Gpr, LaidOut, Registers};

use crate::hash::{SEED, mix};

/// A call in which a thread is that hasn't the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingCall {
    /// Number.
    pub number: u64,
    /// Arguments.
    pub args: [u64; 6],
    /// Hash of what it read at its entry, see [`crate::effects::input_hash`].
    pub input_hash: u64,
    /// What the kernel has written at once, if so.
    pub owned: Option<OwnedWord>,
}

/// The word of a futex whose owner the kernel knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedWord {
    /// Where it is.
    pub address: u64,
    /// What it says.
    pub value: u32,
}

/// A thread that is there, and hasn't the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherThread<'a> {
    /// In the order in which they were started in this process: 0 of the first one.
    pub index: u64,
    /// The kernel's number of it.
    pub tid: i32,
    /// Index of the thread that has started it.
    pub parent: Option<u64>,
    /// Threads that it has started.
    pub children: u32,
    /// Which child each was of the one before, from the first thread on: words.
    pub path: &'a [u8],
    /// Registers: those at its next instruction, or at the entry of its call, with the call's number in rax.
    pub registers: Registers,
    /// The extended state.
    pub xstate: LaidOut<'a>,
    /// The call in which it is.
    pub call: Option<WaitingCall>,
    /// It has executed nothing yet.
    pub is_new: bool,
}

impl OtherThread<'_> {
    /// Which child each was of the one before.
    pub fn path(&self) -> Vec<u32> {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        self.path.chunks_exact(8).map(|bytes| word(bytes) as u32).collect()
    }
}

/// The turn goes to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index of the thread that goes on.
    pub to: u64,
    /// Of the one that has had the turn, see [`registers_hash`]; 0 if it is gone.
    pub registers_hash: u64,
    /// Where that one is.
    pub end: TurnEnd,
}

impl Turn {
    /// What the kernel has written at once where the turn ended in a call.
    pub fn owned(&self) -> Option<OwnedWord> {
        match self.end {
            TurnEnd::InCall(call) => call.owned,
            TurnEnd::Ready | TurnEnd::Gone => None,
        }
    }
}

/// Where a thread is that has given up its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// Behind a call, or at the slice's start: it can go on.
    Ready,
    /// In a call.
    InCall(WaitingCall),
    /// It has ended.
    Gone,
}

/// Words of which [`registers_hash`] is made.
pub const HASHED_REGISTERS: usize = 17;

/// A hash of all registers by which two states of a thread at a system call can be told apart: not of those that a `syscall` instruction overwrites.
///
/// It is that of the general registers in the order of their numbers, and of the instruction pointer and the bases of FS and GS behind them, as one array of words.
pub fn registers_hash(registers: &Registers) -> u64 {
    let kept = Gpr::ALL.into_iter().filter(|gpr| ![Gpr::Rcx, Gpr::R11].contains(gpr));
    let words = kept.map(|gpr| registers.get(gpr));
    let words = words.chain([registers.rip, registers.fs_base, registers.gs_base]);
    let mut bytes = [0; HASHED_REGISTERS * 8];
    bytes.chunks_exact_mut(8).zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    mix(SEED, &bytes)
}

#[cfg(test)]
mod tests {
    use machine::XState;

    use super::*;
    use crate::log::{LogReader, LogWriter, Record, TURN_BYTES, TURN_IN_CALL};

    #[test]
    fn threads_and_turns_are_read_as_they_were_written() {
        let owned = Some(OwnedWord { address: 0x1000, value: 0x8000_0007 });
        let call = WaitingCall { number: 202, args: [1, 2, 3, 4, 5, 6], input_hash: 7, owned };
        let xstate = XState::initial();
        let path: Vec<u8> = [2_u64, 1].into_iter().flat_map(u64::to_le_bytes).collect();
        let registers = Registers { rip: 0x1002, ..Registers::default() };
        let thread = OtherThread {
            index: 3,
            tid: 77,
            parent: Some(1),
            children: 2,
            path: &path,
            registers,
            xstate: LaidOut::own(&xstate.bytes),
            call: Some(call),
            is_new: true,
        };
        let turns = [TurnEnd::Ready, TurnEnd::InCall(call), TurnEnd::Gone].map(|end| Turn {
            to: 3,
            registers_hash: registers_hash(&registers),
            end,
        });
        let mut bytes = vec![0; 1 << 16];
        let mut log = LogWriter::new(&mut bytes);
        log.thread(None, &thread).unwrap();
        for turn in &turns {
            let start = log.len();
            log.turn(None, turn).unwrap();
            assert_eq!((log.len() - start) as u64, TURN_BYTES);
        }
        let len = log.len();
        let in_call = len - 2 * TURN_BYTES as usize;
        assert_eq!(bytes[in_call..in_call + 8], TURN_IN_CALL.to_le_bytes());
        let mut reader = LogReader::new(&bytes[..len]);
        let Some(Record::Thread(read)) = reader.next_record().unwrap() else { panic!("no thread") };
        assert_eq!((read.index, read.tid, read.parent, read.children, read.is_new), (3, 77, Some(1), 2, true));
        assert_eq!((read.path(), read.registers, read.call), (vec![2, 1], registers, Some(call)));
        assert!(read.xstate.load().is_some());
        for turn in turns {
            assert_eq!(reader.next_record().unwrap(), Some(Record::Turn(turn)));
        }
    }

    #[test]
    fn what_a_call_overwrites_is_not_in_the_hash() {
        let mut registers = Registers::default();
        let before = registers_hash(&registers);
        registers.set(Gpr::Rcx, 1);
        registers.set(Gpr::R11, 1);
        assert_eq!(registers_hash(&registers), before);
        registers.set(Gpr::R12, 1);
        assert_ne!(registers_hash(&registers), before);
    }
}
