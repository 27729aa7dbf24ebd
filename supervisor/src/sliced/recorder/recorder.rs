//! Recording in the master's own process, without stops.
//!
//! A system call under ptrace costs two stops, some hundred times a bare call. A master that makes many small calls is therefore
//! handed over to a recorder that runs inside it (`armed`): its hot `syscall` instructions are patched to lead there, and all
//! others are made to stop by Syscall User Dispatch. Hot `rdtsc` and `rdtscp` are patched likewise; the others trap as ever. The recorder makes
//! the calls that it knows ([`crate::sliced::recorder::code::table`]), reads the counter, writes the records
//! that the control process would have written, and leaves everything else to the control process.
//!
//! Invariant: whenever anything else looks at the master, it is pristine. The first stop of an armed master, whatever its reason, takes
//! it back ([`super::take_back`]): no instruction is patched then, none of its registers is the recorder's, and its records are in the log. So slices
//! are forks of a pristine master, and nothing outside this folder knows of patches, with one exception: pages of files hold bytes
//! of ours where nobody executes or reads them ([`InProcess::pages`]); slices put the file's pages back when they boot.
//!
//! What the app could see of it: its own code, while it reads that between two small calls.

use std::collections::BTreeSet;
use std::ops::Range;

use syscall_replay::is_error;
use tracee::{Mode, Stop, Stopped};

use super::files::{KnownFiles, names_maps};
use super::install::{dispatch, map, remove, undispatch};
use super::logs::{Logs, Room};
use super::policy::Policy;
use super::protection::{Protection, Terms};
use super::shared::Shared;
use super::take_back::{ArmedStop, Came};
use crate::app::all_kept;
use crate::base::Failure;
use crate::sliced::instructions::{ClockInstruction, Counter};
use crate::sliced::recorder::code::{Labels, NEXT, PatchedKind, ROOM, table};
use crate::sliced::recorder::patching::{Follows, MidPatch, Sites};
use crate::sliced::slices::Recording;

/// The recorder of a master.
pub struct InProcess {
    pub(super) is_wanted: bool,
    pub(super) pid: i32,
    pub(super) labels: Labels,
    pub(super) shared: Option<Shared>,
    /// The recorder lies in the program image.
    is_set_up: bool,
    /// It could not be brought there.
    is_impossible: bool,
    /// The master is in its care.
    is_armed: bool,
    /// Threads whose calls elsewhere may raise SIGSYS. Where there are several, only as long as the master is in its care.
    pub(super) dispatched: BTreeSet<i32>,
    /// Those in its care, in the order of their areas.
    pub(super) care: Vec<i32>,
    /// Records that it may write since then.
    most: u64,
    logs: Logs,
    /// The app wants its memory locked.
    locks_memory: bool,
    pub(super) sites: Sites,
    pub(super) policy: Policy,
    /// Memory whose protection the app changes.
    pub(super) protection: Protection,
    /// Signals that the app ignores, if that is known.
    pub(super) ignored: Option<u64>,
    /// The app's descriptors that show its mappings, the recorder's among them.
    maps_files: BTreeSet<u64>,
    pub(super) files: KnownFiles,
    /// What the app's readings of the time stamp counter give.
    counter: Counter,
    /// What it has recorded: system calls, and readings of the time stamp counter.
    recorded: u64,
    /// There was no memory for the record of a call that was made.
    has_lost_record: bool,
}

impl InProcess {
    /// For the process `pid`, if it is wanted.
    pub fn new(pid: i32, is_wanted: bool) -> Self {
        Self {
            is_wanted,
            pid,
            labels: Labels::get(),
            shared: None,
            is_set_up: false,
            is_impossible: false,
            is_armed: false,
            dispatched: BTreeSet::new(),
            care: Vec::new(),
            most: 0,
            logs: Logs::default(),
            locks_memory: false,
            sites: Sites::default(),
            policy: Policy::new(),
            protection: Protection::default(),
            ignored: None,
            counter: Counter::new(),
            maps_files: BTreeSet::new(),
            files: KnownFiles::of(pid),
            recorded: 0,
            has_lost_record: false,
        }
    }

