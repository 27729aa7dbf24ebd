//! The run loop: enter the cache, see why it was left, do it, go on.

use bubble::map;
use bubble::switches::Off;
use machine::{CachePc, Gpr, Registers};
use translator::abi::{
    Counters, Cpu, INDIRECT_ENTRIES, Reserved, SLOT_R11, SpaceId, ThreadState, TraceId, WINDOW_BITS, dropped_bits,
};
use translator::emit::{Condition, Spare};
use translator::routines::Known;

use crate::end::End;
use crate::entrances::Entrances;
use crate::gateway;
use crate::guest::{Control, Fault, Flow, Guest};
use crate::regions::Regions;
use crate::shortcut::Shortcut;
use crate::signals;
use crate::space::CodeSpace;
use crate::tables::Tables;
use crate::targets::Targets;
use crate::templates::Inherited;

/// `ThreadState::exit` after a fault in the code cache.
pub const EXIT_FAULT: u64 = u64::MAX - 1;
/// `ThreadState::exit` after an interruption.
pub const EXIT_INTERRUPTED: u64 = u64::MAX - 2;
/// `ThreadState::exit` after an interruption of an instruction that was begun, see [`crate::finish`].
pub const EXIT_UNFINISHED: u64 = u64::MAX - 4;
/// `ThreadState::exit` if the entry was abandoned before anything ran.
pub const EXIT_NOT_ENTERED: u64 = u64::MAX - 3;

const HUGE_PAGE: u64 = 2 << 20;

/// How to translate.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Basic blocks that a trace holds at most.
    pub max_blocks: usize,
    /// Instructions that a trace holds at most.
    pub max_instructions: usize,
    /// Whether traces are linked.
    pub linking: bool,
    /// Whether translations of unchanging files are shared through the run memory.
    pub sharing: bool,
    /// Whether what is shared is also for other runs, or from them.
    pub outlives_run: bool,
    /// Bytes of each code cache that may be used.
    pub cache_bytes: u64,
    /// Optimisations that are off.
    pub off: Off,
    /// The slot of this process, for the list of ends.
    pub slot: usize,
    /// Whether the app may see its flags at a fault, see [`Control::expect_faults`].
    pub exact_faults: bool,
    /// Whether the guest replays what the app did elsewhere: it is then asked for every result that the app's state doesn't
    /// determine, see [`crate::Volatile::Unrepeatable`].
    pub replays: bool,
    /// The process that has the run memory open, and its descriptor, if it can be opened by its name.
    pub run_memory: Option<(i32, i32)>,
}

/// What the engine did, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Entries into the runtime: new or unlinked code, indirect branch miss, system call, emulated or volatile
    /// instruction, other.
    pub entries: [u64; 5],
    /// Traces translated by this process.
    pub traces: u64,
    /// Instructions in them.
    pub instructions: u64,
    /// Lookups that found a trace in the shared cache.
    pub shared_hits: u64,
    /// Those that found none where one could be, so that it was made there.
    pub shared_misses: u64,
    /// Nanoseconds spent in translating, estimated from every sixteenth trace: reading the clock is a system call here.
    pub translate_ns: u64,
    /// Bytes of code written.
    pub cache_bytes: u64,
    /// Times that the quick check at the armed end passed.
    pub full_checks: u64,
}

