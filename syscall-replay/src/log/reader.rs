//! Reading records, in place.

use machine::{Gpr, LaidOut, Layout, Registers, SignalOrigin};

use super::format::{
    DELIVERY, Delivered, NO_SOURCE, NONDETERMINISTIC, POINT, Point, RANDOM, REMAP, Record, Remap, SHOWS, SIGNAL_RETURN,
    SYSCALL, SYSCALL_BEFORE_OTHERS, SignalReturn, SyscallRecord, THREAD, TURN, word,
};
use super::threads::{OtherThread, OwnedWord, Turn, TurnEnd, WaitingCall};
use crate::instructions::{NondeterministicKind, NondeterministicRecord, RandomRecord};

/// The bytes are not a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged at byte {at}")]
pub struct Malformed {
    /// Where the bad record starts.
    pub at: usize,
}

/// Reads records one after the other.
#[derive(Clone)]
pub struct LogReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> LogReader<'a> {
    /// A reader at the start of a log.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether every record was read.
    pub fn is_exhausted(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Offset of the next record.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Goes on at the record that starts at `offset`.
    pub fn skip_to(&mut self, offset: usize) {
        self.at = offset;
    }

    /// Whether the next record is a point.
    pub fn is_at_point(&self) -> bool {
        self.bytes.get(self.at..).and_then(|bytes| word(bytes, 0)).is_some_and(|head| head & 0xff == POINT)
    }

    /// The next record, `None` after the last.
    ///
    /// # Errors
    /// If the bytes there are not a record.
    pub fn next_record(&mut self) -> Result<Option<Record<'a>>, Malformed> {
        if self.is_exhausted() {
            return Ok(None);
        }
        let bytes = &self.bytes[self.at..];
        let parsed = word(bytes, 1).and_then(|size| {
            let record = bytes.get(..size as usize)?;
            Some((parse(record)?, size as usize))
        });
        let (record, size) = parsed.ok_or(Malformed { at: self.at })?;
        self.at += size;
        Ok(Some(record))
    }
}

/// Words of a record before what follows its registers.
const BEHIND_REGISTERS: usize = 2 + 16 + 4;

fn parse_registers(record: &[u8]) -> Option<Registers> {
    let mut gpr = [0; 16];
    for (i, value) in gpr.iter_mut().enumerate() {
        *value = word(record, 2 + i)?;
    }
    let [rip, rflags, fs_base, gs_base] = [18, 19, 20, 21].map(|i| word(record, i));
    Some(Registers { gpr, rip: rip?, rflags: rflags?, fs_base: fs_base?, gs_base: gs_base? })
}

fn parse_xstate(bytes: &[u8]) -> Option<LaidOut<'_>> {
    let mut words = [0; Layout::WORDS];
    for (i, place) in words.iter_mut().enumerate() {
        *place = word(bytes, i)?;
    }
    Some(LaidOut { layout: Layout::of_words(words), bytes: bytes.get(Layout::WORDS * 8..)? })
}

/// Words of a call in which a thread is.
const CALL_WORDS: usize = 10;

/// The call in which a thread is, from word `at` on.
fn parse_waiting_call(record: &[u8], at: usize) -> Option<WaitingCall> {
    let mut args = [0; 6];
    for (i, arg) in args.iter_mut().enumerate() {
        *arg = word(record, at + 2 + i)?;
    }
    let (address, value) = (word(record, at + 8)?, word(record, at + 9)? as u32);
    let owned = (address != 0).then_some(OwnedWord { address, value });
    Some(WaitingCall { number: word(record, at)?, input_hash: word(record, at + 1)?, args, owned })
}

fn parse_thread(record: &[u8], head: u64) -> Option<OtherThread<'_>> {
    let registers = parse_registers(record)?;
    let [index, tid, parent, children] = [0, 1, 2, 3].map(|i| word(record, BEHIND_REGISTERS + i));
    let at = BEHIND_REGISTERS + 4;
    let call = parse_waiting_call(record, at)?;
    let depth = word(record, at + CALL_WORDS)? as usize;
    let path = record.get((at + CALL_WORDS + 1) * 8..)?;
    let xstate = parse_xstate(path.get(depth.checked_mul(8)?..)?)?;
    Some(OtherThread {
        index: index?,
        tid: tid? as i32,
        parent: Some(parent?).filter(|parent| *parent != u64::MAX),
        children: children? as u32,
        path: &path[..depth * 8],
        registers,
        xstate,
        call: (head >> 8 & 1 != 0).then_some(call),
        is_new: head >> 9 & 1 != 0,
    })
}

