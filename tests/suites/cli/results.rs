//! Results and reports: what they say of themselves, and that none is lost.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use suites::guest;
use suites::run::{Outcome, Scratch, run};
use suites::superpin::{binary, command, parse_total};

use super::{executable, fails, superpin, text};

/// A run of a guest, with options of superpin's and of icount2.
fn of_guest(options: &[&str], tool_options: &[&str], name: &str) -> Outcome {
    let guest = guest::named(name);
    let mut prefix = command();
    prefix.extend(options.iter().map(Into::into));
    prefix.extend(["-t", "icount2"].iter().chain(tool_options).chain(&["--"]).map(Into::into));
    run(&guest.job(guest.large).under(prefix)).unwrap()
}

fn file_of(scratch: &Scratch, name: &str) -> String {
    scratch.beside(name).to_str().unwrap().to_owned()
}

#[test]
fn a_lower_bound_is_called_one_and_fails_unless_it_is_accepted() {
    let scratch = Scratch::new().unwrap();
    let (file, report) = (file_of(&scratch, "total"), file_of(&scratch, "report"));
    let sliced = ["-sp", "1", "-spmsec", "20", "-report", &report];
    for (accept, status) in [("fail", 125), ("accept", 0)] {
        let options = [&sliced[..], &["-ambiguous", accept]].concat();
        let outcome = of_guest(&options, &["-o", &file], "spin_until_signal");
        let (told, result) = (text(&outcome.stderr), fs::read_to_string(&file).unwrap());
        assert_eq!(outcome.status, status, "{outcome:?}");
        assert!(told.contains("superpin: result: at least: ") && told.contains("accept") == (status == 125), "{told}");
        assert!(result.starts_with("Total Count: at least ") && result.ends_with("\nResult: at least\n"), "{result}");
        assert!(fs::read_to_string(&report).unwrap().contains("\nresult: at least\n"));
        // What looks for a number doesn't take it for the total.
        assert_eq!(parse_total(&result), None);
    }
    let outcome = of_guest(&["-sp", "1", "-spmsec", "20"], &["--json"], "spin_until_signal");
    let told = text(&outcome.stderr);
    assert!(
        outcome.status == 125 && told.contains(r#"{"result":"at least","tool":"icount2","values":"#),
        "{outcome:?}"
    );
}

/// Once, in a loop that a signal ends soon: a copy of the slice that looks ahead has hardly begun to when the slice itself is over.
#[test]
fn a_short_wait_for_a_signal_is_noticed_each_time() {
    for _ in 0..20 {
        let options = ["-sp", "1", "-spmsec", "5", "-t", "icount2", "--"].map(Into::into);
        let prefix = command().into_iter().chain(options);
        let outcome = run(&guest::named("spin_until_signal").job(1).under(prefix)).unwrap();
        assert!(text(&outcome.stderr).contains("superpin: result: at least: "), "{outcome:?}");
    }
}

/// Between a program and the same with more to do.
#[test]
fn counts_that_have_grown_are_named_and_make_a_run_fail() {
    let scratch = Scratch::new().unwrap();
    let (old, file) = (file_of(&scratch, "old"), file_of(&scratch, "new"));
    let guest = guest::named("loops").executable();
    let run_with = |mode: &str, rounds: &str, tool: &[&str]| {
        let app = ["--", guest.to_str().unwrap(), rounds];
        superpin(&[&["-sp", mode, "-t"], tool, &app].concat())
    };
    let mix = |more: &[&'static str]| [&["mix", "--by", "routine"], more].concat();
    let written = [&mix(&["--json", "-o"])[..], &[&old]].concat();
    assert_eq!(run_with("0", "10", &written).status, 0);
    let compared = [&mix(&["-o"])[..], &[&file, "-compare", &old]].concat();
    for mode in ["0", "1"] {
        let same = run_with(mode, "10", &compared);
        assert_eq!((same.status, text(&same.stderr)), (0, String::new()));
        let grown = run_with(mode, "100", &compared);
        let told = text(&grown.stderr);
        let is_named = told.lines().any(|line| line.starts_with("superpin: routine main, instructions: "));
        let is_summed_up = told.ends_with(&format!(" grown by more than 1 % since {old}\n"));
        assert!(grown.status == 125 && is_named && is_summed_up, "{told}");
        assert!(fs::read_to_string(&file).unwrap().ends_with("\nResult: exact\n"), "it is printed all the same");
        assert_eq!(run_with(mode, "100", &[&compared[..], &["-grows", "1e9"]].concat()).status, 0);
    }
    fails(
        &["-t", "mix", "-compare", &old, "-grows", "NaN", "--", "/bin/true"],
        &[125],
        &["--grows NaN: it is a number"],
    );
    fails(&["-t", "icount2", "-compare", &old, "--", "/bin/true"], &[125], &["a result of tool mix, not of icount2"]);
    fails(&["-t", "icount2", "-compare", &file, "--", "/bin/true"], &[125], &["no result in JSON"]);
}

#[test]
fn an_exact_result_says_so_in_a_file_and_to_programs() {
    let scratch = Scratch::new().unwrap();
    let file = file_of(&scratch, "total");
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "-o", &file, "--", "/bin/true"]);
        let result = fs::read_to_string(&file).unwrap();
        assert!(outcome.status == 0 && result.ends_with("\nResult: exact\n"), "{result}");
        let total = parse_total(&result).unwrap();
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "-json", "-o", &file, "--", "/bin/true"]);
        assert_eq!((outcome.status, text(&outcome.stderr)), (0, String::new()));
        let values = format!("{{\"instructions\":{total},\"repetitions\":\"once\"}}");
        let expected = format!("{{\"result\":\"exact\",\"tool\":\"icount2\",\"values\":{values}}}\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        // With a report it says how routines were called.
        let report = file_of(&scratch, "report");
        let options = ["-sp", sliced, "-report", &report, "-t", "icount2", "--json", "-o", &file, "--", "/bin/true"];
        assert_eq!(superpin(&options).status, 0);
        let result = fs::read_to_string(&file).unwrap();
        let places = fs::read_to_string(&report).unwrap();
        let places = places.lines().find_map(|line| line.strip_prefix("routine_1_is_in_place: ")).expect("a routine");
        let (name, places) = places.split_once(", at ").expect("how many");
        let places = places.strip_suffix(" places").expect("places");
        let numbers = format!("\"calls\":null,\"name\":\"{name}\",\"percent_of_time\":null,\"places\":{places}");
        let routines = format!("\"routines\":[{{{numbers},\"way\":\"is_in_place\",\"why\":null}}]");
        assert!(result.contains(&routines), "{result}");
    }
    for tool in ["none", "opcodes", "branches", "bpred", "memaddr", "dcache", "allcache", "cache"] {
        let outcome = superpin(&["-t", tool, "--json", "--", "/bin/true"]);
        let told = text(&outcome.stderr);
        let start = r#"{"result":"exact","tool":""#;
        assert!(told.starts_with(start) && told.lines().count() == 1, "{tool}: {told}");
    }
}

