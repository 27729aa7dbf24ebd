//! Names of routines and images, of programs and libraries that are built here: what a tool is told is the same in all kinds of run, and what other programs say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use suites::run::{Job, Scratch};
use suites::superpin::built_example;

/// Where the sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/names");

/// Serial, and in slices that end here and there; traces cut short; nothing shared; a slice for every few calls.
const MODES: [&str; 7] = [
    "-sp 0",
    "-sp 0 -trace-blocks 1",
    "-sp 1 -spmsec 5",
    "-sp 1 -spmsec 20",
    "-sp 1 -spmsec 1 -trace-blocks 1",
    "-sp 1 -spsysrecs 1",
    "-sp 1 -spsysrecs 7 -share 0",
];

/// What a tool prints of an app.
fn result(options: &str, tool: &str, app: &[&str], status: i32) -> String {
    let separator = (!app.contains(&"--")).then_some("--");
    let options = options.split(' ').chain(["-env", "clean", "-t", tool]).chain(separator);
    let options: Vec<&str> = options.chain(app.iter().copied()).collect();
    let command: [OsString; 1] = [built_example("trials").into()];
    let outcome = suites::run::run(&Job::new(&options).under(command)).expect("cargo built the example");
    let printed = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status, status, "{options:?}: {printed}");
    printed
}