fn parse_turn(record: &[u8], head: u64) -> Option<Turn> {
    let [to, registers_hash] = [2, 3].map(|i| word(record, i));
    let end = match head >> 8 & 0xff {
        0 => TurnEnd::Ready,
        1 => TurnEnd::InCall(parse_waiting_call(record, 4)?),
        2 => TurnEnd::Gone,
        _ => return None,
    };
    Some(Turn { to: to?, registers_hash: registers_hash?, end })
}

fn parse_point(record: &[u8], head: u64) -> Option<Point<'_>> {
    let starts_block = head >> 8 & 1 != 0;
    let registers = parse_registers(record)?;
    let [live_from, stack, noted] = [0, 1, 2].map(|i| word(record, BEHIND_REGISTERS + i));
    let rest = record.get((BEHIND_REGISTERS + 3) * 8..)?;
    let (stack, rest) = rest.split_at_checked(stack? as usize)?;
    let (noted, rest) = rest.split_at_checked(noted? as usize)?;
    Some(Point { registers, starts_block, stack, live_from: live_from?, noted, xstate: parse_xstate(rest)? })
}

fn parse(record: &[u8]) -> Option<Record<'_>> {
    let head = word(record, 0)?;
    if head & 0xff == NONDETERMINISTIC {
        let kind = match head >> 8 & 0xff {
            0 => NondeterministicKind::Rdtsc,
            1 => NondeterministicKind::Rdtscp,
            2 => NondeterministicKind::Cpuid,
            _ => return None,
        };
        let [pc, rax, rdx, rcx, rbx] = [2, 3, 4, 5, 6].map(|i| word(record, i));
        let record = NondeterministicRecord { kind, pc: pc?, rax: rax?, rdx: rdx?, rcx: rcx?, rbx: rbx? };
        return Some(Record::Nondeterministic(record));
    }
    if head & 0xff == RANDOM {
        let register = *Gpr::ALL.get((head >> 8 & 0xff) as usize)?;
        let [pc, len, value, flags] = [2, 3, 4, 5].map(|i| word(record, i));
        return Some(Record::Random(RandomRecord { pc: pc?, len: len?, register, value: value?, flags: flags? }));
    }
    if head & 0xff == SIGNAL_RETURN {
        let registers = parse_registers(record)?;
        return Some(Record::SignalReturn(SignalReturn {
            registers,
            xstate: parse_xstate(record.get(BEHIND_REGISTERS * 8..)?)?,
        }));
    }
    if head & 0xff == DELIVERY {
        let registers = parse_registers(record)?;
        let [address, len, code, value] = [0, 1, 2, 3].map(|i| word(record, BEHIND_REGISTERS + i));
        let (rest, len) = (record.get((BEHIND_REGISTERS + 4) * 8..)?, len? as usize);
        let origin = SignalOrigin { code: code? as i64, value: value? };
        let (frame, xstate) = (rest.get(..len)?, parse_xstate(rest.get(len.next_multiple_of(8)..)?)?);
        return Some(Record::Delivery(Delivered { registers, frame: (address?, frame), origin, xstate }));
    }
    match head & 0xff {
        THREAD => return parse_thread(record, head).map(Record::Thread),
        TURN => return parse_turn(record, head).map(Record::Turn),
        POINT => return parse_point(record, head).map(Record::Point),
        _ => {}
    }
    let arity = (head >> 8 & 0xff) as usize;
    if arity > 6 {
        return None;
    }
    let number = (head >> 32) as u32;
    let result = word(record, 2)?;
    let input_hash = word(record, 3)?;
    let mut args = [0; 6];
    for (i, arg) in args.iter_mut().enumerate().take(arity) {
        *arg = word(record, 4 + i)?;
    }
    let rest = record.get((4 + arity) * 8..)?;
    match head & 0xff {
        SYSCALL | SYSCALL_BEFORE_OTHERS => {
            let shows = head & SHOWS != 0;
            Some(Record::Syscall(SyscallRecord { number, args, arity, result, input_hash, shows, writes: rest }))
        }
        REMAP => {
            let source = Some(word(rest, 0)?).filter(|number| *number != NO_SOURCE).map(|number| number as u32);
            Some(Record::Remap(Remap { number, args, arity, result, source }))
        }
        _ => None,
    }
}
