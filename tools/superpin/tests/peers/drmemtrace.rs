//! `memtrace --drmemtrace`, read as DynamoRIO's reader reads it, with what its invariant checker looks at.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use suites::run::Scratch;

use super::programs::{compiled, counts, text, written};

/// DynamoRIO's `trace_entry_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    kind: u16,
    size: u16,
    value: u64,
}

/// An instruction that was fetched, or repeated.
#[derive(Clone, Debug, Default)]
struct Fetch {
    kind: u16,
    pc: u64,
    encoding: Vec<u8>,
    /// Where it goes, if it is an indirect branch.
    target: Option<u64>,
    accesses: Vec<Entry>,
    system_call: Option<u64>,
    /// The kernel has come between the instruction before and this one: by signals, handlers that have returned, other programs.
    events: Vec<Entry>,
}

const LOAD: u16 = 0;
const STORE: u16 = 1;
const INSTRUCTION: u16 = 10;
const INDIRECT: [u16; 3] = [12, 15, RETURN];
const RETURN: u16 = 16;
const MARKER: u16 = 28;
const REPEATED: u16 = 29;
const ENCODING: u16 = 47;
const TAKEN: u16 = 48;
const NOT_TAKEN: u16 = 49;
const INTERRUPTION: u16 = 0;
const TRANSFER: u16 = 1;
const SYSTEM_CALL: u16 = 25;
const TARGET: u16 = 29;
const SIGNAL: u16 = 40;

/// The instructions between a head and an end.
fn fetches(trace: &[u8], thread: u64) -> Vec<Fetch> {
    let (chunks, rest) = trace.as_chunks::<12>();
    assert!(rest.is_empty(), "{} bytes are no entries of 12", trace.len());
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let entry = |bytes: &[u8; 12]| Entry {
        kind: number(&bytes[..2]) as u16,
        size: number(&bytes[2..4]) as u16,
        value: number(&bytes[4..]),
    };
    let entries: Vec<Entry> = chunks.iter().map(entry).collect();
    let (head, rest) = entries.split_at(9);
    let (body, end) = rest.split_at(rest.len() - 2);
    let told = head.iter().map(|entry| (entry.kind, entry.size, entry.value));
    // Header, version, kind of file, thread, process, bytes of lines and pages, time, processor.
    let expected =
        [(25, 0, 5), (28, 12, 5), (28, 9, 0x640), (22, 0, thread + 1), (24, 0, 1), (28, 10, 64), (28, 18, 4096)];
    assert!(told.eq(expected.into_iter().chain([(28, 2, 1), (28, 3, u64::MAX)])), "{head:?}");
    assert_eq!(end.iter().map(|entry| (entry.kind, entry.value)).collect::<Vec<_>>(), [(23, thread + 1), (26, 0)]);
    let (mut all, mut next) = (Vec::<Fetch>::new(), Fetch::default());
    for entry in body {
        match (entry.kind, entry.size) {
            (MARKER, TARGET) => next.target = Some(entry.value),
            (MARKER, SYSTEM_CALL) => {
                all.last_mut().expect("a call is behind its instruction").system_call = Some(entry.value)
            }
            (MARKER, INTERRUPTION | TRANSFER | SIGNAL) => next.events.push(*entry),
            (MARKER, _) => panic!("{entry:?}"),
            (ENCODING, size) => next.encoding.extend(&entry.value.to_le_bytes()[..usize::from(size)]),
            (INSTRUCTION..=RETURN | REPEATED | TAKEN | NOT_TAKEN, size) => {
                assert_eq!(usize::from(size), next.encoding.len(), "the encoding of {entry:?}");
                all.push(Fetch { kind: entry.kind, pc: entry.value, ..std::mem::take(&mut next) });
            }
            _ => {
                assert!(next.events.is_empty() && next.encoding.is_empty(), "{entry:?} belongs to no instruction");
                all.last_mut().expect("an access is behind its instruction").accesses.push(*entry);
            }
        }
    }
    all
}

/// Where a direct branch goes: its last bytes say so.
fn direct_target(fetch: &Fetch) -> u64 {
    let opcode = fetch.encoding.iter().find(|byte| ![0x2e, 0x3e, 0x67, 0xf2].contains(*byte)).expect("an opcode");
    let displacement = match opcode {
        0x0f | 0xe8 | 0xe9 => i64::from(i32::from_le_bytes(*fetch.encoding.last_chunk().unwrap())),
        _ => i64::from(*fetch.encoding.last().unwrap() as i8),
    };
    after(fetch).wrapping_add_signed(displacement)
}

