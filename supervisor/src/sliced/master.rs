//! The master: what each of its stops means for the slice that is being recorded.
//!
//! Between two stops it runs natively. [`Master::handle`] looks at a stop, records what there is to record, and says what
//! comes next ([`Next`]); it never waits for anything but the end of an operation that it began itself.
//!
//! Invariants:
//! * `call` is set exactly between a call's entry stop and its exit stop.
//! * After an interrupt was sent and until it has arrived (`interrupt_sent`), no system call is made: an interrupt
//!   inside one could change what the app sees of it.
//! * `interrupted` holds the number of a call that was broken off and will be made again, until it is or a handler runs.

use bubble::shared::{End, SharedContents};
use machine::{Gpr, Memory, Registers};
use syscall_replay::table::{self, Class, Special};
use syscall_replay::{Exit as Recorded, Pending, Recorder, is_error, is_restart};
use tracee::{BREAKPOINTS, Parent, Stop, Stopped, TraceError};

use super::check_calls::Before;
use super::clock::{self, Wish};
use super::decide::{self, Plan, SliceState};
use super::ends::{call_end, entry_registers, replaces_registers, returned_to};
use super::files::KeptFiles;
use super::huge_pages::HugePages;
use super::in_process::InProcess;
use super::processor::{self, Processor};
use super::random::RandomInstructions;
use super::shared_maps::{Unstable, is_reshaped, is_shared_with_children, others_attach, written_by_others};
use super::slices::Recording;
use crate::entry::Prepared;
use crate::error::Failure;
use crate::family::Heritage;
use crate::report::Boundary;
use crate::settings::Settings;
use crate::takeover::access;

const SECOND_THREAD: &str = "the app starts a second thread: sliced mode (-sp 1) doesn't follow threads yet. \
    The app went on without superpin to its end; there is no total. Serial mode is -sp 0";
const FOREIGN_CALL: &str = "the app makes a 32-bit system call (int 0x80): superpin doesn't follow those. \
    The app went on without superpin to its end; there is no total";
const SHARED_PROCESS: &str = "the app starts a process that shares its memory: sliced mode (-sp 1) doesn't follow \
    those yet. The app went on without superpin to its end; there is no total. Serial mode is -sp 0";

const OTHER_NUMBERS: &str = "the app's next processes get a process namespace of their own: in sliced mode (-sp 1) its slices would be the first \
    there. The app went on without superpin to its end; there is no total. Serial mode is -sp 0";

/// What comes after a stop.
pub enum Next {
    /// The master goes on; the signal is delivered.
    Resume(Stopped, i32),
    /// It was stopped by a stopping signal and stays so.
    Stay(Stopped),
    /// The slice ends.
    Cut(Stopped, Cut),
    /// The time for the slice is over, but here it can't be cut: ask again soon.
    AskAgain(Stopped),
    /// The app does what sliced mode doesn't follow.
    GiveUp(Stopped, Stop, Failure),
}

/// The end of a slice.
pub struct Cut {
    /// Why.
    pub kind: Boundary,
    /// Where; `None` before the first slice.
    pub end: Option<Box<End>>,
    /// What the next slice starts with.
    pub then: Then,
}

/// What the next slice starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The state as it is.
    Fork,
    /// The handler of this signal, at whose delivery the master stands.
    Handler(i32),
    /// A program that was just loaded.
    Image,
    /// There is none: the app ends by a call.
    Nothing,
    /// There is none: the app is killed by a signal.
    Death {
        /// Which.
        signal: i32,
        /// Whether the instruction at hand raises it again if it is executed again.
        by_instruction: bool,
    },
}

