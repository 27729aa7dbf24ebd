//! When the in-process recorder is worth its while.
//!
//! To hand the master over to the recorder and to take it back costs about as much as a few recorded calls. So it is done for a master
//! that makes nearly nothing but calls that the recorder takes, and done again and again only as long as it goes on to do so.

/// Calls of the right kind after which the recorder takes over.
const ENOUGH: i64 = 64;
/// Calls of the right kind that another call outweighs.
const WEIGHT: i64 = 8;
/// Calls in one go that make up for handing a thread over.
const COST: i64 = 8;
/// So many make up for earlier disappointments, and at most for so many later ones.
const PLENTY: i64 = 512;
/// The longest wait after a disappointment, in calls.
const LONGEST: i64 = 1 << 16;

/// What the master's calls were like lately.
pub struct Policy {
    score: i64,
    wait: i64,
    /// What the recorder has gained lately, in calls.
    gain: i64,
    is_wanted: bool,
}

impl Policy {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self { score: 0, wait: ENOUGH, gain: ENOUGH, is_wanted: false }
    }

    /// Whether the recorder is to take over.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// A call that the recorder could have made.
    pub fn taken(&mut self) {
        self.score += 1;
        self.is_wanted |= self.score >= ENOUGH;
    }

    /// A call that it couldn't.
    pub fn other(&mut self) {
        if self.score > 0 {
            self.score = (self.score - WEIGHT).max(0);
        }
    }

    /// The recorder has made that many calls in one go, of so many threads.
    pub fn made(&mut self, calls: u64, threads: usize) {
        let calls = calls.min(PLENTY as u64) as i64;
        self.gain = (self.gain + calls - COST * threads as i64).min(PLENTY);
        if self.gain < 0 {
            self.disappoint();
        } else if calls == PLENTY {
            self.wait = ENOUGH;
        }
    }

    /// The recorder isn't worth while for now.
    pub fn disappoint(&mut self) {
        self.is_wanted = false;
        self.gain = ENOUGH;
        self.score = -self.wait;
        self.wait = (self.wait * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(policy: &mut Policy, n: i64) -> bool {
        (0..n).for_each(|_| policy.taken());
        policy.is_wanted()
    }

    #[test]
    fn it_is_wanted_where_calls_of_its_kind_prevail() {
        let mut policy = Policy::new();
        assert!(!calls(&mut policy, ENOUGH - 1));
        policy.other();
        assert!(!calls(&mut policy, WEIGHT));
        assert!(calls(&mut policy, 1));
        policy.made(PLENTY as u64, 1);
        assert!(policy.is_wanted());
    }

    #[test]
    fn disappointments_make_it_wait_longer_each_time() {
        let useless = |policy: &mut Policy| (0..=ENOUGH / COST).for_each(|_| policy.made(0, 1));
        let mut policy = Policy::new();
        calls(&mut policy, ENOUGH);
        useless(&mut policy);
        assert!(!policy.is_wanted() && !calls(&mut policy, 2 * ENOUGH - 1) && calls(&mut policy, 1));
        useless(&mut policy);
        assert!(!calls(&mut policy, 3 * ENOUGH - 1) && calls(&mut policy, 1));
        policy.made(PLENTY as u64, 1);
        (0..PLENTY / COST).for_each(|_| policy.made(0, 1));
        assert!(policy.is_wanted());
        useless(&mut policy);
        assert!(!calls(&mut policy, 2 * ENOUGH - 1) && calls(&mut policy, 1));
    }
}
