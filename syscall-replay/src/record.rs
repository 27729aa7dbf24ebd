//! The control process's side: from a call's entry and exit in the master to a record.

use machine::Memory;

use crate::effects::{self, Entry, Range, View};
use crate::log::{CallRecord, LogFull, LogWriter, WaitingCall};
use crate::result::{is_error, is_restart};
use crate::table::{self, Class, Rule};

/// Keeps files that the app maps, for slices to map later.
pub trait Files {
    /// Takes a copy of the master's descriptor `fd` that will show the same contents for as long as a slice may map it,
    /// and returns the number that the file has in the run. `None` if that can't be promised.
    fn keep(&mut self, fd: i32) -> Option<u32>;
}

/// No file can be kept: each file mapping is a boundary.
pub struct NoFiles;

impl Files for NoFiles {
    fn keep(&mut self, _fd: i32) -> Option<u32> {
        None
    }
}

/// A call that the master has entered.
#[derive(Clone, Copy, Debug)]
pub struct PendingCall {
    /// rax at entry.
    pub number: u64,
    /// Arguments.
    pub args: [u64; 6],
    /// What the table says.
    pub rule: Rule,
    entry: Entry,
    input_hash: u64,
}

impl PendingCall {
    /// Where the call wrote, now that it has left `result` in rax: what a record of it holds, or more.
    pub fn written(&self, result: u64, memory: &dyn Memory) -> Vec<Range> {
        effects::written(&self.rule, &self.args, result, self.entry, memory)
    }

    /// Where the call may write, when it is about to be made.
    pub fn writable(&self, memory: &dyn Memory) -> Vec<Range> {
        effects::writable(&self.rule, &self.args, memory)
    }

    /// What was noted at its entry to know at its exit where it has written: see [`Entry::room`].
    pub fn room(&self) -> u64 {
        self.entry.room()
    }

    /// The call, as the log tells of a thread that is in it.
    pub fn waiting(&self) -> WaitingCall {
        WaitingCall { number: self.number, args: self.args, input_hash: self.input_hash, owned: None }
    }

    fn call(&self, result: u64) -> CallRecord<'_> {
        let args = &self.args[..self.rule.arity()];
        CallRecord { number: self.number as u32, args, result, input_hash: self.input_hash }
    }
}

/// What the table decided about an entered call.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// What is done about it. For [`Class::Refuse`] the caller skips the call and makes its result the refusal's,
    /// then reports the exit as for [`Class::Replay`]: the refusal is recorded.
    pub class: Class,
    /// To be passed to [`Recorder::exit`].
    pub pending: PendingCall,
}

/// How a call's exit was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallExit {
    /// There is a record.
    Recorded,
    /// The kernel will make the call again before user code goes on: nothing to record yet.
    Restarts,
    /// It took place, but can't be recorded: the slice ends at it.
    Boundary(Unrecorded),
}

/// Why a call can't be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrecorded {
    /// The class says so.
    #[error("it is never recorded")]
    Class,
    /// No room.
    #[error(transparent)]
    Full(#[from] LogFull),
    /// A mapped file could not be kept.
    #[error("the file behind descriptor {fd} cannot be kept for slices")]
    File {
        /// The app's descriptor.
        fd: i32,
    },
}

/// Turns entries and exits into records.
#[derive(Debug, Default)]
pub struct Recorder {
    /// A call that the kernel interrupted and will go on with as `restart_syscall`.
    interrupted: Option<PendingCall>,
}

impl Recorder {
    /// A recorder for one process.
    pub fn new() -> Self {
        Self::default()
    }

    /// The master has entered a call. `number` is what the kernel takes as its number (`orig_rax`).
    pub fn enter(&mut self, number: u64, args: [u64; 6], memory: &dyn Memory) -> Entered {
        if let Some(pending) = self.interrupted.take()
            && number as i64 == libc::SYS_restart_syscall
        {
            // To the app this is still the call that it made.
            return Entered { class: pending.rule.class, pending };
        }
        let rule = table::lookup(number, &args, memory);
        let entry = Entry::note(&rule, &args, memory);
        let input_hash = match (rule.row, rule.class) {
            (Some(row), Class::Replay) => effects::input_hash(row, &args, memory),
            _ => 0,
        };
        Entered { class: rule.class, pending: PendingCall { number, args, rule, entry, input_hash } }
    }

