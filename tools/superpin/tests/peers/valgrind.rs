//! Tools against valgrind's, on a program that executes the same instructions under both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use suites::run::Scratch;

use super::programs::{counts, is_there, succeeds, text};

/// Runs a tool of valgrind's that writes to a file; what it writes.
pub(super) fn valgrind(options: &str, file: &Path, app: &Path) -> String {
    let mut command = Command::new("valgrind");
    command.args(options.replace("FILE", &file.display().to_string()).split(' ')).arg(app);
    succeeds(&mut command);
    std::fs::read_to_string(file).expect("valgrind wrote it")
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_else(|_| panic!("{text}"))
}

pub(super) fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// What a function is called that calls itself, or that comes before `main`.
pub(super) fn symbol(name: &str) -> String {
    if name == "(below main)" { "_start" } else { name.trim_end_matches("'2") }.to_owned()
}

/// What callgrind has counted.
#[derive(Default)]
struct Callgrind {
    /// Instructions by function and address.
    executed: BTreeMap<(String, u64), u64>,
    /// Instructions by function and source line.
    lines: BTreeMap<(String, u64), u64>,
    /// By the function that is called, calls.
    calls: BTreeMap<String, u64>,
    /// By the address of a call and the function, instructions until that is left.
    costs: BTreeMap<(u64, String), u64>,
    /// By address, how often a conditional branch jumps.
    jumps: BTreeMap<u64, u64>,
    /// By address and target, jumps of others.
    always: BTreeMap<(u64, u64), u64>,
}

impl Callgrind {
    /// Reads a file with `--dump-instr=yes --collect-jumps=yes`, in which nothing is abbreviated.
    fn read(text: &str) -> Self {
        let mut read = Self::default();
        let (mut function, mut called) = (String::new(), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("fn=") {
                function = symbol(name);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                called = symbol(name);
            } else if let Some(calls) = line.strip_prefix("calls=") {
                *read.calls.entry(called.clone()).or_default() += number(calls.split(' ').next().unwrap());
                let columns: Vec<&str> = lines.next().unwrap().split(' ').collect();
                *read.costs.entry((hex(columns[0]), called.clone())).or_default() += number(columns[2]);
            } else if let Some(jumps) = line.strip_prefix("jcnd=") {
                let from = lines.next().unwrap().split(' ').next().unwrap();
                *read.jumps.entry(hex(from)).or_default() += number(jumps.split('/').next().unwrap());
            } else if let Some(jump) = line.strip_prefix("jump=") {
                let columns: Vec<&str> = jump.split(' ').collect();
                let from = lines.next().unwrap().split(' ').next().unwrap();
                *read.always.entry((hex(from), hex(columns[1]))).or_default() += number(columns[0]);
            } else if line.starts_with("0x") {
                let columns: Vec<&str> = line.split(' ').collect();
                *read.executed.entry((function.clone(), hex(columns[0]))).or_default() += number(columns[2]);
                *read.lines.entry((function.clone(), number(columns[1]))).or_default() += number(columns[2]);
            }
        }
        read
    }

    fn by_function(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for ((function, _), executed) in &self.executed {
            *sums.entry(function.clone()).or_default() += executed;
        }
        sums
    }
}

