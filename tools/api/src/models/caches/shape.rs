//! Sizes of caches.

use std::fmt;
use std::str::FromStr;

/// The size of a cache. As an option of a tool it is written `SIZE,WAYS,LINE`, as `32K,8,64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    size: u64,
    ways: usize,
    line: u64,
}

/// Lines that a cache has at most: 16 M, which take 128 MB in each slice.
const MOST_LINES: u64 = 1 << 24;

impl CacheShape {
    /// A cache of `size` bytes, in lines of `line` bytes, of which a set has `ways`: as many as there are in all if it is fully associative, one if it is direct-mapped.
    ///
    /// # Errors
    /// If `line` and the number of sets aren't powers of two (that of ways needn't be one), or there are more than 16 M lines. The text says so.
    pub fn new(size: u64, ways: usize, line: u64) -> Result<Self, String> {
        let shape = Self { size, ways, line };
        let set = (ways as u64).saturating_mul(line);
        if !line.is_power_of_two() || line == 1 {
            Err(format!("a cache {shape}: the size of a line is a power of two, of 2 bytes at least"))
        } else if ways == 0 || !size.is_multiple_of(set) || !(size / set).is_power_of_two() {
            Err(format!("a cache {shape}: its size is that of a line by the number of ways by a power of two"))
        } else if size / line > MOST_LINES {
            Err(format!("a cache {shape}: there are at most {MOST_LINES} lines"))
        } else {
            Ok(shape)
        }
    }

    /// Bytes of all of it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Lines of a set.
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// How many sets there are.
    pub fn sets(&self) -> usize {
        (self.size / self.line) as usize / self.ways
    }
}

impl fmt::Display for CacheShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", Bytes(self.size), self.ways, Bytes(self.line))
    }
}

impl FromStr for CacheShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: a cache is SIZE,WAYS,LINE, as 32K,8,64 or 8M,16,64");
        let parts: Vec<&str> = text.split(',').collect();
        let [size, ways, line] = parts[..] else { return Err(wrong()) };
        let (size, line) = (bytes(size).ok_or_else(wrong)?, bytes(line).ok_or_else(wrong)?);
        Self::new(size, ways.parse().map_err(|_| wrong())?, line)
    }
}

/// `32K` as a number.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << unit)
}

/// Prints as it is read.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "G"), (20, "M"), (10, "K")];
        match units.into_iter().find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(1 << unit)) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 >> unit),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Which caches there are, and which of them sees whose misses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyShape {
    first: Vec<CacheShape>,
    lower: Vec<CacheShape>,
}

impl HierarchyShape {
    /// Caches beside each other that the app's accesses go to, one for data and one for instructions, say; and below them one after the other those that all of them have in
    /// common, each of which sees the misses of the one above.
    ///
    /// # Errors
    /// If there is none, or lines of one are smaller than those of one above. The text says so.
    pub fn new(first: Vec<CacheShape>, lower: Vec<CacheShape>) -> Result<Self, String> {
        if first.is_empty() || first.len() > 255 {
            return Err("there is a first level, of at most 255 caches".into());
        }
        let mut above = first.iter().map(CacheShape::line).max().unwrap_or(0);
        for shape in &lower {
            if shape.line() < above {
                return Err(format!("a cache {shape} below one with larger lines: {above} bytes"));
            }
            above = shape.line();
        }
        Ok(Self { first, lower })
    }

    /// The caches that the app's accesses go to.
    pub fn first(&self) -> &[CacheShape] {
        &self.first
    }

    /// Those below.
    pub fn lower(&self) -> &[CacheShape] {
        &self.lower
    }
}
