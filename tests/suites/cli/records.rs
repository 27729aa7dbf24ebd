//! What is recorded without ending a slice, and without stopping the app.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use suites::guest;
use suites::run::{Job, run};
use suites::superpin::count_with;

/// Some 8000 calls, nearly all of them recorded inside the app.
#[test]
fn calls_recorded_inside_the_app_end_slices_only_where_a_limit_is_given() {
    let job = guest::named("small_calls").job(600);
    let records_full = |options: &[&str]| {
        let counted = count_with("icount2", options, &job).unwrap();
        assert!(counted.statistic("records_in_process").unwrap() > 7000.0, "{}", counted.report);
        (counted.total.unwrap(), counted.statistic("boundaries_records").unwrap())
    };
    let (total, at_default) = records_full(&["-sp", "1"]);
    let (same, at_a_thousand) = records_full(&["-sp", "1", "-spsysrecs", "1000"]);
    assert_eq!((same, at_default), (total, 0.0));
    assert!(at_a_thousand >= 6.0, "{at_a_thousand}");
}

/// Some 6000 hand-overs among four threads, at futexes: nearly all without a stop, where the processor lets the recorder read the bases of FS and GS.
#[test]
fn threads_hand_on_to_each_other_inside_the_app() {
    if !fs::read_to_string("/proc/cpuinfo").unwrap().contains(" fsgsbase ") {
        return;
    }
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("threads_doors").job(1500)).unwrap();
    let names = ["records_in_process", "records", "master_stops", "turns_in_calls"];
    let [inside, all, stops, turns] = names.map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && turns > 5000.0 && stops < 0.3 * turns, "{}", counted.report);
}

/// Some 40000 calls that put descriptors in others' places, and a few that can only be made with a stop.
#[test]
fn descriptors_are_replaced_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("descriptors_replaced").job(200)).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && all > 40000.0, "{}", counted.report);
}

/// More than 100 signals that the app sends itself: each comes at the end of a call, where it is recorded.
#[test]
fn signals_at_the_ends_of_calls_end_no_slices() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("signal_raise").job(25)).unwrap();
    assert!(counted.statistic("boundaries_signal").unwrap() < 10.0, "{}", counted.report);
}

/// Some 150 signals, for each of which the app waits with a mask of its own: none is held back while it does, which would have the call broken off again and again.
#[test]
fn a_call_that_waits_for_a_signal_is_broken_off_once() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("signal_awaited").job(50)).unwrap();
    let [stops, records] = ["master_stops", "records"].map(|name| counted.statistic(name).unwrap());
    // A signal has one, as each border of a call has: of the timer's setting, of what waits, and of the handler's return.
    assert!(stops < 5.0 * records && records > 300.0, "{}", counted.report);
    // And what was broken off is recorded, with the handler's start.
    assert!(counted.statistic("boundaries_signal").unwrap() < 10.0, "{}", counted.report);
}

/// Some 6000 calls. With a stop at each the timer would tick each time, and the recorder never be wanted. Its period is twice one that natively hardly ever passes, which on
/// some virtual machines is a few times what it is elsewhere. On a busy machine it ticks so often by chance that the recorder gives up at the start of some runs; not of all.
#[test]
fn a_timer_that_is_set_and_unset_does_not_keep_the_recorder_away() {
    let with_period = |period: u64| guest::named("timer_set_and_unset").job(2000).with(period.to_string());
    let ticks = |period: u64| -> u64 {
        let output = run(&with_period(period)).unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    };
    let hardly_passes = std::iter::successors(Some(10), |period| Some(period * 2)).find(|period| ticks(*period) < 200);
    let job = with_period(2 * hardly_passes.unwrap());
    let recorded = || count_with("icount2", &["-sp", "1"], &job).unwrap().statistic("records_in_process").unwrap();
    let runs: Vec<f64> = std::iter::repeat_with(recorded).take(10).take_while(|records| *records <= 600.0).collect();
    assert!(runs.len() < 10, "{runs:?}");
}

/// Some 20000 readings of the time stamp counter at the start of the text, where no gap is near or before them, a few of which are entered in their midst.
#[test]
fn readings_at_the_start_of_the_text_need_no_stops() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("counter_at_start").job(200)).unwrap();
    let names = ["records_in_process", "records", "master_stops"];
    let [inside, all, stops] = names.map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && all > 20000.0 && stops < 0.1 * all, "{}", counted.report);
}

/// Thousands of words that a debugger asks for, one call each: nearly all of them without a stop.
#[test]
fn words_are_asked_for_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("words_peeked").job(10)).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && all > 10000.0, "{}", counted.report);
}

/// A child's calls are followed as strace does it, and what each stop asks for needs none: nor do waiting, and SIGCHLD, of which nothing comes.
#[test]
fn calls_are_traced_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("calls_traced").job(100)).unwrap();
    let names = ["records_in_process", "records", "master_stops"];
    let [inside, all, stops] = names.map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && all > 20000.0 && stops < 0.2 * all, "{}", counted.report);
}

