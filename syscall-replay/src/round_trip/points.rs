//! Points, and what takes place there.

use super::*;
use crate::log::note_change;

#[test]
fn a_signal_comes_at_a_point_in_the_apps_own_code() {
    let mut bytes = vec![0; 16 << 10];
    let mut log = LogWriter::new(&mut bytes);
    let mut at = Registers { rip: 0x40_1000, rflags: 0x246, ..Registers::default() };
    at.set(Gpr::Rsp, 0x7000);
    let to = Registers { rip: 0x40_2000, ..Registers::default() };
    let mut frame = [0_u64; 40];
    // Behind the return address and five words of the ucontext: 15 registers, of which the last is the stack pointer, and the instruction pointer.
    (frame[1 + 5 + 15], frame[1 + 5 + 16]) = (0x7000, 0x40_1000);
    let contents: Vec<u8> = frame.iter().flat_map(|word| word.to_le_bytes()).collect();
    let place = [0_u64; 40];
    let xstate = machine::XState::initial();
    let laid_out = machine::LaidOut::own(&xstate.bytes);
    let mut changes = Vec::new();
    note_change(&mut changes, 0x1000, &[7; 16]);
    note_change(&mut changes, 0x5000, &[]);
    let stack = &[1; 24][..];
    let point =
        Point { registers: at, starts_block: false, stack, xstate: laid_out, live_from: 0x6f80, noted: &changes };
    log.point(&point).unwrap();
    let (frame_words, frame, origin) = (frame, (place.as_ptr() as u64, &contents[..]), SignalOrigin::default());
    log.delivery(0, &Delivered { registers: to, frame, origin, xstate: laid_out }).unwrap();
    let len = log.len();

    let mut replayer = Replayer::new(&bytes[..len]);
    let point = replayer.next_point().unwrap();
    assert_eq!((point.registers, point.stack, point.live_from, replayer.position()), (at, stack, 0x6f80, 0));
    assert_eq!(Vec::from_iter(point.changes()), [(0x1000, &[7; 16][..]), (0x5000, &[])]);
    let call = &mut calling(libc::SYS_getppid, [0; 6]);
    assert!(replayer.syscall(call, &mut Recorded::new()).is_err());
    let mut replayer = Replayer::new(&bytes[..len]);
    assert!(!replayer.ends_turn_at_point());
    replayer.at_point(at.rip).unwrap();
    let delivered = replayer.delivery(&mut at, &mut Recorded::new()).unwrap();
    assert!(matches!(delivered, Replayed::Delivered(..)) && at == to && replayer.next_point().is_none());
    assert_eq!(std::hint::black_box(place), frame_words);
}

#[test]
fn a_thread_gives_its_turn_up_at_a_point() {
    let mut bytes = vec![0; 8 << 10];
    let mut log = LogWriter::new(&mut bytes);
    let at = Registers { rip: 0x40_1000, rflags: 0x246, ..Registers::default() };
    let xstate = machine::XState::initial();
    let xstate = machine::LaidOut::own(&xstate.bytes);
    log.point(&Point { registers: at, starts_block: true, stack: &[], xstate, live_from: 0, noted: &[] }).unwrap();
    log.turn(None, &Turn { to: 3, registers_hash: registers_hash(&at), end: TurnEnd::Ready }).unwrap();
    let len = log.len();

    let mut replayer = Replayer::new(&bytes[..len]);
    assert!(replayer.next_point().unwrap().starts_block && replayer.ends_turn_at_point());
    assert_eq!(replayer.turn(None, &at, &mut Recorded::new()), Ok(None), "it isn't there yet");
    replayer.at_point(at.rip).unwrap();
    let elsewhere = Registers { rip: 0x40_1001, ..at };
    assert!(replayer.turn(None, &elsewhere, &mut Recorded::new()).is_err());
    let turn = replayer.turn(None, &at, &mut Recorded::new()).unwrap().unwrap();
    assert_eq!((turn.to, replayer.is_exhausted()), (3, true));
}