    /// A new program image: nothing is left of the recorder.
    pub fn new_image(&mut self) {
        let shared = self.shared.take();
        *self = Self { shared, recorded: self.recorded, ..Self::new(self.pid, self.is_wanted) };
    }

    /// The master is a copy of one whose recorder had left its bytes in these pages.
    pub fn inherit(&mut self, pages: Vec<u64>) {
        self.sites.inherit(pages);
    }

    /// Whether the master is in the recorder's care.
    pub fn is_armed(&self) -> bool {
        self.is_armed
    }

    /// What it has recorded: system calls, and readings of the time stamp counter.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// What the app's readings of the time stamp counter give.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }

    /// There was no memory for the record of a call that was made.
    pub fn loses_record(&mut self) {
        self.has_lost_record = true;
    }

    /// Whether that was so, once.
    pub fn take_lost_record(&mut self) -> bool {
        std::mem::take(&mut self.has_lost_record)
    }

    /// Pages of files that hold bytes of ours besides the file's.
    pub fn pages(&self) -> &[u64] {
        self.sites.pages()
    }

    /// The call was made with this result. `gadget`: a `syscall` instruction.
    ///
    /// # Errors
    /// If the master was killed.
    pub fn after(
        &mut self,
        stopped: &mut Stopped,
        gadget: u64,
        (number, args): (u64, &[u64; 6]),
        result: u64,
    ) -> Result<(), Failure> {
        if !self.is_wanted || self.is_impossible {
            return Ok(());
        }
        let shows_maps = !is_error(result)
            && match number as i64 {
                libc::SYS_open => names_maps(stopped, args[0]),
                libc::SYS_openat | libc::SYS_openat2 => names_maps(stopped, args[1]),
                _ => false,
            };
        if shows_maps {
            self.maps_files.insert(result);
        }
        if !is_error(result) {
            match number as i64 {
                libc::SYS_mlockall => self.locks_memory = true,
                libc::SYS_munlockall => self.locks_memory = false,
                _ => {}
            }
        }
        if self.is_set_up && (shows_maps || self.locks_memory) {
            self.tear_down(stopped, gadget)?;
        }
        match number as i64 {
            libc::SYS_rt_sigaction => self.ignored = None,
            libc::SYS_close => drop(self.maps_files.remove(&args[0])),
            _ => {}
        }
        if !table::is_known(number) {
            return Ok(());
        }
        let is_takeable = match number {
            table::PROTECT => self.protection.changed(args[0], args[1]),
            table::SHOW => self.protection.shown(args[0]),
            _ => {
                let &Terms { has_threads, passes_turns, .. } = self.protection.terms();
                let is_known = !table::needs_file(number) || self.files.knows(args[0], !has_threads);
                let is_made = passes_turns && table::passes_turn_on(number, args)
                    || table::is_taken(number, args) && !(has_threads && table::may_wait(number));
                !self.protection.is_bare() && is_made && is_known
            }
        };
        if self.sites.called(PatchedKind::Syscall, stopped.registers()?.rip()) && is_takeable {
            self.policy.taken();
        } else {
            self.policy.other();
        }
        Ok(())
    }

    /// An instruction whose results are recorded was executed for the master, which isn't armed, and lay there.
    pub fn was_read(&mut self, instruction: ClockInstruction, pc: u64) {
        if !self.is_wanted || self.is_impossible {
            return;
        }
        let known = match instruction {
            ClockInstruction::Rdtsc => Some(PatchedKind::Rdtsc),
            ClockInstruction::Rdtscp => Some(PatchedKind::Rdtscp),
            ClockInstruction::Cpuid => None,
        };
        let is_known = known.is_some_and(|known| self.sites.called(known, pc + instruction.len()));
        if is_known { self.policy.taken() } else { self.policy.other() }
    }

