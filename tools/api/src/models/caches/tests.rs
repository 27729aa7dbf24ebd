//! Parts, cut and put together in whatever way, against the whole, and the whole against caches that are written down as simply as can be.

use super::{CacheShape, Hierarchy, HierarchyShape};
use crate::models::random::{Random, folded};
use crate::tool::SliceInfo;

/// An access: by which cache, where, how many bytes, and its number.
type Access = (usize, u64, u64, u32);
/// Which levels have missed which accesses.
type Misses = Vec<(usize, u32)>;

fn shape(size: u64, ways: usize, line: u64) -> CacheShape {
    CacheShape::new(size, ways, line).unwrap()
}

/// Small caches, so that much happens in a few accesses.
fn shapes(random: &mut Random) -> HierarchyShape {
    let mut some = |line: u64, most: u64| {
        let line = line << random.below(2);
        let (ways, sets) = (1 + random.below(5) as usize, 1 << random.below(most));
        shape(line * ways as u64 * sets, ways, line)
    };
    let first = [some(16, 3), some(16, 3)];
    let mut line = first.iter().map(CacheShape::line).max().unwrap();
    let mut lower = Vec::new();
    for _ in 0..2 {
        lower.push(some(line, 4));
        line = lower.last().unwrap().line();
    }
    lower.truncate(random.below(3) as usize);
    HierarchyShape::new(first.to_vec(), lower).unwrap()
}

/// Some loops over some memory, with jumps to elsewhere.
fn accesses(random: &mut Random, count: u32) -> Vec<Access> {
    let (mut base, mut span) = (0, 64);
    let mut next = |number| {
        if random.below(40) == 0 {
            (base, span) = (random.below(3000), 1 << random.below(11));
        }
        (random.below(2) as usize, base + random.below(span), 1 << random.below(5), number)
    };
    (0..count).map(&mut next).collect()
}

/// All lines that a cache has, each with the time of its last use.
#[derive(Clone)]
struct Simple {
    shape: CacheShape,
    lines: Vec<(u64, u64)>,
    now: u64,
}

impl Simple {
    fn new(shape: &CacheShape) -> Self {
        Self { shape: *shape, lines: Vec::new(), now: 0 }
    }

    /// Whether it is missed.
    fn access(&mut self, address: u64) -> bool {
        let (line, sets) = (address / self.shape.line(), self.shape.sets() as u64);
        self.now += 1;
        if let Some((_, used)) = self.lines.iter_mut().find(|(other, _)| *other == line) {
            *used = self.now;
            return false;
        }
        let of_set = self.lines.iter().filter(|(other, _)| other % sets == line % sets);
        if of_set.clone().count() == self.shape.ways() {
            let oldest = *of_set.min_by_key(|(_, used)| *used).unwrap();
            self.lines.retain(|entry| *entry != oldest);
        }
        self.lines.push((line, self.now));
        true
    }
}

fn simply(shape: &HierarchyShape, accesses: &[Access]) -> Misses {
    let mut first: Vec<Simple> = shape.first().iter().map(Simple::new).collect();
    let mut lower: Vec<Simple> = shape.lower().iter().map(Simple::new).collect();
    let mut misses = Misses::new();
    for &(cache, address, size, number) in accesses {
        let bytes = shape.first()[cache].line();
        for line in address / bytes..=(address + size - 1) / bytes {
            if !first[cache].access(line * bytes) {
                continue;
            }
            misses.push((0, number));
            for (n, level) in lower.iter_mut().enumerate() {
                if !level.access(line * bytes) {
                    break;
                }
                misses.push((n + 1, number));
            }
        }
    }
    misses.sort_unstable();
    misses
}

