//! What tools tell of each thread by itself: the same however a run is cut, and what `icount2` counts of each.

use std::collections::BTreeMap;

use suites::guest;
use suites::superpin::count_with;

/// Four threads that pass a number round; each executes the same in every run.
const GUEST: &str = "threads_in_turns";

/// In serial runs threads execute at the same time where the tool lets them, but for one of these.
const WAYS: [&str; 7] = [
    "-sp 1 -spmsec 1000",
    "-sp 1 -spmsec 5",
    "-sp 1 -spsysrecs 0",
    "-sp 0 -trace-ins 3",
    "-sp 0 -engine no-windows",
    "-sp 0 -engine no-rip",
    "-sp 0 -engine no-rip -cache-bytes 65536",
];

fn printed(tool: &str, options: &str) -> String {
    let options: Vec<_> = options.split(' ').collect();
    let counted = count_with(tool, &options, &guest::named(GUEST).job(20)).unwrap();
    assert_eq!(counted.outcome.status, 0, "{tool} {options:?}: {:?}", counted.outcome);
    counted.printed
}

/// The numbers behind this at the begin of a line.
fn numbers(printed: &str, begin: &str) -> Vec<u64> {
    printed.lines().filter_map(|line| line.strip_prefix(begin)?.parse().ok()).collect()
}

/// The counts behind what begins so.
fn counts_of(printed: &str, begin: &str) -> Vec<u64> {
    let rows = printed.lines().filter(|line| line.starts_with(begin));
    rows.map(|row| row.split_whitespace().last().unwrap().parse().unwrap()).collect()
}

#[test]
fn each_thread_is_told_the_same_however_a_run_is_cut() {
    for tool in [
        "blocks --top 0",
        "hot",
        "edges --top 0",
        "memaddr",
        "dcache --size 1024",
        "allcache --l1d 1K,2,64",
        "cache --l1d 1K,2,64",
        "bpred",
        "footprint",
        "reuse",
        "stacks",
        "mix --sde",
    ] {
        let (tool, threads) = match tool {
            "mix --sde" => (tool.to_owned(), "FOR TID 1 PATH 0.1 "),
            "stacks" => (format!("{tool} --threads 1"), "thread 0.1;"),
            _ => (format!("{tool} --threads 1"), "Thread 0.1\n"),
        };
        let serial = printed(&tool, "-sp 0");
        assert!(serial.contains(threads), "{tool}: {serial}");
        for options in WAYS {
            assert_eq!(printed(&tool, options), serial, "{tool} {options}");
        }
    }
}

#[test]
fn threads_have_what_icount2_counts_of_each() {
    let printed_by_thread = printed("icount2 --threads 1", "-sp 0");
    let of_thread = |line: &str| line.split_once(" thread ")?.0.trim().parse::<u64>().ok();
    let counted: Vec<u64> = printed_by_thread.lines().filter_map(of_thread).collect();
    assert!(counted.len() == 5, "{printed_by_thread}");
    for tool in ["blocks", "hot"] {
        let told = printed(&format!("{tool} --threads 1"), "-sp 1 -spmsec 5");
        assert_eq!(numbers(&told, "Total Count: "), counted, "{tool}: {told}");
    }
    for (n, count) in counted.iter().enumerate() {
        let path = if n == 0 { "0".to_owned() } else { format!("0.{n}") };
        let file = printed(&format!("callgrind --thread {path}"), "-sp 1 -spmsec 5");
        assert_eq!(numbers(&file, "summary: "), [*count], "thread {path}");
    }
    let sections = printed("mix --sde --top 0", "-sp 1 -spmsec 5");
    let totals: Vec<u64> = counts_of(&sections, "*total");
    let all = counted.iter().sum();
    assert_eq!(totals, [&counted[..], &[all]].concat(), "{sections}");
    // Each instruction is in one category, one block, and has one mnemonic.
    let categories: u64 = counts_of(&sections, "*category-").iter().sum();
    let blocks = sections.lines().filter_map(|line| line.split_once("ICOUNT:")?.1.split_whitespace().next());
    let blocks: u64 = blocks.map(|count| count.parse::<u64>().unwrap()).sum();
    let mnemonics = sections.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    let mnemonics = mnemonics.filter(|line| !line.starts_with("BLOCK:") && !line.starts_with("XDIS "));
    let mnemonics: u64 = mnemonics.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum();
    assert_eq!([categories, mnemonics, 2 * blocks], [2 * all; 3], "{sections}");
    let stacks = printed("stacks --threads 1", "-sp 1 -spmsec 5");
    let mut by_thread = BTreeMap::<&str, u64>::new();
    for (stack, cost) in stacks.lines().filter_map(|line| line.rsplit_once(' ')) {
        let thread = stack.split(';').next().unwrap();
        *by_thread.entry(thread).or_default() += cost.parse::<u64>().unwrap();
    }
    by_thread.retain(|thread, _| thread.starts_with("thread "));
    assert_eq!(by_thread.into_values().collect::<Vec<_>>(), counted, "{stacks}");
}

/// Of all threads without the option: one result, and not the first thread's.
#[test]
fn threads_are_told_apart_on_request() {
    let each = printed("memaddr --threads 1", "-sp 0");
    let all = printed("memaddr", "-sp 0");
    assert!(each.starts_with("Thread 0\n") && !all.contains("Thread"), "{each}{all}");
    let accesses = |printed: &str| numbers(printed, "Accesses: ").iter().sum::<u64>();
    assert_eq!(accesses(&each), accesses(&all), "{each}{all}");
    assert!(accesses(&all) > 0, "{all}");
}
