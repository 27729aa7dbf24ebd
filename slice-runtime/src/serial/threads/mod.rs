//! The app's threads. Each is a thread of the kernel's, whose code runs translated; they run in turns.
//!
//! One engine, one guest and one tool serve all of them, one after the other, so that tools see one stream of events and need no locks, and
//! generated code can name its scratch memory by address. Who has the turn decides [`turns`]. A system call that waits is made
//! without the turn, so the kernel does for the app's threads what it always does: it wakes them, interrupts them, keeps their masks, and
//! clears the word that tells others of a thread's end.
//!
//! * [`area`] is what the runtime keeps for each thread.
//! * [`start`] has the first and the last instructions of one.
//! * [`waits`] tells which calls wait.
//!
//! An app with one thread pays for none of this: it has the turn all the time.

pub mod area;
mod start;
pub mod turns;
mod waits;

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use bubble::shared::SliceStats;
use engine::{Control, Flow, Runner, Stats};
use machine::Here;
use translator::abi::Cpu;

use self::area::{Area, State};
use self::start::NewThread;
use self::turns::Turns;
use self::waits::{Length, length_of};
use super::actions::{OfThread, set_real_mask};
use super::arrival::{self, FAULTS, bit};
use super::begun::Begun;
use super::calls::{Unmade, interruptible, raw_syscall};
use super::frame::AltStack;
use super::{Call, Ending, SerialGuest, Underway};

static TURNS: Turns = Turns::new(turns::request);
static WORLD: AtomicPtr<World> = AtomicPtr::new(null_mut());

/// What the threads share. Used by who has the turn.
struct World {
    engine: Box<Runner>,
    guest: SerialGuest,
    /// The thread whose state the engine and the guest have, unless that has ended.
    loaded: Option<&'static Area>,
    stats: fn(&Stats) -> SliceStats,
}

/// Why the engine was left although the app goes on.
pub enum Pause {
    /// Others have waited for long.
    Turn,
    /// A call that may wait is to be made.
    Call(Underway),
    /// The thread ends with this status.
    End(u64),
}

/// The threads as the guest knows them.
pub struct Threads {
    alive: usize,
    areas: Vec<&'static Area>,
    /// Started by the app.
    pub started: u64,
}

/// The area of the thread whose turn it is.
pub fn of_turn() -> &'static Area {
    Area::of_waiter(TURNS.holder().expect("it is some thread's turn"))
}

/// The area of the thread whose signal handler calls this.
pub fn of_signal_stack() -> &'static Area {
    Area::of_this_stack()
}

impl Area {
    /// Whether its thread has the turn, and isn't in a call.
    pub fn has_turn(&self) -> bool {
        TURNS.is_held_by(&self.waiter)
    }

    /// Whether it has the turn and somebody has asked for it.
    pub fn is_asked(&self) -> bool {
        TURNS.is_asked_for(&self.waiter)
    }
}

impl Threads {
    /// The first thread, which calls this and has the turn from now on.
    pub fn first() -> Self {
        let area = Area::new();
        area.waiter.tid.store(own_number(), Ordering::Relaxed);
        area.take_signals();
        TURNS.take(&area.waiter);
        Self { alive: 1, areas: vec![area], started: 0 }
    }

    /// Whether there are more than one.
    pub fn are_many(&self) -> bool {
        self.alive > 1
    }

    fn area(&mut self) -> &'static Area {
        let unused = self.areas.iter().copied().find(|area| area.reuse());
        unused.unwrap_or_else(|| {
            let new = Area::new();
            self.areas.push(new);
            new
        })
    }
}

/// Whether a call neither waits nor tells of signals that wait.
pub fn never_waits(call: &Call) -> bool {
    length_of(call) == Length::Instant && call.number as i64 != libc::SYS_rt_sigpending
}

/// Nobody asks the thread that has the turn for it by a signal any more: it would still wait for the program that is executed now, and end it. If that can't be
/// executed, the turn is given up then.
pub fn before_exec() {
    TURNS.ask_myself(&of_turn().waiter);
    engine::interrupt();
}