/// Nothing is executed for a result that has no place.
#[test]
fn what_cannot_be_written_is_told_before_the_app_starts() {
    let scratch = Scratch::new().unwrap();
    let made = file_of(&scratch, "made");
    let folder = scratch.cwd();
    let folder = folder.to_str().unwrap();
    for sliced in ["0", "1"] {
        for bad in ["/nonexistent/file", folder, "", "/dev/fd/17", "/etc/passwd/file"] {
            let app = ["--", "/bin/sh", "-c", "echo > \"$0\"", &made];
            let run = ["-sp", sliced, "-t", "icount2", "-o", bad];
            fails(&[&run[..], &app].concat(), &[125], &["cannot write the result to", bad]);
            let run = ["-sp", sliced, "-report", bad, "-t", "icount2"];
            fails(&[&run[..], &app].concat(), &[125], &["cannot write the report to", bad]);
            assert!(!Path::new(&made).exists(), "{bad}");
        }
    }
}

/// Yesterday's result isn't an empty file today.
#[test]
fn a_run_that_fails_leaves_the_file_alone_and_says_why_in_its_report() {
    let scratch = Scratch::new().unwrap();
    let (file, report) = (file_of(&scratch, "total"), file_of(&scratch, "report"));
    fs::write(&file, "yesterday's").unwrap();
    let inode = fs::metadata(&file).unwrap().ino();
    let stays = |outcome: Outcome, why: &str| {
        assert_eq!(fs::read_to_string(&file).unwrap(), "yesterday's", "{outcome:?}");
        assert_eq!(fs::metadata(&file).unwrap().ino(), inode);
        let report = fs::read_to_string(&report).unwrap();
        assert!(report.contains("\nresult: none\nfailure: ") && report.contains(why), "{report}");
        outcome.status
    };
    let options = ["-sp", "0", "-report", &report, "-t", "icount2", "-o", &file];
    let killed = superpin(&[&options[..], &["--", "/bin/sh", "-c", "/bin/sh -c 'kill -KILL $PPID'; :"]].concat());
    assert_eq!(stays(killed, "killed by signal 9"), 128 + libc::SIGKILL);
    let refused = of_guest(&["-sp", "1", "-report", &report], &["-o", &file], "shared_clone");
    assert_eq!(stays(refused, "shares its memory"), 125);
    let broken = executable(&scratch.beside("broken"), b"#!/nonexistent/interpreter\n");
    let unstarted = superpin(&[&options[..], &["--", &broken]].concat());
    assert_eq!(stays(unstarted, "broken"), 126);
}

