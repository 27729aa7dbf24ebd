//! Clean calls: what translated code asks of the runtime without leaving, see `translator::emit::calls::clean`.
//!
//! The run loop makes a call, or writes words, when translated code has left for them. At the first time it leaves here what it has found out: the descriptor, and the instruction. From then on
//! translated code finds it here, calls, and all that is done is what the descriptor says. Who finds nothing has translated code leave.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use bubble::map::CACHE_SHARED;
use isa::Instruction;
use machine::{AddressHasher, Gpr, component};
use translator::abi::{CallDescriptor, Counters, Cpu, IN_TARGET, Reserved, SLOT_R11, SpaceId, ThreadState};
use translator::trace::Form;

use super::switch::current;
use crate::routines::{self, CURRENT};

/// What is known of a place.
pub struct Clean {
    /// The call, or its test, or words.
    pub first: CallDescriptor,
    /// What is called if the test says so.
    pub then: Option<CallDescriptor>,
    /// Counters that are added up before.
    pub counters: &'static Counters,
    /// The instruction before which it is, if one of these looks at it.
    pub instruction: Option<Instruction>,
}

type Known = HashMap<u64, Clean, BuildHasherDefault<AddressHasher>>;

/// Places that are known at most, some 500 bytes each.
const MOST: usize = 1 << 15;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// What is known of the place with the descriptor at this offset of a space's arena.
pub fn know(space: SpaceId, described: u32, clean: Clean) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() == MOST {
        known.clear();
    }
    known.insert((space as u64) << 32 | u64::from(described), clean);
}

/// Descriptors of this process's own aren't where they were.
pub fn forget() {
    *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Does something with what is known of a place and with the app's state there, which is aside. What can't be done is done by the run loop: then translated code goes on at `failed`.
fn with_known(id: u64, pc: u64, rflags: u64, failed: u64, work: impl FnOnce(&Clean, &mut ThreadState) -> bool) {
    // SAFETY: the thread state is mapped, and translated code, which uses it too, waits for this function.
    let thread = unsafe { &mut *current() };
    let registers = &mut thread.cpu.registers;
    registers.gpr = thread.called;
    if thread.is_r11_reserved != 0 {
        registers.set(Gpr::R11, thread.spill[SLOT_R11]);
    }
    registers.rflags = rflags;
    registers.rip = if pc == IN_TARGET { thread.target } else { pc };
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_done = known.as_ref().and_then(|known| known.get(&id)).is_some_and(|clean| work(clean, thread));
    if !is_done {
        thread.aside[0] = failed;
    }
}

/// Whether the x87 unit may keep an address in the code cache as that of its last instruction: the run loop makes it the app's.
fn keeps_cache_pc(thread: &ThreadState) -> bool {
    let xstate = &thread.cpu.xstate;
    // The caches lie in one range of 4 GiB.
    let is_cache = xstate.x87_pc() >> 32 == CACHE_SHARED.start >> 32;
    let is_noted = thread.loses_x87 != 0 && xstate.noted_x87_pc().is_some();
    xstate.xstate_bv() & component::X87 != 0 && (is_cache || is_noted)
}

/// Makes the tool's state what its routines made of it.
fn add_up(counters: &Counters, thread: &mut ThreadState) {
    if counters.reserved() == Reserved::CounterRegister {
        let counted = std::mem::take(&mut thread.called[Gpr::R11 as usize]);
        thread.store_r11(Reserved::CounterRegister, counted);
    }
    let moved = thread.moved();
    // SAFETY: the tool's state is mapped, and translated code, which uses it and the shards, waits.
    unsafe { counters.flush_shards(&mut thread.shards, moved) };
}

/// Makes a call.
pub(super) extern "C" fn call(id: u64, pc: u64, rflags: u64, failed: u64) {
    let routine = CURRENT.load(Relaxed);
    let mut is_done = false;
    with_known(id, pc, rflags, failed, |Clean { first, then, counters, instruction }, thread| {
        let mut all = std::iter::once(first).chain(then);
        if keeps_cache_pc(thread) && all.any(|call| call.form() == Form::State) {
            return false;
        }
        is_done = true;
        add_up(counters, thread);
        let (cpu, moved) = (&thread.cpu, thread.moved());
        let makes = |call: &CallDescriptor, cpu: &Cpu| call.call(cpu, instruction.as_ref(), moved);
        let says = makes(first, cpu) != 0;
        if let Some(then) = then.as_ref().filter(|_| says) {
            routines::count_aside(then.routine());
            makes(then, cpu);
        }
        true
    });
    if !is_done {
        routines::uncount(routine);
    }
}

/// Writes the words before an instruction; the buffer's position behind them is then in the first word of `called_args`.
pub(super) extern "C" fn words(id: u64, pc: u64, rflags: u64, failed: u64) {
    with_known(id, pc, rflags, failed, |Clean { first, instruction, .. }, thread| {
        let words = first.words(&thread.cpu, instruction.as_ref());
        let fits = thread.has_room(words.len());
        if fits {
            // SAFETY: there is room in the buffer, and translated code, which writes to it, waits.
            thread.called_args[0] = unsafe { thread.write_words(&words) };
        }
        fits
    });
}
