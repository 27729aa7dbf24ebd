//! The run loop: enter the cache, see why it was left, do it, go on.

use bubble::map;
use bubble::routines::{AWAY, Away};
use bubble::shared::EngineStats;
use bubble::switches::Optimisation;
use machine::{CachePc, Gpr};
use translator::abi::{Cpu, Reserved, SLOT_R11, SpaceId, ThreadState, dropped_bits};

use super::begun::{Begun, Left};
use super::changing::AppCalls;
use super::control::{Armed, Controls};
use super::next::Next;
use super::rest::StoppedIn;
use super::x87;
use crate::block_counts;
use crate::cache::{Cache, CodeSpace, Tables};
use crate::check;
use crate::gateway::{self, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_NOT_ENTERED, FastPath};
use crate::interface::{Control, Flow, Host, Settings};
use crate::link::WINDOW_BITS;
use crate::log;
use crate::signals::{self, Mailbox, Scene};
use crate::translations::{Engine, SharedEngine};

const HUGE_PAGE: u64 = 2 << 20;

/// One thread that runs translated code.
///
/// Invariant *shown*: outside of the cache no register, flag or x87 pointer of the app's is the cache's.
pub struct Runner {
    pub(super) engine: SharedEngine,
    thread: *mut ThreadState,
    /// What handlers of signals look at. It has a place of its own, since they have its address.
    scene: *mut Scene,
    pub(super) begun: Begun,
    pub(super) app_calls: AppCalls,
    /// What the host has named and isn't armed, or disarmed, yet.
    to_arm: Option<Armed>,
}

impl Runner {
    /// Prepares a runner.
    ///
    /// # Safety
    /// The regions CACHE_OWN, TABLES_OWN and THREADS of the bubble (and CACHE_SHARED, CACHE_ALIAS and TABLES with
    /// `sharing`) must be mapped, CACHE_OWN executable; no other runner may run in this process. FS must be the image's.
    pub unsafe fn new(settings: Settings) -> Box<Runner> {
        let thread = ThreadState::main();
        // SAFETY: THREADS is mapped and ours.
        unsafe { gateway::adopt(thread, settings.xcr0) };
        gateway::begin(settings.off);
        gateway::forget();
        let space = |id, tables, executed, written| {
            // SAFETY: the caller promised the mappings.
            let tables = unsafe { Tables::at(tables, id == SpaceId::Shared) };
            CodeSpace::new(id, tables, executed, written, settings.cache_bytes.min(map::TRANSLATED_OWN.size))
        };
        let own = space(SpaceId::Own, map::TABLES_OWN.start, map::CACHE_OWN.start, map::CACHE_OWN.start);
        let shared = || space(SpaceId::Shared, map::TABLES.start, map::CACHE_SHARED.start, map::CACHE_ALIAS.start);
        let cache = Cache::new(own, settings.sharing.then(shared));
        block_counts::begin(settings.sharing);
        if !settings.sharing {
            // Then all code goes to the own cache; a slice's stays small. The thread state has the large table of
            // indirect branches, which is filled at once.
            let tables = (map::TABLES_OWN.start, map::TABLES_OWN.size);
            let counts = (map::COUNTS.start, map::COUNTS.size);
            let cache = (map::CACHE_OWN.start, map::TRANSLATED_OWN.size);
            for (start, size) in [cache, (map::THREADS.start, HUGE_PAGE), tables, counts] {
                // SAFETY: advice about mappings of the engine's own.
                unsafe { libc::madvise(start as *mut _, size as usize, libc::MADV_HUGEPAGE) };
            }
        }
        // SAFETY: the thread state is mapped and belongs to this runner.
        unsafe { (*thread).target_bits = WINDOW_BITS };
        // SAFETY: the thread state stays mapped, and this is its only runner.
        let engine = SharedEngine::new(unsafe { Engine::new(settings, cache, thread) });
        // SAFETY: as above.
        let mut runner = unsafe { Runner::with(engine, thread) };
        // SAFETY: the scene is given back when nobody handles signals with it any more.
        unsafe { signals::start(thread, runner.scene) };
        // In a slice when it runs: until then its memory may not be asked about. What a serial run maps is to be there before the app's limits are.
        if !settings.replays {
            let engine = &mut *runner.engine;
            engine.links.begin_map(&mut engine.code);
        }
        runner
    }

    /// A runner for another thread of the app's, which calls this: with the same translations, and what is its own in this window. `None`: there is no memory for that.
    ///
    /// # Safety
    /// The window is the calling thread's ([`crate::enter_window`]), and nothing else is in it. The runners of a process are used one at a time, but for while they run translated code ([`Host::enters_cache`]).
    ///
    /// # Panics
    /// If translations name what is the first thread's own: without [`bubble::switches::Optimisation::Rip`] they don't.
    pub unsafe fn another(&mut self, window: u64) -> Option<Box<Runner>> {
        assert!(!self.engine.settings.off.leaves(Optimisation::Rip), "translations are one thread's");
        let thread = window as *mut ThreadState;
        // SAFETY: the caller's promise.
        if !unsafe { self.engine.links.joins(thread) } {
            return None;
        }
        // SAFETY: the caller's promise.
        let runner = unsafe { Runner::with(self.engine.for_another(), thread) };
        self.engine.deferred.expect_others();
        // SAFETY: the scene is never given back.
        unsafe { signals::enters(thread, runner.scene) };
        Some(runner)
    }

