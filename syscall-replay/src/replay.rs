//! A slice's side: takes the next record, checks that it is the call being made, applies what it did.

use std::fmt;

use machine::{Gpr, LaidOut, Memory, MemoryError, Registers, SignalOrigin};

use crate::described::{format_call, format_record, nondeterministic_name};
use crate::instructions::NondeterministicKind;
use crate::log::{
    LogReader, OtherThread, OwnedWord, Point, Record, Remap, SignalReturn, SyscallRecord, Turn, TurnEnd, registers_hash,
};
use crate::result::is_error;
use crate::{effects, table};

/// The slice's memory, with the power to change its shape.
pub trait Space: Memory {
    /// Executes an address-space call so that its outcome is `remap.result`, at the same addresses as in the master.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn reshape(&mut self, remap: &Remap) -> Result<(), String>;

    /// Has memory show what was written to the file behind it, whether the app itself can write there or not.
    ///
    /// # Errors
    /// If nothing is there.
    fn show(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.write(address, bytes)
    }
}

/// What became of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed<'a> {
    /// Its result and effects are in place.
    Done,
    /// It was `rt_sigreturn`: registers are in place, and this is the start of the new extended state; the rest is zero.
    Restored(LaidOut<'a>),
    /// A signal came at its end, from there: as above, and this is its handler's first instruction.
    Delivered(LaidOut<'a>, SignalOrigin),
    /// There is no record left: this must be the slice's end.
    Exhausted,
}

/// The slice does something else than the master did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Divergence {
    /// Index of the record, from 0.
    pub record: u64,
    /// Address of the instruction.
    pub pc: u64,
    /// What the log says.
    pub expected: String,
    /// What the slice did.
    pub got: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, pc, expected, got } = self;
        write!(f, "replay diverged at record {record}, pc {pc:#x}: expected {expected}, got {got}")
    }
}

/// Length of the `syscall` instruction.
const SYSCALL_LEN: u64 = 2;

/// Replays one slice's log.
pub struct Replayer<'a> {
    log: LogReader<'a>,
    next: u64,
}

impl<'a> Replayer<'a> {
    /// From the first record of a log.
    pub fn new(log: &'a [u8]) -> Self {
        Self { log: LogReader::new(log), next: 0 }
    }

    /// Whether the last record was used.
    pub fn is_exhausted(&self) -> bool {
        self.log.is_exhausted()
    }

    /// Index of the next record.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Offset of the next record in the log.
    pub fn offset(&self) -> usize {
        self.log.offset()
    }

    /// Somebody else has replayed `records` records, up to `offset`.
    pub fn skip_to(&mut self, offset: usize, records: u64) {
        self.log.skip_to(offset);
        self.next += records;
    }