    /// Memory of which the app has changed the protection often lately, and an address at which it has mapped other pages of an object, if it does so often.
    pub fn often(&self) -> (Option<Range<u64>>, Option<u64>) {
        if self.policy.is_wanted() { (self.protection.often(), self.protection.often_shown()) } else { (None, None) }
    }

    /// Whether the master would be handed over, were it possible.
    pub fn is_worth_while(&self) -> bool {
        self.is_wanted && self.policy.is_wanted() && !self.is_impossible
    }

    /// Hands the master, which stands still anywhere in the app's own code, over to the recorder, if that is worth while and possible.
    /// `gadget`: a `syscall` instruction.
    ///
    /// # Errors
    /// If the master was killed.
    pub fn arm(&mut self, stopped: &mut Stopped, gadget: u64, room: &Room<'_>, terms: Terms) -> Result<(), Failure> {
        self.protection.set(terms);
        let is_unwanted = room.records == 0 || !self.maps_files.is_empty() || self.locks_memory;
        if !self.is_worth_while() || is_unwanted || !self.can_stop(stopped)? {
            return Ok(());
        }
        if !self.is_set_up && !self.set_up(stopped, gadget)? {
            self.is_impossible = true;
            return Ok(());
        }
        let is_prepared = self.sites.prepare(stopped);
        if !self.protection.begin(self.sites.pages()) || !is_prepared {
            self.policy.disappoint();
            return Ok(());
        }
        if !self.dispatched.contains(&stopped.pid()) && !dispatch(stopped, gadget)? {
            self.is_impossible = true;
            return self.tear_down(stopped, gadget);
        }
        self.dispatched.insert(stopped.pid());
        let place = self.logs.place(stopped, gadget, room)?;
        let Some(shared) = &self.shared else { return Ok(()) };
        match &place {
            Some(place) => shared.begin(room.records.into(), place.start, place.end),
            None => shared.begin_here(room.records.into()),
        }
        self.files.tell(shared, !self.protection.terms().has_threads);
        shared.set_terms(self.protection.terms());
        shared.set_kept(all_kept().into_iter().map(|(_, inode)| inode));
        self.most = room.records.into();
        if self.sites.any_reading() {
            shared.set_counter(self.counter.measure());
        }
        shared.set_blocking(true);
        self.is_armed = true;
        self.care_begins(stopped.pid(), room.thread);
        self.step_aside(stopped)?;
        self.patch(true)
    }

    /// Where the master stands in the midst of what is to be patched, before what follows a reading, it goes on in the stub, which has that as well.
    fn step_aside(&self, stopped: &mut Stopped) -> Result<(), Failure> {
        let mut registers = stopped.registers()?;
        let at = registers.rip();
        let Some(MidPatch::Follows(Follows { in_stub, .. })) = self.sites.mid_patch(at) else { return Ok(()) };
        registers.set_rip(in_stub);
        Ok(stopped.set_registers(&registers)?)
    }

    fn patch(&self, patched: bool) -> Result<(), Failure> {
        let gone = |source| Failure::System { action: "write the app's memory", source };
        self.sites.set_patched(patched).map_err(gone)
    }

