//! The extended state in signal frames: what the kernel puts there, and what it takes from there.

use std::sync::OnceLock;

use machine::signal_area::SignalArea;
use machine::{ComponentPlace, EXTENDED_AT, Memory, MemoryError, XSTATE_CAPACITY, XState, component};

const MAGIC1: u32 = 0x4650_5853;

const MAGIC2: u32 = 0x4650_5845;

/// The extended state with the software bytes that tell its size. As the kernel does, x87 and SSE are always
/// given explicitly.
pub(super) fn put_area(area: &mut [u8], state: &XState, size: usize) {
    let state = explicit(state);
    for (start, end) in written(size) {
        // What lies behind what is kept (tiles' configuration) is in its initial state: zeros.
        area[start..end].fill(0);
        if let Some(kept) = state.bytes.get(start..end.min(XSTATE_CAPACITY)) {
            area[start..start + kept.len()].copy_from_slice(kept);
        }
    }
    let mut put = |at: usize, bytes: &[u8]| area[at..at + bytes.len()].copy_from_slice(bytes);
    put(464, &MAGIC1.to_le_bytes());
    put(468, &(size as u32 + 4).to_le_bytes());
    put(472, &features().to_le_bytes());
    put(480, &(size as u32).to_le_bytes());
    put(size, &MAGIC2.to_le_bytes());
}

/// What is written of an area: x87 and SSE, the software bytes, the header, and each component that the kernel writes.
fn written(size: usize) -> Vec<(usize, usize)> {
    let components = (2..63).filter(|bit| area().written >> bit & 1 != 0).map(|bit| {
        let place = ComponentPlace::own(bit).range();
        (place.start, place.end)
    });
    let legacy = [(0, 416), (464, EXTENDED_AT)];
    legacy.into_iter().chain(components).filter(|(_, end)| *end <= size).collect()
}

/// The same state with x87 and SSE present, and zeros for whatever else isn't.
fn explicit(state: &XState) -> XState {
    let mut explicit = state.clone();
    explicit.forget_notes();
    let initial = XState::initial();
    let present = state.xstate_bv();
    if present & component::X87 == 0 {
        explicit.bytes[..24].copy_from_slice(&initial.bytes[..24]);
        explicit.bytes[32..160].fill(0);
    }
    if present & component::SSE == 0 {
        explicit.bytes[160..416].fill(0);
    }
    for bit in (2..63).filter(|bit| present >> bit & 1 == 0 && features() >> bit & 1 != 0) {
        let place = ComponentPlace::own(bit).range();
        if place.end <= XSTATE_CAPACITY {
            explicit.bytes[place].fill(0);
        }
    }
    let present = present | component::X87 | component::SSE;
    explicit.bytes[512..520].copy_from_slice(&present.to_le_bytes());
    explicit
}

/// Reads an extended state. What the processor would refuse to load is cleared: reserved bits of MXCSR and
/// of the header. Without the magics it is an FXSAVE area, and the rest is initial.
pub(super) fn take_area(address: u64, memory: &dyn Memory) -> Result<XState, MemoryError> {
    let mut state = XState { bytes: [0; XSTATE_CAPACITY] };
    memory.read(address, &mut state.bytes[..512])?;
    let half = |state: &XState, at: usize| u32::from_le_bytes(state.bytes[at..at + 4].try_into().expect("four bytes"));
    let size = half(&state, 480) as usize;
    let extended = half(&state, 464) == MAGIC1 && (EXTENDED_AT..=area_size()).contains(&size);
    let mut magic = [0; 4];
    let whole = extended
        && memory.read(address + size as u64, &mut magic).is_ok()
        && u32::from_le_bytes(magic) == MAGIC2
        && memory.read(address, &mut state.bytes[..size.min(XSTATE_CAPACITY)]).is_ok();
    let present =
        if whole { state.xstate_bv() & features() & component::KEPT } else { component::X87 | component::SSE };
    state.bytes[464..EXTENDED_AT].fill(0);
    state.bytes[512..520].copy_from_slice(&present.to_le_bytes());
    let mxcsr = half(&state, 24) & 0xffff;
    state.bytes[24..28].copy_from_slice(&mxcsr.to_le_bytes());
    Ok(state)
}

/// The extended state with which a handler begins.
pub(super) fn at_handler() -> XState {
    let mut state = XState::initial();
    state.set_protection_keys(area().protection_keys);
    state
}

static AREA: OnceLock<SignalArea> = OnceLock::new();

/// Makes frames with such areas from now on.
pub fn use_area(area: SignalArea) {
    let _ = AREA.set(area);
}

pub(super) fn area() -> SignalArea {
    *AREA.get().expect("a serial run is told what the kernel's frames are like")
}

/// Components that frames have room for.
fn features() -> u64 {
    area().components
}

/// Bytes of the XSAVE area.
pub(super) fn area_size() -> usize {
    area().size as usize
}
