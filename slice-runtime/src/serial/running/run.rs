//! Running the app: each thread's loop.

use std::hint::black_box;
use std::sync::atomic::Ordering;

use bubble::boot::State;
use bubble::map;
use engine::{Flow, Runner};
use translator::abi::Cpu;

use super::parallel;
use super::shared_state::{self, SharedState, with_turn};
use crate::ports::{OwnSlot, RunningTool, raw_syscall};
use crate::serial::calls::{AppCall, Length, Unmade, interruptible, length_of};
use crate::serial::host::SerialHost;
use crate::serial::signals::{FAULTS, Signals, set_real_mask};
use crate::serial::threads::{Pause, TURNS, ThreadBlock, adoption, of_turn, start};

/// Runs the app to its end. `others`: further threads that it has already.
pub fn run(engine: Box<Runner>, mut host: SerialHost, others: u64) -> ! {
    let me = of_turn();
    let (slot, blocks) = (host.slot, host.expects_threads(others));
    parallel::begins(me);
    shared_state::begin(engine, host, me);
    if !blocks.is_empty() {
        adoption::tell(slot.adoption(), &blocks, run_adopted);
    }
    go_on(me)
}

/// The first function of each thread that the app had before.
extern "C" fn run_adopted(me: &'static ThreadBlock) -> ! {
    let altstack = adoption::take_signals(me);
    let tid = raw_syscall(libc::SYS_gettid as u64, [0; 6]) as i32;
    me.waiter.tid.store(tid, Ordering::Relaxed);
    set_real_mask(!FAULTS);
    TURNS.take(&me.waiter);
    let (cpu, mask) = adoption::state(me).expect("this processor has the registers that a thread on it has in use");
    // SAFETY: this thread has the turn.
    let mut state = unsafe { me.take() }.expect("what isn't known of a thread is filled in");
    state.cpu = Cpu { thread: state.cpu.thread, ..cpu };
    (state.signals.mask, state.signals.altstack, state.thread.0.tid) = (mask, altstack, tid);
    // SAFETY: as above.
    unsafe { me.put(state) };
    with_turn(me, |shared| shared.host.signals.set_mask(mask));
    go_on(me)
}

/// The first function of each other thread.
extern "C" fn run_new(me: &'static ThreadBlock) -> ! {
    me.take_signals();
    let window = me.window().filter(|_| shared_state::have_windows()).and_then(map::window);
    if let Some(window) = window {
        me.take_variables();
        // SAFETY: whoever has started this thread has mapped it.
        unsafe { engine::enter_window(window) };
        parallel::begins(me);
    }
    set_real_mask(!FAULTS);
    TURNS.take(&me.waiter);
    if let Some(window) = window {
        begin_in_window(me, window);
    }
    with_turn(me, |shared| shared.host.signals.set_mask(shared.host.signals.mask()));
    go_on(me)
}

/// Makes the runner of the calling thread, which has the turn for the first time, in its window.
fn begin_in_window(me: &'static ThreadBlock, window: u64) {
    // SAFETY: the thread has the turn.
    let shared = unsafe { shared_state::as_it_is() };
    // SAFETY: it is this thread's, which has the turn.
    let runner = unsafe { shared.engine.another(window) };
    let Some(mut runner) = runner else { shared.host.slot.fail(&"no memory for another thread's tables") };
    // SAFETY: this thread has the turn.
    let mut state = unsafe { me.take() }.expect("the state of a thread that begins is kept");
    std::mem::swap(runner.cpu(), &mut state.cpu);
    state.runner = Some(runner);
    // SAFETY: as above.
    unsafe { me.put(state) };
}

fn go_on(me: &'static ThreadBlock) -> ! {
    let mut flow = Flow::Continue;
    loop {
        let pause = with_turn(me, |shared| shared.run(flow));
        flow = match pause {
            Pause::Turn => {
                pass(me);
                Flow::Continue
            }
            Pause::Call(call) => {
                let result = make(&call.call, me);
                with_turn(me, |shared| {
                    let SharedState { engine, host, .. } = shared;
                    engine.with_cpu(|cpu, control| host.executed(call, result, cpu, control))
                })
            }
            Pause::Depart => depart(me),
            Pause::End(status) => {
                with_turn(me, |shared| {
                    shared.host.hand_in_if_all_departed(&shared.engine);
                    shared.loaded = None;
                });
                TURNS.give(&me.waiter);
                start::end(me, status)
            }
        };
    }
}

/// The thread goes on natively. Gives how to go on if that would end the app.
fn depart(me: &'static ThreadBlock) -> Flow {
    // By a request the kernel would forget how a call goes on that was broken off.
    TURNS.ask_myself(&me.waiter);
    loop {
        set_real_mask(!FAULTS);
        if me.arrivals.flag().load(Ordering::Acquire) == 0 {
            break;
        }
        // It comes before: what is taken from the kernel can't be given back to it.
        let flow = with_turn(me, |shared| {
            let SharedState { engine, host, .. } = shared;
            engine.with_cpu(|cpu, control| host.deliver_waiting(None, cpu, control))
        });
        if flow == Flow::Leave {
            return flow;
        }
    }
    let leaver = with_turn(me, |shared| {
        shared.loaded = None;
        shared.host.departs_now(&mut shared.engine)
    });
    TURNS.give(&me.waiter);
    leaver.leave()
}

/// Lets others have a turn.
fn pass(me: &'static ThreadBlock) {
    TURNS.give(&me.waiter);
    TURNS.take(&me.waiter);
}

/// Makes a call of the app's, in which it may lose the turn, and gets it back.
fn make(call: &AppCall, me: &'static ThreadBlock) -> Result<u64, Unmade> {
    let made = || interruptible(call.number, call.args, me.arrivals.flag());
    if length_of(call) == Length::Long || me.waiter.lasting.expects(call.number, &call.args) {
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
        me.waiter.lasting.note(call.number, &call.args);
    }
    result
}

impl SharedState {
    fn run(&mut self, flow: Flow) -> Pause {
        if flow == Flow::Continue {
            if self.host.departs() {
                return Pause::Depart;
            }
            self.engine.run(&mut self.host);
        }
        // Others may have had the turn meanwhile: nothing is as it was.
        let shared = black_box(&mut *self);
        let pause = shared.host.pause.take();
        if shared.host.have_windows() {
            parallel::is_out(of_turn());
            shared.engine.rendezvous(&mut shared.host);
        }
        let shared = black_box(shared);
        pause.unwrap_or_else(|| shared.host.finish(&mut shared.engine))
    }
}

/// The host for the app in this process. To be made after the engine: from here on signals arrive.
pub fn host(signals: Signals, slot: OwnSlot, tool: Box<dyn RunningTool>, state: &State, cpu: &Cpu) -> SerialHost {
    SerialHost::new(signals, slot, tool, run_new, (state, cpu))
}
