//! What is accessed perhaps, by the source of a program: elements under a mask, and string instructions that don't repeat once.

use suites::run::Scratch;

use super::programs::{compiled, text};

const ROUNDS: u64 = 100;
/// Three constants, then five elements, and a byte or seven.
const LOADS: u64 = 3 + ROUNDS * (5 + 1);
/// Three elements, and a byte or seven.
const STORES: u64 = ROUNDS * (3 + 1);

/// The numbers in the first line that begins like this.
fn numbers(printed: &str, start: &str) -> Vec<u64> {
    let line = printed.lines().find(|line| line.trim_start().starts_with(start));
    let line = line.unwrap_or_else(|| panic!("{start}: {printed}"));
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn accesses_that_are_not_made_are_not_counted() {
    if !is_x86_feature_detected!("avx2") {
        eprintln!("skipped: this processor can't gather");
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = [compiled("perhaps.S", &["-nostdlib", "-static"], &folder.cwd())];
    for way in ["-sp 0", "-sp 1 -spsysrecs 0", "-sp 0 -engine none"] {
        for (repeat, times) in [("once", 1), ("each", 7)] {
            let (loads, stores) = (LOADS + ROUNDS * (times - 1), STORES + ROUNDS * (times - 1));
            let seen = |tool: &str| text(&format!("{way} -t {tool} --repeat {repeat}"), &folder.cwd(), &app);
            let all = seen("allcache");
            assert_eq!(numbers(&all, "L1D loads")[0], loads, "{way} {repeat}: {all}");
            assert_eq!(numbers(&all, "L1D stores")[0], stores, "{way} {repeat}: {all}");
            let by_instruction = seen("cache --by instruction --top 0");
            let sum = by_instruction.lines().find(|line| line.ends_with("  all")).unwrap();
            assert_eq!(numbers(sum, "")[1..3], [loads, stores], "{way} {repeat}: {by_instruction}");
            assert_eq!(numbers(&seen("dcache"), "Accesses:"), [loads + stores], "{way} {repeat}");
            let cores = seen("cmpcache");
            assert_eq!(numbers(&cores, "0 ")[1], loads + stores, "{way} {repeat}: {cores}");
            let lines = seen("memtrace");
            let of = |kind: &str| lines.lines().filter(|line| line.contains(kind)).count() as u64;
            assert_eq!((of(": R "), of(": W ")), (loads, stores), "{way} {repeat}");
            assert!(
                lines.lines().all(|line| !line.contains(" 0x1000 ") && !line.contains(" 0x2000 ")),
                "{way} {repeat}"
            );
        }
    }
}
