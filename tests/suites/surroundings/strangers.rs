//! Processes that superpin knows nothing of write a file that the app has mapped and writes itself.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use suites::deadline::wait_for;
use suites::run::{Job, Scratch};
use suites::superpin::{command, parse_total};

/// Writes the file many times; then tells the stranger to write the second page, writes the first one, and looks at both as long as they say.
const APP: &str = r#"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile uint64_t *words;
static uint64_t sum = 1;
static void look(int fd, uint64_t value)
{
    if (pwrite(fd, &value, 8, 0) != 8)
        _exit(9);
    for (int page = 0; page < 2; page++)
        for (uint64_t n = words[page * 512] % 1000; n > 0; n--)
            sum = (sum ^ n) * 0x9e3779b97f4a7c15u;
}
int main(void)
{
    char byte;
    int fd = open("data", O_RDWR);
    words = mmap(0, 8192, PROT_READ, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED)
        return 8;
    for (int turn = 0; turn < 30; turn++)
        look(fd, turn);
    for (int turn = 0; turn < 12; turn++) {
        if (write(1, "\n", 1) != 1 || read(0, &byte, 1) != 1)
            return 7;
        look(fd, turn);
    }
    printf("%016lx\n", (unsigned long)sum);
    return 0;
}
"#;

/// What the stranger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stranger {
    /// Opens the file before the app starts.
    Early,
    /// Opens it when it writes it.
    Late,
    /// Has mapped it, and stores.
    Stores,
}

/// The output and the total.
fn run(program: &Path, options: &[&str], stranger: Stranger) -> (String, Option<u64>, String) {
    let scratch = Scratch::new().unwrap();
    let data = scratch.cwd().join("data");
    let file = File::options().read(true).write(true).create_new(true).open(&data).unwrap();
    file.set_len(8192).unwrap();
    // SAFETY: a new mapping of this test's own, kept for ever.
    let mapped = (stranger == Stranger::Stores).then(|| unsafe {
        use std::os::fd::AsRawFd;
        let both = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 8192, both, libc::MAP_SHARED, file.as_raw_fd(), 0) as u64
    });
    let mut early = (stranger == Stranger::Early).then_some(file);
    let options = options.iter().chain(&["-t", "icount2", "-o", "total", "--"]).map(Into::into);
    let job = Job::new([program]).under(command().into_iter().chain(options));
    let mut command = job.command(&scratch.cwd()).unwrap();
    let err = scratch.beside("err");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&err).unwrap());
    let mut superpin = command.spawn().unwrap();
    let (mut to, from) = (superpin.stdin.take().unwrap(), superpin.stdout.take().unwrap());
    let mut told = String::new();
    for (line, turn) in BufReader::new(from).lines().zip(1_u64..) {
        let line = line.unwrap();
        if !line.is_empty() {
            told = line;
            break;
        }
        match mapped {
            // SAFETY: the mapping is that long, and the other process reads it at another time.
            Some(start) => unsafe { ((start + 4096) as *mut u64).write_volatile(turn * 77) },
            None => {
                let file = early.get_or_insert_with(|| File::options().write(true).open(&data).unwrap());
                file.write_all_at(&(turn * 77).to_le_bytes(), 4096).unwrap();
            }
        }
        to.write_all(b"x").unwrap();
    }
    wait_for(&mut superpin).unwrap();
    let total = fs::read_to_string(scratch.cwd().join("total")).unwrap_or_default();
    (told, parse_total(&total), fs::read_to_string(err).unwrap())
}

#[test]
fn what_strangers_write_is_seen_after_the_app_s_own_writing() {
    let scratch = Scratch::new().unwrap();
    let (source, program) = (scratch.beside("app.c"), scratch.beside("app"));
    fs::write(&source, APP).unwrap();
    let built = Command::new("gcc").args(["-O1", "-o"]).arg(&program).arg(&source).status().unwrap();
    assert!(built.success());
    for stranger in [Stranger::Early, Stranger::Late, Stranger::Stores] {
        let serial = run(&program, &["-sp", "0"], stranger);
        assert!(serial.1.is_some(), "{stranger:?} {serial:?}");
        for options in [&["-sp", "1"][..], &["-sp", "1", "-spverify", "1", "-spsysrecs", "3"]] {
            assert_eq!(run(&program, options, stranger), serial, "{stranger:?} {options:?}");
        }
    }
}