    /// # Safety
    /// The thread state is mapped, and belongs to this runner.
    unsafe fn with(engine: SharedEngine, thread: *mut ThreadState) -> Box<Runner> {
        // SAFETY: the caller's promise.
        let state = unsafe { &mut *thread };
        state.buffer = map::BUFFER.start.wrapping_add(state.moved());
        state.dropped_bits = u64::from(dropped_bits(engine.settings.off));
        for space in [Some(engine.cache.own()), engine.cache.shared()].into_iter().flatten() {
            state.exits[space.id as usize] = space.tables.exits_address();
        }
        let (locator, reserved, mailbox) = (engine.cache.locator(), Reserved::No, Mailbox::default());
        let scene = Scene { thread, locator, reserved, fast_path: None, looks_in_map: false, mailbox };
        let scene = Box::into_raw(Box::new(scene));
        let (begun, app_calls) = (Begun::default(), AppCalls::default());
        Box::new(Runner { engine, thread, scene, begun, app_calls, to_arm: None })
    }

    /// The app's state.
    pub fn cpu(&mut self) -> &mut Cpu {
        &mut self.thread().cpu
    }

    /// Another thread of the app's goes on: puts its state in, and takes this one's out.
    pub fn exchange(&mut self, cpu: &mut Cpu, stopped: &mut StoppedIn) {
        std::mem::swap(self.cpu(), cpu);
        let rest = self.begun.take_rest();
        self.begun.put_back(stopped.0.take());
        stopped.0 = rest;
    }

    /// How the tool's routines are called.
    pub fn routines(&self) -> [Away; AWAY] {
        crate::routines::most(self.engine.known.ways())
    }

    /// What was done, counted.
    pub fn stats(&self) -> EngineStats {
        EngineStats { cache_bytes: self.engine.cache.written(), ..self.engine.stats }
    }

    pub(super) fn thread(&mut self) -> &mut ThreadState {
        // SAFETY: the thread state is mapped and belongs to this runner; the app doesn't run while it is borrowed.
        unsafe { &mut *self.thread }
    }

    pub(super) fn thread_pointer(&self) -> *mut ThreadState {
        self.thread
    }

    /// What the last handler of a signal left.
    pub(super) fn mailbox(&mut self) -> &mut Mailbox {
        // SAFETY: no translated code runs, so no handler looks at the scene.
        unsafe { &mut (*self.scene).mailbox }
    }

    /// Runs the app from the state in [`Runner::cpu`] until the host says [`Flow::Leave`].
    pub fn run(&mut self, host: &mut dyn Host) {
        let engine = &mut *self.engine;
        engine.links.begin(&engine.cache, &mut engine.code);
        let mut next = Next::Dispatch;
        loop {
            match self.to_arm.take() {
                Some(Armed::At(registers, stands)) => self.engine.arm(&registers, stands, host),
                Some(Armed::Nowhere) => self.engine.disarm(),
                None => {}
            }
            if (host.is_awaited() || self.engine.awaits_others()) && !matches!(next, Next::Leave) {
                next = self.meet(host, next);
            }
            // Who wants to leave isn't interrupted: the answer could only be to go on.
            if self.is_interrupted(&next) && !matches!(next, Next::Leave) {
                next = self.answer_interrupt(host, next);
            }
            let entry = match next {
                Next::Leave => return,
                Next::Cache(entry) => entry,
                Next::Dispatch => {
                    if check::is_on() && self.begun.is_idle() {
                        check::dispatched();
                        if check::passes() {
                            host.cut(self.cpu().registers.rip);
                        }
                    }
                    match self.dispatch(host, None) {
                        Ok(found) => self.engine.cache.entry(found),
                        Err(instead) => {
                            next = instead;
                            continue;
                        }
                    }
                }
            };
            self.enter(host, entry);
            next = self.after_exit(host, entry);
        }
    }

    /// Runs translated code until it is left.
    fn enter(&mut self, host: &mut dyn Host, entry: CachePc) {
        // Whoever made the code at `entry` has decided this.
        let reserved = self.engine.cache.counters().reserved();
        // SAFETY: no translated code runs yet, so no handler looks at the scene.
        unsafe { ((*self.scene).reserved, (*self.scene).looks_in_map) = (reserved, self.engine.links.look_in_map()) };
        let thread = self.thread();
        thread.entry = entry.0;
        thread.load_r11(reserved);
        thread.exit = EXIT_NOT_ENTERED;
        host.enters_cache();
        // SAFETY: `entry` was just found for the state in `cpu`, GS points to the thread state.
        unsafe { gateway::enter(self.thread) };
        self.recover_r11(reserved);
        self.flush_counters();
        host.leaves_cache();
        // SAFETY: the thread state is mapped, and nobody else uses it.
        x87::show_pc(unsafe { &mut *self.thread }, &self.engine.cache);
    }