fn after(fetch: &Fetch) -> u64 {
    fetch.pc + fetch.encoding.len() as u64
}

/// Each instruction follows from the one before, or from what the kernel has done. Gives how often it has done what.
fn check_order(fetches: &[Fetch]) -> BTreeMap<u16, u64> {
    let mut events = BTreeMap::new();
    for pair in fetches.windows(2) {
        let [before, next] = pair else { unreachable!() };
        let goes_to = match before.kind {
            INSTRUCTION | REPEATED | NOT_TAKEN => after(before),
            kind if INDIRECT.contains(&kind) => before.target.expect("an indirect branch has a target"),
            _ => direct_target(before),
        };
        assert!(before.target.is_none() || INDIRECT.contains(&before.kind), "{before:x?}");
        assert!(before.encoding != [0x0f, 0x05] || before.system_call.is_some(), "{before:x?}");
        next.events.iter().for_each(|event| *events.entry(event.size).or_default() += 1);
        if next.kind == REPEATED {
            assert!(next.pc == before.pc && next.events.is_empty(), "{before:x?} {next:x?}");
        } else if let Some(first) = next.events.first() {
            // Of a system call that is made again, and an instruction that is repeated further, it is where that is.
            let is_next = first.size == TRANSFER || [goes_to, before.pc].contains(&first.value);
            assert!(is_next, "{before:x?} {next:x?}");
            // A handler that has returned, or a program that has begun, goes on where the marker says.
            let last = next.events.last().unwrap();
            assert!(last.size != TRANSFER || last.value == next.pc, "{next:x?}");
        } else {
            assert_eq!(next.pc, goes_to, "{before:x?} {next:x?}");
        }
    }
    events
}

/// The same file in all ways to run; its instructions.
fn traced(options: &str, thread: u64, folder: &Path, app: &[impl AsRef<OsStr>]) -> Vec<Fetch> {
    let trace = |way: &str| written(&format!("{way} {options}"), folder, app);
    let serial = trace("-sp 0");
    for way in ["-sp 1 -spmsec 5", "-sp 1 -spmsec 50", "-sp 1 -spsysrecs 3"] {
        let sliced = trace(way);
        let differ = serial.iter().zip(&sliced).position(|(one, other)| one != other);
        assert!(serial == sliced, "{options}, {way}: {} and {} bytes, {differ:?}", serial.len(), sliced.len());
    }
    fetches(&serial, thread)
}

/// The bytes of a program that lie where it is mapped, by address.
fn bytes_of(program: &Path) -> impl Fn(u64, usize) -> Vec<u8> {
    let file = std::fs::read(program).unwrap();
    let word = |at: usize| u64::from_le_bytes(file[at..][..8].try_into().unwrap()) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes(file[at..][..2].try_into().unwrap()));
    let headers = (0..half(56)).map(|n| word(32) + n * half(54));
    let loaded = headers.filter(|at| file[*at..][..4] == [1, 0, 0, 0]);
    let segments: Vec<[usize; 3]> = loaded.map(|at| [word(at + 8), word(at + 16), word(at + 32)]).collect();
    move |address, len| {
        let is_in = |[_, start, size]: &&[usize; 3]| (*start..start + size).contains(&(address as usize));
        let [offset, start, _] = segments.iter().find(is_in).expect("the program's own");
        file[offset + address as usize - start..][..len].to_vec()
    }
}

