//! The format of records.
//!
//! A log is a sequence of records, each a sequence of little-endian 64-bit words, so that a slice reads it in place:
//!
//! ```text
//!   system call   kind 1 | arity << 8 | number << 32      remap   kind 2 | arity << 8 | number << 32
//!                 size of the record in bytes                     size
//!                 result                                          result
//!                 hash of inputs                                  hash of inputs
//!                 arguments [arity]                               arguments [arity]
//!                 writes: address, length, bytes                  descriptor of the control process, or all ones
//!                         (padded to 8), until the size
//!
//!   volatile      kind 3 | which << 8, size, pc, rax, rdx, rcx, rbx
//!   random        kind 4 | register << 8, size, pc, length, value, flags
//!   signal return kind 5, size, general registers [16], rip, flags, FS base, GS base, extended state up to its last word that isn't 0
//!   delivery      kind 7, size, registers as above, address and length of the signal frame, its bytes (padded to 8), extended state as above
//! ```
//! A delivery lies behind the record of the call at whose end the signal came. If that is a system call's its kind is 6 then, so that whoever replays only plain ones leaves it alone.
//! The size comes first so that a reader can step over a record, and lets a writer take back an unfinished one.

use machine::{Gpr, Memory, Registers, XState};

use crate::effects::Range;
use crate::instructions::{RandomRecord, VolatileKind, VolatileRecord};

/// Kind of a system call's record.
pub const SYSCALL: u64 = 1;
const REMAP: u64 = 2;
const VOLATILE: u64 = 3;
const RANDOM: u64 = 4;
const SIGNAL_RETURN: u64 = 5;
const SYSCALL_BEFORE_DELIVERY: u64 = 6;
const DELIVERY: u64 = 7;
const NO_SOURCE: u64 = u64::MAX;

/// First word of the record of a volatile instruction.
pub const fn volatile_head(kind: VolatileKind) -> u64 {
    VOLATILE | (kind as u64) << 8
}

/// Bytes of such a record.
pub const VOLATILE_BYTES: u64 = 7 * 8;

/// The log has no room for the record; nothing of it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log has no room for a record of {needed} bytes")]
pub struct LogFull {
    /// Bytes that the record takes at least.
    pub needed: u64,
}

/// What a system call was and gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Number.
    pub number: u32,
    /// The arguments that the kernel looks at.
    pub args: &'a [u64],
    /// Result.
    pub result: u64,
    /// Hash of what it read, see [`crate::effects::input_hash`].
    pub input_hash: u64,
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

    /// Records written.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Appends a system call and, read from `memory`, the bytes that it wrote. Unreadable ranges were not
    /// written by the kernel either and are left out.
    ///
    /// # Errors
    /// If there is no room.
    pub fn syscall(&mut self, call: Call<'_>, written: &[Range], memory: &dyn Memory) -> Result<(), LogFull> {
        self.record(|log| {
            log.call(SYSCALL, call)?;
            written.iter().try_for_each(|range| log.bytes_of(*range, memory))
        })
    }

    /// Appends a call that the slice repeats, with the descriptor (of the control process) of the file that it maps.
    ///
    /// # Errors
    /// If there is no room.
    pub fn remap(&mut self, call: Call<'_>, source: Option<u32>) -> Result<(), LogFull> {
        self.record(|log| {
            log.call(REMAP, call)?;
            log.word(source.map_or(NO_SOURCE, u64::from))
        })
    }

    /// Appends what a volatile instruction gave.
    ///
    /// # Errors
    /// If there is no room.
    pub fn volatile(&mut self, record: VolatileRecord) -> Result<(), LogFull> {
        let VolatileRecord { kind, pc, rax, rdx, rcx, rbx } = record;
        self.record(|log| {
            log.word(volatile_head(kind))?;
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
        let Delivered { registers, frame: (address, frame), xstate } = *delivered;
        self.record(|log| {
            log.word(DELIVERY)?;
            log.word(0)?;
            log.registers(&registers)?;
            log.word(address)?;
            log.word(frame.len() as u64)?;
            log.padded(frame)?;
            log.padded(without_zeroes(xstate))
        })?;
        if self.bytes[call] == SYSCALL as u8 {
            self.bytes[call] = SYSCALL_BEFORE_DELIVERY as u8;
        }
        Ok(())
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
            log.padded(without_zeroes(&xstate.bytes))
        })
    }

    fn registers(&mut self, registers: &Registers) -> Result<(), LogFull> {
        let Registers { gpr, rip, rflags, fs_base, gs_base } = *registers;
        gpr.into_iter().chain([rip, rflags, fs_base, gs_base]).try_for_each(|word| self.word(word))
    }

    /// Whole words, the last one filled up with zeroes.
    fn padded(&mut self, bytes: &[u8]) -> Result<(), LogFull> {
        bytes.chunks(8).try_for_each(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word))
        })
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

    fn call(&mut self, kind: u64, call: Call<'_>) -> Result<(), LogFull> {
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

/// One record, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A system call to be replayed.
    Syscall(SyscallRecord<'a>),
    /// A system call to be repeated.
    Remap(Remap),
    /// A volatile instruction.
    Volatile(VolatileRecord),
    /// An instruction like `rdrand`.
    Random(RandomRecord),
    /// The return from a signal handler.
    SignalReturn(SignalReturn<'a>),
    /// The start of one.
    Delivery(Delivered<'a>),
}

/// The start of a signal handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<'a> {
    /// Registers at its first instruction.
    pub registers: Registers,
    /// The frame that the kernel has written: address and bytes.
    pub frame: (u64, &'a [u8]),
    /// The start of the extended state; the rest is zero.
    pub xstate: &'a [u8],
}

/// The state to which `rt_sigreturn` went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalReturn<'a> {
    /// Registers.
    pub registers: Registers,
    /// The start of the extended state; the rest is zero.
    pub xstate: &'a [u8],
}

/// A system call to be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallRecord<'a> {
    /// Number.
    pub number: u32,
    /// Arguments; those that the kernel doesn't look at are 0.
    pub args: [u64; 6],
    /// How many of them the kernel looks at.
    pub arity: usize,
    /// Result.
    pub result: u64,
    /// Hash of what it read.
    pub input_hash: u64,
    writes: &'a [u8],
}

impl<'a> SyscallRecord<'a> {
    /// What the kernel wrote: address and bytes.
    pub fn writes(&self) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        let mut rest = self.writes;
        std::iter::from_fn(move || {
            let address = word(rest, 0)?;
            let len = word(rest, 1)? as usize;
            let bytes = rest.get(16..16 + len)?;
            rest = rest.get(16 + len.next_multiple_of(8)..)?;
            Some((address, bytes))
        })
    }
}