fn part(shape: &HierarchyShape, accesses: &[Access], number: u64, misses: &mut Misses) -> Hierarchy<u32> {
    let mut caches = Hierarchy::begin(shape, SliceInfo { number });
    for &(cache, address, size, number) in accesses {
        caches.access(cache, address, size, number, |level, tag| misses.push((level, tag)));
    }
    // As it comes from a slice.
    let encoded = postcard::to_allocvec(&caches).unwrap();
    let decoded = postcard::from_bytes(&encoded).unwrap();
    assert_eq!(postcard::to_allocvec(&decoded).unwrap(), encoded);
    decoded
}

#[test]
fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let shape = shapes(&mut random);
        let accesses = accesses(&mut random, 600);
        let expected = simply(&shape, &accesses);
        // Slice 0 knows that it begins with nothing, or no slice does.
        let first = random.below(2);
        let mut misses = Misses::new();
        let parts = random.cut(&accesses);
        let parts: Vec<_> =
            (first..).zip(parts).map(|(number, accesses)| part(&shape, accesses, number, &mut misses)).collect();
        let all = folded(parts, &mut random, |left, right| {
            left.append(right, |level, tag| misses.push((level, tag)));
        });
        all.end(|level, tag| misses.push((level, tag)));
        misses.sort_unstable();
        assert!(misses == expected, "seed {seed}, {shape:?}");
    }
}

/// A lower cache that is accessed or isn't: that depends on what the slice before has left in the upper one.
#[test]
fn an_access_that_may_not_reach_a_lower_cache_changes_which_line_it_gives_up() {
    let shape = HierarchyShape::new(vec![shape(32, 2, 16)], vec![shape(32, 2, 16)]).unwrap();
    let execution: [u64; 6] = [0x10, 0x20, 0x10, 0x30, 0x10, 0x20];
    let accesses: Vec<Access> = execution.iter().zip(0..).map(|(address, n)| (0, *address, 1, n)).collect();
    let expected = simply(&shape, &accesses);
    assert_eq!(expected, [(0, 0), (0, 1), (0, 3), (0, 5), (1, 0), (1, 1), (1, 3)]);
    for cut in 0..=accesses.len() {
        let mut misses = Misses::new();
        let mut all = part(&shape, &accesses[..cut], 0, &mut misses);
        let next = part(&shape, &accesses[cut..], 1, &mut misses);
        all.append(next, |level, tag| misses.push((level, tag)));
        misses.sort_unstable();
        assert_eq!(misses, expected, "cut at {cut}");
    }
}

#[test]
fn what_is_kept_is_bounded_however_long_the_part_is() {
    let shape = HierarchyShape::new(vec![shape(1024, 2, 32)], vec![shape(4096, 4, 32)]).unwrap();
    let mut random = Random::new(1);
    let mut sizes = [100_000, 1_000_000].map(|count| {
        let accesses = (0..count).map(|n| (0, random.below(1 << 16), 4, n)).collect::<Vec<_>>();
        postcard::to_allocvec(&part(&shape, &accesses, 1, &mut Misses::new())).unwrap().len()
    });
    sizes.sort_unstable();
    assert!(sizes[1] < sizes[0] + sizes[0] / 4 && sizes[1] < 64 << 10, "{sizes:?} bytes");
}

#[test]
fn shapes_are_read_as_they_are_printed_and_impossible_ones_refused() {
    for text in ["32K,8,64", "48K,12,64", "1G,64,64K", "160,5,4"] {
        assert_eq!(text.parse::<CacheShape>().unwrap().to_string(), text);
    }
    assert_eq!("32768,8,64".parse::<CacheShape>(), CacheShape::new(32 << 10, 8, 64));
    for wrong in
        ["", "32K", "32K,8", "32K,8,64,1", "32K,0,64", "32K,8,63", "31K,8,64", "0,1,64", "64G,1,64", "K,1,64", "64,1,1"]
    {
        assert!(wrong.parse::<CacheShape>().is_err(), "{wrong}");
    }
    let below = HierarchyShape::new(vec![shape(1024, 2, 64)], vec![shape(1024, 2, 32)]);
    assert!(below.unwrap_err().contains("larger lines"));
}