#[test]
fn callgrind_counts_the_same_instructions_calls_and_branches() {
    if !is_there("valgrind") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = counts(&folder.cwd());
    let options = "--tool=callgrind --dump-instr=yes --collect-jumps=yes --compress-pos=no --compress-strings=no --callgrind-out-file=FILE";
    let theirs = Callgrind::read(&valgrind(options, &folder.beside("theirs"), &app));
    let app = [app];

    // Instructions by function. callgrind sees one more step of an instruction that repeats, the one that finds that it is over, and nothing of the program's first block.
    let mix = text("-sp 1 -spmsec 5 -t mix --by routine --repeat each", &folder.cwd(), &app);
    let columns = mix.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let ours: BTreeMap<String, u64> = columns
        .filter(|columns| columns.len() == 3 && columns[0] != "Repetitions:")
        .map(|columns| (columns[2].to_owned(), number(columns[0])))
        .collect();
    let mut expected = theirs.by_function();
    *expected.get_mut("copies").unwrap() -= 10;
    let start = (ours["_start"], expected["_start"]);
    assert!((start.1..start.1 + 10).contains(&start.0), "{start:?}");
    expected.insert("_start".into(), start.0);
    assert_eq!(ours, expected);

    // By function and source line, and how often loops go round by the source.
    let hot = text("-sp 1 -spmsec 5 -t hot --top 0 --each 99 --repeat each", &folder.cwd(), &app);
    let mut lines: BTreeMap<(String, u64), u64> = BTreeMap::new();
    let mut rounds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut function = "";
    for line in hot.lines().skip_while(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        match columns.as_slice() {
            [name, "in", ..] => function = name,
            [.., count, "rounds"] => *rounds.entry(function).or_default() += number(count),
            [count, _, place, ..] if place.contains("counts.c:") => {
                let line = number(place.rsplit_once(':').unwrap().1);
                lines.insert((function.to_owned(), line), number(count));
            }
            _ => {}
        }
    }
    let mut expected = theirs.lines.clone();
    *expected.iter_mut().find(|((function, _), executed)| function == "copies" && **executed > 5000).unwrap().1 -= 10;
    [&mut lines, &mut expected].iter_mut().for_each(|all| all.retain(|(function, _), _| function != "_start"));
    assert_eq!(lines, expected);
    let of = ["fill", "strides", "kinds", "indirect", "fib"].map(|function| rounds.get(function).copied());
    let strides = (0..6).map(|power| (1 << 16) / 4_u64.pow(power)).sum();
    assert_eq!(of, [Some(1 << 15), Some(strides), Some(20_000), Some(5_000), None]);

    // Executions of blocks: of the instruction that each begins with, unless that lies in another block, too.
    let table = text("-sp 1 -spmsec 5 -t blocks --top 0", &folder.cwd(), &app);
    let rows = table.lines().skip(2).take_while(|line| !line.starts_with("Repetitions"));
    let blocks: Vec<(u64, u64, u64)> = rows
        .map(|row| row.split_whitespace().collect::<Vec<_>>())
        .map(|row| (hex(row[3]), number(row[4]), number(row[0])))
        .collect();
    let executed: BTreeMap<u64, u64> = theirs.executed.iter().map(|((_, address), times)| (*address, *times)).collect();
    let mut compared = 0;
    // callgrind sees nothing of the program's first block.
    for (address, _, executions) in blocks.iter().filter(|(address, ..)| executed.contains_key(address)) {
        let holds = |(first, bytes, _): &&(u64, u64, u64)| (*first..first + bytes).contains(address);
        if blocks.iter().filter(holds).count() == 1 {
            // An instruction that repeats is one execution for a block, and each repetition one for callgrind.
            let theirs = if executed[address] == 10 * 513 { 10 } else { executed[address] };
            assert_eq!(*executions, theirs, "{address:#x}");
            compared += 1;
        }
    }
    assert!(compared > 20 && compared + 10 > blocks.len(), "{compared} of {}", blocks.len());

    // All of that by ours, and what calls cost. Recursive calls contain each other, and callgrind names them by their depth.
    let options = "-spmsec 5 -t callgrind --repeat each";
    let written = text(&format!("-sp 1 {options}"), &folder.cwd(), &app);
    assert_eq!(written, text(&format!("-sp 0 {options}"), &folder.cwd(), &app));
    let mut ours = Callgrind::read(&written);
    let mut expected = theirs.by_function();
    *expected.get_mut("copies").unwrap() -= 10;
    expected.insert("_start".into(), start.0);
    assert_eq!((ours.by_function(), &ours.calls), (expected, &theirs.calls));
    let mut costs = theirs.costs.clone();
    for ((_, function), cost) in &mut costs {
        *cost -= if function == "copies" { 10 } else { 0 };
    }
    let fib_alone = |call: &(u64, String)| call.1 == "fib" && ours.executed.contains_key(&("fib".to_owned(), call.0));
    costs.retain(|call, _| !fib_alone(call));
    ours.costs = std::mem::take(&mut ours.costs).into_iter().filter(|(call, _)| !fib_alone(call)).collect();
    assert_eq!(ours.costs, costs);

    // Entries of functions.
    let trace = text("-sp 1 -spmsec 5 -t calltrace --arguments 0", &folder.cwd(), &app);
    let mut entered: BTreeMap<String, u64> = BTreeMap::new();
    for line in trace.lines().filter(|line| !line.starts_with('#')) {
        *entered.entry(line.split_once('(').unwrap().0.to_owned()).or_default() += 1;
    }
    assert_eq!(entered.remove("_start"), Some(1));
    assert_eq!(entered, theirs.calls);

    // Conditional branches that are taken. callgrind takes a repetition for one, too.
    const REPETITIONS: u64 = 10 * 512 - 1;
    let edges = text("-sp 1 -spmsec 5 -t edges --top 0 --kind taken", &folder.cwd(), &app);
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    for line in edges.lines().filter(|line| line.contains(" -> ")) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        taken.insert(hex(columns[2]), number(columns[0]));
    }
    let jumps: BTreeMap<u64, u64> =
        theirs.jumps.into_iter().filter(|(_, times)| ![0, REPETITIONS].contains(times)).collect();
    assert_eq!(taken, jumps);
    let own = text("-sp 1 -spmsec 5 -t callgrind --collect-jumps", &folder.cwd(), &app);
    let own = Callgrind::read(&own);
    assert_eq!(own.jumps, jumps);
    assert!(own.always.len() > 5, "{:?}", own.always);
    let always = theirs.always.into_iter().filter(|((from, to), _)| from != to);
    assert_eq!(own.always, always.collect());
}

