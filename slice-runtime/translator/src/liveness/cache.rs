//! What was found at which place, remembered.

use machine::AppPc;

/// Places that are remembered.
const REMEMBERED: usize = 1 << 12;

/// What was found at which place, until mappings change: the same places are asked about again and again, by each trace that leads there.
#[derive(Default)]
pub struct LivenessCache {
    /// Pc, state of the mappings and flags.
    places: Vec<(AppPc, u32, u64)>,
    state: u32,
}

impl LivenessCache {
    /// The flags that were found at `pc`.
    pub fn get(&self, pc: AppPc) -> Option<u64> {
        let &(at, state, flags) = self.places.get(pc.0 as usize % REMEMBERED)?;
        (at == pc && state == self.state).then_some(flags)
    }

    /// Remembers what was found.
    pub fn put(&mut self, pc: AppPc, flags: u64) {
        if self.places.is_empty() {
            self.places = vec![(AppPc(0), u32::MAX, 0); REMEMBERED];
        }
        self.places[pc.0 as usize % REMEMBERED] = (pc, self.state, flags);
    }

    /// All that was found may be wrong now.
    pub fn forget(&mut self) {
        self.state += 1;
        if self.state == u32::MAX {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::flags::ZF;

    const BASE: u64 = 0x1000;

    #[test]
    fn findings_are_forgotten_together() {
        let mut liveness = LivenessCache::default();
        assert_eq!(liveness.get(AppPc(0)), None);
        liveness.put(AppPc(BASE), ZF);
        assert_eq!(liveness.get(AppPc(BASE)), Some(ZF));
        assert_eq!(liveness.get(AppPc(BASE + REMEMBERED as u64)), None);
        liveness.forget();
        assert_eq!(liveness.get(AppPc(BASE)), None);
    }
}