struct Call {
    pending: Pending,
    plan: Plan,
    /// Memory at entry, if it is to be compared.
    memory: Option<Before>,
    /// Registers at entry, where they will be needed or won't be the same at the exit.
    entry: Option<Registers>,
    /// Memory at entry that other processes may write, if the slice is to end at this call.
    shared: SharedContents,
}

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
    has_company: bool,
    /// Processes that it has started.
    pub children: u64,
    /// Files whose mappings change when the app writes them.
    pub unstable: Unstable,
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
    huge_pages: HugePages,
    max_records: u32,
    verify_calls: bool,
    checks_calls: bool,
    recorder: Recorder,
    /// Files that slices map.
    pub files: KeptFiles,
    call: Option<Call>,
    pub(super) interrupted: Option<u64>,
    /// That call was not broken off by the kernel but put off by us: the master stands at its `syscall` instruction again.
    pub(super) is_rewound: bool,
    /// The call that the slice's last record is about, until another record or slice.
    pub(super) last_recorded: Option<u64>,
    /// A breakpoint is set behind a repeated string instruction.
    pub(super) awaits_breakpoint: bool,
    /// A signal that came in the middle of one.
    pub(super) put_off: Option<libc::siginfo_t>,
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
            clock_open: true,
            clock_wish: Wish::Readings,
            is_new_image: false,
            is_by_name: true,
            processor: Processor::new(pid),
            random: RandomInstructions::new(),
            in_process: InProcess::new(pid, settings.record_in_process && !settings.check_calls),
            huge_pages: HugePages::new(settings.huge_pages),
            max_records: settings.max_records,
            verify_calls: settings.verify_calls,
            checks_calls: settings.check_calls,
            recorder: Recorder::new(),
            files: KeptFiles::new(pid),
            call: None,
            interrupted: None,
            is_rewound: false,
            last_recorded: None,
            awaits_breakpoint: false,
            put_off: None,
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
            file_pages: self.file_pages(),
            at: None,
            name: name.to_owned(),
        }
    }

    /// Whether it is inside a system call.
    pub fn is_in_call(&self) -> bool {
        self.call.is_some()
    }

    /// Looks at a stop.
    ///
    /// # Errors
    /// If the master was killed, or the kernel refuses something.
    pub fn handle(&mut self, stopped: Stopped, stop: Stop, slice: &mut Recording) -> Result<Next, Failure> {
        match stop {
            Stop::SyscallEntry { number, args } => self.entry(stopped, number, args, slice),
            Stop::ForeignSyscall => {
                Ok(Next::GiveUp(stopped, Stop::ForeignSyscall, Failure::Unsupported(FOREIGN_CALL.to_owned())))
            }
            Stop::SyscallExit { result } => self.exit(stopped, result, slice),
            Stop::Signal(info) => self.signal(stopped, info, slice),
            Stop::Exec => self.exec(stopped),
            Stop::Interrupted => self.arrive(stopped, slice),
            Stop::Group(_) => Ok(Next::Stay(stopped)),
            Stop::HandlerEntered | Stop::Started { .. } | Stop::Other(_) => Ok(Next::Resume(stopped, 0)),
        }
    }

    fn entry(&mut self, mut stopped: Stopped, number: u64, args: [u64; 6], slice: &Recording) -> Result<Next, Failure> {
        if self.interrupt_sent {
            self.rewind(number);
            return Ok(Next::Resume(self.await_interrupt(stopped)?, 0));
        }
        if processor::matters_to(number) {
            self.processor.give_back();
        }
        self.interrupted = None;
        self.is_rewound = false;
        self.last_recorded = None;
        let entered = self.recorder.enter(number, args, &stopped);
        self.in_process.before(&stopped, number, &args);
        self.random.before_call(&mut stopped, number, &args);
        let state = SliceState { records: slice.records(), max_records: self.max_records, is_due: self.is_due };
        let class = match entered.class {
            Class::Replay if self.has_company => Class::Boundary,
            Class::Repeat if self.shares_memory && is_reshaped(self.pid, number, &args, &self.unstable) => {
                Class::Boundary
            }
            Class::Replay if self.unstable.is_written(self.pid, number, &args) => Class::Boundary,
            class => class,
        };
        let class = match Wish::set_by(number, &args) {
            // The master's setting is ours, the app's is only kept.
            Some(wish) => Class::Refuse { result: wish.err().unwrap_or(0) },
            None => class,
        };
        let plan = decide::plan(class, state);
        let shared = match plan {
            Plan::Record(_) | Plan::GiveUp => SharedContents::default(),
            Plan::Cut(..) | Plan::StartProcess | Plan::Exec | Plan::Exit => self.shared_contents(&stopped),
        };
        if numbers_children_anew(number, &args, self.pid) {
            return Ok(give_up(stopped, number, args, OTHER_NUMBERS));
        }
        if plan == Plan::StartProcess {
            // The new process runs without us, or has slices of its own.
            self.random.traps.lift(&mut stopped);
        }
        match plan {
            Plan::GiveUp => return Ok(give_up(stopped, number, args, SECOND_THREAD)),
            Plan::StartProcess if shares_all(number, &args, &stopped) => {
                return Ok(give_up(stopped, number, args, SHARED_PROCESS));
            }
            Plan::StartProcess if !self.clock_open => {
                // The new process runs natively and by itself, so it must be able to read the clock.
                self.clock_open = true;
                self.interrupt_sent = false;
                self.rewind(entered.pending.number);
                return Ok(Next::Resume(clock::open_at_entry(stopped, self.clock_wish)?, 0));
            }
            Plan::Exit => {
                let registers = entry_registers(&stopped.registers()?, entered.pending.number);
                let end = Some(call_end(&registers, shared));
                return Ok(Next::Cut(stopped, Cut { kind: Boundary::Exit, end, then: Then::Nothing }));
            }
            Plan::Record(Some(_)) | Plan::Cut(_, Some(_)) => {
                let mut registers = stopped.registers()?;
                registers.set_syscall_number(-1);
                stopped.set_registers(&registers)?;
            }
            _ => {}
        }
        let entry = match plan {
            Plan::Record(_) if !replaces_registers(entered.pending.number) && !table::may_kill(number, &args) => None,
            _ => Some(entry_registers(&stopped.registers()?, entered.pending.number)),
        };
        let compared = self.checks_calls && class == Class::Replay;
        let memory = compared.then(|| Before::read(&stopped));
        self.call = Some(Call { pending: entered.pending, plan, memory, entry, shared });
        Ok(Next::Resume(stopped, 0))
    }

    fn exit(&mut self, mut stopped: Stopped, result: i64, slice: &mut Recording) -> Result<Next, Failure> {
        let Some(call) = self.call.take() else { return Ok(Next::Resume(stopped, 0)) };
        let mut result = result as u64;
        if let Plan::Record(Some(refusal)) | Plan::Cut(_, Some(refusal)) = call.plan {
            result = refusal as u64;
            let mut registers = stopped.registers()?;
            registers.set(Gpr::Rax, result);
            stopped.set_registers(&registers)?;
        }
        let returns_from_handler = call.pending.rule.class == Class::Special(Special::SignalReturn);
        // rax is then the app's own, whatever it says.
        if is_restart(result) && !returns_from_handler {
            slice.log(|log| self.recorder.exit(call.pending, result, &stopped, log, &mut self.files));
            self.interrupted = Some(call.pending.number);
            return Ok(Next::Resume(stopped, 0));
        }
        if !is_error(result) {
            self.clock_wish.tell(call.pending.number, &call.pending.args, &mut stopped);
        }
        if let Some(before) = &call.memory
            && let Err(error) = before.compare(&stopped, &call.pending, result)
        {
            return Ok(Next::GiveUp(stopped, Stop::SyscallExit { result: result as i64 }, error));
        }
        self.note_effects(&call.pending, result);
        let made = (call.pending.number, &call.pending.args);
        self.in_process.after(&mut stopped, self.prepared.gate, made, result)?;
        if !is_error(result) {
            if call.pending.number as i64 == libc::SYS_mmap {
                self.huge_pages.after_mmap(&mut stopped, self.prepared.gate, &call.pending.args, result)?;
            }
            self.random.after_call(&mut stopped, call.pending.number, &call.pending.args, result)?;
        }
        let kind = match call.plan {
            Plan::Record(_) if self.is_due => Boundary::Timeout,
            Plan::Record(_) if returns_from_handler => match returned_to(&stopped, call.entry.as_ref())? {
                Some((to, xstate)) if slice.log(|log| log.signal_return(&to, &xstate).is_ok()) => {
                    return Ok(Next::Resume(stopped, 0));
                }
                _ => Boundary::Signal,
            },
            Plan::Record(_) => {
                let recorder = &mut self.recorder;
                match slice.log(|log| recorder.exit(call.pending, result, &stopped, log, &mut self.files)) {
                    Recorded::Recorded | Recorded::Restarts => {
                        let number = call.pending.number;
                        self.last_recorded = (!replaces_registers(number)).then_some(number);
                        return Ok(Next::Resume(stopped, 0));
                    }
                    Recorded::Boundary(_) => Boundary::Log,
                }
            }
            Plan::Cut(kind, _) => kind,
            Plan::StartProcess => {
                self.children += u64::from(!is_error(result));
                self.has_company |= self.shares_memory && is_shared_with_children(self.pid);
                Boundary::Process
            }
            Plan::Exec | Plan::Exit | Plan::GiveUp => Boundary::Syscall,
        };
        // A call that could have been recorded, had the slice not been over.
        if self.verify_calls && matches!(kind, Boundary::Timeout | Boundary::Records) {
            if !returns_from_handler {
                slice.log_last_call(|log| self.recorder.exit(call.pending, result, &stopped, log, &mut self.files));
            } else if let Some((to, xstate)) = returned_to(&stopped, call.entry.as_ref())? {
                // Without room the end isn't verified.
                let _ = slice.log_last_call(|log| log.signal_return(&to, &xstate));
            }
        }
        let entry = match call.entry {
            Some(entry) => entry,
            None => entry_registers(&stopped.registers()?, call.pending.number),
        };
        let end = Some(call_end(&entry, call.shared));
        Ok(Next::Cut(stopped, Cut { kind, end, then: Then::Fork }))
    }

    /// What the app sees in memory that other processes may write.
    fn shared_contents(&self, stopped: &Stopped) -> SharedContents {
        if !self.shares_memory {
            return SharedContents::default();
        }
        match written_by_others(self.pid, self.has_company).as_slice() {
            [] => SharedContents::default(),
            ranges => sigmatch::shared_contents(ranges, stopped),
        }
    }

    /// What later forks need to know of a call that has succeeded.
    fn note_effects(&mut self, pending: &Pending, result: u64) {
        match pending.number as i64 {
            libc::SYS_brk => self.prepared.brk = result,
            libc::SYS_mmap => {
                let kind = pending.args[3] as i32 & libc::MAP_TYPE;
                self.shares_memory |= kind == libc::MAP_SHARED || kind == libc::MAP_SHARED_VALIDATE;
                let is_file = pending.args[3] as i32 & libc::MAP_ANONYMOUS == 0;
                if is_file && self.files.may_change(pending.args[4] as i32) {
                    self.unstable.add(self.pid, result);
                    self.shares_memory = true;
                }
            }
            libc::SYS_shmat => {
                self.shares_memory = true;
                self.has_company |= others_attach(pending.args[0]);
            }
            libc::SYS_prctl => {
                if let Some(Ok(wish)) = Wish::set_by(pending.number, &pending.args) {
                    self.clock_wish = wish;
                }
            }
            number if access::changes_with(number as u64) => self.see_identity(),
            _ => {}
        }
    }

    fn exec(&mut self, stopped: Stopped) -> Result<Next, Failure> {
        let call = self.call.take();
        let stopped = stopped.finish_exec()?;
        self.shares_memory = false;
        self.has_company = false;
        self.unstable = Unstable::default();
        self.in_process.new_image();
        let end = call.and_then(|call| Some(call_end(&call.entry?, call.shared)));
        Ok(Next::Cut(stopped, Cut { kind: Boundary::Exec, end, then: Then::Image }))
    }

    /// Hands it over to the recorder inside it, if it is to go on without a signal and all is as usual. `records` were written
    /// for the slice, and there is room for `room` bytes more.
    ///
    /// # Errors
    /// If it was killed.
    pub fn arm(&mut self, stopped: &mut Stopped, records: u32, room: usize) -> Result<(), Failure> {
        let is_busy = self.is_in_call() || self.interrupted.is_some() || self.awaits_breakpoint;
        let is_called = self.is_due || self.interrupt_sent || self.put_off.is_some();
        if is_busy || is_called || self.has_company || !self.unstable.is_empty() {
            return Ok(());
        }
        let most = self.max_records.saturating_sub(records);
        self.in_process.arm(stopped, self.prepared.gate, most.into(), room)
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

fn give_up(stopped: Stopped, number: u64, args: [u64; 6], why: &str) -> Next {
    Next::GiveUp(stopped, Stop::SyscallEntry { number, args }, Failure::Unsupported(why.to_owned()))
}

/// A call that shares all memory with a process that runs at the same time, unlike vfork.
fn shares_all(number: u64, args: &[u64; 6], memory: &impl Memory) -> bool {
    let flags = match number as i64 {
        libc::SYS_clone => args[0],
        libc::SYS_clone3 => memory.read_u64(args[0]).unwrap_or(0),
        _ => 0,
    };
    let (shared, waits) = (libc::CLONE_VM as u64, libc::CLONE_VFORK as u64);
    flags & shared != 0 && flags & waits == 0
}

/// A call after which the processes that process `pid` starts, and so forks of it, are in another process namespace. Whoever is the first in one is
/// its `init`, with whose end all others there end.
fn numbers_children_anew(number: u64, args: &[u64; 6], pid: i32) -> bool {
    let flag = libc::CLONE_NEWPID as u64;
    match number as i64 {
        libc::SYS_unshare => args[0] & flag != 0,
        libc::SYS_setns if args[1] == 0 => std::fs::read_link(format!("/proc/{pid}/fd/{}", args[0] as i32))
            .is_ok_and(|link| link.to_string_lossy().starts_with("pid:")),
        libc::SYS_setns => args[1] & flag != 0,
        _ => false,
    }
}
