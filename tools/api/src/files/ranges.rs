//! Which code belongs to which symbol.

use bubble::modules::CodeRange;

/// Code that a symbol names.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// First address.
    pub start: u64,
    /// Bytes; 0 if that isn't known.
    pub size: u64,
    /// Index of the symbol.
    pub symbol: u32,
}

/// Ranges that don't overlap, by ascending address. `named`: by ascending address, one for each. `sections`: where code can be, start and end.
///
/// Code belongs to the symbol that begins last before it and reaches behind it. One without a size reaches to the next symbol, if it doesn't lie in another one.
pub fn ranges(named: &[Named], sections: &[(u64, u64)]) -> Vec<CodeRange> {
    let mut ranges = flatten(named.iter().filter(|named| named.size > 0));
    let covered = |at: u64, ranges: &[CodeRange]| {
        let next = ranges.partition_point(|range| range.start <= at);
        next > 0 && at - ranges[next - 1].start < u64::from(ranges[next - 1].size)
    };
    let unsized_ones = named.iter().enumerate().filter(|(_, it)| it.size == 0 && !covered(it.start, &ranges));
    let mut more = Vec::new();
    for (index, it) in unsized_ones {
        let Some(&(_, end)) = sections.iter().find(|(start, end)| (*start..*end).contains(&it.start)) else { continue };
        let end = named.get(index + 1).map_or(end, |next| next.start.min(end));
        more.push(range(it.start, end, it.symbol));
    }
    ranges.extend(more);
    ranges.sort_by_key(|range| range.start);
    ranges
}

fn range(start: u64, end: u64, symbol: u32) -> CodeRange {
    CodeRange { start, size: u32::try_from(end - start).unwrap_or(u32::MAX), symbol }
}

/// Symbols with sizes, some of which lie in others.
fn flatten<'n>(named: impl Iterator<Item = &'n Named>) -> Vec<CodeRange> {
    let mut ranges = Vec::new();
    // Those that reach behind `at`, the innermost last.
    let mut open = Vec::<(u64, u32)>::new();
    let mut at = 0;
    let mut close = |until: u64, at: &mut u64, open: &mut Vec<(u64, u32)>| {
        while let Some(&(end, symbol)) = open.last() {
            let stop = end.min(until);
            if *at < stop {
                ranges.push(range(*at, stop, symbol));
                *at = stop;
            }
            if end > until {
                break;
            }
            open.pop();
        }
    };
    for it in named {
        close(it.start, &mut at, &mut open);
        at = it.start;
        open.push((it.start.saturating_add(it.size), it.symbol));
    }
    close(u64::MAX, &mut at, &mut open);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(named: &[(u64, u64)]) -> Vec<(u64, u64, u32)> {
        let named = named.iter().zip(0..);
        let named: Vec<_> = named.map(|(&(start, size), symbol)| Named { start, size, symbol }).collect();
        let ranges = ranges(&named, &[(0, 1000)]);
        ranges.iter().map(|range| (range.start, range.start + u64::from(range.size), range.symbol)).collect()
    }

    #[test]
    fn code_belongs_to_the_innermost_symbol() {
        assert_eq!(
            told(&[(10, 90), (40, 20), (70, 5)]),
            [(10, 40, 0), (40, 60, 1), (60, 70, 0), (70, 75, 2), (75, 100, 0)]
        );
        assert_eq!(told(&[(10, 40), (40, 20), (200, 1)]), [(10, 40, 0), (40, 60, 1), (200, 201, 2)]);
        assert_eq!(told(&[(10, 50), (20, 50)]), [(10, 20, 0), (20, 70, 1)]);
    }

    #[test]
    fn without_a_size_it_reaches_to_the_next_symbol() {
        assert_eq!(told(&[(10, 0), (20, 5), (22, 0), (30, 0)]), [(10, 20, 0), (20, 25, 1), (30, 1000, 3)]);
        assert_eq!(told(&[(2000, 0)]), []);
    }
}
