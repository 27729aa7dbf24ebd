//! Where to cut: pure decisions, testable without a process.

use bubble::map::{RECORDER, RECORDS};
use syscall_replay::table::{Class, Special};

use crate::report::Boundary;
use crate::settings::CallLimit;

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
    /// The app stops being sliced.
    GiveUp,
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
        Class::Special(Special::StartThread) => return Plan::GiveUp,
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

/// Where a slice can be cut, seen from an arbitrary instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPoint {
    /// Before this instruction.
    Here,
    /// Not before the one at that address: an instruction that repeats itself may be half done here.
    At(u64),
    /// At the system call that this instruction makes: it needs no search for the place.
    AtCall,
    /// Somewhere else, later.
    Later,
}

/// Addresses from here on are the kernel's; among them the vsyscall page, which programs call.
const USER_END: u64 = 0x8000_0000_0000;

/// Decides whether to cut before the instruction at `rip`, whose first bytes are `code`.
pub fn cut_point(rip: u64, code: &[u8]) -> CutPoint {
    if rip >= USER_END {
        return CutPoint::Later;
    }
    const SYSCALL: &[u8] = &[0x0f, 0x05];
    if code.starts_with(SYSCALL) {
        return CutPoint::AtCall;
    }
    repeated_string_len(code).map_or(CutPoint::Here, |len| CutPoint::At(rip + len as u64))
}

/// Length of the instruction if it is a string instruction with a repeat prefix.
fn repeated_string_len(code: &[u8]) -> Option<usize> {
    const REPEAT: [u8; 2] = [0xf2, 0xf3];
    const OTHER_PREFIXES: [u8; 8] = [0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65];
    let prefixes = code.iter().take_while(|b| REPEAT.contains(b) || OTHER_PREFIXES.contains(b)).count();
    let repeats = code[..prefixes].iter().any(|b| REPEAT.contains(b));
    let rex = usize::from(code.get(prefixes).is_some_and(|b| b & 0xf0 == 0x40));
    let opcode = *code.get(prefixes + rex)?;
    let is_string = matches!(opcode, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf);
    (repeats && is_string).then_some(prefixes + rex + 1)
}

/// What a signal does to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing that user code sees, or it stops the process for a while.
    Pass,
    /// A handler runs.
    Handler,
    /// The process dies.
    Death,
}

/// What a process has set for its signals, as bit sets (signal 1 is bit 0).
#[derive(Clone, Copy, Debug, Default)]
pub struct Dispositions {
    /// Those with handlers.
    pub caught: u64,
    /// Those that are ignored.
    pub ignored: u64,
}

impl Dispositions {
    /// From the text of /proc/PID/status.
    pub fn parse(status: &str) -> Option<Self> {
        Some(Self { caught: signal_set(status, "SigCgt:")?, ignored: signal_set(status, "SigIgn:")? })
    }
}

/// Signals that wait to be delivered to a process, as bit sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pending {
    thread: u64,
    process: u64,
}

impl Pending {
    /// What waits now. `None` if /proc doesn't tell.
    pub fn of(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        Some(Self { thread: signal_set(status, "SigPnd:")?, process: signal_set(status, "ShdPnd:")? })
    }

    /// All of them.
    pub fn any(self) -> u64 {
        self.thread | self.process
    }
}

/// A field of /proc/PID/status that is a set of signals.
fn signal_set(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Decides what a signal that is about to be delivered will do.
pub fn delivery(signal: i32, dispositions: Dispositions) -> Delivery {
    let bit = 1_u64 << (signal - 1);
    match signal {
        libc::SIGKILL => Delivery::Death,
        libc::SIGSTOP => Delivery::Pass,
        _ if dispositions.caught & bit != 0 => Delivery::Handler,
        _ if dispositions.ignored & bit != 0 => Delivery::Pass,
        libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT => Delivery::Pass,
        libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Delivery::Pass,
        _ => Delivery::Death,
    }
}

/// Whether the instruction at hand raised the signal, so that it can't be put off.
pub fn is_synchronous(signal: i32, code: i32) -> bool {
    let by_instruction = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
    by_instruction.contains(&signal) && code > 0
}

/// A reading of the time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockInstruction {
    /// `rdtsc`.
    Rdtsc,
    /// `rdtscp`.
    Rdtscp,
    /// `cpuid`: no clock, but it is trapped and recorded in the same way.
    Cpuid,
}