/// A system call to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remap {
    /// Number.
    pub number: u32,
    /// Arguments; those that the kernel doesn't look at are 0.
    pub args: [u64; 6],
    /// How many of them the kernel looks at.
    pub arity: usize,
    /// Result that the master got.
    pub result: u64,
    /// The file to map: a descriptor of the control process.
    pub source: Option<u32>,
}

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

fn word(bytes: &[u8], index: usize) -> Option<u64> {
    let chunk = bytes.get(index * 8..index * 8 + 8)?;
    Some(u64::from_le_bytes(chunk.try_into().expect("eight bytes")))
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

/// Up to the last byte that isn't 0.
fn without_zeroes(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
}

fn parse(record: &[u8]) -> Option<Record<'_>> {
    let head = word(record, 0)?;
    if head & 0xff == VOLATILE {
        let kind = match head >> 8 & 0xff {
            0 => VolatileKind::Rdtsc,
            1 => VolatileKind::Rdtscp,
            2 => VolatileKind::Cpuid,
            _ => return None,
        };
        let [pc, rax, rdx, rcx, rbx] = [2, 3, 4, 5, 6].map(|i| word(record, i));
        let record = VolatileRecord { kind, pc: pc?, rax: rax?, rdx: rdx?, rcx: rcx?, rbx: rbx? };
        return Some(Record::Volatile(record));
    }
    if head & 0xff == RANDOM {
        let register = *Gpr::ALL.get((head >> 8 & 0xff) as usize)?;
        let [pc, len, value, flags] = [2, 3, 4, 5].map(|i| word(record, i));
        return Some(Record::Random(RandomRecord { pc: pc?, len: len?, register, value: value?, flags: flags? }));
    }
    if head & 0xff == SIGNAL_RETURN {
        let registers = parse_registers(record)?;
        return Some(Record::SignalReturn(SignalReturn { registers, xstate: record.get(BEHIND_REGISTERS * 8..)? }));
    }
    if head & 0xff == DELIVERY {
        let registers = parse_registers(record)?;
        let [address, len] = [0, 1].map(|i| word(record, BEHIND_REGISTERS + i));
        let (rest, len) = (record.get((BEHIND_REGISTERS + 2) * 8..)?, len? as usize);
        let (frame, xstate) = (rest.get(..len)?, rest.get(len.next_multiple_of(8)..)?);
        return Some(Record::Delivery(Delivered { registers, frame: (address?, frame), xstate }));
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
        SYSCALL | SYSCALL_BEFORE_DELIVERY => {
            Some(Record::Syscall(SyscallRecord { number, args, arity, result, input_hash, writes: rest }))
        }
        REMAP => {
            let source = Some(word(rest, 0)?).filter(|fd| *fd != NO_SOURCE).map(|fd| fd as u32);
            Some(Record::Remap(Remap { number, args, arity, result, source }))
        }
        _ => None,
    }
}
