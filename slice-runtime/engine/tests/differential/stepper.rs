//! Interruptions at chosen instructions of translated code, the same ones each time: it is run with the trap flag set, and at some of the traps
//! a signal follows.
//!
//! The app's flags have the trap flag then. It stays hidden from the program: what pushes or pops flags in translated code is done by the
//! handler instead.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use bubble::map::CACHE_OWN;
use isa::random::Rng;
use machine::flags;

/// State of the numbers that say how many traps there are up to the next interruption, and how many are left.
static RANDOM: AtomicU64 = AtomicU64::new(0);
static LEFT: AtomicU64 = AtomicU64::new(0);
/// Traps that are left in all: each takes microseconds.
static ALL_LEFT: AtomicU64 = AtomicU64::new(0);
const MOST: u64 = 500;

/// What `popf` changes outside the kernel.
const POPPED: u64 = flags::ARITHMETIC | flags::DF | flags::AC;

/// Steps while it lives, if the app's flags have the trap flag.
pub struct Stepper {
    old: libc::sigaction,
}

impl Stepper {
    /// The seed determines where the interruptions are.
    pub fn new(seed: u64) -> Stepper {
        RANDOM.store(seed, Ordering::Relaxed);
        ALL_LEFT.store(if seed.is_multiple_of(16) { 10 * MOST } else { MOST }, Ordering::Relaxed);
        choose();
        let mut old = MaybeUninit::uninit();
        // SAFETY: sigaction is plain data for which zero is valid; all pointers are valid.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigfillset(&raw mut action.sa_mask);
            assert_eq!(libc::sigaction(libc::SIGTRAP, &raw const action, old.as_mut_ptr()), 0);
            Stepper { old: old.assume_init() }
        }
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        // SAFETY: it was the action before.
        unsafe { libc::sigaction(libc::SIGTRAP, &raw const self.old, std::ptr::null_mut()) };
    }
}

/// Few traps, or many: loops have time to be linked.
fn choose() {
    let mut rng = Rng(RANDOM.load(Ordering::Relaxed));
    let most = 4 << rng.below(8);
    LEFT.store(1 + rng.below(most), Ordering::Relaxed);
    RANDOM.store(rng.0, Ordering::Relaxed);
}

/// FS is the test's while its programs run.
extern "C" fn trapped(_: i32, _: &libc::siginfo_t, context: &mut libc::ucontext_t) {
    let gregs = &mut context.uc_mcontext.gregs;
    let rip = gregs[libc::REG_RIP as usize] as u64;
    if ALL_LEFT.fetch_sub(1, Ordering::Relaxed) <= 1 {
        gregs[libc::REG_EFL as usize] &= !(flags::TF as i64);
        ALL_LEFT.store(1, Ordering::Relaxed);
    } else if LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        choose();
        // SAFETY: the signal is blocked while this handler runs, and comes when it returns.
        unsafe { libc::raise(libc::SIGALRM) };
        return;
    }
    // The gateway saves the app's flags as they are, and drops the trap flag when it has.
    if CACHE_OWN.contains(rip) {
        while emulate(gregs) {}
    }
}

/// Executes `pushf` or `popf` as if the trap flag weren't there; false if it is something else.
fn emulate(gregs: &mut [i64; 23]) -> bool {
    let [rip, rsp, rflags] = [libc::REG_RIP, libc::REG_RSP, libc::REG_EFL].map(|n| gregs[n as usize] as u64);
    // SAFETY: translated code goes on there, with room behind it.
    let (len, size, opcode) = match unsafe { *(rip as *const [u8; 2]) } {
        [0x66, opcode] => (2, 2, opcode),
        [opcode, _] => (1, 8, opcode),
    };
    let (rsp, rflags) = match opcode {
        0x9c => {
            let pushed = (rflags & !(flags::TF | flags::RF)).to_le_bytes();
            // SAFETY: programs have a stack.
            unsafe { std::ptr::copy_nonoverlapping(pushed.as_ptr(), (rsp - size) as *mut u8, size as usize) };
            (rsp - size, rflags)
        }
        0x9d => {
            let mut popped = rflags.to_le_bytes();
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(rsp as *const u8, popped.as_mut_ptr(), size as usize) };
            (rsp + size, rflags & !POPPED | u64::from_le_bytes(popped) & POPPED)
        }
        _ => return false,
    };
    gregs[libc::REG_RIP as usize] = (rip + len) as i64;
    gregs[libc::REG_RSP as usize] = rsp as i64;
    gregs[libc::REG_EFL as usize] = rflags as i64;
    true
}
