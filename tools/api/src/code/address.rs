//! Where code is.

use machine::AppPc;

/// An address in one of the programs that the app is, one after the other: with `exec` another program comes to the same addresses.
///
/// [`crate::Images`] are asked with one of these, or with an [`AppPc`] where it isn't known of which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress {
    /// The program's number. One that comes again, at the same place, has the same.
    pub program: u32,
    /// The address.
    pub address: AppPc,
}

impl CodeAddress {
    /// Another address in the same program.
    pub fn at(self, address: AppPc) -> Self {
        Self { address, ..self }
    }
}
