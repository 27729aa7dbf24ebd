use super::super::grain::ADDRESS_BITS;
use super::*;

/// What the lookup of `target` reads; nothing if it faults.
fn looked_up(map: &TargetMap, target: u64) -> Option<u64> {
    let low = (target & ((1 << ADDRESS_BITS) - 1)) >> map.grain.bit;
    let number = (target >> 61) * map.grain.numbers() + low;
    // SAFETY: the table of windows is mapped.
    let base = (number < map.grain.numbers())
        .then(|| unsafe { *(TARGET_WINDOWS.start as *const u64).add(number as usize) })?;
    let place = base.wrapping_add(target.wrapping_mul(8));
    let mapped = map.parts.iter().any(|part| (part.start..part.start + PART_BYTES).contains(&place));
    mapped.then(|| words(place)[(place % PAGE / 8) as usize].load(Ordering::Relaxed))
}

/// Puts these in, and tries what else could be taken for them.
fn try_all(map: &mut TargetMap, targets: &[u64]) {
    for (n, &target) in targets.iter().enumerate() {
        assert!(![Some(7), Some(8)].contains(&looked_up(map, target)));
        map.put(AppPc(target), CachePc(0x1000 + n as u64));
    }
    let bit = map.grain.bit;
    let miss = gateway::indirect_miss_pc();
    for (n, &target) in targets.iter().enumerate() {
        assert_eq!(looked_up(map, target), Some(0x1000 + n as u64));
        let nears = (1..600).flat_map(|d| [target + d, target - d]);
        let fars = (9..64).map(|bit| target ^ 1 << bit).chain((0..0xffff).map(|high| target ^ (high + 1) << 48));
        let others = (0..map.grain.numbers()).map(|number| target & ((1 << bit) - 1) | number << bit);
        for other in nears.chain(fars).chain(others).filter(|other| !targets.contains(other)) {
            let found = looked_up(map, other);
            assert!([None, Some(0), Some(miss)].contains(&found), "{other:#x} finds {found:x?}");
        }
    }
}

#[test]
fn a_word_is_found_for_its_own_target_only() {
    let mut map = TargetMap::default();
    map.begin(false, false);
    assert!(map.used);
    let targets = [0x40_1000, 0xfff_0000_1000, 0x1000_0000_1000, 0x5555_5555_4ff8, 0x5556_0000_0000, 0x7fff_f7ab_cdef];
    try_all(&mut map, &targets);
    assert!(!map.failed && map.windows.len() == 6);
    map.put(AppPc(0x1_0000_0000), CachePc(1));
    assert!(!map.failed && map.refine().is_none());
    map.put(AppPc(0x2_0000_0000), CachePc(1));
    assert!(map.failed, "there are no more windows");
    assert_eq!(looked_up(&map, 0x2_0000_0000), Some(gateway::indirect_miss_pc()), "it misses without a fault");
    map.clear();
    assert_eq!(looked_up(&map, targets[0]), Some(gateway::indirect_miss_pc()), "its page stays");
    // There are with smaller windows.
    assert_eq!(map.refine(), Some(Grain::FINE.window_bits()));
    assert!(map.used && !map.failed && map.refine().is_none());
    let more = [0x1_0000_0000, 0x2_0000_0000, 0x40_1000 + (1 << 27), 0x7fff_f7ab_cdef - (1 << 27)];
    try_all(&mut map, &[&targets[..], &more].concat());
    let near = |n: u64| AppPc(targets[3] + n * CODE_OF_PAGE);
    (0..=u64::from(FEW)).for_each(|n| map.put(near(n), CachePc(n + 2)));
    assert_eq!(looked_up(&map, near(5).0), Some(7));
    map.clear();
    assert_eq!(looked_up(&map, near(5).0), Some(0), "it's one of many");
    (1..=300).for_each(|n| map.put(AppPc(n << 33 | 9 << 12), CachePc(n)));
    assert!(map.failed && map.refine().is_none());
    assert_eq!(looked_up(&map, 100 << 33 | 9 << 12), Some(100));
    assert_eq!(looked_up(&map, 300 << 33 | 9 << 12), Some(gateway::indirect_miss_pc()));
}
