//! `-timeline`: the run as it is drawn.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};
use suites::guest;
use suites::run::{Scratch, run};
use suites::superpin::command;

use super::{fails, superpin, text};

/// What stands between the page's parts.
const BEFORE: &str = "<script type=\"application/json\" id=\"run\">";

/// The run on a page.
fn drawn(page: &Path) -> Value {
    let text = fs::read_to_string(page).unwrap();
    let (_, behind) = text.split_once(BEFORE).expect("the page has the run");
    let (run, _) = behind.split_once("</script>").expect("the run has an end");
    serde_json::from_str(run).unwrap()
}

/// A run of a guest in slices. Gives its page and its report.
fn of_guest(options: &[&str], name: &str, page: &Path) -> String {
    let report = page.with_extension("report");
    let guest = guest::named(name);
    let own = ["-sp", "1", "-timeline", page.to_str().unwrap(), "-report", report.to_str().unwrap()];
    let words = own.iter().chain(options).chain(&["-t", "icount2", "--"]).map(Into::into);
    let outcome = run(&guest.job(guest.large).under(command().into_iter().chain(words))).unwrap();
    assert_eq!(outcome.status, 0, "{outcome:?}");
    fs::read_to_string(report).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number of microseconds"))
}

#[test]
fn the_drawing_has_each_slice_where_it_was() {
    let scratch = Scratch::new().unwrap();
    let page = scratch.beside("page.html");
    let report = of_guest(&["-spmsec", "5", "-spmp", "2"], "loops", &page);
    let run = drawn(&page);
    let (app, wall) = (number(&run["app"]), number(&run["wall"]));
    assert!(app <= wall && run["limit"] == 2 && run["length"] == "5" && run["tool"] == "icount2", "{run}");
    assert_eq!(run["result"], "exact");
    let slices = run["slices"].as_object().unwrap();
    let counted = report.lines().find_map(|line| line.strip_prefix("slices: ")).unwrap();
    assert!(slices.len() > 2 && slices.len().to_string() == counted, "{counted} {run}");
    let mut changes = Vec::new();
    for (name, slice) in slices {
        let [forked, goes_on] = [0, 1].map(|n| number(&slice["forked"][n]));
        let recorded = number(&slice["recorded"]);
        assert!(forked <= goes_on && goes_on <= recorded && recorded <= wall, "slice {name}: {slice}");
        let runs = slice["runs"].as_array().unwrap();
        let [from, until] = [0, 1].map(|n| number(&runs[0][n]));
        assert!(runs.len() == 1 && runs[0][2] == "whole", "slice {name}: {slice}");
        assert!(recorded <= from && from < until && until <= wall, "slice {name}: {slice}");
        assert!(number(&slice["boot"]) < number(&slice["cpu"]), "slice {name}: {slice}");
        changes.extend([(from, 1), (until, -1)]);
    }
    changes.sort_unstable();
    let most = changes.iter().scan(0, |running, (_, by)| Some(*running + by).inspect(|now| *running = *now)).max();
    assert!(most <= Some(2), "{most:?} at a time: {run}");
    let ends = |kind: &str| slices.values().filter(|slice| slice["boundary"] == kind).count().to_string();
    for line in report.lines().filter_map(|line| line.strip_prefix("boundaries_")) {
        let (kind, count) = line.split_once(": ").unwrap();
        assert!(["verified", "ambiguous"].contains(&kind) || ends(kind) == count, "{kind}: {count} {run}");
    }
    let waited = merges_are_the_reports(slices, &report);
    is_drawn_by_a_browser(&page, &[("slices", slices.len()), ("merges", slices.len()), ("waiting", waited)]);
}