    fn armed_stop(&self, tid: i32) -> Option<ArmedStop<'_>> {
        let Self { labels, shared, sites, .. } = self;
        Some(ArmedStop { tid, labels, shared: shared.as_ref()?, sites })
    }

    /// See [`ArmedStop::awaits_signal`].
    ///
    /// # Errors
    /// If the master was killed.
    pub fn awaits_signal(&self, stopped: &Stopped, stop: &Stop) -> Result<bool, Failure> {
        self.armed_stop(stopped.pid()).map_or(Ok(false), |armed| armed.awaits_signal(stopped, stop))
    }

    /// See [`ArmedStop::bring_back`].
    ///
    /// # Errors
    /// If the master was killed.
    pub fn bring_back(&self, stopped: Stopped, stop: &Stop) -> Result<(Stopped, Came), Failure> {
        match self.armed_stop(stopped.pid()) {
            Some(armed) => armed.bring_back(stopped, stop),
            None => Ok((stopped, Came::Stopped)),
        }
    }

    /// Nothing is patched any more, and the records go to the slice. Gives what [`Self::ends_dispatch`] does. `gadget`: a `syscall` instruction.
    ///
    /// # Errors
    /// If the app's memory can't be written, the slice has no memory for the records, or the master was killed.
    pub fn take_back(
        &mut self,
        stopped: &mut Stopped,
        gadget: u64,
        slice: Option<&mut Recording>,
    ) -> Result<bool, Failure> {
        self.is_taken_back(slice)?;
        if self.protection.terms().has_threads { self.ends_dispatch(stopped, gadget) } else { Ok(false) }
    }

    /// No call of the thread at hand raises SIGSYS any more: another one might have the recorder's memory go away, in which the selector lies. Gives whether it
    /// has made a call for that, by which the signal is lost for which it has stopped.
    ///
    /// # Errors
    /// If the master was killed.
    pub fn ends_dispatch(&mut self, stopped: &mut Stopped, gadget: u64) -> Result<bool, Failure> {
        let has = self.dispatched.remove(&stopped.pid());
        if has { undispatch(stopped, gadget).map(|()| true) } else { Ok(false) }
    }

    pub(super) fn is_taken_back(&mut self, slice: Option<&mut Recording>) -> Result<(), Failure> {
        let Some(shared) = &self.shared else { return Ok(()) };
        shared.set_blocking(false);
        // Who had to go on may have written more than there was room for.
        let records = self.most.wrapping_sub(shared.get(ROOM));
        let appended = match (slice, self.logs.written(shared.get(NEXT))) {
            (Some(slice), Some(bytes)) => {
                slice.extend(bytes, records as u32);
                Ok(())
            }
            (Some(slice), None) => slice.append(shared.records(), records as u32),
            (None, _) => Ok(()),
        };
        self.recorded += records;
        self.policy.made(records, self.in_care().len());
        self.is_armed = false;
        self.files.learn(shared);
        self.patch(false)?;
        if let Some(range) = self.protection.end() {
            // What was read there may not be readable any more.
            self.sites.forget(range.start, range.end);
        }
        appended
    }

    /// Whether it is in the program image.
    pub fn is_set_up(&self) -> bool {
        self.is_set_up
    }

    /// How an armed or another master goes on.
    pub fn mode(&self) -> Mode {
        if self.is_armed { Mode::Free } else { Mode::Syscalls }
    }

    /// Brings the recorder into the program image. False if the kernel or the app's limits don't allow it: then all is as before.
    ///
    /// # Errors
    /// If the master was killed.
    pub(in crate::sliced) fn set_up(&mut self, stopped: &mut Stopped, gadget: u64) -> Result<bool, Failure> {
        if self.shared.is_none() {
            self.shared = Shared::new().ok();
        }
        let Some(shared) = &self.shared else { return Ok(false) };
        shared.set_blocking(false);
        shared.set_stop(false);
        self.is_set_up = map(stopped, gadget, shared)?;
        if !self.is_set_up {
            remove(stopped, gadget)?;
            return Ok(false);
        }
        self.sites.write_stubs().map_err(|source| Failure::System { action: "write the app's memory", source })?;
        Ok(true)
    }

    /// The app, which isn't armed, is about to look at its mappings: the recorder leaves no trace in them.
    ///
    /// # Errors
    /// If the master was killed.
    pub(in crate::sliced) fn tear_down(&mut self, stopped: &mut Stopped, gadget: u64) -> Result<(), Failure> {
        self.is_set_up = false;
        self.dispatched.clear();
        self.logs = Logs::default();
        remove(stopped, gadget)
    }
}
