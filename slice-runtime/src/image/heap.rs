//! The Rust allocator of a tool image.
//!
//! The problem: the tool allocates while the app may be inside its own malloc, and no mapping of the tool's may
//! appear where the app would have got one. The approach: in a taken-over process everything comes from the
//! bubble's HEAP, by dlmalloc over pages that become accessible from the region's start upwards. In the other
//! roles this is the system's allocator.
//!
//! * Pages are never given back: a slice is short, and the region is larger than memory.
//! * Small blocks are kept when they are given back, in lists by size (`small_blocks.rs`): each translation needs a dozen, and gives them back at once.
//! * The lock spins: it is held for some tens of instructions, and never while a host is asked or app code runs.
//!   A signal handler must not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bubble::map::HEAP;
use dlmalloc::Dlmalloc;

use super::injected::injected;
use super::small_blocks::{self, Small};
use crate::ports::OwnSlot;

/// By how much the heap grows at least: few system calls, and mappings that stay one.
const GRANULE: usize = 1 << 20;

/// Rounds after which who waits for the lock lets others run.
const PATIENCE: u32 = 200;

#[global_allocator]
static ALLOCATOR: ImageHeap = ImageHeap::new();

/// The heap of the image in whichever role it runs.
struct ImageHeap {
    locked: AtomicBool,
    bubble: UnsafeCell<Blocks>,
}

/// The blocks in the bubble.
struct Blocks {
    small: Small,
    all: Dlmalloc<Pages>,
}

// SAFETY: `bubble` is reached through `with_bubble` alone, which holds the lock.
unsafe impl Sync for ImageHeap {}

impl ImageHeap {
    const fn new() -> Self {
        let mut bubble = Dlmalloc::new_with_allocator(Pages::new());
        assert!(bubble.set_granularity(GRANULE));
        let blocks = Blocks { small: Small::new(), all: bubble };
        Self { locked: AtomicBool::new(false), bubble: UnsafeCell::new(blocks) }
    }

    fn with_bubble<R>(&self, work: impl FnOnce(&mut Blocks) -> R) -> R {
        let mut rounds = 0;
        while self.locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
            rounds += 1;
            if rounds % PATIENCE == 0 {
                // Who holds it may not be running.
                // SAFETY: the call has no arguments.
                unsafe { libc::sched_yield() };
            }
        }
        // SAFETY: the lock is held, and `work` can't come back here: dlmalloc calls nothing but `Pages`.
        let result = work(unsafe { &mut *self.bubble.get() });
        self.locked.store(false, Ordering::Release);
        result
    }
}

/// Bytes of HEAP, from its start, that were handed out.
pub(crate) fn used() -> u64 {
    ALLOCATOR.with_bubble(|blocks| blocks.all.allocator().used.load(Ordering::Relaxed))
}

/// Makes so many bytes accessible that weren't handed out, if the kernel allows that: they are there when it doesn't any more.
pub(crate) fn make_room(bytes: u64) {
    ALLOCATOR.with_bubble(|blocks| {
        let pages = blocks.all.allocator();
        pages.make_accessible(pages.used.load(Ordering::Relaxed) + bytes);
    });
}

/// Bytes of HEAP that are accessible.
pub(crate) fn accessible() -> u64 {
    ALLOCATOR.with_bubble(|blocks| blocks.all.allocator().accessible.load(Ordering::Relaxed))
}

/// Ends the run if there is no memory. Whoever would tell of it otherwise allocates for that.
fn or_fail(block: *mut u8) -> *mut u8 {
    if block.is_null()
        && let Some(slot) = OwnSlot::current()
    {
        slot.fail_with(NO_MEMORY);
    }
    block
}

const NO_MEMORY: &str = "there is no memory left for the tool and for translations: the app limits its data (RLIMIT_DATA), or the machine has no more (shorter slices need less: -spmsec)";

// SAFETY: both allocators keep the contract; the role never changes, so memory goes back to where it came from.
unsafe impl GlobalAlloc for ImageHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !injected() {
            // SAFETY: the caller's promises are passed on.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: the caller's promises are passed on.
        or_fail(self.with_bubble(|blocks| unsafe { blocks.alloc(layout) }))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !injected() {
            // SAFETY: the caller's promises are passed on.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the caller's promises are passed on.
        or_fail(self.with_bubble(|blocks| unsafe { blocks.alloc_zeroed(layout) }))
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if !injected() {
            // SAFETY: the caller's promises are passed on.
            return unsafe { System.dealloc(ptr, layout) };
        }
        // SAFETY: the caller's promises are passed on.
        self.with_bubble(|blocks| unsafe { blocks.dealloc(ptr, layout) });
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !injected() {
            // SAFETY: the caller's promises are passed on.
            return unsafe { System.realloc(ptr, layout, new_size) };
        }
        // SAFETY: the caller's promises are passed on.
        or_fail(self.with_bubble(|blocks| unsafe { blocks.realloc(ptr, layout, new_size) }))
    }
}

