//! `malloctrace` against ltrace(1), which sees calls that the program itself makes.

use std::process::Command;

use suites::run::Scratch;

use super::programs::{compiled, is_there, succeeds, text};

/// A call without its pointers, which differ: `calloc(3, 40)`, `realloc(pointer, 9)`.
fn without_pointers(call: &str) -> String {
    let (name, args) = call.trim_end_matches(')').split_once('(').unwrap_or_else(|| panic!("{call}"));
    let arg = |arg| if str::starts_with(arg, "0x") { "pointer" } else { arg };
    format!("{name}({})", args.split(", ").map(arg).collect::<Vec<_>>().join(", "))
}

#[test]
fn malloctrace_sees_the_calls_that_ltrace_sees() {
    if !is_there("ltrace") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = compiled("takes.c", &["-Wl,-z,lazy"], &folder.cwd());
    let log = folder.beside("log");
    let mut ltrace = Command::new("ltrace");
    succeeds(ltrace.env_clear().args(["-e", "malloc+calloc+realloc+free", "-o"]).arg(&log).arg(&app));
    let theirs = std::fs::read_to_string(&log).unwrap();
    // `takes->malloc(1)    = 0x4052a0`
    let call = |line: &str| {
        let (call, _) = line.rsplit_once('=')?;
        Some(without_pointers(call.split_once("->")?.1.trim()))
    };
    let theirs: Vec<String> = theirs.lines().filter_map(call).collect();
    let ours = text("-sp 1 -spsysrecs 2 -t malloctrace", &folder.cwd(), &[&app]);
    // The library's own calls are there as well.
    let own = ours.lines().filter_map(|line| line.split_once(" from app_"));
    // Of `posix_memalign` ltrace doesn't know how many arguments it has.
    let own = own.filter(|(call, _)| !call.starts_with("posix_memalign"));
    let ours: Vec<String> = own.map(|(call, _)| without_pointers(call)).collect();
    let differ = ours.iter().zip(&theirs).find(|(one, other)| one != other);
    assert!(ours == theirs, "{differ:?} of {} and {}", ours.len(), theirs.len());
    assert!(ours.len() > 1000, "{ours:?}");
}
