use super::*;
use crate::serial::threads::watch::PATIENCE;
use std::cell::UnsafeCell;

struct Shared(UnsafeCell<u64>);

// SAFETY: that is what is tested.
unsafe impl Sync for Shared {}

/// Has so many threads do this at the same time, each with its number, as who has the turn first and gives it up in the end.
fn at_the_same_time(turns: &'static Turns, threads: u64, work: impl Fn(u64, &'static Waiter) + Copy + Send + 'static) {
    let start = |number| {
        std::thread::spawn(move || {
            let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
            turns.take(me);
            work(number, me);
            turns.give(me);
        })
    };
    (0..threads).map(start).collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

/// Threads that add to one number, which is none of the atomic ones, with calls of all kinds between.
#[test]
fn one_at_a_time() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 3000;
    static TURNS: Turns = Turns::new(Waiter::request_arrived);
    static SUM: Shared = Shared(UnsafeCell::new(0));
    at_the_same_time(&TURNS, THREADS, |number, me| {
        for round in 0..ROUNDS {
            assert!(TURNS.is_held_by(me));
            // SAFETY: it is this thread's turn.
            unsafe { *SUM.0.get() += 1 };
            if (round + number) % 3 == 0 || !TURNS.begin_call(me) {
                TURNS.give(me);
                TURNS.take(me);
            } else {
                if round % 500 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                TURNS.end_call(me);
            }
        }
    });
    assert!(TURNS.holder().is_none());
    // SAFETY: all others have ended.
    assert_eq!(unsafe { *SUM.0.get() }, THREADS * ROUNDS);
}

/// Who never gives the turn up by itself is asked to.
#[test]
fn a_long_turn_is_asked_for() {
    static TURNS: Turns = Turns::new(Waiter::request_arrived);
    let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
    TURNS.take(me);
    let other = std::thread::spawn(|| {
        let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
        TURNS.take(me);
        TURNS.give(me);
    });
    while !me.asked.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
    assert!(TURNS.is_held_by(me) && !TURNS.begin_call(me));
    TURNS.give(me);
    other.join().unwrap();
    TURNS.take(me);
    assert!(TURNS.is_held_by(me) && TURNS.begin_call(me) && !TURNS.is_held_by(me));
    TURNS.end_call(me);
}

/// Who has asked itself isn't asked, by however many that wait.
#[test]
fn who_asks_itself_gets_no_request() {
    static TURNS: Turns = Turns::new(|_| panic!("a request"));
    let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
    TURNS.take(me);
    TURNS.ask_myself(me);
    TURNS.ask_myself(me);
    let other = std::thread::spawn(|| {
        let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
        TURNS.take(me);
        TURNS.give(me);
    });
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(TURNS.is_held_by(me) && TURNS.is_asked_for(me));
    TURNS.give(me);
    other.join().unwrap();
}

#[test]
fn what_is_told_before_the_sleep_ends_it() {
    let waiter = Waiter::new();
    waiter.becomes_first();
    assert_eq!(waiter.sleep(std::ptr::null()), Told::Nothing);
    assert!(waiter.offer() && !waiter.offer());
    waiter.becomes_first();
    assert_eq!(waiter.grant(), Told::Offered);
    waiter.becomes_first();
    assert_eq!(waiter.sleep(std::ptr::null()), Told::Granted);
}

#[test]
fn a_call_loses_the_turn_at_the_second_look() {
    let mut watch = Watch::default();
    assert_eq!(watch.sees(64 | IN_CALL, 1), Seen::Nothing);
    assert_eq!(watch.sees(64 | IN_CALL, 2), Seen::Nothing);
    assert_eq!(watch.sees(64 | IN_CALL, 2), Seen::LongCall);
}

#[test]
fn turns_are_limited_whatever_the_thread_does() {
    for bits in [0, IN_CALL] {
        let mut watch = Watch::default();
        let seen = (0..=PATIENCE + 1).map(|look| watch.sees(64 | bits, look.into())).collect::<Vec<_>>();
        let (last, before) = seen.split_last().unwrap();
        assert!(before[..PATIENCE as usize].iter().all(|seen| *seen == Seen::Nothing), "{seen:?}");
        assert_ne!(*last, Seen::Nothing);
    }
}

/// The same of threads that go into the cache and come out, where others take the turn, and sleep now and then with it.
#[test]
fn one_at_a_time_out_of_the_cache() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 20_000;
    static TURNS: Turns = Turns::new(Waiter::request_arrived);
    static SUM: Shared = Shared(UnsafeCell::new(0));
    at_the_same_time(&TURNS, THREADS, |number, me| {
        for round in 0..ROUNDS {
            assert!(TURNS.is_held_by(me));
            // SAFETY: it is this thread's turn.
            unsafe { *SUM.0.get() += 1 };
            if (round + number) % 5000 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            TURNS.enter_cache(me);
            (0..(round * number) % 300).for_each(|_| std::hint::spin_loop());
            TURNS.leave_cache(me);
            if (round + number) % 7 == 0 {
                TURNS.give(me);
                TURNS.take(me);
            }
        }
    });
    assert!(TURNS.holder().is_none());
    assert_eq!(TURNS.looking.load(Ordering::SeqCst), 0);
    // SAFETY: all others have ended.
    assert_eq!(unsafe { *SUM.0.get() }, THREADS * ROUNDS);
}

#[test]
fn who_has_waited_while_many_had_the_turn_is_due() {
    let mut watch = Watch::default();
    let seen = (1..=6).map(|thread| watch.sees(64 * thread, 1)).collect::<Vec<_>>();
    assert!(
        seen[..4].iter().all(|seen| *seen == Seen::Nothing) && seen[4..].iter().all(|seen| *seen == Seen::ManyTurns)
    );
}
