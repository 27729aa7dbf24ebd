//! What tools keep, read and record.

use super::{LS, result};

#[test]
fn what_routines_read_is_what_the_app_loads() {
    let app = [&["-t", "reading"], &LS[..]].concat();
    let serial = result(&app);
    let (loads, rest) = serial.strip_prefix("reading: ").and_then(|it| it.split_once(" loads, ")).expect("loads");
    assert!(loads.parse::<u64>().is_ok_and(|loads| loads > 1000), "{serial}");
    assert!(rest.starts_with("0 0 0 wrong, ") && !rest.contains(" 0 at ends of pages"), "{serial}");
    for options in ["-sp 1 -spsysrecs 10", "-sp 1 -spmsec 5 -spverify 1 -engine no-inline", "-sp 0 -engine none"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}

/// Behind the end of a file, where there is nothing for the app either. What a slice has of a file that is written is a copy.
#[test]
fn what_the_app_cannot_read_no_routine_reads() {
    let guest = suites::guest::named("mapped_file_behind_its_end").executable().to_str().expect("the path is text");
    let app = ["-t", "reading", "--", guest, "1"];
    let serial = result(&app);
    assert!(serial.contains(" 0 0 0 wrong, ") && !serial.contains(" 0 on the next"), "{serial}");
    for options in ["-sp 1", "-sp 1 -spsysrecs 3", "-sp 1 -spsysrecs 0", "-sp 1 -spmsec 5 -spverify 1"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}

#[test]
fn what_is_kept_in_a_block_is_there_later() {
    let app = [&["-t", "keeping"], &LS[..]].concat();
    let serial = result(&app);
    assert!(serial.starts_with("keeping: 0 0 0 wrong of ") && !serial.contains(" 0 0 0\n"), "{serial}");
    for options in [
        "-sp 1 -spsysrecs 10",
        "-sp 1 -spmsec 5 -spverify 1 -engine no-inline",
        "-sp 0 -engine none",
        "-sp 0 -engine no-call,no-inline",
        "-sp 1 -spmsec 5 -trace-ins 3",
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}

#[test]
fn one_version_of_the_calls_is_made() {
    let app = [&["-t", "versions"], &LS[..]].concat();
    let serial = result(&app);
    assert!(serial.starts_with("versions: 0 wrong of [") && !serial.contains("[0,"), "{serial}");
    for options in ["-sp 1 -spsysrecs 10", "-sp 1 -spmsec 5 -spverify 1 -engine no-inline", "-sp 0 -engine no-call"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}

/// Records and calls tell the same; what takes effect is less than what could.
#[test]
fn records_tell_what_calls_tell() {
    let app = [&["-t", "recording"], &LS[..]].concat();
    let serial = result(&app);
    let counts = serial.strip_prefix("recording: [0, 0, 0, 0, 0] [").and_then(|rest| rest.strip_suffix("]\n"));
    let counts = counts.unwrap_or_else(|| panic!("{serial}")).split(", ");
    let counts: Vec<u64> = counts.map(|count| count.parse().expect("a number")).collect();
    assert!(counts[..3] == counts[3..6] && counts[..3].iter().all(|count| *count > 1000), "{serial}");
    assert!(counts[2] == counts[7] && counts[7] == counts[8] && counts[7] < counts[6], "{serial}");
    assert!(counts[9] == counts[10] && counts[9] == counts[2], "{serial}");
    assert!(counts[11] == counts[12] && counts[11] > 1000, "{serial}");
    for options in [
        "-sp 1 -spsysrecs 10",
        "-sp 1 -spmsec 5 -spverify 1 -engine no-inline",
        "-sp 0 -engine none",
        "-sp 0 -engine no-call",
        "-sp 1 -spmsec 5 -trace-blocks 1",
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}

#[test]
fn tests_decide_about_calls() {
    let app = [&["-t", "tested"], &LS[..]].concat();
    let serial = result(&app);
    let lines: Vec<&str> = serial.lines().collect();
    assert_eq!(lines.len(), 2, "{serial}");
    for line in lines {
        let numbers: Vec<&str> = line.split(' ').skip(1).collect();
        assert!(numbers[0] == numbers[1] && numbers[0] != "0", "{line}");
    }
    for options in ["-sp 1 -spsysrecs 10", "-sp 1 -spmsec 5 -engine no-inline", "-sp 0 -engine none"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}
