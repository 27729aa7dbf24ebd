//! The ways in which a program is run: natively, under superpin with each tool, under other instrumentation systems.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use suites::superpin::binary;

/// What is wanted of a run besides its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing.
    Nothing,
    /// The total that a tool counted, which must be the same in all such runs of a program.
    Instructions,
    /// The same, and superpin's statistics.
    InstructionsAndReport,
}

/// One way to run a program.
#[derive(Clone, Debug)]
pub struct Way {
    /// Heading of its column.
    pub name: String,
    /// What is put before the program and its arguments.
    pub prefix: Vec<OsString>,
    /// What it yields.
    pub output: Output,
}

/// Where the other systems are.
#[derive(Debug, Default)]
pub struct Peers {
    /// DynamoRIO's folder (of a release or a build).
    pub dynamorio: Option<PathBuf>,
    /// A client that writes memory addresses into a buffer.
    pub memtrace: Option<PathBuf>,
    /// valgrind.
    pub valgrind: Option<PathBuf>,
}

/// The first column.
pub const NATIVE: &str = "native";
/// The column that sliced runs are compared with, and how the names of theirs begin.
pub const SERIAL: &str = "icount2";
/// The first column of sliced runs, whose statistics are printed. The names of others go on with their options.
pub const SLICED: &str = "sliced icount2";
/// What follows a way's name where another build of superpin is measured the same way.
pub const BEFORE: &str = ", before";
/// Serially, with the translations of rounds before.
const PERSIST: &str = "icount2 -persist";

/// Tools of superpin's, run serially, and whether they count instructions.
const TOOLS: [(&str, bool); 5] =
    [("none", false), ("icount2", true), ("icount1", true), ("memaddr", false), ("opcodes", false)];

/// DynamoRIO's samples that are run, with their clients.
const SAMPLES: [(&str, &str); 4] = [
    ("DynamoRIO empty", "libempty.so"),
    ("DynamoRIO bbcount", "libbbcount.so"),
    ("DynamoRIO inscount", "libinscount.so"),
    ("DynamoRIO opcodes", "libopcodes.so"),
];

/// All ways that are possible here. What isn't installed is left out, with a line on standard error.
/// `sliced`: the options of each kind of sliced run. `kept`: where translations are kept from round to round.
pub fn all(sliced: &[Vec<String>], peers: &Peers, kept: &Path) -> Vec<Way> {
    let mut ways = vec![Way { name: NATIVE.into(), prefix: Vec::new(), output: Output::Nothing }];
    for (tool, counts) in TOOLS {
        let output = if counts { Output::Instructions } else { Output::Nothing };
        ways.push(Way { name: tool.into(), prefix: superpin(&["-sp", "0"], tool), output });
    }
    let mut prefix = superpin(&["-sp", "0"], SERIAL);
    prefix.splice(1..1, ["-persist".into(), kept.into()]);
    ways.push(Way { name: PERSIST.into(), prefix, output: Output::Instructions });
    for (n, own) in sliced.iter().enumerate() {
        let mut options = vec!["-sp", "1"];
        options.extend(own.iter().map(String::as_str));
        let name = if n == 0 { SLICED.to_owned() } else { format!("{SLICED} {}", own.join(" ")) };
        ways.push(Way { name, prefix: superpin(&options, SERIAL), output: Output::InstructionsAndReport });
    }
    add_dynamorio(&mut ways, peers);
    match &peers.valgrind {
        Some(path) => ways.push(other("valgrind", vec![path.into(), "--tool=none".into(), "-q".into()])),
        None => eprintln!("left out: valgrind (not in PATH; -valgrind names it)"),
    }
    ways
}

/// The same ways with another build of superpin as well, each behind its own: the build of a state before, say. What others made is left as it is.
/// `kept`: where that build keeps translations from round to round.
pub fn with_before(ways: Vec<Way>, before: &Path, kept: &Path) -> Vec<Way> {
    ways.into_iter().flat_map(|way| [Some(way.clone()), of_before(way, before, kept)]).flatten().collect()
}

fn of_before(mut way: Way, before: &Path, kept: &Path) -> Option<Way> {
    if way.prefix.first()? != binary().as_os_str() {
        return None;
    }
    way.name += BEFORE;
    way.prefix[0] = before.into();
    if let Some(option) = way.prefix.iter().position(|part| part == "-persist") {
        way.prefix[option + 1] = kept.into();
    }
    Some(way)
}

fn add_dynamorio(ways: &mut Vec<Way>, peers: &Peers) {
    let Some(folder) = &peers.dynamorio else {
        eprintln!("left out: DynamoRIO (-dynamorio or the variable DYNAMORIO_HOME names its folder)");
        return;
    };
    let under = |client: Option<&Path>| {
        let mut prefix: Vec<OsString> = vec![folder.join("bin64/drrun").into()];
        prefix.extend(client.into_iter().flat_map(|client| ["-c".into(), client.into()]));
        prefix.push("--".into());
        prefix
    };
    ways.push(other("DynamoRIO", under(None)));
    for (name, file) in SAMPLES {
        // A build has them in one place, a release in another.
        let places = ["api/bin", "samples/bin64"].map(|place| folder.join(place).join(file));
        match places.iter().find(|place| place.exists()) {
            Some(client) => ways.push(other(name, under(Some(client)))),
            None => {
                eprintln!("left out: {name} ({file} is in neither {} nor {})", places[0].display(), places[1].display())
            }
        }
    }
    match &peers.memtrace {
        Some(client) => ways.push(other("DynamoRIO memtrace", under(Some(client)))),
        None => eprintln!("left out: DynamoRIO memtrace (-memtrace names its client)"),
    }
}

fn other(name: &'static str, prefix: Vec<OsString>) -> Way {
    Way { name: name.into(), prefix, output: Output::Nothing }
}

/// The tool's own options and `--` are still to follow.
fn superpin(options: &[&str], tool: &str) -> Vec<OsString> {
    let mut prefix: Vec<OsString> = vec![binary().into()];
    prefix.extend(options.iter().map(OsString::from));
    prefix.extend(["-t".into(), tool.into()]);
    prefix
}

/// A program of the search path.
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_build_runs_all_that_is_superpins() {
        let all = all(&[vec!["-spmsec".to_owned(), "50".to_owned()]], &Peers::default(), Path::new("kept"));
        let both = with_before(all.clone(), Path::new("old"), Path::new("other"));
        // All but the native run are superpin's.
        assert_eq!(both.len(), 2 * all.len() - 1);
        let persist = both.iter().position(|way| way.name == PERSIST).unwrap();
        assert_eq!(both[persist + 1].name, "icount2 -persist, before");
        assert_eq!(both[persist + 1].prefix[..3], ["old", "-persist", "other"]);
        assert_eq!(both[persist + 1].prefix[3..], both[persist].prefix[3..]);
    }

    #[test]
    fn what_is_not_installed_is_left_out() {
        let peers = Peers { dynamorio: Some("/nonexistent".into()), ..Peers::default() };
        let sliced = ["1000", "50"].map(|ms| vec!["-spmsec".to_owned(), ms.to_owned()]);
        let names: Vec<_> = all(&sliced, &peers, Path::new("kept")).into_iter().map(|way| way.name).collect();
        let tools = ["none", SERIAL, "icount1", "memaddr", "opcodes"];
        let wanted = [&[NATIVE], &tools[..], &[PERSIST, SLICED, "sliced icount2 -spmsec 50", "DynamoRIO"]].concat();
        assert_eq!(names, wanted);
        assert!(installed("sh").is_some() && installed("no such program").is_none());
    }
}
