//! Counters of analysis routines, spread over shards.
//!
//! A tool that adds to one word in every block makes every block wait until the addition of the one before has gone through
//! memory: about eight cycles, which is more than most blocks take. So an addition of a constant goes to one of several
//! *shards* that stand for the word, chosen by the app's pc, and the shards are added to the word whenever translated code is left: before
//! a routine is called that could read it, and before a host is asked, who may hand in the tool's result.
//!
//! Additions to the word that comes up first are usually made in a register, see `emit::registers::r11`, and come to its shards now and then.
//!
//! A routine that is put in place and isn't such an addition could read the word unseen. Named invariant *either or*: in one
//! run, counters are spread or such routines are put in place, whichever came up first.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use machine::AppPc;

use super::spill::{Reserved, SHARDS, WORDS};

const UNDECIDED: u32 = 0;
const SPREAD: u32 = 1;
const DIRECT: u32 = 2;

/// Where an addition to a counter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterPlace {
    /// In one of its shards in the thread state.
    Shard {
        /// Number of the word among those that have shards.
        word: usize,
        /// Number of the shard.
        shard: usize,
    },
    /// At the word's own address.
    Word(u64),
}

/// Which words have shards: the same in all processes that share translations.
#[derive(Default)]
#[repr(C)]
pub struct Counters {
    choice: AtomicU32,
    /// A [`Reserved`] plus one, or [`UNDECIDED`].
    reserved: AtomicU32,
    /// Addresses of the words; 0 where there is none yet.
    words: [AtomicU64; WORDS],
}

impl Counters {
    /// Decides once and for all, before any code is translated, what r11 is for.
    pub fn reserve(&self, choose: impl FnOnce() -> Reserved) {
        if self.reserved.load(Ordering::Acquire) == UNDECIDED {
            let choice = choose() as u32 + 1;
            // Whoever came first has decided; nobody decides in between, since this is done with the tables locked.
            let _ = self.reserved.compare_exchange(UNDECIDED, choice, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// What r11 is for.
    #[inline]
    pub fn reserved(&self) -> Reserved {
        let reserved = self.reserved.load(Ordering::Acquire);
        let is = |r: &Reserved| *r as u32 + 1 == reserved;
        [Reserved::CounterRegister, Reserved::BufferPointer].into_iter().find(is).unwrap_or_default()
    }

    /// Whether additions to the word at `address` are made in the counter register.
    #[inline]
    pub fn is_in_register(&self, address: u64) -> bool {
        self.reserved() == Reserved::CounterRegister && self.is_first(address)
    }

    /// Whether the word at `address` is the first that has shards.
    #[inline]
    pub fn is_first(&self, address: u64) -> bool {
        self.words[0].load(Ordering::Acquire) == address
    }

    /// A shard of the first word.
    pub fn register_shard(pc: AppPc) -> CounterPlace {
        CounterPlace::Shard { word: 0, shard: shard_of(pc) }
    }

    /// Where code at `pc` adds to the word at `address`.
    #[inline]
    pub fn place(&self, address: u64, pc: AppPc) -> CounterPlace {
        // Aligned words are the same or don't overlap, so shards of different words have nothing to do with each other.
        let aligned = address.is_multiple_of(8);
        let word = if aligned && self.choose(SPREAD) { self.word(address) } else { None };
        word.map_or(CounterPlace::Word(address), |word| CounterPlace::Shard { word, shard: shard_of(pc) })
    }

    /// Whether a routine that may read a counter may be put in place.
    pub fn may_be_read(&self) -> bool {
        self.choose(DIRECT)
    }

    /// Whether counters may have shards.
    pub fn may_have_shards(&self) -> bool {
        self.choose(SPREAD)
    }

    /// Whether nothing was decided yet.
    pub fn is_undecided(&self) -> bool {
        self.choice.load(Ordering::Acquire) == UNDECIDED
    }

    fn choose(&self, wanted: u32) -> bool {
        let old = self.choice.compare_exchange(UNDECIDED, wanted, Ordering::AcqRel, Ordering::Acquire);
        old.is_ok() || old == Err(wanted)
    }

    /// Number of a word, which gets one if there is still room.
    fn word(&self, address: u64) -> Option<usize> {
        self.words.iter().position(|word| {
            let old = word.compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire);
            old.is_ok() || old == Err(address)
        })
    }

    /// Adds the shards to their words, which lie `moved` bytes from where the first thread has them, and empties them.
    ///
    /// # Safety
    /// The words must be mapped, and nobody else may be using them or the shards.
    #[inline]
    pub unsafe fn flush_shards(&self, shards: &mut [[u64; SHARDS]; WORDS], moved: u64) {
        for (word, shards) in self.words.iter().zip(shards) {
            let address = word.load(Ordering::Acquire);
            if address == 0 {
                return;
            }
            let sum = shards.iter().fold(0, |sum: u64, shard| sum.wrapping_add(*shard));
            shards.fill(0);
            let word = address.wrapping_add(moved) as *mut u64;
            // SAFETY: the caller's promise; `place` took aligned addresses only.
            unsafe { word.write(word.read().wrapping_add(sum)) };
        }
    }
}

/// Blocks that follow each other should have different shards.
fn shard_of(pc: AppPc) -> usize {
    (pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC: AppPc = AppPc(0x40_1000);

    #[test]
    fn shards_add_up_to_their_word() {
        let (counters, mut words) = (Counters::default(), [5_u64, 7]);
        let at = words.each_ref().map(|word| std::ptr::from_ref(word) as u64);
        let places = at.map(|address| counters.place(address, PC));
        assert_ne!(places[0], places[1]);
        assert_eq!(counters.place(at[0], PC), places[0]);
        let mut shards = [[0; SHARDS]; WORDS];
        shards[0][3] = 10;
        shards[0][4] = u64::MAX;
        shards[1][0] = 1;
        // SAFETY: the words are local variables.
        unsafe { counters.flush_shards(&mut shards, 0) };
        // SAFETY: a live variable, which `flush_shards` wrote through its address.
        assert_eq!(unsafe { (&raw mut words).read_volatile() }, [14, 8]);
        assert_eq!(shards, [[0; SHARDS]; WORDS]);
    }

    #[test]
    fn words_beyond_the_last_and_odd_ones_have_no_shards() {
        let counters = Counters::default();
        for n in 1..=WORDS as u64 {
            assert_ne!(counters.place(n * 8, PC), CounterPlace::Word(n * 8));
        }
        assert_eq!(counters.place(0x1000, PC), CounterPlace::Word(0x1000));
        assert_eq!(counters.place(9, PC), CounterPlace::Word(9));
    }

    #[test]
    fn what_comes_first_decides() {
        let counters = Counters::default();
        assert!(counters.is_undecided());
        assert_ne!(counters.place(8, PC), CounterPlace::Word(8));
        assert!(!counters.may_be_read());
        let counters = Counters::default();
        assert!(counters.may_be_read());
        assert_eq!(counters.place(8, PC), CounterPlace::Word(8));
    }
}
