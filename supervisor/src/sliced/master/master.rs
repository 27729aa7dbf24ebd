//! The master: what each of its stops means for the slice that is being recorded.
//!
//! Between two stops it runs natively. `stops` looks at a stop, records what there is to record, and says what
//! comes next ([`crate::sliced::boundaries::Next`]); it never waits for anything but the end of an operation that it began itself.
//!
//! Invariants:
//! * `call` is set exactly between a call's entry stop and its exit stop.
//! * After an interrupt was sent and until it has arrived (`interrupt_sent`), no system call is made: an interrupt
//!   inside one could change what the app sees of it.
//! * `interrupted` holds the number of a call that was broken off and will be made again, until it is or a handler runs.

use bubble::shared::{End, SharedContents};
use syscall_replay::{Recorder, table};
use tracee::{BREAKPOINTS, Parent, Stopped, TraceError};

use super::call::Call;
use super::hold::Hold;
use crate::app::{KeptFiles, OwnLimits, Prepared, Unstable, is_shared_with_children};
use crate::base::{Failure, Processor};
use crate::command::{CallLimit, Settings};
use crate::events::Passing;
use crate::follow::Heritage;
use crate::run_memory::ClaimedSlot;
use crate::sliced::boundaries::{Amount, call_end, most_bytes};
use crate::sliced::instructions::{RandomInstructions, Wish};
use crate::sliced::memory::{FileWrites, HugePages, OwnMemory, SharedCopies};
use crate::sliced::recorder::{InProcess, Room};
use crate::takeover::access;

/// The master process.
pub struct Master {
    /// Process id.
    pub pid: i32,
    /// Whose child it is.
    pub parent: Parent,
    /// Gate and program break.
    pub prepared: Prepared,
    /// The slice's time is over.
    pub is_due: bool,
    /// An interrupt is on its way, unless another stop has discarded it.
    pub interrupt_sent: bool,
    /// It may have mappings that a fork would share with it.
    pub shares_memory: bool,
    /// Other processes may write memory that it shares with them: each call that waits for them is a boundary, so that slices see
    /// what they wrote.
    pub(in crate::sliced) has_company: bool,
    /// Processes that it has started.
    pub children: u64,
    /// Files whose mappings change when the app writes them.
    pub unstable: Unstable,
    /// Its calls that write these.
    pub file_writes: FileWrites,
    /// Whether it may write its memory by a file.
    pub own_memory: OwnMemory,
    /// What was copied for slices of the memory that it shares.
    pub shared_copies: SharedCopies,
    /// Resource limits that it has set for itself.
    pub limits: OwnLimits,
    /// Reading the time stamp counter isn't trapped at the moment.
    pub clock_open: bool,
    /// What the app has set for such readings.
    pub clock_wish: Wish,
    /// It has executed nothing of its program yet.
    pub is_new_image: bool,
    /// Slices may open the control process's descriptors by their names, see [`access`].
    pub is_by_name: bool,
    /// Where it runs.
    pub processor: Processor,
    /// Where it executes `rdrand` and the like.
    pub random: RandomInstructions,
    /// Records its calls without stops.
    pub in_process: InProcess,
    /// Signals that wait until it has got on.
    pub(in crate::sliced) hold: Hold,
    pub(in crate::sliced) huge_pages: HugePages,
    pub(in crate::sliced) call_limit: CallLimit,
    pub(in crate::sliced) verify_calls: bool,
    pub(in crate::sliced) checks_calls: bool,
    pub(in crate::sliced) recorder: Recorder,
    /// Files that slices map.
    pub files: KeptFiles,
    pub(in crate::sliced) call: Option<Call>,
    pub(in crate::sliced) interrupted: Option<u64>,
    /// That call was not broken off by the kernel but put off by us: the master stands at its `syscall` instruction again.
    pub(in crate::sliced) is_rewound: bool,
    /// A call that failed because of a program that is executed is made a second time.
    pub(in crate::sliced) tries_again: bool,
    /// The call that the slice's last record is about, until another record or slice.
    pub(in crate::sliced) last_recorded: Option<u64>,
    /// A breakpoint is set behind a repeated string instruction.
    pub(in crate::sliced) awaits_breakpoint: bool,
    /// A signal that came in the middle of one.
    pub(in crate::sliced) put_off: Option<libc::siginfo_t>,
    /// Passes on to it what superpin is sent.
    pub(in crate::sliced) passing: Passing,
}