/// Compiles a source.
fn build(compiler: &str, source: &str, flags: &str, to: &Path) {
    let mut command = Command::new(compiler);
    command.args(flags.split_whitespace()).arg(Path::new(SOURCES).join(source)).arg("-o").arg(to);
    let output = command.output().expect("the tests need a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Instructions by image and routine.
fn counts(printed: &str) -> BTreeMap<(&str, &str), u64> {
    let lines = printed.lines().filter_map(|line| {
        let (count, rest) = line.split_once(' ')?;
        let (image, routine) = rest.split_once(' ')?;
        Some(((image, routine), count.parse().ok()?))
    });
    lines.filter(|((what, _), _)| !what.ends_with("loaded")).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

#[test]
fn libraries_that_come_and_go_keep_their_names_apart() {
    const ROUNDS: u64 = 12;
    let folder = Scratch::new().unwrap();
    let [program, first, second, gone] = ["opens", "first.so", "second.so", "gone.so"].map(|name| folder.beside(name));
    build("gcc", "opens.c", "-O1 -ldl", &program);
    build("gcc", "plugin.S", "-shared -nostdlib", &first);
    build("gcc", "plugin.S", "-shared -nostdlib -Wl,--build-id", &second);
    let app = [text(&program), "12", text(&first), text(&second), text(&gone)];
    let mut expected = None;
    for mode in MODES {
        // The app removes it.
        std::fs::copy(&first, &gone).unwrap();
        let printed = result(mode, "routines", &app, 7);
        assert!(!gone.exists() && printed.ends_with("status 7\n"), "{printed}");
        let counts = counts(&printed);
        for (library, rounds) in [("first.so", ROUNDS), ("second.so", ROUNDS), ("gone.so", 1), ("memfd:nameless", 1)] {
            let times =
                |what: &str| printed.lines().filter(|line| line.contains(&format!(" {what} {library} at "))).count();
            assert_eq!([times("loaded"), times("unloaded")], [rounds as usize; 2], "{mode}, {library}: {printed}");
            assert_eq!(counts.get(&(library, "work")), Some(&(rounds * 20 * 2003)), "{mode}, {library}: {printed}");
            assert_eq!(counts.get(&(library, ".text")), Some(&(rounds * 20 * 22)), "{mode}, {library}: {printed}");
        }
        let places: Vec<_> =
            printed.lines().filter_map(|line| line.split_once(" loaded ")?.1.split(' ').nth(2)).collect();
        assert!(
            places.iter().any(|place| places.iter().filter(|other| *other == place).count() > ROUNDS as usize),
            "they are at one place"
        );
        let expected = expected.get_or_insert_with(|| printed.clone());
        let differ = expected.lines().zip(printed.lines()).find(|(one, other)| one != other);
        assert!(*expected == printed, "{mode}: {differ:?}");
    }
}

/// How often the handler runs is another number each time; what becomes of images isn't.
#[test]
fn images_come_and_go_once_each_among_signals() {
    let folder = Scratch::new().unwrap();
    let [program, first, second] = ["interrupted", "first.so", "second.so"].map(|name| folder.beside(name));
    build("gcc", "interrupted.c", "-O1 -ldl", &program);
    build("gcc", "plugin.S", "-shared -nostdlib", &first);
    build("gcc", "plugin.S", "-shared -nostdlib -Wl,--build-id", &second);
    for mode in ["-sp 0", "-sp 1 -spmsec 1", "-sp 1 -spmsec 3", "-sp 1 -spsysrecs 1"] {
        let printed = result(mode, "routines", &[text(&program), "60", text(&first), text(&second)], 0);
        for library in ["first.so", "second.so"] {
            let times =
                |what: &str| printed.lines().filter(|line| line.contains(&format!(" {what} {library} at "))).count();
            assert_eq!([times("loaded"), times("unloaded")], [30; 2], "{mode}, {library}: {printed}");
            assert_eq!(counts(&printed).get(&(library, "work")), Some(&(30 * 2003)), "{mode}, {library}: {printed}");
        }
    }
}

#[test]
fn routines_are_those_of_the_program_however_it_is_linked() {
    let folder = Scratch::new().unwrap();
    for (name, flags) in [
        ("pie", "-pie"),
        ("no-pie", "-no-pie"),
        ("static", "-static"),
        ("static-pie", "-static-pie"),
        ("stripped", "-s"),
        ("lazy", "-Wl,-z,lazy -fcf-protection=none"),
        ("now", "-Wl,-z,now -fcf-protection=full -fno-plt"),
    ] {
        let program = folder.beside(name);
        build("g++", "computes.cc", &format!("-O1 {flags}"), &program);
        let app = [text(&program), "40"];
        let serial = result(MODES[0], "routines", &app, 0);
        let counts = counts(&serial);
        if name == "stripped" {
            assert!(counts[&(name, ".text")] > 40 * 1500 && !counts.contains_key(&(name, "main")), "{serial}");
        } else {
            assert_eq!(counts.get(&(name, "counted")), Some(&(40 * 1002)), "{name}: {serial}");
            for routine in ["main", "shapes::Square::area(int) const", "descending(void const*, void const*)"] {
                assert!(counts.get(&(name, routine)).is_some_and(|count| *count > 1000), "{name}, {routine}: {serial}");
            }
        }
        let sorts = |((image, routine), _): (&(&str, &str), &u64)| {
            routine.starts_with("qsort") && (*image == name || *image == "libc.so.6")
        };
        assert!(counts.iter().any(sorts), "{name}: {serial}");
        if !name.starts_with("static") && name != "now" {
            assert!(counts.contains_key(&(name, "qsort@plt")), "{name}: {serial}");
        }
        for mode in ["-sp 1 -spmsec 5", "-sp 1 -spsysrecs 7 -share 0 -trace-blocks 1"] {
            let other = result(mode, "routines", &app, 0);
            let differ = serial.lines().zip(other.lines()).find(|(one, other)| one != other);
            assert!(serial == other, "{name}, {mode}: {differ:?}");
        }
    }
}

/// The names and lines of calls are those that binutils tell.
#[test]
fn places_are_called_as_by_others() {
    let folder = Scratch::new().unwrap();
    for flags in ["-pie", "-no-pie", "-static", "-gz=zlib"] {
        let program = folder.beside("computes");
        build("g++", "computes.cc", &format!("-g -O1 {flags}"), &program);
        let printed = result("-sp 1 -spmsec 5", "places", &[text(&program), "3"], 0);
        let symbols = Command::new("nm").args(["-C", text(&program)]).output().unwrap();
        let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
        // Count, image, address in the file, line, routine.
        let calls = printed.lines().map(|line| line.splitn(5, ' ').collect::<Vec<_>>());
        let calls: Vec<_> = calls.filter(|call| call[1] == text(&program) && call[3].starts_with('/')).collect();
        assert!(calls.iter().filter(|call| call[3].contains("/computes.cc:")).count() > 5, "{printed}");
        for call in calls {
            let told = Command::new("addr2line").args(["-e", text(&program), call[2]]).output().unwrap();
            let told = String::from_utf8_lossy(&told.stdout).into_owned();
            assert_eq!(Some(call[3]), told.trim_end().split(" (discriminator").next(), "{call:?}");
            assert!(symbols.lines().any(|line| line.ends_with(&format!(" {}", call[4]))), "{call:?}");
        }
        assert!(printed == result("-sp 0", "places", &[text(&program), "3"], 0));
        let json = result("-sp 1", "places", &["--json", "--", text(&program), "3"], 0);
        assert!(json.contains("\"result\":\"exact\"") && json.contains("\"main\":"), "{json}");
    }
}

/// Translations that are kept for later runs know nothing of names.
#[test]
fn kept_translations_change_no_names() {
    let folder = Scratch::new().unwrap();
    let program = folder.beside("computes");
    build("g++", "computes.cc", "-g -O1", &program);
    let kept = folder.beside("kept");
    std::fs::create_dir(&kept).unwrap();
    std::fs::set_permissions(&kept, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    // Files that were changed just now aren't relied on.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    for mode in ["-sp 0", "-sp 1 -spmsec 5"] {
        for tool in ["places", "routines"] {
            let plain = result(mode, tool, &[text(&program), "3"], 0);
            for run in 0..2 {
                let with_kept = result(&format!("{mode} -persist {}", text(&kept)), tool, &[text(&program), "3"], 0);
                assert!(with_kept == plain, "{tool}, {mode}, run {run}");
            }
        }
    }
    let files: Vec<_> = std::fs::read_dir(&kept).unwrap().collect();
    assert!(!files.is_empty(), "the tool that asks when the run is over has its translations kept");
    let report = result(&format!("-sp 1 -persist {} -report -", text(&kept)), "routines", &[text(&program), "3"], 0);
    assert!(report.contains("the tool asks for names of the app's code"), "{report}");
}

#[test]
fn functions_are_given_and_return_what_the_program_says() {
    let folder = Scratch::new().unwrap();
    for flags in ["-pie", "-static", "-no-pie -O2"] {
        let program = folder.beside("computes");
        build("g++", "computes.cc", &format!("-O1 {flags}"), &program);
        let printed = Command::new(&program).arg("50").output().unwrap().stdout;
        let sum: i64 = String::from_utf8(printed).unwrap().trim().parse().unwrap();
        for mode in ["-sp 0", "-sp 0 -engine none", "-sp 1 -spmsec 5", "-sp 1 -spsysrecs 3"] {
            let told = result(mode, "functions", &[text(&program), "50"], 0);
            let expected = format!(
                "at calls 5000\neighth 9800\nentries 50\nfrom main 50\nhalves 600\nreturns 50\nsecond 5000\nvalues {sum}\n"
            );
            assert_eq!(told, expected, "{flags}, {mode}");
        }
    }
}

/// A routine is left by an exception, a long jump or a jump to another one as by a return, also if it was entered in another slice.
#[test]
fn routines_are_left_in_whatever_way() {
    const ROUNDS: u64 = 30;
    let folder = Scratch::new().unwrap();
    let program = folder.beside("leaves");
    build("g++", "leaves.cc", "-O1", &program);
    let app = [text(&program), "30"];
    let serial = result("-sp 0", "inclusive", &app, 0);
    let of = |name: &str| -> [u64; 2] {
        let mut lines = serial.lines().map(|line| line.splitn(3, ' ').collect::<Vec<_>>());
        let line = lines.find(|words| words.get(2) == Some(&name)).unwrap_or_else(|| panic!("{name}: {serial}"));
        [0, 1].map(|n| line[n].parse().unwrap())
    };
    let all: u64 = serial.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(of("counted"), [ROUNDS * 8, ROUNDS * 8 * 1002], "{serial}");
    // Left where the other one begins.
    assert_eq!(of("jumps"), [ROUNDS, ROUNDS * 2], "{serial}");
    assert_eq!((of("throws_deep")[0], of("leaps")[0], of("caught")[0]), (ROUNDS * 6, ROUNDS * 7, ROUNDS), "{serial}");
    assert!(of("leaps")[1] > 28 * ROUNDS * 1002 && of("caught")[1] > of("throws_deep")[1] / 6, "{serial}");
    assert!(of("main")[1] > of("caught")[1] + of("leaps")[1] / 7 && of("_start")[1] < all, "{serial}");
    for mode in ["-sp 1 -spmsec 5", "-sp 1 -spsysrecs 1", "-sp 1 -spmsec 1 -trace-blocks 1", "-sp 0 -engine none"] {
        let other = result(mode, "inclusive", &app, 0);
        let differ = serial.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert!(serial == other, "{mode}: {differ:?}");
    }
}
