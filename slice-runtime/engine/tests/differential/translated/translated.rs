//! Running a program under the engine.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use bubble::map::{self, Region};
use bubble::switches::Optimisation;
use engine::{Control, Fault, Flow, Host, Nondeterministic, Runner, Settings};
use isa::random::Program;
use machine::flags;
use translator::abi::Cpu;
use translator::trace::{Instrument, Trace};

use super::blocks::Weights;
use super::interrupt::{INTERRUPTIONS, Interruptions, Timer};
use super::local::{check_counters, counters};
use crate::Outcome;
use crate::arena::Arena;
use crate::state::State;
use crate::stepper::Stepper;
use crate::stream;

fn map_region(region: Region, access: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: nothing else lies in the bubble of a test process, and its last owner is gone.
    let p = unsafe { libc::mmap(region.start as *mut _, region.size as usize, access, flags, -1, 0) };
    assert_eq!(p as u64, region.start);
}

/// An engine for many programs.
pub struct Translated {
    engine: Box<Runner>,
    instrument: fn(&mut Trace),
    timer: Option<Timer>,
    /// What the last run wrote into the buffer.
    pub stream: Vec<u64>,
    /// What it counted by [`super::insert_steps`].
    pub steps: u64,
}

struct Observer {
    stream: Vec<u64>,
    instrument: fn(&mut Trace),
    outcome: Option<Outcome>,
    code: u64,
    /// For each offset of the code, whether an instruction starts there.
    starts: HashMap<usize, bool>,
}

/// The window in which programs run if what is a thread's own is named through GS.
const ANY_WINDOW: u64 = 5;

/// Bytes of code that are compared at most.
const CODE_COMPARED: u64 = 1 << 20;

/// Where the program's instructions start; by offset, and only as far as the program goes.
fn starts(program: &Program) -> HashMap<usize, bool> {
    let mut starts = HashMap::new();
    for (offset, code) in program.parts() {
        starts.extend((0..code.len()).map(|at| (offset + at, false)));
    }
    program.visit(|offset, _| {
        starts.insert(offset, true);
    });
    starts
}

impl Instrument for Observer {
    fn instrument(&self, trace: &mut Trace) {
        (self.instrument)(trace);
    }
}

impl Host for Observer {
    fn drain(&mut self, words: &[u64]) {
        self.stream.extend(words);
    }

    fn syscall(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        self.outcome = Some(Outcome::End);
        Flow::Leave
    }

    fn nondeterministic(&mut self, what: Nondeterministic, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{what:?} isn't generated")
    }

    fn end_reached(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("no end was armed")
    }

    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        self.outcome = Some(Outcome::Fault(fault.signal, cpu.registers.rip.wrapping_sub(self.code)));
        Flow::Leave
    }

    fn unsupported(&mut self, reason: &str, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{reason}")
    }

    fn interrupted(&mut self, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        let offset = cpu.registers.rip.wrapping_sub(self.code) as usize;
        // Elsewhere the program is on its way to a fault.
        let is_start = self.starts.get(&offset).is_none_or(|is_start| *is_start);
        assert!(is_start, "interrupted at {offset:#x}, in the middle of an instruction");
        INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
        Flow::Continue
    }
}

impl Translated {
    pub fn new(settings: Settings, instrument: fn(&mut Trace)) -> Translated {
        let data = libc::PROT_READ | libc::PROT_WRITE;
        for region in [map::THREADS, map::TABLES_OWN, map::LOCAL, map::COUNTS, map::BUFFER] {
            map_region(region, data);
        }
        map_region(map::CACHE_OWN, data | libc::PROT_EXEC);
        let settings = Settings { off: settings.off.on_this_processor(), ..settings };
        // SAFETY: the regions were just mapped, and the lock of the process is held.
        let mut engine = unsafe { Runner::new(settings) };
        if !settings.off.leaves(Optimisation::Rip) {
            // As a further thread.
            let window = engine::map_window(ANY_WINDOW).expect("memory for another window");
            // SAFETY: the window was just mapped, and the first runner isn't used any more.
            engine = unsafe {
                engine::enter_window(window);
                Box::leak(engine).another(window).expect("memory for another table")
            };
        }
        Translated { engine, instrument, timer: None, stream: Vec::new(), steps: 0 }
    }

    /// From now on [`Translated::run_again`] is interrupted.
    pub fn interrupt(&mut self) {
        self.timer = Some(Timer::new());
    }

    /// Whether programs are to be run again with interruptions.
    pub fn is_interrupted(&self) -> bool {
        self.timer.is_some()
    }

    /// A number that stands for all code made so far, and where it lies.
    pub fn code(&self) -> u64 {
        // Traces start at multiples of 16, and the shortest are some bytes long. Stubs lie at the cache's end, but what leads to them doesn't.
        let len = (4 * self.engine.stats().cache_bytes + 4096).min(CODE_COMPARED) as usize / 8;
        // SAFETY: the cache is mapped, and translated code doesn't run.
        let code = unsafe { std::slice::from_raw_parts(map::CACHE_OWN.start as *const u64, len) };
        let mixed = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        code.iter().fold(self.engine.stats().cache_bytes, mixed)
    }

    /// Instruments in another way from the next program on.
    pub fn set_instrument(&mut self, instrument: fn(&mut Trace)) {
        self.instrument = instrument;
    }

    /// Runs the program, which was just loaded, from `start`.
    pub fn run(&mut self, arena: &Arena, program: &Program, start: &State) -> (Outcome, State) {
        self.forget(arena);
        self.run_again(arena, program, start, Interruptions::No)
    }

    /// The program was loaded.
    pub fn forget(&mut self, arena: &Arena) {
        arena.loaded().into_iter().for_each(|(start, len)| self.engine.control().code_changed(start, len));
    }

    /// Runs the same program again.
    pub fn run_again(
        &mut self,
        arena: &Arena,
        program: &Program,
        start: &State,
        interruptions: Interruptions,
    ) -> (Outcome, State) {
        let layout = arena.layout();
        let cpu = self.engine.cpu();
        cpu.registers = start.registers;
        cpu.xstate = start.xstate.clone();
        let (before, weights) = (counters(), Weights::now());
        let mut observer = Observer {
            instrument: self.instrument,
            outcome: None,
            code: layout.code,
            starts: starts(program),
            stream: Vec::new(),
        };
        let filled = stream::fill_but(interruptions.room());
        self.run_interrupted(&mut observer, interruptions);
        engine::stream::take(|words| observer.stream.extend(words));
        self.stream = observer.stream.split_off(filled);
        let cpu = self.engine.cpu();
        let state = State { registers: cpu.registers, xstate: cpu.xstate.clone() };
        let outcome = observer.outcome.expect("the engine left only when told to");
        if outcome == Outcome::End {
            assert_eq!(state.registers.rip, layout.code + program.end as u64 + 2);
        }
        self.steps = counters().steps.wrapping_sub(before.steps);
        check_counters(before, counters(), outcome);
        Weights::now().check_since(weights);
        (outcome, state)
    }

    fn run_interrupted(&mut self, observer: &mut Observer, interruptions: Interruptions) {
        match interruptions {
            Interruptions::No => self.engine.run(observer),
            Interruptions::After(time) => {
                let timer = self.timer.as_ref().expect("prepared for interruptions");
                timer.set(time as i64);
                self.engine.run(observer);
                timer.set(0);
            }
            Interruptions::Steps(seed) => {
                self.engine.cpu().registers.rflags |= flags::TF;
                let _stepper = Stepper::new(seed);
                self.engine.run(observer);
            }
        }
    }
}
