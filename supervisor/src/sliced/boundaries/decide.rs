//! Where to cut: pure decisions, testable without a process.

use bubble::map::{RECORDER, RECORDS};
use isa::{InBlock, Instruction, Kind, Reader};
use machine::AppPc;
use syscall_replay::table::{Class, Special};

use crate::command::CallLimit;
use crate::report::Boundary;

/// What is done about a system call that the master is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It is made (or refused with that result) and recorded.
    Record(Option<i64>),
    /// It is made (or refused with that result), then the slice ends at it.
    Cut(Boundary, Option<i64>),
    /// As `Cut`, and the new process gets its own clock reading back.
    StartProcess,
    /// If it succeeds, the slice ends at it and the next starts with the new program; else as `Cut`.
    Exec,
    /// The last slice ends at it.
    Exit,
    /// It is made and recorded, and another thread is there.
    StartThread,
    /// It is made and recorded, and this thread isn't there any more.
    EndThread,
}

/// What was recorded for a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Records that the control process has written.
    pub stopped: u32,
    /// Records that were written inside the app.
    pub inside: u32,
    /// Bytes of all of them.
    pub bytes: usize,
}

/// Bytes of log after which a slice ends, so that the logs of all slices together stay within what a machine has.
const MOST_BYTES: usize = 64 << 20;
/// The same where the user says how many calls a slice may replay: the log has no more, but for what the app may record inside it in one go.
const MOST_BYTES_ON_REQUEST: usize = (RECORDS.size - RECORDER.size) as usize;

/// A cut costs as much as so many stops.
const STOPS_FOR_A_CUT: u32 = 100;
/// So many calls that are recorded inside the app cost as much as one for which it is stopped.
const INSIDE_FOR_A_STOP: u32 = 100;

impl Amount {
    /// Calls that may still be recorded inside the app; 0 if none may be recorded.
    pub fn left(self, limit: CallLimit) -> u32 {
        let (weight, most) = match limit {
            CallLimit::Calls(most) => (1, most),
            CallLimit::Stops(most) => (INSIDE_FOR_A_STOP, most),
        };
        let used = self.stopped.saturating_mul(weight).saturating_add(self.inside);
        if self.bytes < most_bytes(limit) { most.saturating_mul(weight).saturating_sub(used) } else { 0 }
    }

    /// Whether the slice is to end where the time stamp counter is read: nothing more may be recorded inside the app, each further reading would stop
    /// it, and so much was recorded there that a cut costs less.
    pub fn is_enough_for_readings(self, limit: CallLimit) -> bool {
        self.inside >= STOPS_FOR_A_CUT && self.left(limit) == 0
    }
}

/// Bytes of log after which a slice ends.
pub fn most_bytes(limit: CallLimit) -> usize {
    match limit {
        CallLimit::Calls(_) => MOST_BYTES_ON_REQUEST,
        CallLimit::Stops(_) => MOST_BYTES,
    }
}

/// State of the current slice that matters for the decision.
#[derive(Clone, Copy, Debug)]
pub struct SliceState {
    /// What was recorded so far.
    pub recorded: Amount,
    /// `-spsysrecs`.
    pub limit: CallLimit,
    /// Its time is over.
    pub is_due: bool,
}

/// Decides on a system call. A slice that is due, or has its records, ends at the next call rather than somewhere
/// behind it: an end at a call needs no search for the place.
pub fn plan(class: Class, slice: SliceState) -> Plan {
    let refused = match class {
        Class::Refuse { result } => Some(result),
        Class::Boundary => return Plan::Cut(Boundary::Syscall, None),
        Class::Special(Special::Exec) => return Plan::Exec,
        Class::Special(Special::Exit) => return Plan::Exit,
        Class::Special(Special::StartThread) if slice.is_due => return Plan::Cut(Boundary::Timeout, None),
        Class::Special(Special::StartThread) => return Plan::StartThread,
        Class::Special(Special::StartProcess) => return Plan::StartProcess,
        Class::Special(Special::SignalReturn) | Class::Replay | Class::Repeat => None,
    };
    if slice.is_due {
        Plan::Cut(Boundary::Timeout, refused)
    } else if slice.recorded.left(slice.limit) == 0 {
        Plan::Cut(Boundary::Records, refused)
    } else {
        Plan::Record(refused)
    }
}

