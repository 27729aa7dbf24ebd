//! Calls that are really made, recorded, undone in memory, and replayed: afterwards memory and registers must be
//! what the kernel made them.

mod points;

use machine::{Gpr, Here, Memory, MemoryError, Registers, SignalOrigin};

use crate::log::{LogFull, Malformed, SYSCALL};
use crate::*;

/// This process's memory; remembers what it was asked to reshape.
struct Recorded {
    here: Here,
    reshaped: Vec<Remap>,
}

impl Recorded {
    fn new() -> Self {
        Self { here: Here::new(), reshaped: Vec::new() }
    }
}

impl Memory for Recorded {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
        self.here.read(address, buf)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.here.write(address, bytes)
    }
}

impl Space for Recorded {
    fn reshape(&mut self, remap: &Remap) -> Result<(), String> {
        self.reshaped.push(*remap);
        Ok(())
    }
}

/// Descriptor 3 is file 103 of the run; no other can be.
struct OnlyThree;

impl Files for OnlyThree {
    fn keep(&mut self, fd: i32) -> Option<u32> {
        (fd == 3).then_some(103)
    }
}

fn execute(number: i64, args: [u64; 6]) -> u64 {
    let [a, b, c, d, e, f] = args;
    // SAFETY: the tests pass arguments that are valid for the call.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)) as u64
    } else {
        result as u64
    }
}

/// Makes the call and records it.
fn record(recorder: &mut Recorder, log: &mut LogWriter<'_>, number: i64, args: [u64; 6]) -> u64 {
    let here = Here::new();
    let entered = recorder.enter(number as u64, args, &here);
    let result = execute(number, args);
    assert_eq!(recorder.exit(entered.pending, result, &here, log, &mut OnlyThree), CallExit::Recorded);
    result
}

/// The state right after a `syscall` instruction at 0x1000 has been fetched.
fn calling(number: i64, args: [u64; 6]) -> Registers {
    let mut registers = Registers { rip: 0x1002, rflags: 0x246, ..Registers::default() };
    registers.set(Gpr::Rax, number as u64);
    for (gpr, arg) in [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::R10, Gpr::R8, Gpr::R9].into_iter().zip(args) {
        registers.set(gpr, arg);
    }
    registers
}

fn pipe_with(bytes: &[u8]) -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors; `bytes` is valid for its length.
    let written = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        libc::write(ends[1], bytes.as_ptr().cast(), bytes.len())
    };
    assert_eq!(written, bytes.len() as isize);
    ends
}

#[test]
fn a_read_is_replayed() {
    let ends = pipe_with(b"hello");
    let mut buffer = [0_u8; 16];
    let args = [ends[0] as u64, buffer.as_mut_ptr() as u64, 16, 0, 0, 0];
    let mut bytes = vec![0; 4096];
    let mut log = LogWriter::new(&mut bytes);
    assert_eq!(record(&mut Recorder::new(), &mut log, libc::SYS_read, args), 5);
    let len = log.len();
    assert_eq!(log.records(), 1);

    buffer.fill(0xee);
    let mut replayer = Replayer::new(&bytes[..len]);
    let mut registers = calling(libc::SYS_read, args);
    assert_eq!(replayer.syscall(&mut registers, &mut Recorded::new()), Ok(Replayed::Done));
    assert_eq!(&buffer[..6], b"hello\xee");
    assert_eq!((registers.get(Gpr::Rax), registers.get(Gpr::Rcx), registers.get(Gpr::R11)), (5, 0x1002, 0x246));
    assert!(replayer.is_exhausted());
    let mut registers = calling(libc::SYS_read, args);
    assert_eq!(replayer.syscall(&mut registers, &mut Recorded::new()), Ok(Replayed::Exhausted));
    assert_eq!(registers, calling(libc::SYS_read, args));
}