#[test]
fn exp_bbv_counts_the_same_blocks() {
    if !is_there("valgrind") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = counts(&folder.cwd());
    let blocks = folder.beside("blocks");
    let options = format!("--tool=exp-bbv --interval-size=10000 --bb-out-file=FILE --pc-out-file={}", blocks.display());
    let theirs = vectors(&valgrind(&options, &folder.beside("theirs"), &app));
    // `F:1:401000:next`
    let blocks = std::fs::read_to_string(blocks).unwrap();
    let address: BTreeMap<u64, u64> = blocks
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.split(':').collect();
            (number(columns[1]), hex(columns[2]))
        })
        .collect();
    let app = [app];
    let options = "-sp 1 -spmsec 5 -t bbv --interval 10000";
    let ours = vectors(&text(options, &folder.cwd(), &app));
    let table = text(&format!("{options} --blocks"), &folder.cwd(), &app);
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with("Repetitions"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let own_address: BTreeMap<u64, u64> =
        rows.filter(|row| row.len() > 3).map(|row| (number(row[0]), hex(row[1]))).collect();

    let executed = |vectors: &[Vec<(u64, u64)>], address: &BTreeMap<u64, u64>| -> BTreeMap<u64, u64> {
        let mut sums = BTreeMap::new();
        for (block, instructions) in vectors.iter().flatten() {
            *sums.entry(address[block]).or_default() += instructions;
        }
        sums
    };
    let instructions = |vector: &[(u64, u64)]| vector.iter().map(|(_, instructions)| instructions).sum::<u64>();
    // exp-bbv doesn't write the last interval, which isn't whole, and begins a new one where the last block ended: over some hundred of them that comes to little.
    assert_eq!(ours.len(), theirs.len() + 1);
    let (whole, last) = ours.split_at(theirs.len());
    for vector in whole {
        assert!(instructions(vector).abs_diff(10000) < 64, "{vector:?}");
    }
    let (theirs_by_address, ours_by_address) = (executed(&theirs, &address), executed(whole, &own_address));
    for (block, expected) in &theirs_by_address {
        let found = ours_by_address.get(block).copied().unwrap_or(0);
        assert!(found.abs_diff(*expected) < 100, "{block:#x}: {found} instead of {expected}");
    }
    let icount = text("-sp 0 -t icount2", &folder.cwd(), &app);
    let all = ours.iter().map(|vector| instructions(vector)).sum::<u64>();
    assert_eq!(icount.lines().next(), Some(format!("Total Count: {all}").as_str()));
    assert!(!last.is_empty() && theirs_by_address.len() > 30, "{}", theirs_by_address.len());
}

/// SimPoint's format: `T:1:23 :2:7 `, an interval each.
fn vectors(text: &str) -> Vec<Vec<(u64, u64)>> {
    let vector = |line: &str| {
        let pairs = line.strip_prefix('T')?.split_whitespace().map(|pair| {
            let (block, instructions) = pair.trim_start_matches(':').split_once(':').unwrap();
            (number(block), number(instructions))
        });
        Some(pairs.collect())
    };
    text.lines().filter_map(vector).collect()
}