/// What a global allocator does, by whoever holds the lock: the contracts are `GlobalAlloc`'s.
impl Blocks {
    #[inline]
    unsafe fn alloc(&mut self, layout: Layout) -> *mut u8 {
        match small_blocks::class(layout) {
            Some(class) => self.small.take(class).unwrap_or_else(|| self.new_small(class)),
            // SAFETY: the caller's promises.
            None => unsafe { self.all.malloc(layout.size(), layout.align()) },
        }
    }

    /// A block of a class that has none left.
    #[cold]
    fn new_small(&mut self, class: usize) -> *mut u8 {
        // SAFETY: a class's size isn't zero, and its alignment is a power of two.
        unsafe { self.all.malloc(small_blocks::size_of_class(class), small_blocks::ALIGN) }
    }

    unsafe fn alloc_zeroed(&mut self, layout: Layout) -> *mut u8 {
        if small_blocks::class(layout).is_none() {
            // SAFETY: the caller's promises.
            return unsafe { self.all.calloc(layout.size(), layout.align()) };
        }
        // SAFETY: the caller's promises; what is allocated has this size.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    #[inline]
    unsafe fn dealloc(&mut self, ptr: *mut u8, layout: Layout) {
        match small_blocks::class(layout) {
            // SAFETY: the caller gives up a block that was allocated with this layout, so of this class.
            Some(class) => unsafe { self.small.give(class, ptr) },
            // SAFETY: the caller's promises.
            None => unsafe { self.all.free(ptr, layout.size(), layout.align()) },
        }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size doesn't overflow when it is aligned.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (small_blocks::class(layout), small_blocks::class(new)) {
            (Some(old), Some(new)) if old == new => ptr,
            // SAFETY: the caller's promises.
            (None, None) => unsafe { self.all.realloc(ptr, layout.size(), layout.align(), new_size) },
            // SAFETY: the old block is valid for its size, the new one for its own, and they are two.
            _ => unsafe {
                let block = self.alloc(new);
                if !block.is_null() {
                    block.copy_from_nonoverlapping(ptr, layout.size().min(new_size));
                    self.dealloc(ptr, layout);
                }
                block
            },
        }
    }
}

/// The pages of HEAP, in order.
struct Pages {
    /// Bytes that were handed out.
    used: AtomicU64,
    /// Bytes that are accessible: these, and perhaps more.
    accessible: AtomicU64,
}

impl Pages {
    const fn new() -> Self {
        Self { used: AtomicU64::new(0), accessible: AtomicU64::new(0) }
    }

    /// Whether so many bytes of HEAP are accessible now.
    fn make_accessible(&self, bytes: u64) -> bool {
        let before = self.accessible.load(Ordering::Relaxed);
        if bytes <= before {
            return true;
        }
        if bytes > HEAP.size {
            return false;
        }
        let (start, protection) = ((HEAP.start + before) as *mut u8, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the range lies in HEAP, which is reserved for this heap, and holds nothing yet.
        let result = engine::check::while_allowed(|| unsafe {
            libc::mprotect(start.cast(), (bytes - before) as usize, protection)
        });
        if result == 0 {
            self.accessible.store(bytes, Ordering::Relaxed);
        }
        result == 0
    }
}

// SAFETY: each range is handed out once, is accessible, and is aligned to GRANULE.
unsafe impl dlmalloc::Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        const NOTHING: (*mut u8, usize, u32) = (std::ptr::null_mut(), 0, 0);
        let used = self.used.load(Ordering::Relaxed);
        let Some(after) = used.checked_add(size as u64).filter(|&after| self.make_accessible(after)) else {
            return NOTHING;
        };
        self.used.store(after, Ordering::Relaxed);
        ((HEAP.start + used) as *mut u8, size, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        std::ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_in_order_and_end_with_the_region() {
        // SAFETY: nothing else is mapped at the bubble in a test process; the kernel checks that.
        let reserved = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
            libc::mmap(HEAP.start as *mut _, HEAP.size as usize, libc::PROT_NONE, flags, -1, 0)
        };
        assert_eq!(reserved as u64, HEAP.start);
        let mut heap = Dlmalloc::new_with_allocator(Pages::new());
        // SAFETY: the sizes and alignments are valid, and each block is freed as it was allocated.
        unsafe {
            let small = heap.malloc(100, 64);
            assert!(HEAP.contains(small as u64) && (small as u64).is_multiple_of(64));
            let large = heap.calloc(30 << 20, 4096);
            assert!(HEAP.contains(large as u64));
            assert!(std::slice::from_raw_parts(large, 30 << 20).iter().all(|&b| b == 0));
            assert!(heap.malloc(HEAP.size as usize, 8).is_null());
            heap.free(large, 30 << 20, 4096);
            let used = heap.allocator().used.load(Ordering::Relaxed);
            let again = heap.malloc(20 << 20, 8);
            assert!(HEAP.contains(again as u64));
            assert_eq!(heap.allocator().used.load(Ordering::Relaxed), used, "freed memory is used again");
            heap.free(small, 100, 64);
            let pages = heap.allocator();
            assert!(pages.make_accessible(used + (64 << 20)) && pages.accessible.load(Ordering::Relaxed) > used);
            assert!(HEAP.contains(heap.malloc(40 << 20, 8) as u64));
            assert_eq!(heap.allocator().accessible.load(Ordering::Relaxed), used + (64 << 20));
        }
    }
}
