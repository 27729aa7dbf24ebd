//! One newtype for each kind of code address: an app pc must never be mistaken for a cache pc.

use std::fmt;

/// An address of the app's own code, as the app sees it.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AppPc(pub u64);

/// An address of translated code in the code cache.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CachePc(pub u64);

impl fmt::Debug for AppPc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "app:{:#x}", self.0)
    }
}

impl fmt::Display for AppPc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for CachePc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cache:{:#x}", self.0)
    }
}