/// Where a slice can be cut, seen from an arbitrary instruction. Blocks aren't cut in two, so that no tool sees where slices end: what has begun is run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPoint {
    /// Before this instruction: it starts a block, or it can't be executed.
    Here {
        /// Whether it does.
        starts_block: bool,
    },
    /// Once the app has come to this address.
    At(u64, Reached),
    /// At the system call with which the block ends: it needs no search for the place.
    AtCall,
    /// Somewhere else, later.
    Later,
}

/// What is at the address to which the app runs before a slice is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The start of a block.
    Start,
    /// The branch, call or return that ends one: it is executed, too.
    Branch,
    /// The end of what could be looked at: it is looked again.
    Unknown,
}

/// Addresses from here on are the kernel's; among them the vsyscall page, which programs call.
const USER_END: u64 = 0x8000_0000_0000;

/// Decides where to cut when the app is about to execute the instruction at `rip`. `code`: that and what follows. `is_recorded`: whether what an instruction gives is recorded,
/// and another lies in its place.
pub fn cut_point(rip: u64, code: &[u8], is_recorded: impl Fn(u64) -> bool) -> CutPoint {
    if rip >= USER_END {
        return CutPoint::Later;
    }
    let mut reader = Reader::new(code, AppPc(rip));
    loop {
        let at = rip + reader.position() as u64;
        let (is_here, is_recorded) = (at == rip, is_recorded(at));
        let Ok(instruction) = reader.read() else {
            return if is_here { CutPoint::Here { starts_block: false } } else { CutPoint::At(at, Reached::Unknown) };
        };
        let next = instruction.next_pc().0;
        let stands = instruction.in_block();
        return match instruction.kind() {
            Kind::Syscall => CutPoint::AtCall,
            Kind::SelectorLoad { .. } => CutPoint::At(next, Reached::Start),
            Kind::Trap if is_recorded && is_here => CutPoint::Here { starts_block: true },
            Kind::Trap if is_recorded => CutPoint::At(at, Reached::Start),
            Kind::Trap | Kind::XBegin { .. } if is_here => CutPoint::Here { starts_block: false },
            Kind::Trap | Kind::XBegin { .. } => CutPoint::At(at, Reached::Unknown),
            _ if stands == InBlock::Inside => continue,
            _ if stands == InBlock::Last => CutPoint::At(at, Reached::Branch),
            _ if is_here => CutPoint::Here { starts_block: true },
            _ => CutPoint::At(at, Reached::Start),
        };
    }
}