    /// After an exit: r11 is the app's again, and what was in it is kept. Where the signal handler filled in the
    /// app's state, it has done that.
    fn recover_r11(&mut self, reserved: Reserved) {
        let thread = self.thread();
        let by_handler = matches!(thread.exit, EXIT_NOT_ENTERED | EXIT_INTERRUPTED | EXIT_FAULT);
        if reserved != Reserved::No && !by_handler {
            thread.store_r11(reserved, thread.cpu.registers.get(Gpr::R11));
            thread.cpu.registers.set(Gpr::R11, thread.spill[SLOT_R11]);
        }
    }

    fn is_interrupted(&mut self, next: &Next) -> bool {
        // SAFETY: the thread state is mapped. A hook may write the word at any time, as it may before and after.
        let interrupted = unsafe { &mut (*self.thread).interrupted };
        self.begun.is_interrupted(&self.engine.cache, interrupted, next)
    }

    fn answer_interrupt(&mut self, host: &mut dyn Host, next: Next) -> Next {
        if let Next::Cache(place) = next {
            let left = self.leave_block(place, false);
            if self.begun.is_begun(&self.engine.cache, place, left.has_begun) {
                return self.finish_first(left);
            }
            self.begun.go_on_or_enter(left);
        }
        self.thread().interrupted = 0;
        let rflags = self.show_flags_before();
        let (before, rest) = (self.cpu().registers, self.begun.take_rest());
        let (cpu, control) = self.ask();
        log::interrupted(cpu.registers.rip);
        let flow = host.interrupted(cpu, &mut { control });
        // If it was the app's affair, it doesn't go on in its block.
        let goes_on = self.cpu().registers == before;
        self.begun.put_back(rest.filter(|_| goes_on));
        if !goes_on {
            self.cpu().repeating = 0;
        } else if flow == Flow::Continue {
            self.cpu().registers.rflags = rflags;
        }
        match flow {
            Flow::Continue => Next::Dispatch,
            Flow::Leave => Next::Leave,
        }
    }

    /// Leaves the cache, and with it all that refers to a place there, and waits until what needs that is done.
    fn meet(&mut self, host: &mut dyn Host, next: Next) -> Next {
        if let Next::Cache(place) = next {
            let left = self.leave_block(place, false);
            self.flush_counters();
            if self.begun.is_begun(&self.engine.cache, place, left.has_begun) {
                self.begun.finish(left);
            } else {
                self.begun.go_on_or_enter(left);
            }
        }
        self.rendezvous(host);
        Next::Dispatch
    }

    /// Does what waits until no thread is in the cache, or waits until another one has done that. To be called while the calling thread isn't there.
    pub fn rendezvous(&mut self, host: &mut dyn Host) {
        if !self.engine.awaits_others() {
            return host.stands_still();
        }
        host.stop_others();
        self.engine.do_deferred();
        host.lets_go();
    }

    /// An instruction was interrupted that was begun: it goes on to its end before the interruption is answered.
    pub(super) fn finish_first(&mut self, left: Left) -> Next {
        self.thread().interrupted = 0;
        self.begun.finish_first(left);
        Next::Dispatch
    }

    /// What a host gets that is asked: the app's state, and what it may ask itself.
    pub(super) fn ask(&mut self) -> (&mut Cpu, Controls<'_>) {
        // SAFETY: the thread state is mapped, and nothing of the engine refers to its `cpu`.
        let cpu = unsafe { &mut (*self.thread).cpu };
        (cpu, Controls::new(&mut self.engine, &mut self.to_arm, &self.app_calls))
    }

    /// Does what a host does when it is asked, while the app doesn't run.
    pub fn with_cpu(&mut self, work: impl FnOnce(&mut Cpu, &mut dyn Control) -> Flow) -> Flow {
        let (cpu, mut control) = self.ask();
        work(cpu, &mut control)
    }

    /// What a host may ask, while the app doesn't run.
    pub fn control(&mut self) -> impl Control + '_ {
        self.ask().1
    }

    /// From now on exits at system calls and readings of the time stamp counter lead to the fast path.
    ///
    /// # Safety
    /// It must do what [`crate::fast_path`] says.
    pub unsafe fn take_fast_path(&mut self, fast_path: FastPath) {
        self.thread().syscall = fast_path.code.start;
        self.thread().reading = fast_path.reading;
        // SAFETY: as in `mailbox`.
        unsafe { (*self.scene).fast_path = Some(fast_path) };
    }
}
