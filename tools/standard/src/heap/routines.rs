//! Routines that allocate and free.

use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{BranchKind, Gpr, Instruction, memory};

/// What a routine does. Those of C++ (`operator new`) call these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub enum Kind {
    /// `malloc(size)`, `valloc`, `pvalloc`
    #[default]
    Malloc,
    /// `calloc(count, size)`
    Calloc,
    /// `realloc(pointer, size)`
    Realloc,
    /// `reallocarray(pointer, count, size)`
    ReallocArray,
    /// `aligned_alloc(alignment, size)`, `memalign`
    Aligned,
    /// `posix_memalign(where to put the pointer, alignment, size)`
    PosixMemalign,
    /// `free(pointer)`
    Free,
}

const ROUTINES: [(&str, Kind); 10] = [
    ("malloc", Kind::Malloc),
    ("calloc", Kind::Calloc),
    ("realloc", Kind::Realloc),
    ("reallocarray", Kind::ReallocArray),
    ("memalign", Kind::Aligned),
    ("aligned_alloc", Kind::Aligned),
    ("posix_memalign", Kind::PosixMemalign),
    ("valloc", Kind::Malloc),
    ("pvalloc", Kind::Malloc),
    ("free", Kind::Free),
];

impl Kind {
    /// What the routine of this name does, as a number for [`Self::of`].
    pub fn named(name: &str) -> Option<u64> {
        ROUTINES.iter().position(|(routine, _)| *routine == name).map(|number| number as u64)
    }

    fn of(number: u64) -> Self {
        ROUTINES[number as usize].1
    }
}

/// A call of one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Call {
    kind: Kind,
    /// The pointer that it was given, or 0.
    pointer: u64,
    /// Bytes that are asked for.
    size: u64,
}

impl Call {
    /// With these arguments. `number`: see [`Kind::named`].
    pub fn new(number: u64, a: u64, b: u64, c: u64) -> Self {
        let kind = Kind::of(number);
        let (pointer, size) = match kind {
            Kind::Malloc => (0, a),
            Kind::Calloc => (0, a.saturating_mul(b)),
            Kind::Realloc => (a, b),
            Kind::ReallocArray => (a, b.saturating_mul(c)),
            Kind::Aligned => (0, b),
            Kind::PosixMemalign => (a, c),
            Kind::Free => (a, 0),
        };
        Self { kind, pointer, size }
    }

    /// The block that is freed where it is entered, or 0.
    pub fn frees_at_once(&self) -> u64 {
        if self.kind == Kind::Free { self.pointer } else { 0 }
    }

    /// It returns this: the block that is free then and the one that is allocated, each 0 if there is none.
    pub fn returns(&self, result: u64) -> (u64, u64) {
        match self.kind {
            Kind::Free => (0, 0),
            Kind::PosixMemalign if result as i32 != 0 => (0, 0),
            Kind::PosixMemalign => (0, memory::read_word(self.pointer).unwrap_or(0)),
            // What can't be had leaves the old block as it is.
            Kind::Realloc | Kind::ReallocArray if result != 0 || self.size == 0 => (self.pointer, result),
            Kind::Realloc | Kind::ReallocArray => (0, 0),
            Kind::Malloc | Kind::Calloc | Kind::Aligned => (0, result),
        }
    }

    /// Where it puts the address of what it allocates, unless it returns that.
    pub fn points_to(&self) -> Option<u64> {
        (self.kind == Kind::PosixMemalign).then_some(self.pointer)
    }

    /// The block that it returns, or 0.
    pub fn allocates(&self, result: u64) -> u64 {
        if matches!(self.kind, Kind::Free | Kind::PosixMemalign) { 0 } else { result }
    }

    /// Bytes that are asked for.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// What a routine that is entered here does, see [`Kind::named`].
pub fn entered<L: 'static>(instruction: &Instruction<'_, L>) -> Option<u64> {
    instruction.enters().and_then(|routine| Kind::named(routine.name()))
}

/// Whether an allocating routine may be left here: by any return in its library, since `calloc` may end by a jump to `memset`.
pub fn may_be_left<L: 'static>(instruction: &Instruction<'_, L>) -> bool {
    let is_return = instruction.branch() == Some(BranchKind::Return);
    is_return && instruction.image().is_some_and(|image| image.routine("malloc").is_some())
}

/// The stack pointer, by which a call is known again when it returns.
pub const PLACE: Gpr = Gpr::Rsp;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_frees_and_allocates_what_its_manual_says() {
        let call = |name, a, b, c| Call::new(Kind::named(name).unwrap(), a, b, c);
        assert_eq!(call("malloc", 5, 0, 0).returns(64), (0, 64));
        assert_eq!(call("calloc", 5, 7, 0).size(), 35);
        assert_eq!(call("realloc", 64, 9, 0).returns(128), (64, 128));
        assert_eq!(call("realloc", 64, 9, 0).returns(0), (0, 0));
        assert_eq!(call("realloc", 64, 0, 0).returns(0), (64, 0));
        assert_eq!(call("reallocarray", 64, 3, 4).size(), 12);
        assert_eq!(call("posix_memalign", 64, 32, 4).returns(12), (0, 0));
        assert_eq!(call("free", 64, 0, 0).frees_at_once(), 64);
        assert_eq!(call("aligned_alloc", 64, 128, 0).size(), 128);
        assert_eq!(Kind::named("mallinfo"), None);
    }
}
