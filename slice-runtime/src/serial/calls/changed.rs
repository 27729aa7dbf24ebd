//! Calls that the tool changes.

use super::call::AppCall;

/// A call that the tool was asked about and that isn't over.
#[derive(Clone, Copy)]
pub struct ChangedCall {
    pub(in crate::serial) pc: u64,
    pub(in crate::serial) app: AppCall,
    /// What is made of it.
    pub(in crate::serial) made: AppCall,
    /// What the app gets without it being made.
    pub(in crate::serial) instead: Option<u64>,
}

/// The calls that the tool changes.
#[derive(Default)]
pub struct ChangedCalls {
    is_on: bool,
    pub(in crate::serial) open: Option<ChangedCall>,
}

impl ChangedCalls {
    /// For a tool that changes calls or doesn't.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, open: None }
    }

    /// Whether it does.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Another thread's turn begins: puts its call in, and takes this one's out.
    pub fn exchange(&mut self, open: &mut Option<ChangedCall>) {
        std::mem::swap(&mut self.open, open);
    }

    /// The call is over, without the tool being asked.
    pub fn forget(&mut self) {
        self.open = None;
    }
}
