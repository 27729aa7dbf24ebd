//! Analysis routines that leave the code cache, or are called with all of the app's state aside: how often each was, for how long, and which one runs now.
//!
//! What is counted here costs little beside the way there and back; time is taken of few calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bubble::map::IMAGE;
use bubble::routines::{AWAY, Away, way};

/// Of so many calls the time of one is taken.
const SAMPLE: u64 = 256;
/// The same of times that words of the buffer are taken, which are fewer and longer.
const DRAINS: u64 = 8;
/// A call in so many nanoseconds is what a slice spends its time with: the way there and back takes from one to four microseconds.
const OFTEN_NS: u64 = 5000;

/// The routine that runs now; 0: none.
pub(crate) static CURRENT: AtomicU64 = AtomicU64::new(0);
/// Routines that are counted at most which translated code calls by the gateway.
pub(crate) const MOST_CALLED: usize = 40;

/// What is known of one of them.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Counted {
    /// Its address.
    pub routine: AtomicU64,
    /// Its calls.
    pub calls: AtomicU64,
    /// Nanoseconds in it, estimated.
    pub ns: AtomicU64,
    /// Where a call of it goes.
    pub through: AtomicU64,
    /// How it is called: one of [`way`].
    pub way: AtomicU64,
}

/// They begin where the address says. So most often the first that is looked at is it.
pub(crate) const FIRST_CALLED: usize = 32;
/// Those that are counted.
pub(crate) static CALLED: [Counted; MOST_CALLED] = [const {
    Counted {
        routine: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        ns: AtomicU64::new(0),
        through: AtomicU64::new(0),
        way: AtomicU64::new(0),
    }
}; MOST_CALLED];
/// The entry of the routine whose time is taken; 0: none.
pub(crate) static SAMPLED: AtomicU64 = AtomicU64::new(0);
/// When that began, with what it takes to look.
static STARTED: AtomicU64 = AtomicU64::new(0);
static KNOWN: Mutex<Known> = Mutex::new(Known { names: BTreeMap::new(), own: Vec::new(), uses: Vec::new() });

