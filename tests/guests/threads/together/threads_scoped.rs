// Rust's threads: scopes, channels, locks that a panic poisons, parking, thread-local values, and a panic that is joined.
// build plain: -O
// rounds: 0 60
// totals: vary

use std::cell::Cell;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Counted(u64);

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, Ordering::Relaxed);
    }
}

thread_local! {
    static OWN: Cell<Option<Counted>> = const { Cell::new(None) };
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    panic::set_hook(Box::new(|_| ()));
    let mut sum = 0_u64;
    for round in 0..rounds {
        let mut numbers: Vec<u64> = (0..1000).collect();
        thread::scope(|scope| {
            let chunks: Vec<_> = numbers
                .chunks_mut(250)
                .map(|chunk| {
                    scope.spawn(move || {
                        OWN.set(Some(Counted(1)));
                        chunk.iter_mut().for_each(|n| *n = n.wrapping_mul(round + 3) ^ 0x55);
                    })
                })
                .collect();
            // The end of a scope doesn't wait for the destructors of what belongs to a thread.
            chunks.into_iter().for_each(|thread| thread.join().unwrap());
        });
        sum = numbers.iter().fold(sum, |sum, n| sum.rotate_left(5) ^ n);
        let (to, from) = channel();
        let (bounded, results) = sync_channel(2);
        let workers: Vec<_> = (0..3)
            .map(|number| {
                let bounded = bounded.clone();
                thread::spawn(move || (0..50_u64).for_each(|i| bounded.send(i * number).unwrap()))
            })
            .collect();
        drop(bounded);
        thread::spawn(move || to.send(results.iter().sum::<u64>()).unwrap());
        assert_eq!(from.recv(), Ok(3 * 49 * 25));
        assert!(from.recv_timeout(Duration::from_secs(60)).is_err());
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(7), Barrier::new(2)));
        let other = Arc::clone(&shared);
        let waiting = thread::spawn(move || {
            thread::park();
            let (lock, changed, read, barrier) = &*other;
            *lock.lock().unwrap() = *read.read().unwrap();
            changed.notify_one();
            barrier.wait();
            let _held = Counted(1000);
            let _guard = lock.lock().unwrap();
            panic::panic_any(round);
        });
        waiting.thread().unpark();
        let (lock, changed, _, barrier) = &*shared;
        let value = changed.wait_while(lock.lock().unwrap(), |value| *value == 0).unwrap();
        assert_eq!(*value, 7);
        drop(value);
        barrier.wait();
        let why = waiting.join().unwrap_err();
        assert_eq!(why.downcast_ref::<u64>(), Some(&round));
        assert!(lock.is_poisoned());
    }
    println!("scoped {sum:x} {}", DROPPED.load(Ordering::Relaxed));
}
