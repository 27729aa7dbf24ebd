//! Notes where the app stores images of its vector registers and environments of its x87 unit: see [`sigmatch::Images`].

use std::ptr::addr_of_mut;

use machine::x87::Lost;
use machine::{Gpr, Here, component};
use sigmatch::{Form as Layout, Images};
use translator::trace::{AnalysisCall, Arg, Form, Point, Trace};

/// One for the process, at the same address in every slice: shared translations pass it to the routines.
static mut IMAGES: Images = Images::new();

/// Inserts calls of the routines.
pub fn instrument(trace: &mut Trace) {
    let requested = [Arg::Register(Gpr::Rax), Arg::Register(Gpr::Rdx)];
    let calls = trace.instructions.iter().enumerate().filter_map(|(index, instruction)| {
        let (routine, registers): (_, &[Arg]) = if instruction.stores_extended_state() {
            let compacts = instruction.compacts_extended_state();
            (if compacts { note_compacted as *const () } else { note_standard as *const () }, &requested)
        } else if instruction.stores_x87_environment() && machine::x87::lost() != Lost::Nothing {
            (note_environment as *const (), &[])
        } else {
            return None;
        };
        let args = [&[Arg::MemoryAddress(0)], registers].concat();
        let call = AnalysisCall::new(Point::Before(index), routine as usize, addr_of_mut!(IMAGES) as u64, args);
        Some(AnalysisCall { form: Form::Runtime, ..call })
    });
    let calls: Vec<_> = calls.collect();
    trace.calls.extend(calls);
}

/// These are none of the tool's routines, in whichever slice their calls were inserted.
pub fn disown() {
    let own = [note_standard as *const (), note_compacted as *const (), note_environment as *const ()];
    engine::routines::disown(&own.map(|routine| routine as u64));
}

/// What was stored so far.
pub fn stored() -> &'static Images {
    // SAFETY: only this and the routines write there, the latter while translated code runs; nobody holds the reference then.
    let images = unsafe { &mut *addr_of_mut!(IMAGES) };
    images.complete(engine::stored_environment());
    images
}

extern "C" fn note_standard(images: &mut Images, start: u64, low: u64, high: u64) {
    note(images, start, Layout::Standard, low, high);
}

extern "C" fn note_compacted(images: &mut Images, start: u64, low: u64, high: u64) {
    note(images, start, Layout::Compacted, low, high);
}

/// An image is about to be stored at `start`, of the components that edx and eax name.
fn note(images: &mut Images, start: u64, form: Layout, low: u64, high: u64) {
    let requested = (high << 32 | low & 0xffff_ffff) & component::enabled();
    images.note(start, form, requested, engine::extended_state(), &Here::new());
}

/// An environment is about to be stored at `start`.
extern "C" fn note_environment(images: &mut Images, start: u64) {
    images.note_environment(start, engine::stored_environment());
}