    /// The master has left the call with `result` in rax.
    pub fn exit(
        &mut self,
        pending: PendingCall,
        result: u64,
        memory: &dyn Memory,
        log: &mut LogWriter<'_>,
        files: &mut dyn Files,
    ) -> CallExit {
        if is_restart(result) {
            self.interrupted = Some(pending);
            return CallExit::Restarts;
        }
        match write(&pending, result, memory, log, files) {
            Ok(()) => CallExit::Recorded,
            Err(why) => CallExit::Boundary(why),
        }
    }

    /// A handler runs before the call that was broken off is made again: to the app it has failed, or it is another call afterwards. What it has
    /// written is what it writes when it fails. `None` if none was broken off.
    pub fn broken_off(
        &mut self,
        memory: &dyn Memory,
        log: &mut LogWriter<'_>,
        files: &mut dyn Files,
    ) -> Option<CallExit> {
        let pending = self.interrupted.take()?;
        Some(self.exit(pending, -i64::from(libc::EINTR) as u64, memory, log, files))
    }

    /// The master has left a call during which others have stored to memory that it shares with them. `news`: what it sees there since then.
    pub fn exit_with_news(
        pending: &PendingCall,
        result: u64,
        memory: &dyn Memory,
        news: &[View],
        log: &mut LogWriter<'_>,
    ) -> CallExit {
        let own = pending.written(result, memory).into_iter().map(|range| {
            let mut bytes = vec![0; range.len.min(log.room()) as usize];
            let len = memory.read_prefix(range.address, &mut bytes);
            bytes.truncate(len);
            View { address: range.address, bytes }
        });
        let all: Vec<View> = own.filter(|view| !view.bytes.is_empty()).chain(news.iter().cloned()).collect();
        Self::file_written(pending, result, &all, log)
    }

    /// The master has left a call that starts or ends a thread. `written`: the words that it has written.
    pub fn thread_changed(
        pending: &PendingCall,
        result: u64,
        memory: &dyn Memory,
        written: &[Range],
        log: &mut LogWriter<'_>,
    ) -> CallExit {
        match log.syscall(pending.call(result), written, memory) {
            Ok(()) => CallExit::Recorded,
            Err(full) => CallExit::Boundary(full.into()),
        }
    }

    /// The master has left a call that has written a file, which the app's mappings show like this.
    pub fn file_written(pending: &PendingCall, result: u64, views: &[View], log: &mut LogWriter<'_>) -> CallExit {
        match log.file_write(pending.call(result), views) {
            Ok(()) => CallExit::Recorded,
            Err(full) => CallExit::Boundary(full.into()),
        }
    }
}

fn write(
    pending: &PendingCall,
    result: u64,
    memory: &dyn Memory,
    log: &mut LogWriter<'_>,
    files: &mut dyn Files,
) -> Result<(), Unrecorded> {
    let PendingCall { number, args, rule, entry, .. } = pending;
    let number = *number as u32;
    let call = pending.call(result);
    match rule.class {
        Class::Boundary | Class::Special(_) => Err(Unrecorded::Class),
        Class::Replay | Class::Refuse { .. } => {
            let written = effects::written(rule, args, result, *entry, memory);
            Ok(log.syscall(call, &written, memory)?)
        }
        Class::Repeat => {
            let source = match mapped_file(number, args, result) {
                None => None,
                Some(fd) => Some(files.keep(fd).ok_or(Unrecorded::File { fd })?),
            };
            Ok(log.remap(call, source)?)
        }
    }
}

/// The descriptor of the file that a successful `mmap` mapped.
fn mapped_file(number: u32, args: &[u64; 6], result: u64) -> Option<i32> {
    let is_file = i64::from(number) == libc::SYS_mmap && args[3] as i32 & libc::MAP_ANONYMOUS == 0;
    (is_file && !is_error(result)).then_some(args[4] as i32)
}
