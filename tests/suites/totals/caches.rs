//! The tools `allcache` and `bpred`: the same however a run is cut, and what valgrind's cachegrind says as far as it sees the same.

use std::process::Command;

use suites::guest;
use suites::run::{Job, run};
use suites::selection::Selection;
use suites::superpin::{count_with, parse_total};
use suites::workload;

/// What a tool prints of a job.
fn printed(tool: &str, options: &str, job: &Job) -> String {
    let options: Vec<_> = options.split(' ').collect();
    let counted = count_with(tool, &options, job).unwrap();
    assert!(counted.total.is_some(), "{tool} {options:?}: {:?}", counted.outcome);
    counted.printed
}

/// The number of accesses and that of misses in a row.
fn row(printed: &str, name: &str) -> [u64; 2] {
    let rest = printed.lines().find_map(|line| line.strip_prefix(name));
    let numbers = rest.unwrap_or_else(|| panic!("{name}: {printed}")).split_whitespace();
    let numbers: Vec<u64> = numbers.filter_map(|word| word.parse().ok()).collect();
    [numbers[0], numbers[1]]
}

/// Three times `loop`, whose counter begins with 0 and is 2 in the end: each is mispredicted. No jump or call is indirect.
#[test]
fn branches_of_a_source_are_predicted_as_by_hand() {
    let expected = "               3 conditional branches, 3 mispredicted (100.00 %)
               0 indirect branches, 0 mispredicted (0.00 %)
Misses: 3
Result: exact
";
    let job = guest::named("addresses").job(1);
    for options in ["-sp 0", "-sp 0 -trace-blocks 1", "-sp 1 -spsysrecs 0", "-sp 0 -engine none"] {
        for kind in ["bimodal,10", "gshare,1,1"] {
            let tool = format!("bpred --top 0 --conditional {kind}");
            let same_counter = kind == "bimodal,10";
            let printed = printed(&tool, options, &job);
            assert!(!same_counter || printed == expected, "{options}: {printed}");
            assert!(printed.starts_with("               3 conditional"), "{options}: {printed}");
        }
    }
}

#[test]
fn real_programs_miss_the_same_however_they_are_cut() {
    let small = "allcache --itlb 4,4 --dtlb 8,2 --l1i 1K,1,32 --l1d 2560,5,16 --l2 16K,4,64 --llc 64K,2,128";
    let is_asked = |(program, tool): &(&str, &str)| Selection::asked().has(&format!("{program} {tool}"), 0, 2);
    let all = [
        ("sqlite3", small),
        ("perl", "bpred --conditional gshare,10,10 --indirect 16 --top 50"),
        ("gunzip", "bpred --conditional gselect,14,7"),
        ("sqlite3", "bpred --conditional tage --top 50"),
        ("gunzip", "allcache"),
        ("gunzip", "cache --by line --top 0"),
    ];
    for (program, tool) in all.into_iter().filter(is_asked) {
        let job = workload::named(program).job(1);
        let serial = printed(tool, "-sp 0", &job);
        assert_eq!(printed(tool, "-sp 1 -spmsec 30 -spverify 1", &job), serial, "{program}, {tool}");
    }
}

/// Cut at some twenty places more, none of which the app's own system calls make: see `-check-tool`.
#[test]
fn results_add_up_wherever_a_slice_is_cut() {
    let job = guest::named("containers").job(1);
    for tool in ["allcache --l1d 640,5,16 --l2 4K,4,64", "bpred", "bpred --conditional tage,6,4,5,8,3,40"] {
        assert_eq!(printed(tool, "-sp 1 -spmsec 50 -check-tool 1", &job), printed(tool, "-sp 0", &job), "{tool}");
    }
}

