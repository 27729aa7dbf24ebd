//! The collector: folds results in slice order and prints the total.
//!
//! It is the tool image as an ordinary process beside the control process, which starts it with the run memory on
//! a descriptor whose number is its last argument, and writes commands to its standard input, one a line. The argument before is the
//! descriptor that becomes its standard output, on which it answers until then:
//!
//! | command | answer |
//! |---|---|
//! | `hello` | `ok`: tool and options are right, the output can be written |
//! | `fold SLOT SLICE LEN` | `ok BEGAN ENDED`: the result of LEN bytes in that slot was folded, from then until then (nanoseconds of the monotonic clock); the slot may be used again |
//! | `before SLOT` | `ok`: what the next slice has counted in its first pass was put together with what was before, which is in its place now |
//! | `routine WAY, NAME, CALLS, SHARE, PLACES, WHY` (tabs between) | `ok`: it is told with a result in JSON how that routine was called |
//! | `fini WORTH STATUS[, HEADING]` | `ok`: the total is printed (on standard error under the heading); the collector exits with 0 |
//! | | `printed TEXT`: it is, but on standard error, because the file can't be written, or counts have grown (`--compare`); the collector exits with 1 |
//! | (any) | `error TEXT`: the run failed; the collector exits with 1 |
//!
//! If its standard input ends without `fini`, the run failed or the control process died: nothing is printed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use bubble::boot::BOOT_MAGIC;
use bubble::map::{CONTROL, RESULT, file};
use bubble::shared::{MAX_SLOTS, RunHeader};
use bubble::values::{HEAD, MOST_VALUES, VALUES, values_at};
use slice_runtime::tool_args;
use supervisor::{Moment, Worth};

use super::collect::{Asked, Trouble};
use super::collected::Collected;
use super::entry::{Entry, find};
use super::mapped::Mapped;
use super::names::Names;
use crate::tool::{SliceInfo, Told};

/// The collector's whole life. Returns its exit status.
pub fn run(tools: &[Entry], args: &[OsString]) -> i32 {
    // A reader who has gone away is an error of writing, which is told.
    // SAFETY: no handler is set.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let mut answers = match take_standard_output(args) {
        Ok(answers) => answers,
        Err(error) => {
            // If that can't be told either, the status says that something is wrong.
            let _ = writeln!(io::stderr(), "superpin: the collector cannot answer: {error}");
            return 1;
        }
    };
    let served = serve(tools, args, &mut io::stdin().lock(), &mut answers);
    let (kind, text) = match served {
        Ok(()) => return 0,
        Err(Trouble::Lost(error)) => ("error", error),
        Err(Trouble::Printed(why)) => ("printed", why),
    };
    // If nobody listens any more there is nobody to tell.
    let _ = writeln!(answers, "{kind} {}", text.trim_end().replace('\n', "\u{2028}"));
    1
}