impl Master {
    /// A process before its first instruction.
    pub fn new(pid: i32, parent: Parent, settings: &Settings) -> Self {
        Self {
            pid,
            parent,
            prepared: Prepared { gate: 0, brk: 0 },
            is_due: false,
            interrupt_sent: false,
            shares_memory: false,
            has_company: false,
            children: 0,
            unstable: Unstable::default(),
            file_writes: FileWrites::default(),
            own_memory: OwnMemory::default(),
            shared_copies: SharedCopies::default(),
            limits: OwnLimits::default(),
            clock_open: true,
            clock_wish: Wish::Readings,
            is_new_image: false,
            is_by_name: true,
            processor: Processor::new(pid),
            random: RandomInstructions::new(),
            in_process: InProcess::new(pid, settings.record_in_process && !settings.check_calls),
            hold: Hold::none(pid),
            huge_pages: HugePages::new(settings.huge_pages),
            call_limit: settings.call_limit,
            verify_calls: settings.verify_calls,
            checks_calls: settings.check_calls,
            recorder: Recorder::new(),
            files: KeptFiles::new(pid),
            call: None,
            interrupted: None,
            is_rewound: false,
            tries_again: false,
            last_recorded: None,
            awaits_breakpoint: false,
            put_off: None,
            passing: Passing::new(pid),
        }
    }

    /// It is a copy of a process that is followed.
    ///
    /// # Errors
    /// If it was killed.
    pub fn inherit(&mut self, process: &mut Stopped, heritage: Heritage) -> Result<(), Failure> {
        self.prepared = heritage.prepared(process)?;
        self.clock_wish = Wish::of(process, self.prepared.gate)?;
        self.shares_memory = heritage.shares_memory;
        self.has_company = heritage.shares_memory && is_shared_with_children(self.pid);
        self.unstable = heritage.unstable;
        self.files.inherit(heritage.kept);
        self.limits = heritage.limits;
        self.in_process.inherit(heritage.file_pages.clone());
        self.see_identity();
        Ok(self.random.inherit(process, heritage.file_pages)?)
    }

    /// Looks at what it may do as its user, where it sees its files.
    pub fn see_identity(&mut self) {
        self.is_by_name = access::is_by_name(self.pid);
        self.files.set_reachable(self.is_by_name);
    }

    /// Pages of files that hold bytes of ours, or once did: slices put back the file's.
    pub fn file_pages(&self) -> Vec<u64> {
        [self.in_process.pages(), self.random.traps.pages()].concat()
    }

    /// What a copy of it needs to know.
    pub fn heritage(&self, name: &str) -> Heritage {
        Heritage {
            gate: self.prepared.gate,
            shares_memory: self.shares_memory,
            unstable: self.unstable.clone(),
            kept: self.files.copies(),
            limits: self.limits.clone(),
            file_pages: self.file_pages(),
            at: None,
            name: name.to_owned(),
        }
    }

    /// Whether it is inside a system call.
    pub fn is_in_call(&self) -> bool {
        self.call.is_some()
    }

    /// Hands it over to the recorder inside it, if it is to go on without a signal and all is as usual. `recorded`: for the slice in `slot`,
    /// so far.
    ///
    /// # Errors
    /// If it was killed.
    pub fn arm(&mut self, stopped: &mut Stopped, slot: &ClaimedSlot, recorded: Amount) -> Result<(), Failure> {
        let is_busy = self.is_in_call() || self.interrupted.is_some() || self.awaits_breakpoint;
        let is_called = self.is_due || self.interrupt_sent || self.put_off.is_some() || self.hold.is_on();
        // The recorder would read the counter.
        let faults = self.clock_wish == Wish::Faults;
        if is_busy || is_called || faults || self.has_company || !self.unstable.is_empty() {
            return Ok(());
        }
        let room = Room {
            records: recorded.left(self.call_limit),
            bytes: recorded.bytes as u64..most_bytes(self.call_limit) as u64,
            run: slot.run_memory(),
            slot: slot.index(),
        };
        self.in_process.arm(stopped, self.prepared.gate, &room)
    }

    /// It was killed without another stop. Where it has killed itself the slice ends at that call.
    pub fn end_of_killed(&mut self) -> Option<Box<End>> {
        let call = self.call.take()?;
        table::may_kill(call.pending.number, &call.pending.args)
            .then(|| call.entry.as_ref().map(|entry| call_end(entry, SharedContents::default())))?
    }

    /// To be called before it is let go for good.
    ///
    /// # Errors
    /// If it was killed.
    pub fn clear_breakpoints(&mut self, stopped: &mut Stopped) -> Result<(), TraceError> {
        self.random.traps.lift(stopped);
        self.awaits_breakpoint = false;
        (0..BREAKPOINTS).try_for_each(|n| stopped.clear_breakpoint(n))
    }
}
