//! Notes where the app stores images of its vector registers, and what was there: see [`sigmatch::Images`].

use std::ptr::addr_of_mut;

use engine::instrument::{Arg, Call, Point, Trace};
use machine::Here;
use sigmatch::Images;

/// One for the process, at the same address in every slice: shared translations pass it to [`note`].
static mut IMAGES: Images = Images::new();

/// Inserts calls of [`note`].
pub fn instrument(trace: &mut Trace) {
    let storing = trace.instructions.iter().enumerate().filter(|(_, instruction)| instruction.stores_extended_state());
    let calls = storing.map(|(index, _)| {
        let (routine, images) = (note as *const () as usize, addr_of_mut!(IMAGES) as u64);
        Call::new(Point::Before(index), routine, images, vec![Arg::MemoryAddress(0)])
    });
    trace.calls.extend(calls);
}

/// The images so far.
pub fn stored() -> &'static Images {
    // SAFETY: only `note` writes there, while translated code runs; nobody holds this reference then.
    unsafe { &*addr_of_mut!(IMAGES) }
}

/// An image is about to be stored at `start`.
extern "C" fn note(images: &mut Images, start: u64) {
    images.note(start, &Here::new());
}
