//! The image started as a collector, as the control process starts it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use bubble::boot::BOOT_MAGIC;
use bubble::map::file;
use bubble::shared::{NOWHERE, RunHeader, TOOL_ARGS_BYTES};

suites::watch_tests!();

/// The run memory of a run with one slot.
struct RunMemory(File);

impl RunMemory {
    /// For a tool with options, separated by zero bytes.
    fn new(tool: &str) -> Self {
        // SAFETY: a new descriptor; the name is a C string.
        let memory =
            File::from(unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"run".as_ptr(), libc::MFD_CLOEXEC)) });
        memory.set_len(file::size(1)).expect("a memfd can be sized");
        let mut tool_args = [0; TOOL_ARGS_BYTES];
        tool_args[..tool.len()].copy_from_slice(tool.as_bytes());
        let header = RunHeader {
            magic: BOOT_MAGIC,
            max_blocks: 3,
            max_instructions: 64,
            linking: 1,
            sharing: 1,
            cache_bytes: 0,
            told: 0.into(),
            written_out: NOWHERE.into(),
            stops: NOWHERE.into(),
            stops_at: NOWHERE.into(),
            tool_args_len: tool.len() as u32 + 1,
            off: bubble::switches::Off::default(),
            process: 0,
            keeps_code: 0,
            checks_tool: 0,
            tool_args,
            cpuid: *machine::cpuid::Table::none(),
            xcr0: 0,
            null_selector_clears_base: 1,
            comparisons_keep_flags: 1,
            sliced: 1,
            streaming: Default::default(),
            streams: 0.into(),
            streams_lost: 0.into(),
            region: bubble::region::Spec::ALL,
            departs: 0,
            ends_app: 0,
        };
        // SAFETY: a header is plain integers, and `header` lives while its bytes are borrowed.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const header).cast::<u8>(), size_of::<RunHeader>()) };
        memory.write_all_at(bytes, file::CONTROL_AT).expect("a memfd can be written");
        Self(memory)
    }

    /// Puts an encoded result of `icount2` where a slice would, behind its length, eight bytes, and behind what says that it is one result of all threads.
    fn put_result(&self, encoded: &[u8]) {
        const ONE: [u8; 1] = [0];
        let with_length = [&(1 + encoded.len() as u64).to_le_bytes(), &ONE[..], encoded].concat();
        self.0.write_all_at(&with_length, file::result_at(0)).expect("a memfd can be written");
    }

    /// A descriptor for a child process that executes another program.
    fn inheritable(&self) -> OwnedFd {
        // SAFETY: dup makes a new descriptor, which is not closed by exec.
        unsafe { OwnedFd::from_raw_fd(libc::dup(self.0.as_raw_fd())) }
    }
}

