//! Writing records.

use machine::{LaidOut, Memory, Registers, XState};

use super::format::{
    CallRecord, DELIVERY, Delivered, NO_SOURCE, POINT, Point, RANDOM, REMAP, SHOWS, SIGNAL_RETURN, SYSCALL,
    SYSCALL_BEFORE_OTHERS, THREAD, TURN, nondeterministic_head,
};
use super::threads::{OtherThread, Turn, TurnEnd, WaitingCall};
use crate::effects::{Range, View};
use crate::instructions::{NondeterministicRecord, RandomRecord};

/// The log has no room for the record; nothing of it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log has no room for a record of {needed} bytes")]
pub struct LogFull {
    /// Bytes that the record takes at least.
    pub needed: u64,
}

/// Writes records into a slice's log.
pub struct LogWriter<'a> {
    bytes: &'a mut [u8],
    at: usize,
    records: u32,
}

impl<'a> LogWriter<'a> {
    /// An empty log in `bytes`, whose start must be aligned to 8.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self::resume(bytes, 0, 0)
    }

    /// Goes on with a log of which `len` bytes and `records` records were written.
    pub fn resume(bytes: &'a mut [u8], len: usize, records: u32) -> Self {
        Self { bytes, at: len, records }
    }

    /// Bytes written.
    pub fn len(&self) -> usize {
        self.at
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Bytes that are left.
    pub fn room(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// Records written.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Appends a system call and, read from `memory`, the bytes that it wrote. Unreadable ranges were not
    /// written by the kernel either and are left out.
    ///
    /// # Errors
    /// If there is no room.
    pub fn syscall(&mut self, call: CallRecord<'_>, written: &[Range], memory: &dyn Memory) -> Result<(), LogFull> {
        self.record(|log| {
            log.call(SYSCALL, call)?;
            written.iter().try_for_each(|range| log.bytes_of(*range, memory))
        })
    }

    /// Appends a system call that has written a file, and what the app's mappings of it show since then.
    ///
    /// # Errors
    /// If there is no room.
    pub fn file_write(&mut self, call: CallRecord<'_>, views: &[View]) -> Result<(), LogFull> {
        self.record(|log| {
            log.call(SYSCALL | SHOWS, call)?;
            views.iter().try_for_each(|view| {
                log.word(view.address)?;
                log.word(view.bytes.len() as u64)?;
                log.padded(&view.bytes)
            })
        })
    }

    /// Appends a call that the slice repeats, with the number of the file that it maps.
    ///
    /// # Errors
    /// If there is no room.
    pub fn remap(&mut self, call: CallRecord<'_>, source: Option<u32>) -> Result<(), LogFull> {
        self.record(|log| {
            log.call(REMAP, call)?;
            log.word(source.map_or(NO_SOURCE, u64::from))
        })
    }

    /// Appends what a nondeterministic instruction gave.
    ///
    /// # Errors
    /// If there is no room.
    pub fn nondeterministic(&mut self, record: NondeterministicRecord) -> Result<(), LogFull> {
        let NondeterministicRecord { kind, pc, rax, rdx, rcx, rbx } = record;
        self.record(|log| {
            log.word(nondeterministic_head(kind))?;
            [0, pc, rax, rdx, rcx, rbx].into_iter().try_for_each(|word| log.word(word))
        })
    }

    /// Appends what an instruction like `rdrand` gave.
    ///
    /// # Errors
    /// If there is no room.
    pub fn random(&mut self, record: RandomRecord) -> Result<(), LogFull> {
        let RandomRecord { pc, len, register, value, flags } = record;
        self.record(|log| {
            log.word(RANDOM | (register as u64) << 8)?;
            [0, pc, len, value, flags].into_iter().try_for_each(|word| log.word(word))
        })
    }

    /// Appends the start of a handler for a signal that came at the end of the last record's call, which starts at `call`.
    ///
    /// # Errors
    /// If there is no room.
    pub fn delivery(&mut self, call: usize, delivered: &Delivered<'_>) -> Result<(), LogFull> {
        let Delivered { registers, frame: (address, frame), origin, xstate } = *delivered;
        self.record(|log| {
            log.word(DELIVERY)?;
            log.word(0)?;
            log.registers(&registers)?;
            log.word(address)?;
            log.word(frame.len() as u64)?;
            log.word(origin.code as u64)?;
            log.word(origin.value)?;
            log.padded(frame)?;
            log.xstate(xstate)
        })?;
        self.is_before_others(call);
        Ok(())
    }

    /// Appends a point.
    ///
    /// # Errors
    /// If there is no room.
    pub fn point(&mut self, point: &Point<'_>) -> Result<(), LogFull> {
        let Point { registers, starts_block, stack, xstate, live_from, noted } = *point;
        self.record(|log| {
            log.word(POINT | u64::from(starts_block) << 8)?;
            log.word(0)?;
            log.registers(&registers)?;
            [live_from, stack.len() as u64, noted.len() as u64].into_iter().try_for_each(|word| log.word(word))?;
            log.padded(stack)?;
            log.padded(noted)?;
            log.xstate(xstate)
        })
    }

    /// Appends a thread that hasn't the turn. If the last record, which starts at `call`, is about the call that has started it: that isn't a plain one.
    ///
    /// # Errors
    /// If there is no room.
    pub fn thread(&mut self, call: Option<usize>, thread: &OtherThread<'_>) -> Result<(), LogFull> {
        let OtherThread { index, tid, parent, children, path, registers, xstate, call: waiting, is_new } = *thread;
        self.record(|log| {
            log.word(THREAD | u64::from(waiting.is_some()) << 8 | u64::from(is_new) << 9)?;
            log.word(0)?;
            log.registers(&registers)?;
            [index, tid as u64, parent.unwrap_or(u64::MAX), children.into()]
                .into_iter()
                .try_for_each(|word| log.word(word))?;
            log.waiting_call(waiting)?;
            log.word(path.len() as u64 / 8)?;
            log.padded(path)?;
            log.xstate(xstate)
        })?;
        call.into_iter().for_each(|call| self.is_before_others(call));
        Ok(())
    }

    /// Appends that another thread goes on. If the last record, which starts at `call`, is about a call behind which the turn is given up: that isn't a plain one.
    ///
    /// # Errors
    /// If there is no room.
    pub fn turn(&mut self, call: Option<usize>, turn: &Turn) -> Result<(), LogFull> {
        let (how, waiting) = match turn.end {
            TurnEnd::Ready => (0, None),
            TurnEnd::InCall(waiting) => (1, Some(waiting)),
            TurnEnd::Gone => (2, None),
        };
        self.record(|log| {
            log.word(TURN | how << 8)?;
            [0, turn.to, turn.registers_hash].into_iter().try_for_each(|word| log.word(word))?;
            log.waiting_call(waiting)
        })?;
        call.into_iter().for_each(|call| self.is_before_others(call));
        Ok(())
    }

    /// The record that starts at `call` has others behind it that belong to it.
    fn is_before_others(&mut self, call: usize) {
        if self.bytes[call] == SYSCALL as u8 {
            self.bytes[call] = SYSCALL_BEFORE_OTHERS as u8;
        }
    }

    fn waiting_call(&mut self, call: Option<WaitingCall>) -> Result<(), LogFull> {
        let WaitingCall { number, args, input_hash, owned } = call.unwrap_or_default();
        let owned = owned.map_or([0; 2], |word| [word.address, word.value.into()]);
        [number, input_hash].into_iter().chain(args).chain(owned).try_for_each(|word| self.word(word))
    }

    /// Appends the state to which `rt_sigreturn` went back.
    ///
    /// # Errors
    /// If there is no room.
    pub fn signal_return(&mut self, registers: &Registers, xstate: &XState) -> Result<(), LogFull> {
        self.record(|log| {
            log.word(SIGNAL_RETURN)?;
            log.word(0)?;
            log.registers(registers)?;
            log.xstate(LaidOut::own(&xstate.bytes))
        })
    }

    fn registers(&mut self, registers: &Registers) -> Result<(), LogFull> {
        let Registers { gpr, rip, rflags, fs_base, gs_base } = *registers;
        gpr.into_iter().chain([rip, rflags, fs_base, gs_base]).try_for_each(|word| self.word(word))
    }

    fn xstate(&mut self, xstate: LaidOut<'_>) -> Result<(), LogFull> {
        xstate.layout.words().into_iter().try_for_each(|word| self.word(word))?;
        self.padded(without_zeroes(xstate.bytes))
    }

    /// Whole words, the last one filled up with zeroes.
    fn padded(&mut self, bytes: &[u8]) -> Result<(), LogFull> {
        let len = bytes.len().next_multiple_of(8);
        let room = self.bytes.get_mut(self.at..self.at + len).ok_or(LogFull { needed: len as u64 })?;
        let (words, rest) = room.split_at_mut(bytes.len());
        words.copy_from_slice(bytes);
        rest.fill(0);
        self.at += len;
        Ok(())
    }

    /// Writes a record with `body`, then its size. Takes everything back if there was no room.
    fn record(&mut self, body: impl FnOnce(&mut Self) -> Result<(), LogFull>) -> Result<(), LogFull> {
        let start = self.at;
        let outcome = body(self);
        if outcome.is_ok() {
            let size = (self.at - start) as u64;
            self.bytes[start + 8..start + 16].copy_from_slice(&size.to_le_bytes());
            self.records += 1;
        } else {
            self.at = start;
        }
        outcome
    }

    fn call(&mut self, kind: u64, call: CallRecord<'_>) -> Result<(), LogFull> {
        self.word(kind | (call.args.len() as u64) << 8 | u64::from(call.number) << 32)?;
        [0, call.result, call.input_hash].into_iter().try_for_each(|word| self.word(word))?;
        call.args.iter().try_for_each(|word| self.word(*word))
    }

    fn bytes_of(&mut self, range: Range, memory: &dyn Memory) -> Result<(), LogFull> {
        let start = self.at;
        let padded = range.len.checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let room = (self.bytes.len() - start) as u64;
        if padded.saturating_add(16) > room {
            return Err(LogFull { needed: padded });
        }
        let body = start + 16;
        let wanted = &mut self.bytes[body..body + range.len as usize];
        let len = match memory.read(range.address, wanted) {
            Ok(()) => wanted.len(),
            Err(_) => memory.read_prefix(range.address, wanted),
        };
        if len == 0 {
            return Ok(());
        }
        self.word(range.address)?;
        self.word(len as u64)?;
        let end = body + len.next_multiple_of(8);
        self.bytes[body + len..end].fill(0);
        self.at = end;
        Ok(())
    }

    fn word(&mut self, word: u64) -> Result<(), LogFull> {
        let room = self.bytes.get_mut(self.at..self.at + 8).ok_or(LogFull { needed: 8 })?;
        room.copy_from_slice(&word.to_le_bytes());
        self.at += 8;
        Ok(())
    }
}

/// Up to the last byte that isn't 0.
fn without_zeroes(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
}