/// The pipe for answers, moved away from where a tool's `println!` would write into it: that goes to standard error, or where an option names the
/// standard output, there.
fn take_standard_output(args: &[OsString]) -> io::Result<File> {
    let answers = io::stdout().as_fd().try_clone_to_owned()?;
    let number = args.iter().rev().nth(1).and_then(|arg| arg.to_str()?.parse::<RawFd>().ok());
    let standard = number.unwrap_or(libc::STDERR_FILENO);
    // SAFETY: both descriptors are open; the old standard output lives on in `answers`.
    if unsafe { libc::dup2(standard, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if standard > libc::STDERR_FILENO {
        // SAFETY: the control process passed the descriptor on for this use alone.
        drop(unsafe { OwnedFd::from_raw_fd(standard) });
    }
    Ok(answers.into())
}

fn serve(tools: &[Entry], args: &[OsString], commands: &mut dyn BufRead, answers: &mut File) -> Result<(), Trouble> {
    let mut commands = commands.lines();
    // Nothing is done, and no error is told, before it was asked for: whoever writes a command finds it read.
    let mut command = next(&mut commands)?;
    let memory = RunMemory::from_args(args)?;
    let header = memory.header()?;
    let arguments = tool_args(&header);
    let (checks, warms_up) = (header.checks_tool != 0, header.region.has_warm_up());
    let asked = Asked { process: header.process, checks, warms_up };
    let mut tools = Collected::new(&find(tools, &arguments)?, asked)?;
    tools.begin(&memory.descriptor, answers)?;
    let names = Names::start(&memory.descriptor)?;
    loop {
        names.check()?;
        let began = Moment::now();
        match &command {
            Command::Hello => {}
            Command::Fold { slot, slice, len } => {
                tools.fold(SliceInfo { number: *slice }, *slot, memory.result(*slot, *len)?.bytes())?;
            }
            Command::Before { slot } => {
                let values = Values(memory.writable(values_at(*slot), VALUES.size)?);
                values.put(&tools.before(values.get())?)?;
            }
            Command::Routine(line) => tools.routine(line),
            Command::Fini { worth, status, heading } => {
                tools.fini(Told { worth: *worth, status: *status, images: &names.images() }, heading)?
            }
        }
        names.check()?;
        let times = match command {
            Command::Fold { .. } => format!(" {} {}", began.nanoseconds(), Moment::now().nanoseconds()),
            _ => String::new(),
        };
        let answered = writeln!(answers, "ok{times}").and_then(|()| answers.flush());
        answered.map_err(|error| format!("cannot answer: {error}"))?;
        if matches!(command, Command::Fini { .. }) {
            return Ok(());
        }
        command = next(&mut commands)?;
    }
}

fn next(commands: &mut dyn Iterator<Item = io::Result<String>>) -> Result<Command, String> {
    match commands.next() {
        Some(line) => Command::parse(&line.map_err(|error| format!("cannot read commands: {error}"))?),
        None => Err("the control process ended before the run did".into()),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Command {
    Hello,
    Fold { slot: usize, slice: u64, len: u64 },
    Before { slot: usize },
    Routine(String),
    Fini { worth: Worth, status: i32, heading: String },
}

impl Command {
    fn parse(line: &str) -> Result<Self, String> {
        let unknown = || format!("the control process sent {line:?}, which this version of the collector doesn't know");
        if let Some(rest) = line.strip_prefix("fini ") {
            let (first, heading) = rest.split_once(", ").unwrap_or((rest, ""));
            let (worth, status) = first.rsplit_once(' ').ok_or_else(unknown)?;
            let worth = Worth::named(worth).ok_or_else(unknown)?;
            let status = status.parse().map_err(|_| unknown())?;
            return Ok(Command::Fini { worth, status, heading: heading.to_owned() });
        }
        if let Some(rest) = line.strip_prefix("routine ") {
            return Ok(Command::Routine(rest.to_owned()));
        }
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["hello"] => Ok(Command::Hello),
            ["fold", slot, slice, len] => {
                let (Ok(slot), Ok(slice), Ok(len)) = (slot.parse(), slice.parse(), len.parse()) else {
                    return Err(unknown());
                };
                if slot >= MAX_SLOTS || len > RESULT.size {
                    return Err(unknown());
                }
                Ok(Command::Fold { slot, slice, len })
            }
            ["before", slot] => match slot.parse() {
                Ok(slot) if slot < MAX_SLOTS => Ok(Command::Before { slot }),
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

/// The run memory, reached through its descriptor.
struct RunMemory {
    descriptor: OwnedFd,
}

impl RunMemory {
    fn from_args(args: &[OsString]) -> Result<Self, String> {
        let number = args.last().and_then(|arg| arg.to_str()?.parse::<RawFd>().ok());
        let number = number.filter(|&number| number > 2).ok_or("the collector needs the run memory's descriptor")?;
        // SAFETY: the control process passed the descriptor on for this use alone.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(number) } })
    }

    fn map(&self, offset: u64, len: u64) -> Result<Mapped, String> {
        Mapped::new(&self.descriptor, offset, len as usize)
            .map_err(|error| format!("cannot map the run memory: {error}"))
    }

    fn writable(&self, offset: u64, len: u64) -> Result<Mapped, String> {
        Mapped::writable(&self.descriptor, offset, len as usize)
            .map_err(|error| format!("cannot map the run memory: {error}"))
    }

    /// A copy of the run's header.
    fn header(&self) -> Result<Box<RunHeader>, String> {
        let mapped = self.map(file::CONTROL_AT, CONTROL.size)?;
        // SAFETY: the header is plain integers and lies at the start of CONTROL, which is page aligned; nobody writes
        // it any more.
        let header = Box::new(unsafe { ptr::read(mapped.start().cast::<RunHeader>()) });
        if header.magic == BOOT_MAGIC { Ok(header) } else { Err("the run memory has no header of this version".into()) }
    }

    /// The encoded result in a slot.
    fn result(&self, slot: usize, len: u64) -> Result<Mapped, String> {
        self.map(file::result_at(slot), len)
    }
}

/// A slot's [`VALUES`].
struct Values(Mapped);

impl Values {
    fn get(&self) -> &[u8] {
        let bytes = self.0.bytes();
        // SAFETY: a word starts the mapping, which is page aligned.
        let len = unsafe { *self.0.start().cast::<u64>() }.min(MOST_VALUES);
        &bytes[HEAD as usize..][..len as usize]
    }

    fn put(&self, bytes: &[u8]) -> Result<(), String> {
        if bytes.len() as u64 > MOST_VALUES {
            return Err(format!("what first passes have counted doesn't fit into {MOST_VALUES} bytes"));
        }
        let start = self.0.start().cast::<u8>();
        // SAFETY: both lie in the mapping, whose slice waits; nothing borrows it.
        unsafe {
            start.cast::<u64>().write(bytes.len() as u64);
            start.add(HEAD as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_checked() {
        assert_eq!(Command::parse("fold 3 17 8"), Ok(Command::Fold { slot: 3, slice: 17, len: 8 }));
        let fini = |worth, status, heading: &str| Ok(Command::Fini { worth, status, heading: heading.to_owned() });
        assert_eq!(Command::parse("fini exact 7"), fini(Worth::Exact, 7, ""));
        assert_eq!(Command::parse("fini at least 0, a, b"), fini(Worth::AtLeast, 0, "a, b"));
        assert_eq!(Command::parse("before 3"), Ok(Command::Before { slot: 3 }));
        assert_eq!(Command::parse("hello"), Ok(Command::Hello));
        for wrong in [
            "",
            "fini",
            "fini certain 0",
            "fini exact",
            "fini exact, 0",
            "fold",
            "fold 1 2",
            "fold 1 2 3 4",
            "fold 256 0 0",
            "fold 0 0 9999999999",
            "fold -1 0 0",
            "before",
            "before 256",
        ] {
            assert!(Command::parse(wrong).is_err(), "{wrong}");
        }
    }
}
