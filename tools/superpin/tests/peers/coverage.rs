//! `coverage`'s file, read as readers of drcov do, and its blocks among objdump's instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use suites::run::Scratch;

use super::programs::{counts, is_there, succeeds, text, written};

/// A module's base and path, and blocks: offset, bytes, module.
type Read = (Vec<(u64, String)>, Vec<(u32, u16, u16)>);

/// As Lighthouse reads it.
fn read(file: &[u8]) -> Read {
    let mut rest = file;
    let mut line = || {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a line");
        let (line, behind) = rest.split_at(end);
        rest = &behind[1..];
        String::from_utf8(line.to_vec()).expect("text")
    };
    assert_eq!(line(), "DRCOV VERSION: 2");
    assert_eq!(line(), "DRCOV FLAVOR: drcov");
    let table = line();
    let count: usize = table.strip_prefix("Module Table: version 2, count ").expect(&table).parse().unwrap();
    assert_eq!(line(), "Columns: id, base, end, entry, path");
    let module = |(n, line): (usize, String)| {
        let columns: Vec<&str> = line.splitn(5, ',').map(str::trim).collect();
        assert_eq!(columns[0], n.to_string());
        (u64::from_str_radix(&columns[1][2..], 16).unwrap(), columns[4].to_owned())
    };
    let modules = (0..count).map(|_| line()).enumerate().map(module).collect();
    let blocks = line();
    let blocks: usize =
        blocks.strip_prefix("BB Table: ").and_then(|rest| rest.strip_suffix(" bbs")).unwrap().parse().unwrap();
    let (entries, rest) = rest.as_chunks::<8>();
    assert_eq!((entries.len(), rest.len()), (blocks, 0), "nothing stands behind the blocks");
    let entry = |e: &[u8; 8]| {
        let half = |n: usize| u16::from_le_bytes([e[n], e[n + 1]]);
        (u32::from_le_bytes([e[0], e[1], e[2], e[3]]), half(4), half(6))
    };
    (modules, entries.iter().map(entry).collect())
}

#[test]
fn a_reader_of_drcov_finds_what_was_executed() {
    if !is_there("objdump") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let (modules, blocks) = read(&written("-sp 1 -spmsec 5 -t coverage", &folder.cwd(), &app));
    assert_eq!(modules.len(), 1, "{modules:?}");
    assert_eq!(modules[0].1, app[0].display().to_string());
    // objdump's instructions, each with its end, which is the next one's beginning.
    let listing = succeeds(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&app[0]));
    let listing = String::from_utf8(listing).unwrap();
    let address = |line: &str| u64::from_str_radix(line.trim().split_once(":\t")?.0, 16).ok();
    let begins: BTreeSet<u64> = listing.lines().filter_map(address).collect();
    let mut covered = BTreeSet::new();
    for (offset, bytes, module) in blocks {
        assert_eq!(module, 0);
        let begin = modules[0].0 + u64::from(offset);
        let end = begin + u64::from(bytes);
        assert!(begins.contains(&begin), "{begin:#x} begins no instruction");
        assert!(begins.contains(&end) || begins.last() < Some(&end), "{end:#x} ends none");
        covered.extend(begins.range(begin..end).copied());
    }
    // The same instructions that another tool has counted.
    let mix = text("-sp 0 -t mix --by address", &folder.cwd(), &app);
    let executed: BTreeMap<u64, u64> = mix
        .lines()
        .skip(2)
        .filter(|line| line.contains("0x"))
        .map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            (u64::from_str_radix(&columns[2][2..], 16).unwrap(), columns[0].parse().unwrap())
        })
        .collect();
    assert!(covered.iter().eq(executed.keys()), "{} covered, {} executed", covered.len(), executed.len());
    assert!(covered.len() > 90 && covered.len() < begins.len(), "{} of {}", covered.len(), begins.len());
}

/// Executions of source lines, by number.
fn lines_of_lcov(text: &str) -> BTreeMap<u32, u64> {
    let line = |line: &str| {
        let (number, times) = line.strip_prefix("DA:")?.split_once(',')?;
        Some((number.parse().unwrap(), times.parse().unwrap()))
    };
    text.lines().filter_map(line).collect()
}

/// The same source, built for gcov and run by itself. gcov counts a function at its head and knows labels, debug information has its braces.
#[test]
fn lines_are_executed_as_often_as_gcov_says() {
    if !is_there("gcov") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let source = folder.cwd().join("lines.c");
    std::fs::write(&source, include_str!("apps/lines.c")).unwrap();
    let build = |options: &[&str], name: &str| {
        succeeds(Command::new("gcc").args(["-O0", "-o", name]).args(options).arg(&source).current_dir(folder.cwd()));
        folder.cwd().join(name)
    };
    succeeds(Command::new(build(&["--coverage"], "counted")).arg("30").current_dir(folder.cwd()));
    let told = succeeds(Command::new("gcov").args(["-t", "counted-lines.gcda"]).current_dir(folder.cwd()));
    let line = |line: &str| {
        let mut columns = line.split(':').map(str::trim);
        let (times, number) = (columns.next()?.trim_end_matches('*'), columns.next()?.parse().ok()?);
        let times = if times.starts_with('#') { 0 } else { times.parse().ok()? };
        (number > 0).then_some((number, times))
    };
    let theirs: BTreeMap<u32, u64> = String::from_utf8(told).unwrap().lines().filter_map(line).collect();
    let app = [build(&["-g"], "plain").into_os_string(), "30".into()];
    let written = text("-sp 1 -spmsec 5 -t coverage --lcov", &folder.cwd(), &app);
    assert_eq!(written, text("-sp 0 -t coverage --lcov", &folder.cwd(), &app));
    // Libraries may have debug information and sources, too.
    let of_file =
        written.split("TN:\n").find(|text| text.lines().next().is_some_and(|file| file.ends_with("/lines.c")));
    let written = of_file.expect("the program's source");
    let ours = lines_of_lcov(written);
    let source: Vec<&str> = include_str!("apps/lines.c").lines().map(str::trim).collect();
    let text_of = |number: &u32| source[*number as usize - 1];
    let common = ours.iter().filter(|(number, _)| theirs.contains_key(number)).collect::<Vec<_>>();
    assert!(common.iter().all(|(number, times)| theirs[number] == **times), "{ours:?}, by gcov {theirs:?}");
    let rest = ours.keys().filter(|number| !theirs.contains_key(number)).map(text_of);
    assert!(rest.clone().all(|text| ["{", "}"].contains(&text)), "{:?}", rest.collect::<Vec<_>>());
    let rest = theirs.keys().filter(|number| !ours.contains_key(number)).map(text_of);
    assert!(rest.clone().all(|text| text.ends_with([')', ':'])), "{:?}", rest.collect::<Vec<_>>());
    assert_eq!(common.len(), 25);
    let functions: Vec<&str> = written.lines().filter_map(|line| line.strip_prefix("FNDA:")).collect();
    assert_eq!(functions, ["465,collatz", "1,main", "0,never", "30,twice"]);
}
