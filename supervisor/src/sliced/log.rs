//! What a sliced run tells those who work on it: all of its events, by name.

use bubble::end::{End, EndKind};
use bubble::events::EventKind;
use syscall_replay::{LogReader, Record, Turn, TurnEnd, table};

use crate::report::Boundary;
use crate::report::log::{tell, wants};

/// A fork of the master was made, to become a slice.
pub fn forked(slice: u64, pid: i32) {
    tell(EventKind::Boundary, Some(slice), format_args!("process {pid} is forked for it"));
}

/// The master has come to the slice's end.
pub fn comes_to_end(slice: u64, why: Boundary, end: &End) {
    let how = match end.kind {
        EndKind::Syscall => "at a system call, behind it at",
        EndKind::Signature => "by its state, at",
    };
    tell(EventKind::Boundary, Some(slice), format_args!("ends for {why:?}, {how} {:#x}", end.registers.rip));
}

/// The slice's log is complete.
pub fn recorded(slice: u64, log: &[u8]) {
    if !wants(EventKind::Record) {
        return;
    }
    let mut reader = LogReader::new(log);
    for number in 0.. {
        let at = reader.offset();
        match reader.next_record() {
            Ok(Some(record)) => {
                let text = described(&record);
                let bytes = reader.offset() - at;
                tell(EventKind::Record, Some(slice), format_args!("record {number}, {bytes} bytes: {text}"));
            }
            Ok(None) => return,
            Err(error) => return tell(EventKind::Record, Some(slice), format_args!("record {number}: {error}")),
        }
    }
}

fn described(record: &Record<'_>) -> String {
    let call = |number: u32, args: &[u64]| {
        let args: Vec<String> = args.iter().map(|arg| format!("{arg:#x}")).collect();
        format!("{}({})", table::name(number.into()), args.join(", "))
    };
    let made = |number: u32, args: &[u64], result: u64| format!("{} = {result:#x}", call(number, args));
    match record {
        Record::Syscall(record) => {
            let written: Vec<String> =
                record.writes().map(|(address, bytes)| format!("{} bytes at {address:#x}", bytes.len())).collect();
            let effects = if written.is_empty() { "nothing".to_owned() } else { written.join(", ") };
            format!("{}, which wrote {effects}", made(record.number, &record.args[..record.arity], record.result))
        }
        Record::Remap(remap) => {
            format!("{}, to be repeated", made(remap.number, &remap.args[..remap.arity], remap.result))
        }
        Record::Nondeterministic(read) => {
            format!(
                "{:?} at {:#x}: rax={:#x} rdx={:#x} rcx={:#x} rbx={:#x}",
                read.kind, read.pc, read.rax, read.rdx, read.rcx, read.rbx
            )
        }
        Record::Random(read) => format!("a random number at {:#x}: {:?}={:#x}", read.pc, read.register, read.value),
        Record::SignalReturn(to) => format!("return from a signal handler to {:#x}", to.registers.rip),
        Record::Thread(thread) => {
            let at = if thread.call.is_some() { "in the call before" } else { "at" };
            format!("thread {} ({}) is there, {at} {:#x}", thread.index, thread.tid, thread.registers.rip)
        }
        Record::Turn(Turn { to, end, .. }) => match end {
            TurnEnd::Ready => format!("thread {to} goes on"),
            TurnEnd::InCall(made) => {
                format!("thread {to} goes on while this one is in {}", call(made.number as u32, &made.args))
            }
            TurnEnd::Gone => format!("thread {to} goes on, this one has ended"),
        },
        Record::Point(point) => {
            let told: usize = point.changes().map(|(_, bytes)| bytes.len()).sum();
            format!("the app is at {:#x}, with {told} bytes of memory that have changed", point.registers.rip)
        }
        Record::Delivery(to) => {
            let (frame, bytes) = to.frame;
            format!("start of a signal handler at {:#x}, with {} bytes at {frame:#x}", to.registers.rip, bytes.len())
        }
    }
}

/// The slice's result is there.
pub fn has_finished(slice: u64, is_verified: bool, recurs: bool) {
    let verified = if is_verified { "its end is verified" } else { "its end isn't verified by memory" };
    let recurs = if recurs { ", and recurs" } else { "" };
    tell(EventKind::Boundary, Some(slice), format_args!("has finished, {verified}{recurs}"));
}

/// The slice's process has ended too early.
pub fn is_lost(slice: u64, why: &str) {
    tell(EventKind::Boundary, Some(slice), format_args!("is lost: {why}"));
}

#[cfg(test)]
mod tests {
    use syscall_replay::LogWriter;
    use syscall_replay::log::CallRecord;

    use super::*;

    #[test]
    fn records_are_described_by_what_they_say() {
        let mut bytes = vec![0; 4096];
        let mut log = LogWriter::new(&mut bytes);
        let call = CallRecord { number: libc::SYS_getppid as u32, args: &[], result: 7, input_hash: 0 };
        log.syscall(call, &[], &machine::Here::new()).unwrap();
        let args = [1, 4096];
        log.remap(CallRecord { number: libc::SYS_munmap as u32, args: &args, result: 0, input_hash: 0 }, None).unwrap();
        let len = log.len();
        let mut reader = LogReader::new(&bytes[..len]);
        let mut next = || described(&reader.next_record().unwrap().unwrap());
        assert_eq!(next(), "getppid() = 0x7, which wrote nothing");
        assert_eq!(next(), "munmap(0x1, 0x1000) = 0x0, to be repeated");
    }
}