/// Some 4000 calls that map other pages of shared memory, hardly any with a stop.
#[test]
fn pages_are_mapped_in_another_order_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("remapped_pages").job(40)).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.7 * all && all > 4000.0, "{}", counted.report);
}

/// What a debugger asks for is recorded: of some 400 calls only those end a slice that make a process.
#[test]
fn debugging_does_not_end_slices() {
    let counted =
        count_with("icount2", &["-sp", "1", "-spmsec", "10000"], &guest::named("debugs_child").job(3)).unwrap();
    let [ends, all] = ["slices", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(ends < 10.0 && all > 300.0, "{}", counted.report);
}

/// Whether the kernel tells which pages a process has stored to: Linux 6.7, if nobody forbids it.
fn tells_stores() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next(), numbers.next());
    // SAFETY: a plain call; the result, if it is one, is a new descriptor that nobody else owns.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | 1) } as i32;
    // SAFETY: as above.
    version >= (Some(6), Some(7)) && fd >= 0 && unsafe { libc::close(fd) } == 0
}

/// Parent and child exchange pages of the memory that they share, with several calls each time: that is recorded.
#[test]
fn exchanging_memory_does_not_end_slices() {
    if !tells_stores() {
        return;
    }
    let options = ["-sp", "1", "-follow", "1", "-spmsec", "10000"];
    // The others start a program before, too. The file's first user and only name are gone when the child has ended.
    for (name, most, calls) in [("shared_much", 10.0, 150.0), ("sysv_much", 9.0, 75.0), ("shared_file_much", 9.0, 75.0)]
    {
        let counted = count_with("icount2", &options, &guest::named(name).job(40)).unwrap();
        let [ends, all] = ["slices", "records"].map(|name| counted.statistic(name).unwrap());
        assert!(ends < most && all > calls, "{name}: {}", counted.report);
    }
}

/// 24 MB. The child has a boundary at its birth, at which it has what its parent has at that of the call: both together look at all of it once.
#[test]
fn memory_that_processes_share_is_compared_once() {
    if !tells_stores() {
        return;
    }
    let options = ["-sp", "1", "-follow", "1", "-spmsec", "10000"];
    let counted = count_with("icount2", &options, &guest::named("shared_much").job(40)).unwrap();
    let bytes = counted.statistic_of_all("shared_bytes_compared").unwrap();
    let once = f64::from(24 << 20);
    assert!(bytes > 0.9 * once && bytes < 1.5 * once, "{} {:?}", counted.report, counted.reports_of_children);
}

/// Some 16000 calls that change the protection of code, and some thousand that do so otherwise than the one before.
#[test]
fn the_protection_of_code_is_changed_inside_the_app() {
    let guest = guest::named("protection_changed_often");
    // Code of a file that has changed just now is searched each time: it may change again, and look the same.
    while changed(guest.executable()).elapsed().is_ok_and(|age| age < Duration::from_secs(3)) {
        sleep(Duration::from_millis(100));
    }
    let counted = count_with("icount2", &["-sp", "1"], &guest.job(8)).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 4000.0 && all > 16000.0, "{}", counted.report);
}

/// 400 such calls in a row, a few times, of a program that shares other memory with its child.
#[test]
fn the_protection_of_code_is_changed_inside_an_app_with_company() {
    let counted =
        count_with("icount2", &["-sp", "1", "-follow", "1"], &guest::named("shared_beside_code").job(12)).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 800.0 && all > 4000.0, "{}", counted.report);
}

/// Some 21000 readings of the time stamp counter, half of them while the signals are blocked or ignored by which the recorder in the app stops.
#[test]
fn the_counter_is_read_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("counter_readings").job(3000)).unwrap();
    assert!(counted.statistic("records_in_process").unwrap() > 8000.0, "{}", counted.report);
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("counter_interrupted").job(6)).unwrap();
    assert!(counted.statistic("records_in_process").unwrap() > 4000.0, "{}", counted.report);
}

/// An app may ignore a signal by which the recorder inside it doesn't stop, as perl does with SIGFPE.
#[test]
fn calls_of_an_app_that_ignores_signals_need_no_stops() {
    let job = Job::new(["/usr/bin/perl", "-e", "$SIG{FPE} = 'IGNORE'; getppid for 1 .. 20000"]);
    let counted = count_with("icount2", &["-sp", "1"], &job).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && all > 20000.0, "{}", counted.report);
}

/// When anything of the file was last changed.
fn changed(file: &Path) -> SystemTime {
    let metadata = fs::metadata(file).unwrap();
    SystemTime::UNIX_EPOCH + Duration::new(metadata.ctime() as u64, metadata.ctime_nsec() as u32)
}

/// An interrupt at the end of a slice's time may come when the breakpoint before such a call was hit, and before that is told. The call was then made unseen.
#[test]
fn calls_of_the_page_are_recorded_where_slices_end_at_them() {
    let guest = guest::named("vsyscall");
    let job = guest.job(1000);
    // The kernel may have no such page.
    if run(&job).unwrap().status != 0 {
        return;
    }
    for _ in 0..3 {
        let counted = count_with("icount2", &["-sp", "1", "-spmsec", "1"], &job).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
    }
}
