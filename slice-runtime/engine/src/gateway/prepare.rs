//! Ways from translated code to routines that change little of the app's state beyond general registers.
//!
//! ```text
//!          the app's vector registers aren't in use? by `superpin_all_aside`
//!          put aside the vector registers that it changes; MXCSR, if it computes with floating point; FS, if it uses thread-local storage
//!          call the routine, or a copy of it
//!          all aside? give back
//!          give back
//!          back to translated code
//! ```
//!
//! They are made in each process for itself, at a routine's first call: translated code, which slices share, names the routine only.

use std::mem::offset_of;
use std::sync::{Mutex, PoisonError};

use bubble::map::{CALLED, THREADS};
use bubble::switches::Off;
use isa::Code;
use isa::routine::{Own, Plan, Touched, Way};
use machine::{CachePc, Gpr, Registers};
use translator::abi::ThreadState;
use translator::emit::code_at;

use super::copy::copy;
use super::extended::REGISTERS;
use super::partly;
use crate::routines;

/// What was made.
struct Made {
    /// Bytes of [`CALLED`] that are in use.
    used: u64,
    /// Of copies, where instructions of routines lie in them, by ascending address.
    places: Vec<(u64, u64)>,
    /// How words of the thread state are named.
    off: Off,
}

static MADE: Mutex<Made> = Mutex::new(Made { used: 0, places: Vec::new(), off: Off(0) });

unsafe extern "C" {
    fn superpin_all_aside();
}

/// Makes a way to a routine of the image. `None` if there can be none.
pub fn prepare(routine: u64) -> Option<u64> {
    // SAFETY: the routine is a function of the image, which is this program.
    let plan = Plan::new(unsafe { Own::new() });
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut code = code_at(CachePc(CALLED.start + made.used), made.off);
    let (target, touched, copied) = match plan.way(routine) {
        Way::Itself(touched) => (routine, touched, None),
        Way::Copy => {
            let copied = copy(routine, &plan, &mut code);
            (copied.entry.0, copied.touched, Some(copied.places))
        }
        Way::Aside => return None,
    };
    let entry = code.here().0;
    emit_way(target, touched, copied.is_some(), &mut code);
    if code.here().0 > CALLED.end() {
        return None;
    }
    // SAFETY: this part of the cache is nobody else's, and nobody executes what isn't made yet.
    unsafe { std::ptr::copy_nonoverlapping(code.bytes.as_ptr(), code.base.0 as *mut u8, code.bytes.len()) };
    made.used = (code.here().0 - CALLED.start).next_multiple_of(16);
    let mut places = copied.unwrap_or_default();
    places.sort_unstable();
    made.places.extend(places);
    Some(entry)
}

/// There are none: what they were made in is new. Those that will be made name words of the thread state as these switches say.
pub fn begin(off: Off) {
    *MADE.lock().unwrap_or_else(PoisonError::into_inner) = Made { used: 0, places: Vec::new(), off };
    routines::begin_called(superpin_all_aside as *const () as u64);
}

/// The instruction of the image's that is at `pc`, or of which there is a copy.
pub fn original(pc: u64) -> u64 {
    // Who fails while a way is being made doesn't execute one.
    let Ok(made) = MADE.try_lock() else { return pc };
    let behind = made.places.partition_point(|(place, _)| *place <= pc);
    match made.places[..behind].last() {
        Some((place, original)) if CALLED.contains(pc) => original + (pc - place),
        _ => pc,
    }
}

/// The address of a part of the thread state.
fn word(offset: usize) -> u64 {
    THREADS.start + offset as u64
}

fn vector_at(n: u8) -> u64 {
    word(offset_of!(ThreadState, vectors)) + u64::from(n) * 16
}

/// The runtime's MXCSR.
const MXCSR: u32 = 0x1f80;

/// Emits a way to `target`; the routine is in rax, what is counted of it in r10, and r11 is free. `escapes`: it may put all aside.
fn emit_way(target: u64, touched: Touched, escapes: bool, code: &mut Code) {
    let vectors = || (0..16_u8).filter(|n| touched.vectors & 1 << n != 0);
    let [mxcsr, escaped] = [offset_of!(ThreadState, mxcsr), offset_of!(ThreadState, escaped)].map(word);
    let [aside, runtime_fs] = [offset_of!(ThreadState, aside), offset_of!(ThreadState, runtime_fs)].map(word);
    let fs_base = word(REGISTERS + offset_of!(Registers, fs_base));
    for (i, n) in vectors().enumerate() {
        code.store_vector(vector_at(n), n);
        if i == 0 {
            code.load_mem(Gpr::R11, vector_at(n));
            code.or_mem(Gpr::R11, vector_at(n) + 8);
            let go_on = code.jcc_near(isa::Condition::Ne);
            code.call_far(partly::vectors_in_use());
            let in_use = code.jcc_near(isa::Condition::Ne);
            code.jmp_far(superpin_all_aside as *const () as u64);
            code.bind(go_on);
            code.bind(in_use);
        }
    }
    code.pop_mem(aside);
    if touched.mxcsr {
        code.store_mxcsr(mxcsr);
        code.store_mem32_imm(mxcsr + 4, MXCSR);
        code.load_mxcsr(mxcsr + 4);
    }
    if touched.fs {
        code.read_fs_base(Gpr::R11);
        code.store_mem(fs_base, Gpr::R11);
        code.load_mem(Gpr::R11, runtime_fs);
        code.write_fs_base(Gpr::R11);
    }
    if escapes {
        // Its upper half is never anything else.
        code.store_mem32_imm(escaped, 0);
    }
    code.call_far(target);
    if escapes {
        code.cmp_mem_imm(escaped, 0);
        let all_there = code.jcc_near(isa::Condition::E);
        code.call_far(partly::unescape());
        code.bind(all_there);
    }
    vectors().for_each(|n| code.load_vector(n, vector_at(n)));
    if touched.mxcsr {
        code.load_mxcsr(mxcsr);
    }
    if touched.fs {
        code.load_mem(Gpr::R11, fs_base);
        code.write_fs_base(Gpr::R11);
    }
    code.jmp_far(partly::called());
}
