//! What slices take over from each other, and what each does only seldom: seen by the statistics of a run.

use bubble::switches::Optimisation;
use suites::guest;
use suites::superpin::count_with;
use suites::switches;

/// A slice doesn't find the IBL stubs of indirect branches again that slices before it found.
#[test]
fn slices_inherit_ibl_stubs() {
    if ![Optimisation::Inherit, Optimisation::IblStubs].into_iter().all(switches::is_on) {
        return;
    }
    let misses = |options: &[&str]| {
        // Long slices have no IBL stubs.
        let slices = ["-sp", "1", "-spsysrecs", "0", "-spmp", "1", "-spmsec", "100"];
        let counted =
            count_with("icount2", &[&slices, options].concat(), &guest::named("many_targets").job(30)).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
        (counted.total, counted.statistic("entries_branch").expect("a statistic"))
    };
    let (inherited, own) = (misses(&[]), misses(&["-engine", "no-inherit"]));
    assert_eq!(inherited.0, own.0);
    assert!(own.1 > 30.0 * 128.0, "{own:?}: each slice comes to 128 targets");
    assert!(inherited.1 < own.1 / 4.0, "{inherited:?}, {own:?}");
}

/// What one slice translates the others find.
#[test]
fn slices_share_translations() {
    let run = |options: &[&str]| {
        let slices = ["-sp", "1", "-spsysrecs", "0", "-spmp", "1"];
        let counted =
            count_with("icount2", &[&slices, options].concat(), &guest::named("many_targets").job(30)).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
        let names = ["slices", "traces", "shared_hits", "shared_misses"];
        (counted.total, names.map(|name| counted.statistic(name).unwrap()))
    };
    let (total, [slices, traces, hits, misses]) = run(&[]);
    // A slice's end, and code that isn't a file's, are its own.
    assert!(slices > 20.0 && misses <= traces && traces < misses + 8.0 * slices, "{slices} {traces} {misses}");
    assert!(hits > misses, "{hits} {misses}");
    let (same, [_, each_its_own, none, none_either]) = run(&["-share", "0"]);
    assert_eq!((same, none, none_either), (total, 0.0, 0.0));
    assert!(each_its_own > 3.0 * traces, "{each_its_own} {traces}");
}

/// A slice that ends in a loop isn't asked at each iteration, though only a vector register changes there or the registers hold bits of data.
#[test]
fn ends_in_loops_are_told_apart_inline() {
    for (name, times) in [("vector_only_loop", 5), ("bits_in_registers", 1)] {
        let guest = guest::named(name);
        let job = guest.job(times * guest.large);
        let counted = count_with("icount2", &["-sp", "1", "-spmsec", "5"], &job).unwrap();
        let [slices, checks] = ["slices", "full_checks"].map(|name| counted.statistic(name).unwrap());
        assert!(slices > 3.0 && checks < 100.0 * slices, "{name}: {checks} in {slices} slices");
    }
}

/// Code that can be changed through another view of its memory isn't left for the runtime at each block.
#[test]
fn code_with_two_views_is_linked() {
    if ![Optimisation::SelfCheck, Optimisation::Late].into_iter().all(switches::is_on) {
        return;
    }
    let rounds = 300;
    let counted = count_with("icount2", &["-sp", "0"], &guest::named("code_two_views_called").job(rounds)).unwrap();
    // A round executes 280 blocks.
    let entries = counted.statistic("entries_code").unwrap();
    assert!(entries < 60.0 * rounds as f64, "{entries}");
}

/// The time in which pages are copied for slices isn't a slice's; a program that writes to little memory has as much time as was asked for.
#[test]
fn copying_is_not_a_slices_time() {
    let extensions = |name: &str, rounds| {
        let job = guest::named(name).job(rounds);
        let counted = count_with("icount2", &["-sp", "1", "-spmsec", "20"], &job).unwrap();
        counted.statistic("given_more_time").unwrap()
    };
    // One is due to the pages that it gets at its start.
    let (copying, computing) = (extensions("writes_many_pages", 20_000), extensions("vector_only_loop", 100_000_000));
    assert!(copying > 1.0 && computing < copying, "{copying} {computing}");
}

/// What a slice starts is started for all slices after it. The first two may begin before there is a snapshot, and the third if it is the second that takes it;
/// the fourth begins when the second has ended.
#[test]
fn slices_go_on_from_a_snapshot() {
    if !switches::is_on(Optimisation::Snapshot) {
        return;
    }
    let run = |options: &[&str]| {
        let slices = ["-sp", "1", "-spsysrecs", "0", "-spmp", "1"];
        let counted =
            count_with("icount2", &[&slices, options].concat(), &guest::named("many_targets").job(30)).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
        let [slices, from_snapshot] = ["slices", "slices_from_snapshot"].map(|name| counted.statistic(name).unwrap());
        (counted.total, slices, from_snapshot)
    };
    let (total, slices, from_snapshot) = run(&[]);
    assert!(slices > 20.0 && from_snapshot >= slices - 3.0, "{from_snapshot} of {slices}");
    let (same, _, none) = run(&["-engine", "no-snapshot"]);
    assert_eq!((same, none), (total, 0.0));
}

/// Behind a region that has ended the app goes on through more boundaries than there are places for slices: with `-follow 1` it stays with superpin to its end.
#[test]
fn boundaries_behind_a_region_do_not_fill_the_slots() {
    let job = guest::named("many_calls").job(2000);
    for follow in ["0", "1"] {
        let options = ["-sp", "1", "-spsysrecs", "5", "-follow", follow, "-stop-icount", "100000"];
        let counted = count_with("icount2", &options, &job).unwrap();
        assert_eq!((counted.outcome.status, counted.total), (0, Some(100_000)), "{:?}", counted.outcome);
    }
}

/// Slices that don't matter any more execute no program that the app may then want to write to, as it may natively.
#[test]
fn slices_that_are_cut_short_are_gone_before_the_app_goes_on_alone() {
    for _ in 0..6 {
        let region = ["-sp", "1", "-spsysrecs", "0", "-skip", "9659723", "-trace", "20k"];
        let counted = count_with("icount2", &region, &guest::named("program_rewritten").job(1)).unwrap();
        assert_eq!((counted.outcome.status, counted.total), (0, Some(20_000)), "{:?}", counted.outcome);
    }
}