    /// The app makes a system call, and a signal may come at its end: [`Self::call`], then [`Self::delivery`].
    ///
    /// # Errors
    /// If the next record isn't this call, or its effects can't be applied.
    pub fn syscall(&mut self, registers: &mut Registers, space: &mut dyn Space) -> Result<Replayed<'a>, Divergence> {
        match self.call(registers, space)? {
            Replayed::Done => self.delivery(registers, space),
            other => Ok(other),
        }
    }

    /// The app makes a system call: `registers` are as before it, but `rip` is already after the instruction.
    ///
    /// # Errors
    /// If the next record isn't this call, or its effects can't be applied.
    pub fn call(&mut self, registers: &mut Registers, space: &mut dyn Space) -> Result<Replayed<'a>, Divergence> {
        self.call_of(None, registers, space)
    }

    /// The same of a call that was entered before other threads had the turn. `entered`: the hash of what it has read then.
    ///
    /// # Errors
    /// As there.
    pub fn call_of(
        &mut self,
        entered: Option<u64>,
        registers: &mut Registers,
        space: &mut dyn Space,
    ) -> Result<Replayed<'a>, Divergence> {
        let pc = registers.rip.wrapping_sub(SYSCALL_LEN);
        let number = registers.get(Gpr::Rax);
        let args = registers.syscall_args();
        let got = || format_call(number, &args);
        match self.next_record(pc, got)? {
            None => return Ok(Replayed::Exhausted),
            Some(Record::Syscall(record)) => self.apply(&record, entered, registers, space)?,
            Some(Record::Remap(remap)) => self.repeat(&remap, registers, space)?,
            Some(Record::SignalReturn(record)) if number as i64 == libc::SYS_rt_sigreturn => {
                self.check_frame(&record, registers, space)?;
                *registers = record.registers;
                self.next += 1;
                return Ok(Replayed::Restored(record.xstate));
            }
            Some(record) => return Err(self.diverge(pc, format_record(&record), got())),
        }
        self.next += 1;
        Ok(Replayed::Done)
    }

    /// A call has been made. If a signal came at its end: its handler starts.
    ///
    /// # Errors
    /// If that isn't where it came to the master.
    pub fn delivery(&mut self, registers: &mut Registers, space: &mut dyn Space) -> Result<Replayed<'a>, Divergence> {
        let mut log = self.log.clone();
        let Ok(Some(Record::Delivery(delivered))) = log.next_record() else { return Ok(Replayed::Done) };
        let (address, frame) = delivered.frame;
        let what = format_record(&Record::Delivery(delivered));
        if let Err(error) = space.write(address, frame) {
            return Err(self.diverge(registers.rip, what, error.to_string()));
        }
        // Behind the address to which the handler returns lies what it will return with: it goes on behind the call, or makes it again.
        let again = Registers { rip: registers.rip.wrapping_sub(SYSCALL_LEN), ..*registers };
        if ![&*registers, &again].into_iter().any(|place| returns_to(address.wrapping_add(8), space, place)) {
            return Err(self.diverge(registers.rip, what, format!("its own stack pointer {:#x}", registers.rsp())));
        }
        *registers = delivered.registers;
        self.log = log;
        self.next += 1;
        Ok(Replayed::Delivered(delivered.xstate, delivered.origin))
    }

    /// The point that the app comes to next, if that is the next record.
    pub fn next_point(&self) -> Option<Point<'a>> {
        if !self.log.is_at_point() {
            return None;
        }
        match self.log.clone().next_record() {
            Ok(Some(Record::Point(point))) => Some(point),
            _ => None,
        }
    }

    /// Whether a turn ends at the point that the app comes to next.
    pub fn ends_turn_at_point(&self) -> bool {
        let mut log = self.log.clone();
        let mut next = || log.next_record().ok().flatten();
        matches!(next(), Some(Record::Point(_))) && matches!(next(), Some(Record::Turn(_)))
    }

    /// The app, which is at `pc`, has come to the point. What takes place there is a thread's [turn](Self::turn), or a signal's [delivery](Self::delivery).
    ///
    /// # Errors
    /// If there is no point.
    pub fn at_point(&mut self, pc: u64) -> Result<(), Divergence> {
        let record = self.next_record(pc, || "a point".to_owned())?;
        debug_assert!(matches!(record, Some(Record::Point(_))));
        self.next += 1;
        Ok(())
    }

    /// If a thread is told of here: takes that.
    pub fn thread(&mut self) -> Option<OtherThread<'a>> {
        let mut log = self.log.clone();
        let Ok(Some(Record::Thread(thread))) = log.next_record() else { return None };
        self.log = log;
        self.next += 1;
        Some(thread)
    }

    /// If the turn goes to another thread here: takes that. The present one stands behind the instruction with these registers. `call`: it has entered a call and isn't behind it; the
    /// hash of what that has read, if it was entered before.
    ///
    /// # Errors
    /// If the master's thread stood elsewhere.
    pub fn turn(
        &mut self,
        call: Option<Option<u64>>,
        registers: &Registers,
        space: &mut dyn Space,
    ) -> Result<Option<Turn>, Divergence> {
        let mut log = self.log.clone();
        let Ok(Some(Record::Turn(turn))) = log.next_record() else { return Ok(None) };
        let differs = |got: String| self.diverge(registers.rip, format_record(&Record::Turn(turn)), got);
        let (number, args) = (registers.get(Gpr::Rax), registers.syscall_args());
        match (turn.end, call) {
            (TurnEnd::InCall(made), Some(before)) => {
                let hash = read_by(made.number, &args, before, made.input_hash, space);
                let arity = table::row(made.number).map_or(6, |row| row.arity as usize);
                if (number, &args[..arity], hash) != (made.number, &made.args[..arity], made.input_hash) {
                    return Err(differs(format_call(number, &args[..arity])));
                }
            }
            (TurnEnd::Ready | TurnEnd::Gone, None) => {}
            // It makes the call first.
            (TurnEnd::Ready | TurnEnd::Gone, Some(_)) => return Ok(None),
            (TurnEnd::InCall(_), None) => return Ok(None),
        }
        if let Some(OwnedWord { address, value }) = turn.owned() {
            space.write(address, &value.to_le_bytes()).map_err(|error| differs(error.to_string()))?;
        }
        if turn.end != TurnEnd::Gone && turn.registers_hash != registers_hash(registers) {
            return Err(differs("another state".to_owned()));
        }
        self.log = log;
        self.next += 1;
        Ok(Some(turn))
    }

    /// The app executes a nondeterministic instruction at `pc`; its results are put into `registers`.
    ///
    /// # Errors
    /// If the next record isn't this instruction.
    pub fn nondeterministic(
        &mut self,
        kind: NondeterministicKind,
        pc: u64,
        registers: &mut Registers,
    ) -> Result<Replayed<'a>, Divergence> {
        let got = || format!("{} at {pc:#x}", nondeterministic_name(kind));
        match self.next_record(pc, got)? {
            None => return Ok(Replayed::Exhausted),
            Some(Record::Nondeterministic(record)) if record.kind == kind && record.pc == pc => record.apply(registers),
            Some(record) => return Err(self.diverge(pc, format_record(&record), got())),
        }
        self.next += 1;
        Ok(Replayed::Done)
    }

    /// The app executes an instruction named `name` at `pc` whose result is one register; it is put into `registers`.
    ///
    /// # Errors
    /// If the next record isn't this instruction.
    pub fn random(&mut self, name: &str, pc: u64, registers: &mut Registers) -> Result<Replayed<'a>, Divergence> {
        let got = || format!("{name} at {pc:#x}");
        match self.next_record(pc, got)? {
            None => return Ok(Replayed::Exhausted),
            Some(Record::Random(record)) if record.pc == pc => record.apply(registers),
            Some(record) => return Err(self.diverge(pc, format_record(&record), got())),
        }
        self.next += 1;
        Ok(Replayed::Done)
    }

    fn next_record(&mut self, pc: u64, got: impl Fn() -> String) -> Result<Option<Record<'a>>, Divergence> {
        self.log.next_record().map_err(|damage| self.diverge(pc, damage.to_string(), got()))
    }

    fn diverge(&self, pc: u64, expected: String, got: String) -> Divergence {
        Divergence { record: self.next, pc, expected, got }
    }

    fn apply(
        &self,
        record: &SyscallRecord<'_>,
        entered: Option<u64>,
        registers: &mut Registers,
        space: &mut dyn Space,
    ) -> Result<(), Divergence> {
        let pc = registers.rip.wrapping_sub(SYSCALL_LEN);
        self.check(record.number, &record.args[..record.arity], registers)?;
        let args = registers.syscall_args();
        let hash = read_by(record.number.into(), &args, entered, record.input_hash, space);
        if hash != record.input_hash {
            let call = format_call(record.number.into(), &record.args[..record.arity]);
            let expected = format!("{call} reading bytes with hash {:#x}", record.input_hash);
            return Err(self.diverge(pc, expected, format!("the same call reading bytes with hash {hash:#x}")));
        }
        for (address, bytes) in record.writes() {
            // A call that failed in this way has written some of these bytes or none; where none can be written they are as they were.
            let may_fail = record.result == -i64::from(libc::EFAULT) as u64;
            let written = if record.shows { space.show(address, bytes) } else { space.write(address, bytes) };
            if let Err(error) = written
                && !may_fail
            {
                let call = format_call(record.number.into(), &args[..record.arity]);
                return Err(self.diverge(pc, format!("{call} writing {} bytes", bytes.len()), error.to_string()));
            }
        }
        registers.finish_syscall(record.result);
        Ok(())
    }

    fn repeat(&self, remap: &Remap, registers: &mut Registers, space: &mut dyn Space) -> Result<(), Divergence> {
        let pc = registers.rip.wrapping_sub(SYSCALL_LEN);
        self.check(remap.number, &remap.args[..remap.arity], registers)?;
        if i64::from(remap.number) == libc::SYS_arch_prctl {
            set_segment_base(remap, registers);
        } else if let Err(error) = space.reshape(remap) {
            let call = format_call(remap.number.into(), &remap.args[..remap.arity]);
            return Err(self.diverge(pc, format!("{call} = {:#x}", remap.result), error));
        }
        registers.finish_syscall(remap.result);
        Ok(())
    }

    /// The frame from which the kernel took the state must be the slice's as well: it is compared in two words.
    fn check_frame(
        &self,
        record: &SignalReturn<'_>,
        registers: &Registers,
        space: &mut dyn Space,
    ) -> Result<(), Divergence> {
        if returns_to(registers.rsp(), space, &record.registers) {
            return Ok(());
        }
        let pc = registers.rip.wrapping_sub(SYSCALL_LEN);
        Err(self.diverge(pc, format_record(&Record::SignalReturn(*record)), "another frame".to_owned()))
    }

    /// Number and all arguments that the kernel looks at must be the recorded ones.
    fn check(&self, number: u32, args: &[u64], registers: &Registers) -> Result<(), Divergence> {
        let made = registers.syscall_args();
        let made_number = registers.get(Gpr::Rax);
        if made_number as u32 == number && made[..args.len()] == *args {
            return Ok(());
        }
        let arity = table::row(made_number).map_or(6, |row| row.arity as usize);
        let pc = registers.rip.wrapping_sub(SYSCALL_LEN);
        Err(self.diverge(pc, format_call(number.into(), args), format_call(made_number, &made[..arity])))
    }
}