#[test]
fn a_file_keeps_its_name_its_permissions_and_its_links() {
    let scratch = Scratch::new().unwrap();
    let (file, link) = (file_of(&scratch, "total"), file_of(&scratch, "link"));
    fs::write(
        &file,
        "a text that is longer than the result, so that something of it would stay, were it only written over",
    )
    .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
    symlink("total", &link).unwrap();
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-report", &link, "-t", "icount2", "-o", &link, "--", "/bin/true"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let written = fs::read_to_string(&file).unwrap();
        // The report comes last.
        assert!(written.contains("\nresult: exact\n") && !written.contains("written over"), "{written}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o604);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    // Nothing is left beside them.
    let folder = scratch.beside("total").parent().unwrap().to_owned();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["cwd", "link", "total"]);
}

#[test]
fn the_app_sees_no_file_of_the_result() {
    let scratch = Scratch::new().unwrap();
    let folder = scratch.cwd();
    for sliced in ["0", "1"] {
        let run = Command::new(binary())
            .args(["-sp", sliced, "-report", "report", "-t", "icount2", "-o", "total", "--", "/bin/ls", "-a"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!((run.status.code(), text(&run.stdout)), (Some(0), ".\n..\n".to_owned()), "{run:?}");
        for name in ["report", "total"] {
            fs::remove_file(folder.join(name)).unwrap();
        }
    }
}

#[test]
fn a_result_that_its_file_does_not_take_goes_to_standard_error() {
    let scratch = Scratch::new().unwrap();
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "-o", "/dev/full", "--", "/bin/true"]);
        let told = text(&outcome.stderr);
        assert!(outcome.status == 125 && parse_total(&told).is_some_and(|n| n > 1000), "{outcome:?}");
        assert!(told.contains("superpin: cannot write /dev/full: No space left on device"), "{told}");
        let outcome = superpin(&["-sp", sliced, "-report", "/dev/full", "-t", "icount2", "--", "/bin/true"]);
        let told = text(&outcome.stderr);
        assert!(outcome.status == 125 && told.contains("\nresult: exact\nwall_ms: "), "{told}");
        assert!(told.contains("superpin: cannot write the report to /dev/full: No space left"), "{told}");
        // The app takes the folder away.
        let folder = file_of(&scratch, "gone");
        fs::create_dir(&folder).unwrap();
        let file = format!("{folder}/total");
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "-o", &file, "--", "/bin/rmdir", &folder]);
        let told = text(&outcome.stderr);
        assert!(outcome.status == 125 && parse_total(&told).is_some() && told.contains(&file), "{told}");
    }
}

#[test]
fn a_pipe_by_name_takes_all_results() {
    let scratch = Scratch::new().unwrap();
    let fifo = file_of(&scratch, "pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for sliced in ["0", "1"] {
        // It is open as long as this is, so that a writer comes at once.
        let mut reader = fs::File::options().read(true).write(true).open(&fifo).unwrap();
        let options = ["-sp", sliced, "-follow", "1", "-t", "icount2", "-o", &fifo];
        let outcome = superpin(&[&options[..], &["--", "/bin/sh", "-c", "/bin/true; :"]].concat());
        assert_eq!((outcome.status, text(&outcome.stderr)), (0, String::new()));
        let mut told = vec![0; 4096];
        let len = reader.read(&mut told).unwrap();
        let told = text(&told[..len]);
        let count = |what: &str| told.matches(what).count();
        assert_eq!((count("superpin: process"), count("Result: exact")), (2, 2), "{told}");
    }
}

/// The report begins with what a person wants to know, and says what to try; for programs it is one object.
#[test]
fn reports_are_for_people_and_for_programs() {
    let scratch = Scratch::new().unwrap();
    let (page, object) = (file_of(&scratch, "report"), file_of(&scratch, "report.json"));
    let app = ["-t", "icount2", "--", "/usr/bin/python3", "-c", "print(sum(range(10000000)))"];
    for (mode, words) in [("0", ["serially", "# It used "]), ("1", ["the last slice ended", "# Why slices ended: "])] {
        for file in [&page, &object] {
            assert_eq!(superpin(&[&["-sp", mode, "-report", file][..], &app].concat()).status, 0);
        }
        let told = fs::read_to_string(&page).unwrap();
        assert!(
            told.starts_with("# icount2 of: /usr/bin/python3 -c print(sum(range(10000000))). Result: exact\n"),
            "{told}"
        );
        assert!(words.into_iter().all(|word| told.contains(word)) && told.contains("\n\nresult: exact\n"), "{told}");
        let names = told.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "));
        let object: Value = serde_json::from_str(&fs::read_to_string(&object).unwrap()).unwrap();
        assert!(object["wall_ms"].as_f64() > Some(1.0) && object["tool"] == "icount2", "{object}");
        assert!(
            names.into_iter().all(|(name, _)| name.starts_with("routine_") || !object[name].is_null()),
            "{object} {told}"
        );
        // What there is to try depends on how long it took.
        assert!(object["advice"].is_array(), "{object}");
    }
}
