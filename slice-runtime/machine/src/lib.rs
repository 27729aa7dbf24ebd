//! What an x86-64 Linux process consists of, as every part of the project sees it: addresses,
//! registers, extended state and memory.
//!
//! This is a leaf: it knows neither ptrace nor the JIT. The same types describe the app when it is a
//! stopped tracee, when it is captured in a boot block and when its state lives in a slice's thread state.

mod address;
mod assembly;
mod component_place;
pub mod cpuid;
pub mod in_use;
mod layout;
mod memory;
mod page;
pub mod proc;
mod registers;
mod signals;
pub mod x87;
mod xstate;

pub use address::{AddressHasher, AppPc, CachePc};
pub use component_place::{ComponentPlace, EXTENDED_AT};
pub use layout::{LaidOut, Layout, SavedXState};
pub use memory::{Here, Memory, MemoryError};
pub use page::PAGE;
pub use proc::{Status, mapping, pagemap};
pub use registers::{Gpr, Registers, flags};
pub use signals::{SignalOrigin, signal_area};
pub use xstate::{X87, XSTATE_CAPACITY, XState, component};
