//! Whether a tool is checked in this process, where the app is, and who is told of a violation.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bubble::map::{BUBBLE, LOCAL};

use super::follow::Copies;
use super::thunks::{WORDS, take_missed};
use crate::routines::count;

/// What a routine did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// It is about to store to this address, which isn't the tool's.
    Store(u64),
    /// It is about to make this system call.
    Syscall(u64),
}

/// Who is told: what was done, by which instruction of the image, before which of the app's (`None`: not at one).
pub type Report = fn(Violation, u64, Option<u64>) -> !;

static IS_ON: AtomicBool = AtomicBool::new(false);
static IS_SECOND: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
static COPIES: Mutex<Option<Copies>> = Mutex::new(None);
/// Where the tool's second local state lies; 0: there is none.
static SECOND: AtomicU64 = AtomicU64::new(0);
/// The app's instruction before or behind which a call is made; 0: none is.
static PLACE: AtomicU64 = AtomicU64::new(0);
/// How often translated code was left for another trace, and how often until the next pass.
static DISPATCHED: AtomicU64 = AtomicU64::new(0);
static NEXT_PASS: AtomicU64 = AtomicU64::new(FIRST_PASS);

/// So many traces are executed before the first pass.
const FIRST_PASS: u64 = 20;

fn copies() -> MutexGuard<'static, Option<Copies>> {
    COPIES.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" {
    static __executable_start: u8;
    static etext: u8;
}

/// From now on routines are checked. To be called once, before the first of them.
///
/// # Safety
/// [`bubble::map::CACHE_OWN`] is mapped, writable and executable, and nobody else uses its upper half.
pub unsafe fn start(report: Report) {
    REPORT.store(report as *mut (), Relaxed);
    WORDS.stores.store(stores as *const () as u64, Relaxed);
    WORDS.asks.store(asks as *const () as u64, Relaxed);
    // The first table of hashes of a thread asks the kernel for random numbers, whoever makes it.
    std::hint::black_box(std::hash::RandomState::new());
    let text = (&raw const __executable_start) as u64..(&raw const etext) as u64;
    *copies() = Some(Copies::new(text));
    IS_ON.store(true, Relaxed);
}

/// Whether routines are checked.
pub fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Whether routines are checked whose local state is at `local`: the tool's, and not those of the runtime.
pub(crate) fn is_checked(local: u64) -> bool {
    local == LOCAL.start && is_on()
}

/// This function of the image is executed as it is: what it does isn't checked, and signal handlers know where it is. To be called after [`start`].
pub fn leave_alone(function: u64) {
    if let Some(copies) = copies().as_mut() {
        copies.leave_alone(function);
    }
}

/// The tool has a second local state at `local`, which gets all calls as well.
pub fn set_second(local: u64) {
    SECOND.store(local, Relaxed);
}

/// The local states that get each call of a routine whose own is at `local`. Those of the runtime's routines get it alone.
pub fn locals(local: u64) -> impl Iterator<Item = u64> {
    let second = if local == LOCAL.start { SECOND.load(Relaxed) } else { 0 };
    std::iter::once(local).chain(Some(second).filter(|second| *second != 0))
}

/// What is to be called in place of a routine; itself where nothing is checked.
pub(crate) fn entry(routine: u64) -> u64 {
    if is_on() { copies().as_mut().map_or(routine, |copies| copies.of(routine)) } else { routine }
}

/// A routine has returned: what it has come to by pointers is copied.
fn returned() {
    while let Some(missed) = take_missed() {
        entry(missed);
    }
}

/// Calls are made at this instruction of the app's.
pub(crate) fn set_place(pc: u64) {
    PLACE.store(pc, Relaxed);
}

/// Whether the call that is made is one of the second local state's, which isn't to have any effect but on that.
pub fn is_second() -> bool {
    IS_SECOND.load(Relaxed)
}

/// Makes a call that is the second local state's if `local` is that.
pub fn with<R>(local: u64, call: impl FnOnce() -> R) -> R {
    IS_SECOND.store(local != LOCAL.start && is_on(), Relaxed);
    let result = call();
    IS_SECOND.store(false, Relaxed);
    returned();
    result
}

/// The app goes on to another trace.
pub(crate) fn dispatched() {
    DISPATCHED.fetch_add(1, Relaxed);
}

/// Whether it is time for the tool's second local state to be cut here. Seldom, and ever more seldom, so that a run has some twenty cuts, whatever its length.
pub(crate) fn passes() -> bool {
    let now = DISPATCHED.load(Relaxed);
    if now < NEXT_PASS.load(Relaxed) {
        return false;
    }
    // A number that depends on this one and isn't like it.
    let chance = now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    NEXT_PASS.store(now + now / 2 + chance % now.max(FIRST_PASS), Relaxed);
    true
}

/// Calls a function of the tool's that isn't called at an instruction of the app's: as its routine, with these arguments, the second of which is the local state's address.
///
/// # Safety
/// It is an `extern "C"` function with at most four arguments, each of which is one that it can have.
pub unsafe fn call(routine: usize, [a, local, c, d]: [u64; 4]) -> u64 {
    set_place(0);
    // SAFETY: the caller's promise; a copy does what the function does.
    let function: extern "C" fn(u64, u64, u64, u64) -> u64 =
        unsafe { std::mem::transmute(entry(routine as u64) as usize) };
    with(local, || count(routine as u64, || function(a, local, c, d)))
}

/// Does something for which the runtime asks the kernel, whoever has called it.
pub fn while_allowed<R>(work: impl FnOnce() -> R) -> R {
    let before = WORDS.allowed.swap(1, Relaxed);
    let result = work();
    WORDS.allowed.store(before, Relaxed);
    result
}

/// The run has failed: from now on what the runtime does to say so isn't checked.
pub fn give_up() {
    WORDS.allowed.store(1, Relaxed);
}

fn tell(violation: Violation, behind: u64) -> ! {
    give_up();
    let report = REPORT.load(Relaxed);
    assert!(!report.is_null(), "copies are made after `start`");
    // SAFETY: `start` has stored a function of this type.
    let report: Report = unsafe { std::mem::transmute(report) };
    let pc = copies().as_ref().and_then(|copies| copies.site(behind)).unwrap_or(BUBBLE.start);
    let place = PLACE.load(Relaxed);
    report(violation, pc, (place != 0).then_some(place))
}

/// A copy is about to store to `address`, which isn't in the bubble; `behind`: where its thunk would return to.
extern "C" fn stores(address: u64, behind: u64) -> ! {
    tell(Violation::Store(address), behind)
}

/// A copy is about to make a system call.
extern "C" fn asks(number: u64, behind: u64) -> ! {
    tell(Violation::Syscall(number), behind)
}
