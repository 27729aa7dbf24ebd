//! The engine as each thread of a process holds it.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::engine::Engine;

/// The one engine of a process. Threads use it one after the other: who is in the runtime has it, who runs translated code doesn't.
pub struct SharedEngine(NonNull<Engine>);

impl SharedEngine {
    /// That of the first thread. It stays as long as the process.
    pub fn new(engine: Engine) -> Self {
        Self(NonNull::from(Box::leak(Box::new(engine))))
    }

    /// The same engine for another thread.
    ///
    /// # Safety
    /// No two of them are used at a time.
    pub unsafe fn for_another(&self) -> Self {
        Self(self.0)
    }
}

impl Deref for SharedEngine {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        // SAFETY: the engine stays, and nobody else uses it, by the promise of `for_another`.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for SharedEngine {
    fn deref_mut(&mut self) -> &mut Engine {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}
