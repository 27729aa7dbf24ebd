//! The lines of a cache's sets, as far as they are known.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What a set says of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is there.
    Present,
    /// It isn't.
    Absent,
    /// It isn't among those that are known, which aren't all.
    Unknown,
}

/// For each set the lines that were used last, the latest one first: as many as are known, and all that there are if the set is full of them.
#[derive(Clone, Debug)]
pub struct Sets {
    ways: usize,
    /// A power of two less one.
    mask: u64,
    lines: Vec<u64>,
    /// How many are known of each set.
    known: Vec<u32>,
    /// The latest line of each set once more, or `NONE`: what is asked for most lies close together.
    latest: Vec<u64>,
}

/// No line has this number: each has two bytes at least.
const NONE: u64 = u64::MAX;

impl Sets {
    /// None of whose lines is known. `count` is a power of two.
    pub fn new(ways: usize, count: usize) -> Self {
        Self {
            ways,
            mask: count as u64 - 1,
            lines: vec![0; ways * count],
            known: vec![0; count],
            latest: vec![NONE; count],
        }
    }

    /// As many sets, none of whose lines is known.
    pub fn emptied(&self) -> Self {
        Self::new(self.ways, self.known.len())
    }

    fn set_of(&self, line: u64) -> usize {
        (line & self.mask) as usize
    }

    fn known_lines(&self, set: usize) -> &[u64] {
        &self.lines[set * self.ways..][..self.known[set] as usize]
    }

    /// Whether a line is known to be its set's latest one.
    #[inline]
    pub fn is_latest(&self, line: u64) -> bool {
        self.latest[self.set_of(line)] == line
    }

    /// Uses a line: it is its set's latest one then. Tells what was known of it before.
    #[inline]
    pub fn touch(&mut self, line: u64) -> Found {
        let set = self.set_of(line);
        if std::mem::replace(&mut self.latest[set], line) == line {
            return Found::Present;
        }
        let lines = &mut self.lines[set * self.ways..][..self.ways];
        let (known, unknown) = lines.split_at_mut(self.known[set] as usize);
        // Those before it move on by one.
        let mut moved = line;
        for place in known {
            std::mem::swap(place, &mut moved);
            if moved == line {
                return Found::Present;
            }
        }
        let Some(place) = unknown.first_mut() else { return Found::Absent };
        *place = moved;
        self.known[set] += 1;
        Found::Unknown
    }

    /// The lines of the set that a line belongs to, the latest one last, which aren't known from now on.
    pub fn forget(&mut self, line: u64) -> Vec<u64> {
        let set = self.set_of(line);
        let lines = self.known_lines(set).iter().rev().copied().collect();
        self.known[set] = 0;
        self.latest[set] = NONE;
        lines
    }

    /// Uses all lines that another one knows, so that they are here what they are there.
    pub fn touch_all(&mut self, other: &Self) {
        for set in 0..other.known.len() {
            for line in other.known_lines(set).iter().rev() {
                self.touch(*line);
            }
        }
    }
}

/// Ways, number of sets, and the sets of which something is known.
#[derive(Serialize, Deserialize)]
struct Encoded(u32, u32, Vec<(u32, Vec<u64>)>);

impl Serialize for Sets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = (0..self.known.len()).filter(|set| self.known[*set] > 0);
        let sets = known.map(|set| (set as u32, self.known_lines(set).to_vec())).collect();
        Encoded(self.ways as u32, self.known.len() as u32, sets).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Encoded(ways, count, encoded) = Encoded::deserialize(deserializer)?;
        if !count.is_power_of_two() {
            return Err(de::Error::custom("a number of sets that isn't a power of two"));
        }
        let mut sets = Self::new(ways as usize, count as usize);
        for (set, lines) in encoded {
            if set >= count || lines.len() > sets.ways {
                return Err(de::Error::custom("a set that the cache hasn't"));
            }
            sets.lines[set as usize * sets.ways..][..lines.len()].copy_from_slice(&lines);
            sets.known[set as usize] = lines.len() as u32;
            sets.latest[set as usize] = lines.first().copied().unwrap_or(NONE);
        }
        Ok(sets)
    }
}
