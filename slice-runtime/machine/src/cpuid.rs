//! All that `cpuid` answers on one processor, as a table.
//!
//! Some answers name the processor on which they were given, and another machine has others altogether. Whoever executes again what an app executed must
//! give it the same ones, wherever that is: so they are asked once, on the processor on which the app asks, and looked up from then on.
//!
//! ```text
//!   leaf ─┬─ listed ──┬─ subleaf listed ──► that answer
//!         │           └─ else ────────────► the leaf's rest (some count the subleaf in their ecx)
//!         └─ not ─────► what its range answers: nothing, or as the last basic leaf (Intel)
//! ```

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::__cpuid_count;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

/// eax, ebx, ecx, edx.
pub type Answer = [u32; 4];

/// arch_prctl(2): whether `cpuid` is allowed.
pub const ARCH_SET_CPUID: u64 = 0x1012;

/// The thread in which `cpuid` traps, see [`trap`]; 0 if there is none.
static TRAPPED: AtomicI32 = AtomicI32::new(0);

/// What this processor answers.
pub fn ask(leaf: u32, subleaf: u32) -> Answer {
    let traps = TRAPPED.load(Relaxed);
    let is_here = traps != 0 && traps == this_thread();
    if is_here {
        set_allowed(true);
    }
    #[expect(clippy::disallowed_methods, reason = "the one place")]
    let answer = __cpuid_count(leaf, subleaf);
    if is_here {
        set_allowed(false);
    }
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

/// Makes `cpuid` trap in this thread, or not, if the processor can do that: it is then a fault, so only [`ask`] may execute it. One thread at a time.
///
/// A processor that goes from a thread in which it traps to one in which it doesn't must be told so: in a virtual machine that took 7 microseconds each time.
pub fn trap(trap: bool) {
    if (TRAPPED.load(Relaxed) != 0) == trap {
        return;
    }
    // The standard library asks once, whenever it needs to know first.
    let _ = is_x86_feature_detected!("sse3");
    if set_allowed(!trap) {
        TRAPPED.store(if trap { this_thread() } else { 0 }, Relaxed);
    }
}

/// Whether this machine can make `cpuid` trap.
pub fn can_trap() -> bool {
    TRAPPED.load(Relaxed) != 0 || set_allowed(true)
}

fn set_allowed(allowed: bool) -> bool {
    // SAFETY: no memory is involved. Nothing but `ask` executes the instruction where it isn't allowed.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, u64::from(allowed)) == 0 }
}

fn this_thread() -> i32 {
    // SAFETY: a call without arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Answers that are kept at most: processors have some two hundred.
const CAPACITY: usize = 1024;
/// Leaves of a range that are asked at most.
const MOST_LEAVES: u32 = 256;
/// Subleaves that no leaf has; two of them tell whether the answer depends on their number.
const BEYOND: [u32; 2] = [0x1234_5600, 0x1234_5601];
/// A leaf's subleaves have ended when so many in a row answer like one that no leaf has.
const GAP: u32 = 4;
/// Components of the extended state: their subleaves have gaps.
const XSAVE: u32 = 0xd;
const RANGE: u32 = 28;
/// Of hypervisors. There may be several, one after the other.
const HYPERVISORS: u32 = 0x4000_0000;

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Of this very subleaf.
    Exact = 0,
    /// Of all others of the leaf.
    Rest = 1,
    /// The same, with the subleaf's lowest byte in ecx.
    RestCounted = 2,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Entry {
    leaf: u32,
    subleaf: u32,
    kind: Kind,
    answer: Answer,
}

/// What leaves answer that aren't listed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Outside {
    /// 1: as the last basic leaf.
    is_last_basic: u32,
    answer: Answer,
}

/// The table.
#[repr(C)]
#[derive(Clone)]
pub struct Table {
    /// 0: it wasn't taken.
    len: u32,
    last_basic: u32,
    /// 1 if all answers have found room.
    is_complete: u32,
    outside: [Outside; 16],
    /// In the order of leaves.
    entries: [Entry; CAPACITY],
}

impl Table {
    /// One without answers.
    pub fn none() -> Box<Self> {
        let entry = Entry { leaf: 0, subleaf: 0, kind: Kind::Exact, answer: [0; 4] };
        let outside = [Outside::default(); 16];
        Box::new(Self { len: 0, last_basic: 0, is_complete: 0, outside, entries: [entry; CAPACITY] })
    }

    /// The answers of the processor that executes this, which has to stay on it.
    pub fn take() -> Box<Self> {
        Self::of(ask)
    }

    fn of(ask: impl Fn(u32, u32) -> Answer) -> Box<Self> {
        let mut table = Self::none();
        table.is_complete = 1;
        table.last_basic = ask(0, 0)[0];
        for range in 0..16_u32 {
            let base = range << RANGE;
            let bases = if base == HYPERVISORS { (0..16).map(|n| base + n * 0x100).collect() } else { vec![base] };
            for base in bases {
                let last = ask(base, 0)[0];
                let leaves = last.wrapping_sub(base).wrapping_add(1);
                if (1..=MOST_LEAVES).contains(&leaves) {
                    (base..=last).for_each(|leaf| table.take_leaf(leaf, &ask));
                }
            }
            let beyond = base + ((1 << RANGE) - 16);
            let answer = ask(beyond, 0);
            let same = |subleaf| ask(beyond, subleaf) == ask(table.last_basic, subleaf);
            let is_last_basic = (answer != [0; 4] && same(0) && same(1)).into();
            table.outside[range as usize] = Outside { is_last_basic, answer };
        }
        table
    }

    fn take_leaf(&mut self, leaf: u32, ask: &impl Fn(u32, u32) -> Answer) {
        let [rest, next] = BEYOND.map(|subleaf| ask(leaf, subleaf));
        let counts = rest != next && next[2] & 0xff == BEYOND[1] & 0xff && rest[2] & 0xff == BEYOND[0] & 0xff;
        let kind = if counts { Kind::RestCounted } else { Kind::Rest };
        let rest = Entry { leaf, subleaf: 0, kind, answer: rest };
        let mut gap = 0;
        let parts = if leaf == XSAVE { components(ask) } else { u64::MAX };
        for subleaf in (0..64).filter(|subleaf| parts >> subleaf & 1 != 0) {
            let answer = ask(leaf, subleaf);
            if answer == rest.of_subleaf(subleaf) {
                gap += 1;
            } else {
                gap = 0;
                self.push(Entry { leaf, subleaf, kind: Kind::Exact, answer });
            }
            // Most leaves have no subleaves, and `cpuid` is slow in a virtual machine.
            if leaf != XSAVE && (gap == GAP || gap == 2 && subleaf == 1) {
                break;
            }
        }
        self.push(rest);
    }

    fn push(&mut self, entry: Entry) {
        match self.entries.get_mut(self.len as usize) {
            Some(place) => {
                *place = entry;
                self.len += 1;
            }
            None => self.is_complete = 0,
        }
    }

    /// Whether it was taken.
    pub fn is_taken(&self) -> bool {
        self.len > 0
    }

    /// What `cpuid` answers. `None` if the table isn't complete.
    pub fn answer(&self, leaf: u32, subleaf: u32) -> Option<Answer> {
        (self.is_complete == 1).then(|| {
            let outside = self.outside[(leaf >> RANGE) as usize];
            self.listed(leaf, subleaf)
                .or_else(|| (outside.is_last_basic == 1).then(|| self.listed(self.last_basic, subleaf)).flatten())
                .unwrap_or(outside.answer)
        })
    }

    fn listed(&self, leaf: u32, subleaf: u32) -> Option<Answer> {
        let entries = &self.entries[..self.len as usize];
        let first = entries.partition_point(|entry| entry.leaf < leaf);
        let mut of_leaf = entries[first..].iter().take_while(|entry| entry.leaf == leaf);
        let found = of_leaf.find(|entry| entry.kind != Kind::Exact || entry.subleaf == subleaf)?;
        Some(found.of_subleaf(subleaf))
    }
}

impl Entry {
    fn of_subleaf(&self, subleaf: u32) -> Answer {
        let [eax, ebx, ecx, edx] = self.answer;
        match self.kind {
            Kind::Exact | Kind::Rest => self.answer,
            Kind::RestCounted => [eax, ebx, ecx & !0xff | subleaf & 0xff, edx],
        }
    }
}

/// Subleaves that the components' leaf has: the first two name the others, of the app's and of the kernel's.
fn components(ask: &impl Fn(u32, u32) -> Answer) -> u64 {
    let [[eax, _, _, edx], [_, _, low, high]] = [0, 1].map(|subleaf| ask(XSAVE, subleaf));
    u64::from(edx | high) << 32 | u64::from(eax | low) | 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Intel's: leaf 4 has subleaves, 0xb counts, 0xd has gaps, what is outside answers as the last one.
    fn ask(leaf: u32, subleaf: u32) -> Answer {
        match (leaf, subleaf) {
            (0, _) => [0xd, 1, 2, 3],
            (4, 0..=3) => [subleaf + 1, 2, 3, 4],
            (0xb, 0) => [1, 2, 0x100, 77],
            (0xb, _) => [0, 0, subleaf & 0xff, 77],
            (0xd, 0) => [7 | 1 << 9, 5, 6, 0],
            (0xd, 1) => [1, 5, 1 << 18, 0],
            (0xd, 2 | 9 | 18) => [subleaf, 5, 6, 7],
            (4 | 0xd, _) => [0; 4],
            (1..=0xd, _) => [leaf, leaf, leaf, leaf],
            (0x4000_0000 | 0x4000_0100, _) => [leaf + 1, 0, 0, 0],
            (0x4000_0001 | 0x4000_0101, _) => [leaf, 9, 9, 9],
            (0x8000_0000, _) => [0x8000_0001, 0, 0, 0],
            (0x8000_0001, _) => [8, 8, 8, 8],
            _ => ask(0xd, subleaf),
        }
    }

    #[test]
    fn each_question_is_answered_as_it_was() {
        let table = Table::of(ask);
        assert!(table.is_taken());
        let leaves = (0..=0x10).chain([0x3fff_0000, 0x8000_0002, 0xc000_0000, 0xffff_ffff]);
        for leaf in leaves.chain([0x4000_0000, 0x4000_0001, 0x4000_0100, 0x4000_0101, 0x4000_0102, 0x8000_0001]) {
            for subleaf in (0..70).chain([0x100, 0x1ff, u32::MAX]) {
                assert_eq!(table.answer(leaf, subleaf), Some(ask(leaf, subleaf)), "{leaf:#x} {subleaf:#x}");
            }
        }
    }

    #[test]
    fn without_room_nothing_is_answered() {
        let table = Table::of(|leaf, subleaf| if leaf == 0 { [0xff, 0, 0, 0] } else { [leaf, subleaf, 0, 0] });
        assert_eq!(table.answer(0, 0), None);
        assert!(!Table::none().is_taken() && Table::none().answer(0, 0).is_none());
    }

    #[test]
    fn this_processors_answers_are_its_own() {
        // Tests run on any processor, and whoever runs this may be moved: leaves that don't name it.
        let table = Table::take();
        for (leaf, subleaf) in [(0, 0), (7, 0), (7, 1), (7, 99), (0xd, 0), (0xd, 2), (0xd, 62), (0x8000_0000, 5)] {
            assert_eq!(table.answer(leaf, subleaf), Some(super::ask(leaf, subleaf)), "{leaf:#x} {subleaf:#x}");
        }
    }

    #[test]
    fn what_traps_is_asked_all_the_same() {
        let before = super::ask(0, 0);
        trap(true);
        assert_eq!(super::ask(0, 0), before);
        assert!(TRAPPED.load(Relaxed) == 0 || can_trap());
        trap(false);
        assert_eq!((TRAPPED.load(Relaxed), super::ask(0, 0)), (0, before));
    }
}