fn own_number() -> i32 {
    raw_syscall(libc::SYS_gettid as u64, [0; 6]) as i32
}

/// Runs the app to its end.
pub fn run(engine: Box<Runner>, guest: SerialGuest, stats: fn(&Stats) -> SliceStats) -> ! {
    let me = of_turn();
    WORLD.store(Box::into_raw(Box::new(World { engine, guest, loaded: Some(me), stats })), Ordering::Release);
    go_on(me)
}

/// The first function of each other thread.
extern "C" fn run_new(me: &'static Area) -> ! {
    me.take_signals();
    set_real_mask(!FAULTS);
    TURNS.take(&me.waiter);
    with_turn(me, |world| world.guest.signals.set_mask(world.guest.signals.mask()));
    go_on(me)
}

fn go_on(me: &'static Area) -> ! {
    let mut flow = Flow::Continue;
    loop {
        let pause = with_turn(me, |world| world.run(flow));
        flow = match pause {
            Pause::Turn => {
                pass(me);
                Flow::Continue
            }
            Pause::Call(call) => {
                let result = make(&call.call, me);
                with_turn(me, |world| {
                    let World { engine, guest, .. } = world;
                    engine.with_cpu(|cpu, control| guest.executed(call, result, cpu, control))
                })
            }
            Pause::End(status) => {
                with_turn(me, |world| world.loaded = None);
                TURNS.give(&me.waiter);
                start::end(me, status)
            }
        };
    }
}

/// Lets others have a turn.
fn pass(me: &'static Area) {
    TURNS.give(&me.waiter);
    TURNS.take(&me.waiter);
}

/// Makes a call of the app's, in which it may lose the turn, and gets it back.
fn make(call: &Call, me: &'static Area) -> Result<u64, Unmade> {
    let made = || interruptible(call.number, call.args, me.arrivals.flag());
    if length_of(call) == Length::Long || me.waiter.lasting.expects(call) {
        TURNS.give(&me.waiter);
        let result = made();
        TURNS.take(&me.waiter);
        return result;
    }
    while !TURNS.begin_call(&me.waiter) {
        pass(me);
    }
    let result = made();
    if !TURNS.end_call(&me.waiter) {
        me.waiter.lasting.note(call);
    }
    result
}

/// Uses what the threads share, for the calling thread, which has the turn.
fn with_turn<R>(me: &'static Area, work: impl FnOnce(&mut World) -> R) -> R {
    // SAFETY: it was stored before the first thread went on; the references of the others have ended: they gave the turn up
    // outside of this function.
    let world = unsafe { &mut *WORLD.load(Ordering::Acquire) };
    world.load(me);
    work(world)
}

impl World {
    fn load(&mut self, me: &'static Area) {
        if self.loaded.is_none_or(|loaded| !std::ptr::eq(loaded, me)) {
            // SAFETY: the caller has the turn.
            let mut state = unsafe { me.take() }.expect("the state of a thread that isn't loaded is kept");
            std::mem::swap(self.engine.cpu(), &mut state.cpu);
            self.guest.exchange(&mut state);
            self.guest.memory = Here::new();
            if let Some(last) = self.loaded.replace(me) {
                // SAFETY: as above.
                unsafe { last.put(state) };
            }
        }
        // In this order: what arrives between says so itself.
        engine::set_interrupted(false);
        if me.arrivals.flag().load(Ordering::Acquire) != 0 || TURNS.is_asked_for(&me.waiter) {
            engine::set_interrupted(true);
        }
    }

    fn run(&mut self, flow: Flow) -> Pause {
        if flow == Flow::Continue {
            self.engine.run(&mut self.guest);
        }
        let stats = (self.stats)(&self.engine.stats());
        self.guest.pause.take().unwrap_or_else(|| self.guest.finish(stats))
    }
}

impl SerialGuest {
    fn exchange(&mut self, state: &mut State) {
        self.signals.exchange(&mut state.signals);
        std::mem::swap(&mut self.begun, &mut state.begun);
    }