/// The engine of one process.
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) own: CodeSpace,
    pub(crate) shared: Option<CodeSpace>,
    pub(crate) regions: Regions,
    pub(crate) end: Option<End>,
    /// An end that the guest named and that isn't armed yet.
    to_arm: Option<Registers>,
    /// Traces of the shared space that this process must not run, with their entries redirected.
    pub(crate) hidden: Vec<TraceId>,
    /// See [`crate::entrances`].
    pub(crate) entrances: Entrances,
    /// Landings in each entry of the indirect-branch table.
    pub(crate) landings: Vec<u8>,
    /// Space and cache offset behind a landing whose trace is to start there.
    pub(crate) behind: Option<(SpaceId, u32)>,
    /// What this process's table of indirect branches has in common with others.
    pub(crate) inherited: Inherited,
    /// Counters that have cells, if translations aren't shared.
    pub(crate) counters: Counters,
    /// Where indirect branches go, unless landings are used.
    pub(crate) targets: Targets,
    pub(crate) known: Known,
    /// Buffers of the next translation.
    pub(crate) spare: Spare,
    pub(crate) thread: *mut ThreadState,
    pub(crate) fault: Option<Fault>,
    /// The next trace is to hold one instruction, which is finished with it, and to be used once. See [`crate::finish`].
    pub(crate) single: bool,
    /// The trace of the last such instruction.
    pub(crate) finishing: Option<TraceId>,
    /// How many of that instruction's calls have been made already; those that are corrected don't count.
    pub(crate) calls_made: usize,
    /// How many of the calls of the instruction in [`Self::finishing`] were made before that trace.
    pub(crate) made_before: usize,
    /// An interruption that is answered when the instruction is finished.
    pub(crate) postponed: bool,
    /// Counts flushes, so that places found before one are not used after it.
    pub(crate) flushes: u32,
    /// See [`Engine::take_shortcut`].
    pub(crate) shortcut: Option<Shortcut>,
    /// Counters.
    pub stats: Stats,
}

/// Where to go on.
pub(crate) enum Next {
    /// At the `rip` of the app's state.
    Dispatch,
    /// At a place in the cache that belongs to that state.
    Cache(CachePc),
    Leave,
}

impl Engine {
    /// Prepares the engine.
    ///
    /// # Safety
    /// The regions CACHE_OWN, TABLES_OWN and THREADS of the bubble (and CACHE_SHARED, CACHE_ALIAS and TABLES with
    /// `sharing`) must be mapped, CACHE_OWN executable; no other engine may run in this process. FS must be the image's.
    pub unsafe fn new(settings: Settings) -> Box<Engine> {
        let thread = ThreadState::main();
        // SAFETY: THREADS is mapped and ours.
        unsafe { gateway::adopt(thread) };
        let space = |id, tables, executed, written| {
            // SAFETY: the caller promised the mappings.
            let tables = unsafe { Tables::at(tables, id == SpaceId::Shared) };
            CodeSpace::new(id, tables, executed, written, settings.cache_bytes.min(map::CACHE_OWN.size))
        };
        let shared = (map::TABLES.start, map::CACHE_SHARED.start, map::CACHE_ALIAS.start);
        let own = (map::TABLES_OWN.start, map::CACHE_OWN.start, map::CACHE_OWN.start);
        let mut engine = Box::new(Engine {
            settings,
            own: space(SpaceId::Own, own.0, own.1, own.2),
            shared: settings.sharing.then(|| space(SpaceId::Shared, shared.0, shared.1, shared.2)),
            regions: Regions::new(settings.outlives_run, settings.replays),
            end: None,
            to_arm: None,
            hidden: Vec::new(),
            entrances: Entrances::default(),
            landings: vec![0; INDIRECT_ENTRIES],
            behind: None,
            inherited: Inherited::default(),
            counters: Counters::default(),
            targets: Targets::default(),
            known: Known::default(),
            spare: Spare::default(),
            thread,
            fault: None,
            single: false,
            finishing: None,
            calls_made: 0,
            made_before: 0,
            postponed: false,
            flushes: 0,
            shortcut: None,
            stats: Stats::default(),
        });
        if !settings.sharing {
            // Then all code goes to the own cache; a slice's stays small. The thread state has the large table of
            // indirect branches, which is filled at once.
            let tables = (map::TABLES_OWN.start, map::TABLES_OWN.size);
            for (start, size) in [(map::CACHE_OWN.start, map::CACHE_OWN.size), (map::THREADS.start, HUGE_PAGE), tables]
            {
                // SAFETY: advice about mappings of the engine's own.
                unsafe { libc::madvise(start as *mut _, size as usize, libc::MADV_HUGEPAGE) };
            }
        }
        engine.thread().buffer = map::BUFFER.start;
        engine.thread().target_bits = WINDOW_BITS;
        engine.thread().dropped_bits = u64::from(dropped_bits(settings.off));
        for space in [Some(&engine.own), engine.shared.as_ref()].into_iter().flatten() {
            // SAFETY: the thread state is mapped and belongs to this engine.
            unsafe { (*thread).exits[space.id as usize] = space.tables.exits_address() };
        }
        engine.clear_cells();
        signals::start(&mut engine);
        // In a slice when it runs: until then its memory may not be asked about. What a serial run maps is to be there before the app's limits are.
        if !settings.replays {
            engine.begin_targets();
        }
        engine
    }