impl ClockInstruction {
    /// Whether `code` starts with one.
    pub fn decode(code: &[u8]) -> Option<Self> {
        match code {
            [0x0f, 0x31, ..] => Some(Self::Rdtsc),
            [0x0f, 0x01, 0xf9, ..] => Some(Self::Rdtscp),
            [0x0f, 0xa2, ..] => Some(Self::Cpuid),
            _ => None,
        }
    }

    /// Its length.
    pub fn len(self) -> u64 {
        match self {
            Self::Rdtsc | Self::Cpuid => 2,
            Self::Rdtscp => 3,
        }
    }
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
    fn repeated_strings_are_not_cut() {
        assert_eq!(cut_point(0x1000, &[0xf3, 0xa4, 0x90]), CutPoint::At(0x1002));
        assert_eq!(cut_point(0x1000, &[0xf3, 0x48, 0xab]), CutPoint::At(0x1003));
        assert_eq!(cut_point(0x1000, &[0x66, 0xf2, 0xaf]), CutPoint::At(0x1003));
        assert_eq!(cut_point(0x1000, &[0xa4]), CutPoint::Here);
        // endbr64, pause and an SSE instruction have the same first byte.
        assert_eq!(cut_point(0x1000, &[0xf3, 0x0f, 0x1e, 0xfa]), CutPoint::Here);
        assert_eq!(cut_point(0x1000, &[0xf3, 0x90]), CutPoint::Here);
        assert_eq!(cut_point(0x1000, &[]), CutPoint::Here);
        assert_eq!(cut_point(0x1000, &[0x0f, 0x05, 0x90]), CutPoint::AtCall);
        assert_eq!(cut_point(0xffff_ffff_ff60_0000, &[0x0f]), CutPoint::Later);
    }

    #[test]
    fn signals_do_what_the_process_has_set() {
        let status = "Name:\tx\nSigPnd:\t0000000000000001\nShdPnd:\t0000000000002000\nSigIgn:\t0000000000001000\n\
            SigCgt:\t0000000000000002\n";
        let set = Dispositions::parse(status).unwrap();
        assert_eq!(delivery(libc::SIGINT, set), Delivery::Handler);
        assert_eq!(delivery(libc::SIGPIPE, set), Delivery::Pass);
        assert_eq!(delivery(libc::SIGTERM, set), Delivery::Death);
        assert_eq!(delivery(libc::SIGCHLD, set), Delivery::Pass);
        assert_eq!(delivery(libc::SIGTSTP, set), Delivery::Pass);
        assert_eq!(delivery(libc::SIGKILL, set), Delivery::Death);
        assert!(Dispositions::parse("").is_none());
        assert_eq!(Pending::parse(status).map(Pending::any), Some(0x2001));
    }

    #[test]
    fn faults_cannot_be_put_off() {
        assert!(is_synchronous(libc::SIGSEGV, 1));
        assert!(!is_synchronous(libc::SIGSEGV, libc::SI_USER));
        assert!(!is_synchronous(libc::SIGALRM, libc::SI_KERNEL));
    }

    #[test]
    fn clock_instructions_are_recognised() {
        assert_eq!(ClockInstruction::decode(&[0x0f, 0x31, 0x90]), Some(ClockInstruction::Rdtsc));
        assert_eq!(ClockInstruction::decode(&[0x0f, 0x01, 0xf9]), Some(ClockInstruction::Rdtscp));
        assert_eq!(ClockInstruction::decode(&[0x0f, 0x01, 0xf8]), None);
    }
}