#[test]
fn lackey_sees_the_same_lines_touched() {
    if !is_there("valgrind") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = counts(&folder.cwd());
    let theirs = valgrind("--tool=lackey --trace-mem=yes --log-file=FILE", &folder.beside("theirs"), &app);
    let is_stack = |address: u64| address > 1 << 32;
    let mut lines = [const { BTreeSet::new() }; 3];
    for line in theirs.lines() {
        let (kinds, rest): (&[usize], _) = match line.split_at(line.len().min(3)) {
            ("I  ", rest) => (&[0], rest),
            (" L ", rest) => (&[1], rest),
            (" S ", rest) => (&[2], rest),
            (" M ", rest) => (&[1, 2], rest),
            _ => continue,
        };
        let (address, size) = rest.split_once(',').unwrap();
        let (address, size) = (hex(address), number(size));
        // The stack lies elsewhere.
        if is_stack(address) {
            continue;
        }
        for line in address >> 6..=(address + size - 1) >> 6 {
            for kind in kinds {
                lines[*kind].insert(line);
            }
        }
    }
    let table = text("-sp 1 -spmsec 5 -t footprint --by-image", &folder.cwd(), &[app]);
    let row = table.lines().find(|line| line.ends_with("  counts")).unwrap_or_else(|| panic!("{table}"));
    let found: Vec<u64> = row.split_whitespace().take(3).map(number).collect();
    assert_eq!(found, lines.map(|lines| lines.len() as u64));
    assert!(found[1] > 1000 && found[2] > 1000, "{found:?}");
}

/// Where it was put in memory is nothing to whoever disassembles the file.
#[test]
fn callgrind_has_addresses_of_the_images_files() {
    let folder = Scratch::new().unwrap();
    let written = text("-sp 1 -t callgrind", &folder.cwd(), &["/bin/ls"]);
    let images: BTreeSet<&str> = written.lines().filter_map(|line| line.strip_prefix("ob=")).collect();
    assert!(images.iter().any(|image| image.contains("libc")) && images.iter().any(|image| image.ends_with("/ls")));
    let is_of_file = |image: &str| image.starts_with('/');
    let mut of_files = 0;
    let mut image = "";
    for line in written.lines() {
        image = line.strip_prefix("ob=").unwrap_or(image);
        if line.starts_with("0x") && is_of_file(image) {
            assert!(hex(line.split(' ').next().unwrap()) < 1 << 32, "{image}: {line}");
            of_files += 1;
        }
    }
    assert!(of_files > 1000, "{of_files}");
}

/// Lines of lackey's, with one word for all that lies on the stack, which has another place there.
fn accesses(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| Some((line.split_at_checked(3)?, line)));
    let lines = lines.filter(|((kind, _), _)| ["I  ", " L ", " S ", " M "].contains(kind));
    let shown = |((kind, rest), line): ((&str, &str), &str)| match rest.split_once(',') {
        Some((address, size)) if hex(address) > 1 << 32 => format!("{kind}stack,{size}"),
        _ => line.to_owned(),
    };
    lines.map(shown).collect()
}

#[test]
fn lackey_writes_the_same_lines() {
    if !is_there("valgrind") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = counts(&folder.cwd());
    let theirs = accesses(&valgrind("--tool=lackey --trace-mem=yes --log-file=FILE", &folder.beside("theirs"), &app));
    let ours = accesses(&text("-sp 1 -spmsec 5 -t memtrace --lackey --repeat each", &folder.cwd(), &[app]));
    // lackey sees one more step of an instruction that repeats, which accesses nothing: the one that finds that it is over.
    let repeated =
        ours.windows(4).find(|lines| lines[0] == lines[3] && lines[0].starts_with('I')).expect("a REP")[0].clone();
    let is_last_step = |n: usize| theirs[n] == repeated && theirs.get(n + 1).is_none_or(|next| next.starts_with('I'));
    let expected: Vec<&String> = (0..theirs.len()).filter(|n| !is_last_step(*n)).map(|n| &theirs[n]).collect();
    assert_eq!(theirs.len() - expected.len(), 10);
    let differs = ours.iter().zip(&expected).position(|(our, their)| our != *their);
    assert!(differs.is_none() && ours.len() == expected.len(), "{differs:?}, {} {}", ours.len(), expected.len());
    assert!(ours.len() > 1_000_000);
}