    /// The app's state.
    pub fn cpu(&mut self) -> &mut Cpu {
        // SAFETY: the thread state is mapped and belongs to this engine; the app doesn't run while it is borrowed.
        unsafe { &mut (*self.thread).cpu }
    }

    pub(crate) fn thread(&mut self) -> &mut ThreadState {
        // SAFETY: as in `cpu`.
        unsafe { &mut *self.thread }
    }

    /// Counters that have cells.
    pub(crate) fn counters(&self) -> &Counters {
        self.shared.as_ref().map_or(&self.counters, |shared| &shared.tables.header().counters)
    }

    /// Makes the tool's state what its routines made of it. Done whenever translated code is left, so that routines which are
    /// called and guests never see it otherwise.
    pub(crate) fn settle_counters(&mut self) {
        let thread = self.thread;
        // SAFETY: the thread state is mapped, and so is the tool's state, in which the words lie; no app code runs.
        unsafe { self.counters().settle(&mut (*thread).cells) }
    }

    /// Runs the app from the state in [`Engine::cpu`] until the guest says [`Flow::Leave`].
    pub fn run(&mut self, guest: &mut dyn Guest) {
        self.begin_indirect();
        let mut next = Next::Dispatch;
        loop {
            if let Some(end) = self.to_arm.take() {
                self.arm_end(&end, guest);
            }
            // Who wants to leave isn't interrupted: the answer could only be to go on.
            if self.is_interrupted(&next) && !matches!(next, Next::Leave) {
                next = self.answer_interrupt(guest, next);
            }
            let entry = match next {
                Next::Leave => return,
                Next::Cache(entry) => entry,
                Next::Dispatch => match self.dispatch_entry(guest) {
                    Some(entry) => entry,
                    None => return,
                },
            };
            // Whoever made the code at `entry` has decided this.
            let reserved = self.counters().reserved();
            let thread = self.thread();
            thread.entry = entry.0;
            thread.load_r11(reserved);
            thread.exit = EXIT_NOT_ENTERED;
            // SAFETY: `entry` was just found for the state in `cpu`, GS points to the thread state.
            unsafe { gateway::enter(self.thread) };
            self.recover_r11(reserved);
            self.settle_counters();
            next = self.after_exit(guest, entry);
        }
    }

    /// After an exit: r11 is the app's again, and what was in it is kept. Where the signal handler filled in the
    /// app's state, it has done that.
    fn recover_r11(&mut self, reserved: Reserved) {
        let thread = self.thread();
        let by_handler = matches!(thread.exit, EXIT_NOT_ENTERED | EXIT_INTERRUPTED | EXIT_UNFINISHED | EXIT_FAULT);
        if reserved != Reserved::No && !by_handler {
            thread.store_r11(reserved, thread.cpu.registers.get(Gpr::R11));
            thread.cpu.registers.set(Gpr::R11, thread.spill[SLOT_R11]);
        }
    }

    fn answer_interrupt(&mut self, guest: &mut dyn Guest, next: Next) -> Next {
        if let Next::Cache(place) = next {
            let made = self.leave_block(place);
            if self.is_begun(place, made) {
                return self.finish_first(made);
            }
        }
        self.thread().interrupted = 0;
        self.show_x87_pc();
        let cpu = self.cpu_unbound();
        match guest.interrupted(cpu, self) {
            Flow::Continue => Next::Dispatch,
            Flow::Leave => Next::Leave,
        }
    }