#[test]
fn scattered_bytes_and_message_headers_are_replayed() {
    let mut ends = [0_i32; 2];
    let mut bytes = vec![0; 1 << 16];
    let mut log = LogWriter::new(&mut bytes);
    let mut recorder = Recorder::new();
    let pair = [libc::AF_UNIX as u64, libc::SOCK_DGRAM as u64, 0, ends.as_mut_ptr() as u64, 0, 0];
    record(&mut recorder, &mut log, libc::SYS_socketpair, pair);
    let expected_ends = ends;
    // SAFETY: the buffer is valid for nine bytes.
    assert_eq!(unsafe { libc::send(ends[1], b"scattered".as_ptr().cast(), 9, 0) }, 9);

    let mut parts = [[0_u8; 4], [0; 4], [0; 4]];
    let mut iov = parts.each_mut().map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: 4 });
    let mut name = [0xaa_u8; 32];
    // SAFETY: all zero is a valid msghdr.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (iov.as_mut_ptr(), 3);
    (header.msg_name, header.msg_namelen) = (name.as_mut_ptr().cast(), 32);
    let receive = [ends[0] as u64, &raw mut header as u64, 0, 0, 0, 0];
    assert_eq!(record(&mut recorder, &mut log, libc::SYS_recvmsg, receive), 9);
    let name_len = header.msg_namelen;
    let len = log.len();

    ends = [0; 2];
    parts = [[0; 4]; 3];
    header.msg_namelen = 32;
    let mut replayer = Replayer::new(&bytes[..len]);
    let mut space = Recorded::new();
    replayer.syscall(&mut calling(libc::SYS_socketpair, pair), &mut space).unwrap();
    replayer.syscall(&mut calling(libc::SYS_recvmsg, receive), &mut space).unwrap();
    assert_eq!(ends, expected_ends);
    assert_eq!(parts, [*b"scat", *b"tere", *b"d\0\0\0"]);
    assert_eq!(header.msg_namelen, name_len);
}

#[test]
fn a_counted_buffer_is_replayed_no_further_than_its_room() {
    // SAFETY: no pointers are passed.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    let mut address = [0xee_u8; 8];
    let mut len = 1_u32;
    let args = [socket as u64, address.as_mut_ptr() as u64, &raw mut len as u64, 0, 0, 0];
    let mut bytes = vec![0; 4096];
    let mut log = LogWriter::new(&mut bytes);
    assert_eq!(record(&mut Recorder::new(), &mut log, libc::SYS_getsockname, args), 0);
    assert_eq!(len, 2);
    let used = log.len();
    (address, len) = ([0x77; 8], 1);
    Replayer::new(&bytes[..used]).syscall(&mut calling(libc::SYS_getsockname, args), &mut Recorded::new()).unwrap();
    assert_eq!(len, 2);
    assert_eq!(address, [1, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77]);
}

#[test]
fn other_arguments_and_other_inputs_diverge() {
    let ends = pipe_with(b"");
    let mut text = *b"said";
    let args = [ends[1] as u64, text.as_mut_ptr() as u64, 4, 0, 0, 0];
    let mut bytes = vec![0; 4096];
    let mut log = LogWriter::new(&mut bytes);
    assert_eq!(record(&mut Recorder::new(), &mut log, libc::SYS_write, args), 4);
    let len = log.len();

    let mut other = args;
    other[2] = 3;
    let divergence =
        Replayer::new(&bytes[..len]).syscall(&mut calling(libc::SYS_write, other), &mut Recorded::new()).unwrap_err();
    assert_eq!((divergence.record, divergence.pc), (0, 0x1000));
    let shown = divergence.to_string();
    assert!(shown.contains("write(") && shown.contains("0x3") && shown.contains("0x4"), "{shown}");

    let getpid = Replayer::new(&bytes[..len]).syscall(&mut calling(libc::SYS_getpid, args), &mut Recorded::new());
    assert_eq!(getpid.unwrap_err().got, "getpid()");

    Here::new().write(args[1], b"sain").unwrap();
    let same_call = Replayer::new(&bytes[..len]).syscall(&mut calling(libc::SYS_write, args), &mut Recorded::new());
    assert!(same_call.unwrap_err().expected.contains("hash"));
}

#[test]
fn a_remaining_time_is_replayed_although_the_call_failed() {
    let here = Here::new();
    let mut remaining = [3_u64, 4];
    let args = [0, 0, 0, remaining.as_mut_ptr() as u64, 0, 0];
    let mut recorder = Recorder::new();
    let mut bytes = vec![0; 4096];
    let mut log = LogWriter::new(&mut bytes);
    let entered = recorder.enter(libc::SYS_clock_nanosleep as u64, args, &here);
    let interrupted = -i64::from(libc::EINTR) as u64;
    assert_eq!(recorder.exit(entered.pending, interrupted, &here, &mut log, &mut NoFiles), CallExit::Recorded);
    let len = log.len();
    remaining = [0; 2];
    Replayer::new(&bytes[..len]).syscall(&mut calling(libc::SYS_clock_nanosleep, args), &mut Recorded::new()).unwrap();
    assert_eq!(remaining, [3, 4]);
}