/// Where the instruction at `rip` ends, if it is one that repeats itself and may be half done. `code`: its bytes, and perhaps more.
pub fn string_end(rip: u64, code: &[u8]) -> Option<u64> {
    let instruction = Instruction::decode(code, AppPc(rip)).ok().filter(|_| rip < USER_END)?;
    instruction.is_rep().then(|| instruction.next_pc().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: SliceState = SliceState { recorded: amount(0, 0, 0), limit: CallLimit::Calls(2), is_due: false };

    const fn amount(stopped: u32, inside: u32, bytes: usize) -> Amount {
        Amount { stopped, inside, bytes }
    }

    #[test]
    fn ordinary_calls_are_recorded_until_the_limit() {
        assert_eq!(plan(Class::Replay, FRESH), Plan::Record(None));
        assert_eq!(plan(Class::Repeat, SliceState { recorded: amount(1, 0, 0), ..FRESH }), Plan::Record(None));
        assert_eq!(
            plan(Class::Replay, SliceState { recorded: amount(1, 1, 0), ..FRESH }),
            Plan::Cut(Boundary::Records, None)
        );
        assert_eq!(
            plan(Class::Replay, SliceState { limit: CallLimit::Calls(0), ..FRESH }),
            Plan::Cut(Boundary::Records, None)
        );
    }

    #[test]
    fn calls_without_stops_count_in_full_only_where_the_user_sets_a_limit() {
        let limit = CallLimit::Stops(2);
        assert_eq!([amount(1, 30, 0), amount(0, 200, 0)].map(|amount| amount.left(limit)), [70, 0]);
        assert_eq!([amount(2, 0, 0), amount(0, 0, MOST_BYTES)].map(|amount| amount.left(limit)), [0, 0]);
        let limit = CallLimit::Calls(5);
        assert_eq!([amount(1, 2, MOST_BYTES), amount(5, 1, 0)].map(|amount| amount.left(limit)), [2, 0]);
        assert_eq!(amount(0, 0, RECORDS.size as usize).left(limit), 0);
    }

    #[test]
    fn readings_end_a_slice_where_many_were_recorded_without_stops() {
        let enough = |stopped, inside, most| amount(stopped, inside, 0).is_enough_for_readings(CallLimit::Calls(most));
        assert_eq!([enough(0, 3, 3), enough(900, 99, 999), enough(0, 999, 1000)], [false; 3]);
        assert_eq!([enough(0, 1000, 1000), enough(900, 100, 1000)], [true; 2]);
    }

    #[test]
    fn a_slice_that_is_due_ends_at_the_next_call() {
        let due = SliceState { is_due: true, ..FRESH };
        assert_eq!(plan(Class::Replay, due), Plan::Cut(Boundary::Timeout, None));
        assert_eq!(plan(Class::Boundary, due), Plan::Cut(Boundary::Syscall, None));
        assert_eq!(plan(Class::Special(Special::Exit), due), Plan::Exit);
    }

    #[test]
    fn refused_calls_are_recorded_like_others() {
        let refuse = Class::Refuse { result: -38 };
        assert_eq!(plan(refuse, FRESH), Plan::Record(Some(-38)));
        assert_eq!(
            plan(refuse, SliceState { limit: CallLimit::Calls(0), ..FRESH }),
            Plan::Cut(Boundary::Records, Some(-38))
        );
    }

    #[test]
    fn signals_wait_for_the_end_of_repeated_strings() {
        assert_eq!(string_end(0x1000, &[0xf3, 0xa4, 0x90]), Some(0x1002));
        assert_eq!(string_end(0x1000, &[0xf3, 0x48, 0xab]), Some(0x1003));
        assert_eq!(string_end(0x1000, &[0x66, 0xf2, 0xaf]), Some(0x1003));
        // movsb; endbr64; pause
        for other in [&[0xa4][..], &[0xf3, 0x0f, 0x1e, 0xfa], &[0xf3, 0x90], &[]] {
            assert_eq!(string_end(0x1000, other), None);
        }
        assert_eq!(string_end(0xffff_ffff_ff60_0000, &[0xf3, 0xa4]), None);
    }

    #[test]
    fn blocks_are_run_to_their_ends() {
        let cut = |code: &[u8]| cut_point(0x1000, code, |_| false);
        // rep movsb; nop; je
        assert_eq!(cut(&[0xf3, 0xa4, 0x90, 0x74, 0]), CutPoint::At(0x1003, Reached::Branch));
        assert_eq!(cut(&[0xc3]), CutPoint::At(0x1000, Reached::Branch));
        // nop; rdtsc
        assert_eq!(cut(&[0x90, 0x0f, 0x31]), CutPoint::At(0x1001, Reached::Start));
        assert_eq!(cut(&[0x0f, 0x31]), CutPoint::Here { starts_block: true });
        // nop; syscall
        assert_eq!(cut(&[0x90, 0x0f, 0x05]), CutPoint::AtCall);
        // Two of three bytes of an instruction.
        assert_eq!(cut(&[0x90, 0x48, 0x89]), CutPoint::At(0x1001, Reached::Unknown));
        assert_eq!(cut(&[]), CutPoint::Here { starts_block: false });
        // nop; int3
        assert_eq!(cut(&[0x90, 0xcc]), CutPoint::At(0x1001, Reached::Unknown));
        assert_eq!(cut(&[0xcc]), CutPoint::Here { starts_block: false });
        let recorded = |code: &[u8]| cut_point(0x1000, code, |at| at == 0x1001);
        assert_eq!(recorded(&[0x90, 0xcc]), CutPoint::At(0x1001, Reached::Start));
        assert_eq!(cut_point(0x1001, &[0xcc], |at| at == 0x1001), CutPoint::Here { starts_block: true });
        assert_eq!(cut_point(0xffff_ffff_ff60_0000, &[0x0f], |_| false), CutPoint::Later);
    }
}