    /// Does what a guest does when it is asked, while the engine doesn't run.
    pub fn with_cpu(&mut self, work: impl FnOnce(&mut Cpu, &mut dyn Control) -> Flow) -> Flow {
        work(self.cpu_unbound(), self)
    }

    /// The app's state with a lifetime of its own, so that a guest can get it beside the engine itself as its control.
    pub(crate) fn cpu_unbound(&self) -> &'static mut Cpu {
        // SAFETY: the thread state outlives the engine's use; methods of `Control` don't touch `cpu`.
        unsafe { &mut (*self.thread).cpu }
    }

    fn dispatch_entry(&mut self, guest: &mut dyn Guest) -> Option<CachePc> {
        let (space, id) = self.dispatch(guest)?;
        Some(self.entry_of(space, id))
    }

    pub(crate) fn space(&self, id: SpaceId) -> &CodeSpace {
        match id {
            SpaceId::Own => &self.own,
            SpaceId::Shared => self.shared.as_ref().expect("the shared space is in use"),
        }
    }

    /// What the guest says of a state that it refuses, see [`Control::require_word`].
    fn require(&mut self, condition: Condition) {
        if let Some(end) = &mut self.end {
            end.require(condition);
        }
    }
}

impl Control for Engine {
    fn code_changed(&mut self, start: u64, len: u64) {
        if len == 0 {
            return;
        }
        let end = start.saturating_add(len);
        let inherited = self.leave_template(start, end);
        let looked_at = self.regions.take_looked_at(start, end);
        if looked_at || start == 0 {
            self.regions.forget();
        } else {
            self.regions.forget_in(start, end);
        }
        if start == 0 && self.targets.are_used() && self.regions.find(0).is_some() {
            self.targets.fill();
        }
        self.known.forget_pages();
        self.regions.pages.forget(start, end);
        self.drop_own(start, end);
        let shared_there = self.shared.as_ref().is_some_and(|shared| {
            let mut any = false;
            shared.tables.overlapping(start, end, |_, _| any = true);
            any
        });
        if looked_at || shared_there || inherited {
            // Code of this range is entered again only after `regions` has judged its mapping anew.
            self.flush_own();
        }
    }

    fn before_write(&mut self, start: u64, len: u64) {
        if len == 0 {
            return;
        }
        for page in self.regions.pages.protected_in(start, start.saturating_add(len)) {
            self.code_is_written(page);
        }
    }

    fn call_begins(&mut self, start: u64, len: u64) {
        self.regions.pages.call_begins(start, start.saturating_add(len));
    }

    fn call_ends(&mut self, start: u64, len: u64) {
        self.regions.pages.call_ends(start, start.saturating_add(len));
    }

    fn look_again(&mut self) {
        if !self.regions.slots_hold() {
            self.flush_own();
        }
    }

    fn file_may_change(&mut self, inode: u64) {
        for (start, end) in self.regions.distrust(inode) {
            // It stays writable where it is.
            self.before_write(start, end - start);
            self.code_changed(start, end - start);
        }
    }

    fn shared_memory_may_change(&mut self) {
        for inode in self.regions.shared_memory() {
            self.file_may_change(inode);
        }
    }

    fn arm(&mut self, registers: &Registers) {
        self.to_arm = Some(*registers);
    }

    fn expect_faults(&mut self) {
        if !self.settings.exact_faults {
            self.settings.exact_faults = true;
            self.regions.findings.forget();
            self.flush_own();
        }
    }

    fn require_word(&mut self, address: u64, value: u64) {
        self.require(Condition::Word(address, value));
    }

    fn require_vector(&mut self, quadword: u8, value: u64) {
        self.require(Condition::Vector(quadword, value));
    }
}