/// The hash of what a call reads, or has read when it was entered (`entered`): one that was broken off and is made again has another then, unless it goes on. `wanted`: what the
/// log says.
fn read_by(number: u64, args: &[u64; 6], entered: Option<u64>, wanted: u64, memory: &dyn Memory) -> u64 {
    match (entered, table::row(number)) {
        (Some(entered), _) if entered == wanted => entered,
        (_, Some(row)) if wanted != 0 => effects::input_hash(row, args, memory),
        _ => 0,
    }
}

/// `arch_prctl(ARCH_SET_FS or ARCH_SET_GS)`: part of the app's registers, not of its memory.
fn set_segment_base(remap: &Remap, registers: &mut Registers) {
    const ARCH_SET_FS: u32 = 0x1002;
    if is_error(remap.result) {
        return;
    }
    if remap.args[0] as u32 == ARCH_SET_FS {
        registers.fs_base = remap.args[1];
    } else {
        registers.gs_base = remap.args[1];
    }
}

/// Whether the frame of a handler that returns with the stack pointer `rsp` goes back to the place `registers`: whether it
/// names that stack pointer and instruction pointer.
pub fn returns_to(rsp: u64, memory: &(impl Memory + ?Sized), registers: &Registers) -> bool {
    // At the stack pointer lies a ucontext: flags, link, the stack's three words, then registers, of which these two follow
    // each other.
    const RSP_AND_RIP: u64 = 40 + 15 * 8;
    let at = rsp.wrapping_add(RSP_AND_RIP);
    let frame = [memory.read_u64(at).ok(), memory.read_u64(at.wrapping_add(8)).ok()];
    frame == [Some(registers.rsp()), Some(registers.rip)]
}