#[test]
fn a_restarted_call_is_recorded_once_under_its_own_name() {
    let here = Here::new();
    let args = [0, 0, 0, 0, 0, 0];
    let mut recorder = Recorder::new();
    let mut bytes = vec![0; 4096];
    let mut log = LogWriter::new(&mut bytes);
    let first = recorder.enter(libc::SYS_clock_nanosleep as u64, args, &here);
    assert_eq!(recorder.exit(first.pending, -516_i64 as u64, &here, &mut log, &mut NoFiles), CallExit::Restarts);
    assert!(log.is_empty());
    let again = recorder.enter(libc::SYS_restart_syscall as u64, args, &here);
    assert_eq!(again.pending.number as i64, libc::SYS_clock_nanosleep);
    assert_eq!(recorder.exit(again.pending, 0, &here, &mut log, &mut NoFiles), CallExit::Recorded);
    let len = log.len();
    let mut registers = calling(libc::SYS_clock_nanosleep, args);
    assert_eq!(Replayer::new(&bytes[..len]).syscall(&mut registers, &mut Recorded::new()), Ok(Replayed::Done));
}

#[test]
fn mappings_are_handed_to_the_space_with_their_file() {
    let here = Here::new();
    let map = |fd: i32| [0, 4096, 1, libc::MAP_PRIVATE as u64, fd as u64, 8192];
    let mut recorder = Recorder::new();
    let mut bytes = vec![0; 4096];
    let mut log = LogWriter::new(&mut bytes);
    let kept = recorder.enter(libc::SYS_mmap as u64, map(3), &here);
    assert_eq!(kept.class, table::Class::Repeat);
    assert_eq!(recorder.exit(kept.pending, 0x7000, &here, &mut log, &mut OnlyThree), CallExit::Recorded);
    let lost = recorder.enter(libc::SYS_mmap as u64, map(4), &here);
    assert_eq!(
        recorder.exit(lost.pending, 0x8000, &here, &mut log, &mut OnlyThree),
        CallExit::Boundary(Unrecorded::File { fd: 4 })
    );
    let thread_pointer = [0x1002, 0xabc, 0, 0, 0, 0];
    let entered = recorder.enter(libc::SYS_arch_prctl as u64, thread_pointer, &here);
    assert_eq!(recorder.exit(entered.pending, 0, &here, &mut log, &mut OnlyThree), CallExit::Recorded);
    let len = log.len();

    let mut space = Recorded::new();
    let mut replayer = Replayer::new(&bytes[..len]);
    let mut registers = calling(libc::SYS_mmap, map(3));
    replayer.syscall(&mut registers, &mut space).unwrap();
    assert_eq!(registers.get(Gpr::Rax), 0x7000);
    assert_eq!((space.reshaped[0].source, space.reshaped[0].args[5]), (Some(103), 8192));
    let mut registers = calling(libc::SYS_arch_prctl, thread_pointer);
    replayer.syscall(&mut registers, &mut space).unwrap();
    assert_eq!((registers.fs_base, registers.get(Gpr::Rax), space.reshaped.len()), (0xabc, 0, 1));
}

#[test]
fn a_full_log_keeps_what_it_has_and_takes_nothing_more() {
    let ends = pipe_with(&[1; 64]);
    let mut buffer = [0_u8; 64];
    let here = Here::new();
    let args = [ends[0] as u64, buffer.as_mut_ptr() as u64, 64, 0, 0, 0];
    let mut bytes = vec![0; 136];
    let mut log = LogWriter::new(&mut bytes);
    let mut recorder = Recorder::new();
    record(&mut recorder, &mut log, libc::SYS_getpid, [0; 6]);
    let before = (log.len(), log.records());
    let entered = recorder.enter(libc::SYS_read as u64, args, &here);
    let exit = recorder.exit(entered.pending, 64, &here, &mut log, &mut NoFiles);
    assert!(matches!(exit, CallExit::Boundary(Unrecorded::Full(LogFull { .. }))), "{exit:?}");
    assert_eq!((log.len(), log.records()), before);
}

#[test]
fn nondeterministic_instructions_pop_their_values() {
    let mut bytes = vec![0; 256];
    let mut log = LogWriter::new(&mut bytes);
    let record =
        NondeterministicRecord { kind: NondeterministicKind::Rdtscp, pc: 0x10, rax: 1, rdx: 2, rcx: 3, rbx: 0 };
    log.nondeterministic(record).unwrap();
    let len = log.len();
    let mut registers = Registers::default();
    let wrong =
        Replayer::new(&bytes[..len]).nondeterministic(NondeterministicKind::Rdtsc, 0x10, &mut registers).unwrap_err();
    assert_eq!((wrong.expected.as_str(), wrong.got.as_str()), ("rdtscp at 0x10", "rdtsc at 0x10"));
    Replayer::new(&bytes[..len]).nondeterministic(NondeterministicKind::Rdtscp, 0x10, &mut registers).unwrap();
    assert_eq!([Gpr::Rax, Gpr::Rdx, Gpr::Rcx].map(|gpr| registers.get(gpr)), [1, 2, 3]);
}