#[test]
fn its_entries_are_what_other_tools_tell() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    let program = counts(&folder);
    let app = [&program];
    let all = traced("-t memtrace --drmemtrace", 0, &folder, &app);
    assert!(check_order(&all).is_empty(), "no signal comes there");
    let encoding = bytes_of(&program);
    assert!(all.iter().all(|fetch| fetch.encoding == encoding(fetch.pc, fetch.encoding.len())));
    let itrace = text("-sp 0 -t itrace --repeat each", &folder, &app);
    let pcs = all.iter().map(|fetch| format!("{:#x}", fetch.pc));
    assert!(pcs.eq(itrace.lines().filter(|line| !line.starts_with('#'))), "addresses aren't those of itrace");
    let access = |pc: u64, Entry { kind, size, value }: &Entry| {
        let kind = [(LOAD, 'R'), (STORE, 'W')].into_iter().find(|(number, _)| number == kind);
        format!("{pc:#x}: {} {value:#x} {size}", kind.expect("a load or a store").1)
    };
    let found: Vec<String> =
        all.iter().flat_map(|fetch| fetch.accesses.iter().map(|entry| access(fetch.pc, entry))).collect();
    let memtrace = text("-sp 0 -t memtrace --repeat each", &folder, &app);
    let lines: Vec<&str> = memtrace.lines().filter(|line| !line.starts_with('#')).collect();
    let differ = found.iter().zip(&lines).find(|(one, other)| one != other);
    assert!(found == lines, "{differ:?} of {} and {}", found.len(), lines.len());
    // Of branches as often as they are taken.
    let edges = text("-sp 0 -t edges", &folder, &app);
    for (kind, name) in
        [(TAKEN, "taken"), (NOT_TAKEN, "not taken"), (12, "indirect jump"), (14, "call"), (RETURN, "return")]
    {
        let line = edges.lines().find_map(|line| line.trim().strip_suffix(name)?.trim().parse().ok());
        assert_eq!(Some(all.iter().filter(|fetch| fetch.kind == kind).count()), line, "{name}: {edges}");
    }
}

#[test]
fn signals_and_programs_leave_no_gaps() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    let app = [compiled("events.c", &["-pthread"], &folder)];
    let all = traced("-t memtrace --drmemtrace", 0, &folder, &app);
    // In each of two programs 20 times: two handlers that return, one inside of the other, and two of faults that don't.
    let events = check_order(&all);
    assert_eq!(events, BTreeMap::from([(INTERRUPTION, 160), (TRANSFER, 81), (SIGNAL, 160)]));
    assert_eq!(all.iter().filter(|fetch| fetch.system_call == Some(59)).count(), 1, "one more is execve");
    let hints = |kind: u16, size: u16| {
        all.iter().flat_map(|fetch| &fetch.accesses).filter(|entry| (entry.kind, entry.size) == (kind, size)).count()
    };
    // Prefetches, of two kinds, and flushes of lines.
    assert_eq!([hints(3, 1), hints(6, 1), hints(20, 64)], [40, 40, 40]);
    let repeated =
        |opcode: &[u8]| all.iter().filter(|fetch| fetch.encoding == opcode && fetch.kind == REPEATED).count();
    assert!(repeated(&[0xf3, 0xa4]) >= 40 * 4999 && repeated(&[0xf3, 0xaa]) == 0);
}

#[test]
fn each_thread_is_a_file_of_its_own() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    let program = compiled("events.c", &["-pthread"], &folder);
    let app = [program.as_os_str(), OsStr::new("thread")];
    // When threads have their turns is another time in each run, and so may be what they execute.
    for way in ["-sp 0", "-sp 1 -spmsec 5", "-sp 1 -spsysrecs 3"] {
        let of = |thread: u64| {
            let options = format!("{way} -t memtrace --drmemtrace --thread {thread}");
            let fetches = fetches(&written(&options, &folder, &app), thread);
            assert!(check_order(&fetches).is_empty(), "{way}, {thread}");
            fetches.len()
        };
        assert!(of(0) > 50_000 && (6000..50_000).contains(&of(1)) && of(2) == 0, "{way}");
    }
}

#[test]
fn a_part_of_a_run_has_a_head_and_an_end() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    let app = [counts(&folder)];
    let part = traced("-skip 100k -trace 20k -t memtrace --drmemtrace --repeat once", 0, &folder, &app);
    assert_eq!(part.len(), 20_000);
    check_order(&part);
    let none = traced("-start-symbol nothing -t memtrace --drmemtrace", 0, &folder, &app);
    assert_eq!(none.len(), 0);
    let serial = written("-sp 0 -t memtrace --drmemtrace", &folder, &app);
    for way in ["-sp 0", "-sp 1 -spmsec 5"] {
        let packed = written(&format!("{way} -t memtrace --drmemtrace -z"), &folder, &app);
        let mut whole = Vec::with_capacity(serial.len());
        ruzstd::decoding::FrameDecoder::new().decode_all_to_vec(&packed, &mut whole).unwrap();
        assert!(whole == serial, "{way}");
    }
}