struct Known {
    names: BTreeMap<usize, &'static str>,
    /// Routines of the runtime.
    own: Vec<u64>,
    uses: Vec<Away>,
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In [`INSERTING`]: the tool looks at code, and inserts no routine now.
const INSTRUMENTS: u64 = u64::MAX;
/// The routine that the tool inserts now, or [`INSTRUMENTS`]; 0: it doesn't look at code.
static INSERTING: AtomicU64 = AtomicU64::new(0);
/// Whether it is the first pass for which it does.
static IS_FIRST_PASS: AtomicBool = AtomicBool::new(false);

/// Has the tool look at code. A message about what fails meanwhile says so. `is_first_pass`: for calls of its first pass.
pub fn while_instrumenting<R>(is_first_pass: bool, look: impl FnOnce() -> R) -> R {
    IS_FIRST_PASS.store(is_first_pass, Ordering::Relaxed);
    INSERTING.store(INSTRUMENTS, Ordering::Relaxed);
    let seen = look();
    INSERTING.store(0, Ordering::Relaxed);
    seen
}

/// The routine that was named last is inserted.
pub fn was_inserted() {
    INSERTING.store(INSTRUMENTS, Ordering::Relaxed);
}

/// Where the tool looks at code now, for people: what is to stand behind its name.
pub fn instrumenting() -> Option<String> {
    match INSERTING.load(Ordering::Relaxed) {
        0 => None,
        INSTRUMENTS if IS_FIRST_PASS.load(Ordering::Relaxed) => Some("in what its FIRST_PASS counts".into()),
        INSTRUMENTS => Some("in its function instrument".into()),
        routine => Some(format!("where it inserts {}", named(routine))),
    }
}

/// Notes what people call a routine that is about to be inserted. Its address is that of code of the image.
pub fn name(routine: usize, name: &'static str) {
    known().names.entry(routine).or_insert(name);
    if INSERTING.load(Ordering::Relaxed) != 0 {
        INSERTING.store(routine as u64, Ordering::Relaxed);
    }
}

/// The same, of a name that is made for it. It stays for as long as the process lives.
pub fn name_with(routine: usize, name: impl FnOnce() -> String) {
    known().names.entry(routine).or_insert_with(|| Box::leak(name().into_boxed_str()));
}

/// These routines aren't the tool's.
pub fn disown(routines: &[u64]) {
    known().own.extend(routines);
}

/// Makes a call of a routine that translated code was left for, and counts it.
pub(crate) fn count(routine: u64, call: impl FnOnce() -> u64) -> u64 {
    count_as(way::LEAVES, routine, call)
}

/// The same, and counts it among those that are made in this way: what is left for once only is called in another one from then on.
pub(crate) fn count_as(way: u64, routine: u64, call: impl FnOnce() -> u64) -> u64 {
    let is_sample = {
        let mut known = known();
        if known.own.contains(&routine) {
            drop(known);
            return call();
        }
        let at = known.uses.iter().position(|used| (used.routine, used.way) == (routine, way)).unwrap_or_else(|| {
            known.uses.push(Away { routine, way, ..Away::default() });
            known.uses.len() - 1
        });
        let used = &mut known.uses[at];
        used.calls += 1;
        used.calls % SAMPLE == 1
    };
    // What looking at the clock takes is subtracted, when it has been looked at just before: the first time takes longer.
    let looked = is_sample.then(|| {
        cpu_ns();
        cpu_ns()
    });
    let started = is_sample.then(cpu_ns);
    CURRENT.store(routine, Ordering::Relaxed);
    let result = call();
    CURRENT.store(0, Ordering::Relaxed);
    if let (Some(looked), Some(started)) = (looked, started) {
        let taken = cpu_ns().saturating_sub(started).saturating_sub(started - looked);
        let mut known = known();
        if let Some(used) = known.uses.iter_mut().find(|used| (used.routine, used.way) == (routine, way)) {
            used.ns += taken * SAMPLE.min(used.calls);
        }
    }
    result
}

/// Has the tool take words of the buffer by its function `drain`, which is told of as a routine.
pub fn takes_words(drain: u64, take: impl FnOnce()) {
    let drains = |known: &mut Known| {
        known.uses.iter().position(|used| used.way == way::TAKES_WORDS).unwrap_or_else(|| {
            known.uses.push(Away { routine: drain, way: way::TAKES_WORDS, ..Away::default() });
            known.uses.len() - 1
        })
    };
    let calls = {
        let mut known = known();
        let at = drains(&mut known);
        known.uses[at].calls += 1;
        known.uses[at].calls
    };
    if calls % DRAINS != 1 {
        return take();
    }
    let started = cpu_ns();
    take();
    let taken = cpu_ns().saturating_sub(started);
    let mut known = known();
    let at = drains(&mut known);
    known.uses[at].ns += taken * DRAINS.min(calls);
}

/// One of those that are counted here.
fn counted_one(called: &[Counted], routine: u64) -> Option<&Counted> {
    called.iter().find(|one| one.routine.load(Ordering::Relaxed) == routine)
}

/// A routine is called which translated code has called another one for: it is counted, if there is room.
pub(crate) fn count_aside(routine: u64) {
    CURRENT.store(routine, Ordering::Relaxed);
    count_in(&CALLED, routine);
}

/// Translated code may call it, too, and then find it here.
fn count_in(called: &[Counted], routine: u64) {
    if let Some(one) = counted_one(called, routine).or_else(|| counted_one(called, 0)) {
        one.routine.store(routine, Ordering::Relaxed);
        one.way.store(way::ASIDE, Ordering::Relaxed);
        one.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// A call of it that was counted isn't made.
pub(crate) fn uncount(routine: u64) {
    if let Some(one) = counted_one(&CALLED, routine).filter(|one| one.calls.load(Ordering::Relaxed) > 0) {
        one.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Nothing is known of routines that translated code calls by the gateway, but for how often they were called. `through`: where a call goes as long as nothing better is known,
/// also one of a routine that was only counted until then.
pub(crate) fn begin_called(through: u64) {
    {
        let mut known = known();
        known.uses = counted(&known);
    }
    empty(&CALLED, through);
}

fn empty(called: &[Counted], through: u64) {
    for one in called {
        [&one.routine, &one.calls, &one.ns].into_iter().for_each(|word| word.store(0, Ordering::Relaxed));
        one.through.store(through, Ordering::Relaxed);
    }
}

/// A call begins whose time is taken.
pub(crate) fn sample(entry: &Counted) {
    // The first time takes longer than those that follow at once.
    cpu_ns();
    let looked = cpu_ns();
    let started = cpu_ns();
    STARTED.store(started + (started - looked), Ordering::Relaxed);
    SAMPLED.store(std::ptr::from_ref(entry) as u64, Ordering::Relaxed);
}

/// It has ended.
pub(crate) extern "C" fn end_of_sample() {
    // Looking at the clock doesn't always take as long: what is too little makes up for what is too much.
    let taken = cpu_ns().wrapping_sub(STARTED.load(Ordering::Relaxed));
    let entry = SAMPLED.swap(0, Ordering::Relaxed);
    if let Some(one) = CALLED.iter().find(|one| std::ptr::from_ref(*one) as u64 == entry) {
        let times = SAMPLE.min(one.calls.load(Ordering::Relaxed));
        one.ns.fetch_add(taken.wrapping_mul(times), Ordering::Relaxed);
    }
}

fn called() -> impl Iterator<Item = Away> {
    let one = |one: &Counted| {
        let [routine, calls, ns, way] =
            [&one.routine, &one.calls, &one.ns, &one.way].map(|n| n.load(Ordering::Relaxed));
        Away { routine, calls, ns: (ns as i64).max(0) as u64, way, ..Away::default() }
    };
    CALLED.iter().map(one).filter(|used| used.calls > 0)
}

fn counted(known: &Known) -> Vec<Away> {
    let mut all = known.uses.clone();
    for one in called() {
        match all.iter_mut().find(|used| (used.routine, used.way) == (one.routine, one.way)) {
            Some(used) => (used.calls, used.ns) = (used.calls + one.calls, used.ns + one.ns),
            None => all.push(one),
        }
    }
    all
}

/// How routines are called in this process, those first whose calls take most. `translated`: what is known of calls that were translated.
pub fn most(translated: Vec<Away>) -> [Away; AWAY] {
    let known = known();
    let mut uses = counted(&known);
    for one in translated {
        match uses.iter_mut().find(|used| (used.routine, used.way) == (one.routine, one.way)) {
            Some(used) => (used.places, used.why) = (one.places, one.why),
            None => uses.push(one),
        }
    }
    uses.sort_by_key(|used| {
        std::cmp::Reverse((used.ns + used.calls * way::detour_ns(used.way), used.calls, used.places))
    });
    let mut most = [Away::default(); AWAY];
    for (to, used) in most.iter_mut().zip(uses) {
        *to = used;
        if let Some(name) = known.names.get(&(used.routine as usize)) {
            (to.name, to.name_len) = (name.as_ptr() as u64, name.len() as u64);
        }
    }
    most
}

/// What is to be said of the one that left most often, if that takes a large part of so many nanoseconds.
pub fn told(cpu_ns: u64) -> Option<String> {
    let is_much = |used: &Away| {
        let often = used.way == way::LEAVES && used.calls > cpu_ns / OFTEN_NS;
        used.calls > 0 && (often || used.ns > cpu_ns / 2)
    };
    let mut uses = counted(&known());
    uses.sort_by_key(|used| std::cmp::Reverse(used.calls));
    let most = uses.into_iter().find(is_much)?;
    let how = if most.way == way::LEAVES { "has left the code cache" } else { "was called" };
    Some(format!("{} {how} {} times", named(most.routine), most.calls))
}

/// The routine that runs now, for people.
pub fn current() -> Option<String> {
    let routine = CURRENT.load(Ordering::Relaxed);
    (routine != 0).then(|| named(routine))
}

/// The same, of one that doesn't go on: what is done from now on isn't done by it.
pub fn give_up_current() -> Option<String> {
    let routine = CURRENT.swap(0, Ordering::Relaxed);
    (routine != 0).then(|| named(routine))
}

/// A routine, for people.
pub fn named(routine: u64) -> String {
    match known().names.get(&(routine as usize)) {
        Some(name) => format!("the tool's routine {name}"),
        None => format!("the tool's routine at {}", in_image(routine)),
    }
}

/// An address of the image's code. The control process, which can read the image's symbols, puts their names in its place.
pub fn in_image(address: u64) -> String {
    format!("image+{:#x}", address.wrapping_sub(IMAGE.start))
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_and_the_current_one_is_known() {
        name(0x77, "crate::routine");
        for _ in 0..1000 {
            count(0x77, || {
                assert_eq!(current().as_deref(), Some("the tool's routine crate::routine"));
                0
            });
        }
        assert_eq!(current(), None);
        disown(&[0x78]);
        assert_eq!(count(0x78, || 5), 5);
        let most = most(Vec::new());
        assert!(most.iter().all(|used| used.routine != 0x78));
        let used = most.iter().find(|used| used.routine == 0x77).unwrap();
        assert_eq!((used.calls, used.name_len), (1000, 14));
        assert!(told(1000).is_some_and(|told| told.ends_with("crate::routine has left the code cache 1000 times")));
        assert!(told(u64::MAX).is_none());
    }

    /// A routine that a clean call has called behind its test, and that translated code then called by the gateway, went nowhere.
    #[test]
    fn what_was_only_counted_can_be_called() {
        let called: [Counted; 3] = Default::default();
        empty(&called, 0x700);
        count_in(&called, 0x50);
        count_in(&called, 0x60);
        count_in(&called, 0x50);
        let seen = |routine| {
            let one = counted_one(&called, routine).expect("it is counted");
            [&one.calls, &one.through, &one.way].map(|word| word.load(Ordering::Relaxed))
        };
        assert_eq!((seen(0x50), seen(0x60)), ([2, 0x700, way::ASIDE], [1, 0x700, way::ASIDE]));
    }
}
