//! `coverage`'s file, read as readers of drcov do, and its blocks among objdump's instructions. Lines that it counts, and branches that `edges` counts, as gcov counts them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use suites::run::Scratch;
use superpin_tool::json::{self, Value};

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

/// What gcov, with these options, says of a program of `apps`, `NAME.c`, that was built for it and run by itself; and the command to run the same source without its counters.
fn gcov(options: &[&str], name: &str, argument: &str, folder: &Path) -> (String, [OsString; 2]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/peers/apps/{name}.c"));
    let build = |options: &[&str], to: &str| {
        succeeds(Command::new("gcc").args(["-O0", "-o", to]).args(options).arg(&source).current_dir(folder));
        folder.join(to)
    };
    succeeds(Command::new(build(&["-g", "--coverage"], "counted")).arg(argument).current_dir(folder));
    let data = format!("counted-{name}.gcda");
    let told = succeeds(Command::new("gcov").args(options).arg(data).current_dir(folder));
    let app = [build(&["-g"], "plain").into_os_string(), argument.into()];
    (String::from_utf8(told).expect("text"), app)
}

/// gcov counts a function at its head and knows labels, debug information has its braces.
#[test]
fn lines_are_executed_as_often_as_gcov_says() {
    if !is_there("gcov") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let (told, app) = gcov(&["-t"], "lines", "30", &folder.cwd());
    let line = |line: &str| {
        let mut columns = line.split(':').map(str::trim);
        let (times, number) = (columns.next()?.trim_end_matches('*'), columns.next()?.parse().ok()?);
        let times = if times.starts_with('#') { 0 } else { times.parse().ok()? };
        (number > 0).then_some((number, times))
    };
    let theirs: BTreeMap<u32, u64> = told.lines().filter_map(line).collect();
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

/// Counts of branches by source line.
type ByLine = BTreeMap<u32, Vec<Vec<u64>>>;

/// How often each branch of a line went its ways, the rarest first: a condition has two, a line of many ways all that it has. What was never executed isn't there, nor a way of many that was never taken.
fn branches_of_gcov(told: &str) -> ByLine {
    let mut ways: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut many = BTreeSet::new();
    let mut number = 0;
    for line in told.lines() {
        let branch = line.strip_prefix("branch").and_then(|rest| rest.split_once("taken "));
        if let Some((_, times)) = branch {
            let times = times.split(' ').next().unwrap();
            ways.entry(number).or_default().push(times.parse().unwrap());
        } else if let Some(of) = line.split(':').nth(1).and_then(|column| column.trim().parse().ok()) {
            number = of;
            if line.ends_with(MANY) {
                many.insert(number);
            }
        }
    }
    let of_line = |(number, ways): (u32, Vec<u64>)| {
        let branches = match many.contains(&number) {
            true => vec![ways.into_iter().filter(|times| *times != 0).collect()],
            false => {
                let (pairs, rest) = ways.as_chunks::<2>();
                assert!(rest.is_empty(), "line {number}: {ways:?}");
                pairs.iter().map(|pair| pair.to_vec()).collect()
            }
        };
        (number, sorted(branches))
    };
    ways.into_iter().map(of_line).collect()
}

/// What lines of the source end with whose branches are compared by where they go to.
const MANY: &str = "// many ways";

fn sorted(mut branches: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    branches.iter_mut().for_each(|ways| ways.sort_unstable());
    branches.sort_unstable();
    branches
}

/// The same of what `edges` says of a source file. A line of many ways goes wherever it leaves its own code for.
fn branches_of_edges(told: &str, source: &str) -> ByLine {
    let told: Value = json::from_str(told).unwrap();
    let line_of = |edge: &Value, end: &str| {
        let is_ours = edge[format!("{end}_file")].as_str()?.ends_with("/branches.c");
        is_ours.then(|| u32::try_from(edge[format!("{end}_line")].as_u64().unwrap()).unwrap())
    };
    let is_many = |number: u32| source.lines().nth(number as usize - 1).unwrap().ends_with(MANY);
    let mut ways: BTreeMap<(u32, u64), BTreeMap<u64, u64>> = BTreeMap::new();
    for edge in told["values"]["edges"].as_array().unwrap() {
        let Some(number) = line_of(edge, "from") else { continue };
        let [from, to, count] = ["from", "to", "count"].map(|name| edge[name].as_u64().unwrap());
        let kind = edge["kind"].as_str().unwrap();
        if is_many(number) && line_of(edge, "to") != Some(number) {
            *ways.entry((number, 0)).or_default().entry(to).or_default() += count;
        } else if !is_many(number) && ["taken", "not taken"].contains(&kind) {
            ways.entry((number, from)).or_default().insert(to, count);
        }
    }
    let mut by_line = ByLine::new();
    for ((number, branch), ways) in ways {
        let mut ways: Vec<u64> = ways.into_values().collect();
        // A way that was never taken is no edge.
        ways.resize(ways.len().max(if branch == 0 { 0 } else { 2 }), 0);
        by_line.entry(number).or_default().push(ways);
    }
    by_line.into_iter().map(|(number, branches)| (number, sorted(branches))).collect()
}

/// Which of a condition's ways the processor jumps for is the compiler's choice.
#[test]
fn branches_go_each_way_as_often_as_gcov_says() {
    if !is_there("gcov") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let (told, app) = gcov(&["-t", "-b", "-c"], "branches", "100000", &folder.cwd());
    let theirs = branches_of_gcov(&told);
    let source = include_str!("apps/branches.c");
    for way in ["-sp 0", "-sp 1 -spmsec 5"] {
        let edges = text(&format!("{way} -t edges --top 0 --json"), &folder.cwd(), &app);
        assert_eq!(branches_of_edges(&edges, source), theirs, "{way}");
    }
    let conditions = theirs.values().flatten().filter(|ways| ways.len() == 2).count();
    assert_eq!((theirs.len(), conditions), (20, 23), "{theirs:?}");
}
