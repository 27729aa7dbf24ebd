//! Small blocks that were given back, by size: to take one of them, and to give it back, is a handful of instructions.
//!
//! A block's class follows from its layout, so none needs a header. What is here is never joined again into larger blocks: what a process
//! needs of small ones changes little.

use std::alloc::Layout;
use std::ptr::null_mut;

/// Alignment of all small blocks.
pub const ALIGN: usize = 16;
/// Sizes up to this one differ by [`ALIGN`], those above double.
const FINE: usize = 512;
const LARGEST: usize = 4096;
const CLASSES: usize = FINE / ALIGN + (LARGEST / FINE).ilog2() as usize;

/// The class of blocks of this layout, if they are small.
#[inline]
pub fn class(layout: Layout) -> Option<usize> {
    let size = layout.size();
    if layout.align() > ALIGN || size > LARGEST || size == 0 {
        return None;
    }
    if size <= FINE {
        return Some((size - 1) / ALIGN);
    }
    Some(FINE / ALIGN + ((size - 1) / FINE).ilog2() as usize)
}

/// Bytes of a block of this class.
pub fn size_of_class(class: usize) -> usize {
    let fine = FINE / ALIGN;
    if class < fine { (class + 1) * ALIGN } else { (2 * FINE) << (class - fine) }
}

/// A block in a list.
struct Free {
    next: *mut Free,
}

/// The lists.
pub struct Small {
    free: [*mut Free; CLASSES],
}

impl Small {
    /// Empty lists.
    pub const fn new() -> Small {
        Small { free: [null_mut(); CLASSES] }
    }

    /// A block of this class, if one was given back.
    #[inline]
    pub fn take(&mut self, class: usize) -> Option<*mut u8> {
        let block = self.free[class];
        if block.is_null() {
            return None;
        }
        // SAFETY: what is in a list is a block that nobody else uses, with the link in it that `give` wrote.
        self.free[class] = unsafe { (*block).next };
        Some(block.cast())
    }

    /// Keeps a block for the next who asks for one of its class.
    ///
    /// # Safety
    /// The block has this class's size and [`ALIGN`], and nobody uses it any more.
    #[inline]
    pub unsafe fn give(&mut self, class: usize, block: *mut u8) {
        let block = block.cast::<Free>();
        // SAFETY: the caller's promise; a link fits into the smallest block.
        unsafe { block.write(Free { next: self.free[class] }) };
        self.free[class] = block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_the_sizes_up_to_its_own() {
        for size in 1..=LARGEST {
            let class = class(Layout::from_size_align(size, 8).unwrap()).unwrap();
            assert!(size <= size_of_class(class), "{size}");
            assert!(class == 0 || size > size_of_class(class - 1), "{size}");
        }
        assert_eq!(size_of_class(CLASSES - 1), LARGEST);
        for (size, align) in [(0, 1), (LARGEST + 1, 8), (64, 32)] {
            assert_eq!(class(Layout::from_size_align(size, align).unwrap()), None);
        }
    }

    #[test]
    fn the_block_given_last_is_taken_first() {
        let mut blocks = [[0_u128; 2]; 2];
        let [one, other] = &mut blocks;
        let (one, other) = (one.as_mut_ptr().cast(), other.as_mut_ptr().cast());
        let mut small = Small::new();
        assert_eq!(small.take(1), None);
        // SAFETY: both blocks have 32 bytes at multiples of 16, and are used for nothing else.
        unsafe {
            small.give(1, one);
            small.give(1, other);
        }
        assert_eq!([small.take(1), small.take(0), small.take(1), small.take(1)], [Some(other), None, Some(one), None]);
    }
}
