//! `champsim`'s trace, read as ChampSim reads it.

use std::collections::BTreeMap;

use suites::run::Scratch;

use super::programs::{counts, text, written};

/// ChampSim's `input_instr`.
#[derive(Debug)]
struct Record {
    ip: u64,
    is_branch: u8,
    taken: u8,
    written: [u8; 2],
    read: [u8; 4],
    stored: [u64; 2],
    loaded: [u64; 4],
}

fn records(bytes: &[u8]) -> Vec<Record> {
    let (records, rest) = bytes.as_chunks::<64>();
    assert!(rest.is_empty(), "{} bytes are no records of 64", bytes.len());
    let record = |bytes: &[u8; 64]| {
        let word = |n: usize| u64::from_le_bytes(bytes[8 * n..][..8].try_into().unwrap());
        Record {
            ip: word(0),
            is_branch: bytes[8],
            taken: bytes[9],
            written: [bytes[10], bytes[11]],
            read: [bytes[12], bytes[13], bytes[14], bytes[15]],
            stored: [word(2), word(3)],
            loaded: [word(4), word(5), word(6), word(7)],
        }
    };
    records.iter().map(record).collect()
}

/// The kind of branch that ChampSim takes it for, by the registers: the stack pointer (6), the flags (25), the instruction pointer (26), and others.
fn kind(record: &Record) -> Option<&'static str> {
    let [writes_sp, writes_ip] = [6, 26].map(|register| record.written.contains(&register));
    let [reads_sp, reads_flags, reads_ip] = [6, 25, 26].map(|register| record.read.contains(&register));
    let reads_other = record.read.iter().any(|register| ![0, 6, 25, 26].contains(register));
    if !writes_ip {
        return None;
    }
    Some(match (reads_sp, reads_ip, writes_sp) {
        (false, _, _) if !reads_flags && !reads_other => "jump",
        (false, false, _) if !reads_flags => "indirect jump",
        (false, true, false) => "conditional",
        (true, true, true) if !reads_flags => {
            if reads_other {
                "indirect call"
            } else {
                "call"
            }
        }
        (true, false, true) => "return",
        _ => "other",
    })
}

#[test]
fn its_records_are_what_other_tools_count() {
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let records = records(&written("-sp 1 -spmsec 5 -t champsim", &folder.cwd(), &app));
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for record in &records {
        let Some(kind) = kind(record) else {
            assert_eq!((record.is_branch, record.taken), (0, 0), "{record:x?}");
            continue;
        };
        assert_eq!(record.is_branch, 1, "{record:x?}");
        let name = if kind != "conditional" {
            kind
        } else if record.taken == 1 {
            "taken"
        } else {
            "not taken"
        };
        *kinds.entry(name.to_owned()).or_default() += 1;
    }
    // A call by way of memory, whose address needs a register, is one by way of a register to ChampSim.
    let edges = text("-sp 0 -t edges", &folder.cwd(), &app);
    let counted = edges.lines().skip(1).take(7).map(|line| {
        let (count, name) = line.trim().split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    });
    assert_eq!(kinds, counted.filter(|(_, count)| *count != 0).collect());
    let icount = text("-sp 0 -t icount1 --repeat each", &folder.cwd(), &app);
    assert_eq!(icount.lines().next(), Some(format!("Total Count: {}", records.len()).as_str()));
}

#[test]
fn its_addresses_are_those_of_other_traces() {
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let trace = |tool: &str| written(&format!("-sp 0 {tool} --repeat once"), &folder.cwd(), &app);
    let records = records(&trace("-t champsim"));
    let itrace = text("-sp 1 -spmsec 5 -t itrace", &folder.cwd(), &app);
    let ips = records.iter().map(|record| format!("{:#x}", record.ip));
    assert!(ips.eq(itrace.lines().filter(|line| !line.starts_with('#'))), "addresses aren't those of itrace");
    // Reads before writes, as they stand there.
    let accesses = |record: &Record| {
        let of = |addresses: &[u64], kind: char| -> Vec<String> {
            let there = addresses.iter().filter(|address| **address != 0);
            there.map(|address| format!("{:#x}: {kind} {address:#x}", record.ip)).collect()
        };
        [of(&record.loaded, 'R'), of(&record.stored, 'W')].concat()
    };
    let memtrace = text("-sp 0 -t memtrace", &folder.cwd(), &app);
    let lines = memtrace.lines().filter(|line| !line.starts_with('#'));
    let without_sizes: Vec<&str> = lines.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let found: Vec<String> = records.iter().flat_map(accesses).collect();
    let differ = found.iter().zip(&without_sizes).find(|(one, other)| one != other);
    assert!(found == without_sizes, "{differ:?} of {} and {}", found.len(), without_sizes.len());
}