/// What cachegrind says: loads, stores and instructions, each with their misses in the first and in the last cache.
fn cachegrind(job: &Job) -> [[u64; 3]; 3] {
    let mut command: Vec<std::ffi::OsString> = vec!["/usr/bin/valgrind".into(), "--tool=cachegrind".into()];
    let shapes = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64", "--cachegrind-out-file=/dev/null"];
    command.extend(shapes.map(Into::into));
    let outcome = run(&job.under(command)).unwrap();
    let told = String::from_utf8_lossy(&outcome.stderr).replace(',', "");
    assert_eq!(outcome.status, 0, "{told}");
    let numbers = |name: &str| -> Vec<u64> {
        let rest = told.lines().find_map(|line| line.split_once("== ")?.1.strip_prefix(name));
        let words = rest.unwrap_or_else(|| panic!("{name}: {told}")).split(|c: char| !c.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let data = [numbers("D   refs:"), numbers("D1  misses:"), numbers("LLd misses:")];
    let instructions = [numbers("I   refs:"), numbers("I1  misses:"), numbers("LLi misses:")];
    [[0, 1, 2].map(|n| data[n][1]), [0, 1, 2].map(|n| data[n][2]), [0, 1, 2].map(|n| instructions[n][0])]
}

/// Cachegrind's run has another stack and another start of the C library, by some hundred thousand instructions and some hundred lines. Beyond that its misses are ours.
#[test]
fn misses_are_those_of_cachegrind() {
    if Command::new("/usr/bin/valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind isn't installed: scripts/install-deps.sh");
        return;
    }
    // Programs whose time goes into code of their own: of the C library cachegrind runs routines without wide vectors.
    for program in ["gzip", "gunzip"] {
        let job = workload::named(program).job(1);
        let printed = printed("allcache --l2 none --llc 1M,16,64", "-sp 1 -spmsec 100", &job);
        assert!(parse_total(&printed).is_some());
        for (kind, theirs) in ["loads", "stores", "fetches"].into_iter().zip(cachegrind(&job)) {
            let first = row(&printed, &format!("L1{} {kind}", if kind == "fetches" { "I" } else { "D" }));
            let last = row(&printed, &format!("LLC {kind}"));
            let ours = [first[0], first[1], last[1]];
            for (what, ours, theirs, besides) in [
                ("accesses", ours[0], theirs[0], 600_000),
                ("misses of the first cache", ours[1], theirs[1], 1500),
                ("misses of the last cache", ours[2], theirs[2], 1500),
            ] {
                let most = besides + theirs / 100;
                assert!(ours.abs_diff(theirs) <= most, "{program}, {kind}, {what}: {ours}, cachegrind {theirs}");
            }
        }
    }
}

/// What is learnt before a region from the program's start on, and not counted, leaves what the region has of the whole.
#[test]
fn a_warm_up_keeps_what_was_learnt_and_drops_what_was_counted() {
    const START: u64 = 40_000;
    let job = guest::named("code_pointers_compared.static").job(20);
    let total = |tool: &str, options: &str| {
        let options: Vec<_> = options.split(' ').collect();
        count_with(tool, &options, &job).unwrap().total.unwrap_or_else(|| panic!("{tool} {options:?}"))
    };
    for tool in [
        "dcache --size 1024",
        "allcache --l1d 2560,5,16",
        "bpred --conditional gshare,8,8",
        "bpred --conditional tage,6,4,5,8,3,40",
        "icount2",
    ] {
        let all = total(tool, "-sp 0");
        let before = total(tool, &format!("-sp 0 -stop-icount {START}"));
        assert!(0 < before && before < all, "{tool}: {before} of {all}");
        let serial = total(tool, &format!("-sp 0 -skip {START} -warm-up 1k"));
        for way in ["-sp 0", "-sp 1 -spmsec 2 -spsysrecs 3", "-sp 1 -check-tool 1"] {
            let warm = total(tool, &format!("{way} -start-icount {START} -warm-up {START}"));
            assert_eq!(warm, all - before, "{tool} {way}");
            let less = total(tool, &format!("{way} -skip {START} -warm-up 1k"));
            assert_eq!(less, serial, "{tool} {way}");
        }
    }
}

/// What single instructions miss adds up to what all do, in whichever rows, also of code that changes and of vectors whose elements are accessed one by one.
#[test]
fn misses_of_instructions_are_those_of_all() {
    let sizes = "--itlb 4,4 --dtlb 8,2 --l1i 1K,1,32 --l1d 2560,5,16 --l2 16K,4,64 --llc 64K,2,128";
    for guest in ["code_pointers_compared.static", "code_rewritten", "string_instructions"] {
        let job = guest::named(guest).job(2);
        let all = printed(&format!("allcache {sizes}"), "-sp 0", &job);
        let misses = |names: &[&str]| names.iter().map(|name| row(&all, name)[1]).sum::<u64>();
        let expected = [
            misses(&["ITLB fetches", "DTLB loads", "DTLB stores"]),
            misses(&["L1I fetches"]),
            misses(&["L1D loads", "L1D stores"]),
            misses(&["L2 fetches", "L2 loads", "L2 stores"]),
            misses(&["LLC fetches", "LLC loads", "LLC stores"]),
        ];
        for by in ["routine", "line", "instruction", "image"] {
            let printed = printed(&format!("cache {sizes} --by {by} --top 0"), "-sp 1 -spmsec 5", &job);
            let mut rows = printed.lines().skip_while(|line| !line.ends_with("misses, in")).skip(1);
            let numbers =
                |row: &str| -> Vec<u64> { row.split_whitespace().map_while(|word| word.parse().ok()).collect() };
            let sum = numbers(rows.next().unwrap());
            assert_eq!(sum[3..], expected, "{guest}: {printed}{all}");
            assert_eq!(sum[0], row(&all, "L1I fetches")[0], "{guest}: {printed}{all}");
            let mut added = vec![0; sum.len()];
            for row in rows.take_while(|row| !row.starts_with(|first: char| first.is_alphabetic())) {
                added.iter_mut().zip(numbers(row)).for_each(|(sum, more)| *sum += more);
            }
            assert_eq!(added, sum, "{guest}: {printed}");
        }
    }
}

/// Each thread's accesses are its core's, however threads take turns (what they miss depends on how); one core has the misses of `allcache`'s first cache for data.
#[test]
fn cores_have_caches_of_their_own() {
    let job = guest::named("threads_in_turns").job(20);
    let rows = |options: &str| {
        let printed = printed("cmpcache --l1 4K,2,64 --l2 16K,4,64", options, &job);
        ["0 ", "1 ", "2 ", "3 "].map(|core| row(&printed, core)[0])
    };
    let serial = rows("-sp 0");
    for options in ["-sp 1 -spmsec 1000", "-sp 1 -spmsec 5", "-sp 1 -spsysrecs 0", "-sp 1 -spmsec 2 -trace-blocks 1"] {
        assert_eq!(rows(options), serial, "{options}");
    }
    let one = guest::named("loops").job(100);
    let cores = printed("cmpcache --l1 1K,2,64", "-sp 1 -spmsec 5", &one);
    let all = printed("allcache --l1d 1K,2,64", "-sp 0", &one);
    let [loads, stores] = ["L1D loads", "L1D stores"].map(|kind| row(&all, kind)[1]);
    assert_eq!(row(&cores, "0 ")[1], loads + stores, "{cores}{all}");
}