#[test]
fn damage_is_noticed() {
    for damaged in [[9_u64, 16], [1, u64::MAX], [1, 16], [3 | 7 << 8, 16]] {
        let bytes: Vec<u8> = damaged.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(LogReader::new(&bytes).next_record(), Err(Malformed { at: 0 }));
    }
}

#[test]
fn the_return_from_a_handler_restores_all_registers() {
    let mut to = Registers { rip: 0x4000, rflags: 0x202, fs_base: 7, ..Registers::default() };
    to.set(Gpr::Rsp, 0x7000);
    to.set(Gpr::Rbx, 11);
    let mut xstate = machine::XState::initial();
    xstate.bytes[1000] = 9;
    let mut bytes = vec![0; 8192];
    let mut log = LogWriter::new(&mut bytes);
    log.signal_return(&to, &xstate).unwrap();
    let len = log.len();

    // A ucontext: stack pointer and instruction pointer are the words 20 and 21.
    let mut frame = [0_u64; 32];
    (frame[20], frame[21]) = (0x7000, 0x4000);
    let mut registers = calling(libc::SYS_rt_sigreturn, [0; 6]);
    registers.set(Gpr::Rsp, frame.as_ptr() as u64);
    let before = registers;
    let replayed = Replayer::new(&bytes[..len]).syscall(&mut registers, &mut Recorded::new());
    let Ok(Replayed::Restored(restored)) = replayed else { panic!("{replayed:?}") };
    assert_eq!(registers, to);
    assert_eq!(restored, machine::LaidOut::own(&xstate.bytes[..1008]));

    frame[21] = 0x4001;
    std::hint::black_box(&frame);
    let mut registers = before;
    assert!(Replayer::new(&bytes[..len]).syscall(&mut registers, &mut Recorded::new()).is_err());
    let mut other = calling(libc::SYS_getpid, [0; 6]);
    assert!(Replayer::new(&bytes[..len]).syscall(&mut other, &mut Recorded::new()).is_err());
}

#[test]
fn a_signal_at_the_end_of_a_call_starts_its_handler() {
    let mut bytes = vec![0; 8192];
    let mut log = LogWriter::new(&mut bytes);
    record(&mut Recorder::new(), &mut log, libc::SYS_getppid, [0; 6]);
    // A return address, and a ucontext with the registers behind the call.
    let mut frame = [0_u64; 40];
    (frame[0], frame[21], frame[22]) = (0x5000, 0x7000, 0x1002);
    let contents: Vec<u8> = frame.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut place = [0_u64; 40];
    let to = Registers { rip: 0x4000, rflags: 0x202, ..Registers::default() };
    let mut xstate = machine::XState::initial();
    xstate.bytes[24] = 5;
    let address = place.as_mut_ptr() as u64;
    let origin = SignalOrigin { code: -6, value: 41 };
    let delivered =
        Delivered { registers: to, frame: (address, &contents), origin, xstate: machine::LaidOut::own(&xstate.bytes) };
    log.delivery(0, &delivered).unwrap();
    assert_eq!(
        (log.records(), log.delivery(0, &Delivered { frame: (0, &[0; 9000]), ..delivered }).is_err()),
        (2, true)
    );
    let len = log.len();
    assert_ne!(u64::from(bytes[0]), SYSCALL, "whoever replays plain calls only must leave it alone");

    let mut registers = calling(libc::SYS_getppid, [0; 6]);
    registers.set(Gpr::Rsp, 0x7000);
    let mut replayer = Replayer::new(&bytes[..len]);
    let replayed = replayer.syscall(&mut registers, &mut Recorded::new());
    assert_eq!(replayed, Ok(Replayed::Delivered(machine::LaidOut::own(&xstate.bytes[..32]), origin)));
    assert_eq!((registers, std::hint::black_box(place), replayer.position()), (to, frame, 2));
    assert!(replayer.is_exhausted());
    // With another stack pointer it isn't the state in which the signal came.
    let mut other = calling(libc::SYS_getppid, [0; 6]);
    other.set(Gpr::Rsp, 0x7008);
    assert!(Replayer::new(&bytes[..len]).syscall(&mut other, &mut Recorded::new()).is_err());
}