    /// Leaves the engine.
    fn pause(&mut self, pause: Pause) -> Flow {
        self.pause = Some(pause);
        Flow::Leave
    }

    /// Makes a call, at once or when the engine was left.
    pub(super) fn make_call(&mut self, mut call: Underway, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let with_turn = !self.threads.are_many() || call.needs_turn || length_of(&call.call) == Length::Instant;
        if !with_turn {
            for range in &call.written {
                control.call_begins(range.address, range.len);
            }
            return self.pause(Pause::Call(call));
        }
        call.written.clear();
        self.let_signals_in_at(&call.call);
        let result = interruptible(call.call.number, call.call.args, arrival::flag());
        self.executed(call, result, cpu, control)
    }

    /// The thread has been interrupted: gives its turn up if that is why.
    pub(super) fn give_turn_if_asked(&mut self) -> Flow {
        if TURNS.is_asked_for(&of_turn().waiter) { self.pause(Pause::Turn) } else { Flow::Continue }
    }

    /// A call that starts a thread.
    pub(super) fn start_thread(&mut self, call: Call, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let Some(new) = NewThread::of(&call, cpu, &self.memory) else {
            return self.finished(-i64::from(libc::EFAULT) as u64, cpu);
        };
        set_real_mask(u64::MAX);
        if arrival::flag().load(Ordering::Acquire) != 0 {
            set_real_mask(!FAULTS);
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        for word in &new.written {
            control.before_write(*word, 4);
        }
        let area = self.threads.area();
        let signals = OfThread { mask: self.signals.mask(), altstack: AltStack::NONE };
        let state = State { cpu: new.cpu.clone(), signals, begun: Begun::default() };
        // SAFETY: its thread doesn't exist yet.
        unsafe { area.put(Box::new(state)) };
        let result = new.start(area);
        if syscall_replay::is_error(result) {
            area.is_used().store(0, Ordering::Release);
        } else {
            area.waiter.tid.store(result as i32, Ordering::Relaxed);
            self.threads.alive += 1;
            self.threads.started += 1;
        }
        set_real_mask(!FAULTS);
        self.signals.set_mask(self.signals.mask());
        cpu.registers.finish_syscall(result);
        self.deliver_waiting(None, cpu, control)
    }

    /// `exit`: the end of this thread, and of the process if it is the last one.
    pub(super) fn end_thread(&mut self, status: u64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        // What comes from now on is for other threads. What has come is this one's.
        set_real_mask(!FAULTS);
        if arrival::flag().load(Ordering::Acquire) != 0 {
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        if !self.threads.are_many() {
            return self.end(Ending::LastThread(status));
        }
        self.threads.alive -= 1;
        self.pause(Pause::End(status))
    }

    /// The signal by which the call ends the app, if it is one of several threads that makes it. The kernel ends all threads before such a call
    /// returns; if the signal went to another thread's handler, this one would go on until that one has the turn.
    pub(super) fn death_by(&self, call: &Call) -> Option<i32> {
        let is_this = |process: u64| process == raw_syscall(libc::SYS_getpid as u64, [0; 6]);
        let [first, second, third, ..] = call.args;
        let (thread, signal) = match call.number as i64 {
            libc::SYS_kill if is_this(first) => (None, second as i32),
            libc::SYS_tkill => (Some(first as i32), second as i32),
            libc::SYS_tgkill if is_this(first) => (Some(second as i32), third as i32),
            _ => return None,
        };
        let me = of_turn();
        let takes_it = |area: &&Area| {
            // SAFETY: this thread has the turn.
            let mask = if std::ptr::eq(*area, me) { Some(self.signals.mask()) } else { unsafe { area.mask() } };
            let is_meant = thread.is_none_or(|thread| area.waiter.tid.load(Ordering::Relaxed) == thread);
            is_meant && mask.is_some_and(|mask| mask & bit(signal) == 0)
        };
        let dies =
            self.threads.are_many() && self.signals.ends_at_once(signal) && self.threads.areas.iter().any(takes_it);
        dies.then_some(signal)
    }
}