/// One behind the other, in the order of slices, each behind its slice's end. Gives how many waited at a time.
fn merges_are_the_reports(slices: &Map<String, Value>, report: &str) -> usize {
    let told = |name: &str| {
        let value = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
        value.parse::<f64>().unwrap()
    };
    let mut all: Vec<(u64, &Value)> = slices.iter().map(|(name, slice)| (name.parse().unwrap(), slice)).collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    let mut before = 0;
    let (mut sum, mut changes) = (0, Vec::new());
    for (n, slice) in all {
        let [from, until] = [0, 1].map(|n| number(&slice["merged"][n]));
        let ended = number(&slice["runs"][0][1]);
        assert!(ended <= from && before <= from && from <= until, "slice {n}: {slice}");
        before = until;
        sum += until - from;
        changes.extend([(ended, 1), (until, -1)]);
    }
    assert_eq!(told("merges"), slices.len() as f64);
    // Each is rounded down.
    let rounded = told("merge_ms") * 1000.0 - sum as f64;
    assert!(rounded.abs() <= 2.0 * slices.len() as f64, "{sum} {report}");
    changes.sort_unstable();
    let counts = changes.iter().scan(0, |waiting, (_, by)| Some(*waiting + by).inspect(|now| *waiting = *now));
    let most = counts.max().unwrap_or(0);
    // The control process knows a little later that one was merged.
    assert!(most >= 1 && most as f64 <= told("merges_waiting_most"), "{most} {report}");
    most as usize
}

/// It is known where each slice began and ended, and where the app was: on processors that there are.
#[test]
fn the_drawing_has_processors() {
    let scratch = Scratch::new().unwrap();
    let page = scratch.beside("page.html");
    of_guest(&["-spmsec", "20"], "loops", &page);
    let run = drawn(&page);
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    let last: u64 = possible.trim().rsplit(['-', ',']).next().unwrap().parse().unwrap();
    for (name, slice) in run["slices"].as_object().unwrap() {
        let is_one = |value: &Value| value.as_u64().is_some_and(|processor| processor <= last);
        assert!(is_one(&slice["on"][0]) && is_one(&slice["on"][1]), "slice {name}: {slice}");
        assert!(is_one(&slice["app_on"]) || slice["boundary"] == "exit", "slice {name}: {slice}");
    }
    is_drawn_by_a_browser(&page, &[]);
}

/// Where there is one.
fn is_drawn_by_a_browser(page: &Path, expected: &[(&str, usize)]) {
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]);
    let profile = page.with_extension("profile");
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(format!("file://{}", page.display()));
    let Ok(output) = browser.output() else {
        return eprintln!("skipped: chromium isn't installed");
    };
    let told = text(&output.stdout);
    let shown = |name: &str| {
        let (_, behind) = told.split_once(&format!("data-{name}=\"")).unwrap_or_else(|| panic!("no {name}: {told}"));
        behind.split('"').next().unwrap().parse::<usize>().unwrap()
    };
    for (name, number) in expected {
        assert_eq!(shown(name), *number, "{name}");
    }
    assert!(shown("drawn") > 2 && shown("processors") > 0, "{} {}", shown("drawn"), shown("processors"));
}

/// A region's slices are run to count first.
#[test]
fn slices_that_are_run_twice_are_drawn_twice() {
    let scratch = Scratch::new().unwrap();
    let page = scratch.beside("page.html");
    of_guest(&["-spmsec", "5", "-start-icount", "1000"], "loops", &page);
    let run = drawn(&page);
    let whats = |slice: &Value| slice["runs"].as_array().unwrap().iter().map(|run| run[2].clone()).collect::<Vec<_>>();
    assert!(run["slices"].as_object().unwrap().values().all(|slice| whats(slice) == ["counts", "whole"]), "{run}");
}

#[test]
fn names_on_the_page_are_as_they_are_written() {
    let scratch = Scratch::new().unwrap();
    let page = scratch.beside("page.html");
    let name = "</script><b>\"x\" \u{e9}";
    let words = ["-sp", "1", "-timeline", page.to_str().unwrap(), "-t", "icount2", "--", "/bin/echo", name];
    assert_eq!(superpin(&words).status, 0);
    assert_eq!(drawn(&page)["command"], format!("/bin/echo {name}"));
}

#[test]
fn a_page_that_cannot_be_written_is_told_of_first() {
    let words = ["-sp", "1", "-timeline", "/no/such/page.html", "-t", "icount2", "--", "/bin/echo", "x"];
    fails(&words, &[125], &["cannot write the timeline to /no/such/page.html"]);
    fails(&["-timeline", "x.html", "-t", "icount2", "--", "/bin/true"], &[125], &["-timeline", "-sp 1"]);
}