/// A running collector and the way to talk to it.
struct Collector {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Collector {
    fn start(memory: &RunMemory) -> Self {
        let descriptor = memory.inheritable();
        let mut process = Command::new(env!("CARGO_BIN_EXE_superpin"))
            .arg0("superpin-collector")
            .arg(descriptor.as_raw_fd().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo built it");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        Self { process, answers }
    }

    /// The answer; of a fold without when it began and ended, in that order.
    fn ask(&mut self, command: &str) -> String {
        writeln!(self.process.stdin.as_mut().expect("piped"), "{command}").expect("the collector lives");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a pipe can be read");
        let line = line.trim_end();
        match line.strip_prefix("ok ").filter(|_| command.starts_with("fold ")) {
            Some(times) => {
                let times: Vec<u64> = times.split(' ').map(|time| time.parse().expect("nanoseconds")).collect();
                assert!(times.len() == 2 && times[0] > 0 && times[0] <= times[1], "{line}");
                "ok".to_owned()
            }
            None => line.to_owned(),
        }
    }

    /// What it printed, and its exit status.
    fn end(mut self) -> (String, Option<i32>) {
        drop(self.process.stdin.take());
        let mut printed = String::new();
        self.process.stderr.take().expect("piped").read_to_string(&mut printed).expect("text");
        (printed, self.process.wait().expect("a child").code())
    }
}

/// 300 as a postcard integer.
const THREE_HUNDRED: [u8; 2] = [0xac, 0x02];

#[test]
fn results_are_added_up_and_printed_once() {
    let memory = RunMemory::new("icount2");
    let mut collector = Collector::start(&memory);
    assert_eq!(collector.ask("hello"), "ok");
    memory.put_result(&THREE_HUNDRED);
    assert_eq!(collector.ask("fold 0 0 11"), "ok");
    memory.put_result(&[7]);
    assert_eq!(collector.ask("fold 0 1 10"), "ok");
    assert_eq!(collector.ask("fini exact 0"), "ok");
    assert_eq!(collector.end(), ("Total Count: 307\nRepetitions: only the first counts\n".into(), Some(0)));
}

#[test]
fn a_file_can_be_named_for_the_result() {
    let path = std::env::temp_dir().join(format!("superpin-collector-test-{}", std::process::id()));
    let memory = RunMemory::new(&format!("icount1\0-o\0{}", path.display()));
    let mut collector = Collector::start(&memory);
    memory.put_result(&THREE_HUNDRED);
    assert_eq!(collector.ask("fold 0 0 11"), "ok");
    assert_eq!(collector.ask("fini exact 0"), "ok");
    let printed = std::fs::read_to_string(&path);
    std::fs::remove_file(&path).expect("the collector made it");
    assert_eq!(printed.unwrap(), "Total Count: 300\nRepetitions: only the first counts\nResult: exact\n");
    assert_eq!(collector.end(), (String::new(), Some(0)));
}

#[test]
fn what_is_wrong_is_answered() {
    for (tool_args, expected) in [
        ("nothing", "no tool nothing"),
        ("icount2\0--bogus", "--bogus"),
        ("icount2\0-o\0/no/such/directory/file", "/no/such/directory/file"),
    ] {
        let mut collector = Collector::start(&RunMemory::new(tool_args));
        let answer = collector.ask("hello");
        assert!(answer.starts_with("error ") && answer.contains(expected), "{answer}");
        assert_eq!(collector.end(), (String::new(), Some(1)));
    }
    let memory = RunMemory::new("icount2");
    let mut collector = Collector::start(&memory);
    memory.put_result(&[0xff]);
    assert!(collector.ask("fold 0 4 10").starts_with("error the result of slice 4"));
    let mut collector = Collector::start(&memory);
    assert!(collector.ask("fold 0 4").starts_with("error "));
}

#[test]
fn nothing_is_printed_if_the_run_does_not_end_well() {
    let memory = RunMemory::new("icount2");
    let mut collector = Collector::start(&memory);
    memory.put_result(&[7]);
    assert_eq!(collector.ask("fold 0 0 10"), "ok");
    assert_eq!(collector.end(), (String::new(), Some(1)));
}

#[test]
fn a_result_says_what_it_is_worth() {
    for (tool, worth, expected) in [
        (
            "icount2",
            "at least",
            "superpin: it\nTotal Count: at least 300\nRepetitions: only the first counts\nResult: at least\n",
        ),
        (
            "icount2\0--json",
            "at least",
            "{\"process\":\"it\",\"result\":\"at least\",\"tool\":\"icount2\",\"values\":{\"instructions\":300,\"repetitions\":\"once\"}}\n",
        ),
        (
            "icount2\0--json",
            "exact",
            "{\"process\":\"it\",\"result\":\"exact\",\"tool\":\"icount2\",\"values\":{\"instructions\":300,\"repetitions\":\"once\"}}\n",
        ),
    ] {
        let memory = RunMemory::new(tool);
        let mut collector = Collector::start(&memory);
        memory.put_result(&THREE_HUNDRED);
        assert_eq!(collector.ask("fold 0 0 11"), "ok");
        assert_eq!(collector.ask(&format!("fini {worth} 0, it")), "ok");
        assert_eq!(collector.end(), (expected.to_owned(), Some(0)));
    }
}

/// A disk may be full when the work is done.
#[test]
fn a_result_that_its_file_does_not_take_is_not_lost() {
    let memory = RunMemory::new("icount2\0-o\0/dev/full");
    let mut collector = Collector::start(&memory);
    memory.put_result(&THREE_HUNDRED);
    assert_eq!(collector.ask("fold 0 0 11"), "ok");
    let answer = collector.ask("fini exact 0");
    assert!(answer.starts_with("printed cannot write /dev/full: No space left"), "{answer}");
    assert_eq!(
        collector.end(),
        ("Total Count: 300\nRepetitions: only the first counts\nResult: exact\n".to_owned(), Some(1))
    );
}
