//! Taking the snapshot of this image (see [`bubble::snapshot`]), and going on from one.
//!
//! The problem: libc's start, relocations and above all the decoder's tables take each slice a millisecond and some hundred pages of memory of its own.
//! They come out the same in all slices. The approach is that of a fork: [`take`] is called once and returns in many processes, here and in each
//! slice that goes on from the snapshot. So before it nothing may be done that belongs to one slice: nothing of the boot block is kept, no slot taken.
//!
//! What isn't in memory: the FS base, which is set again; general registers, which are on the stack; floating-point control, which the loader
//! has set as it is here. libc knows the thread id of the slice that took the snapshot, as after every fork by a bare system call; nothing here asks for it.

use std::arch::global_asm;
use std::sync::atomic::{AtomicU64, Ordering};

use bubble::boot::{BootBlock, RunMode};
use bubble::map::{CONTROL, HEAP, LIBC_HEAP, SNAPSHOT, STACK};
use bubble::snapshot::{Contents, HEADER_AT, Piece, SnapshotHeader};
use machine::PAGE;

use super::{heap, libc_shims};

const ARCH_SET_FS: u64 = 0x1002;

/// What FS has to be where the snapshot goes on.
#[unsafe(no_mangle)]
static SUPERPIN_SNAPSHOT_FS: AtomicU64 = AtomicU64::new(0);

global_asm!(
    ".pushsection .text.superpin_snapshot, \"ax\", @progbits",
    ".globl superpin_snapshot_take",
    ".globl superpin_snapshot_resume",
    ".hidden superpin_snapshot_take",
    ".hidden superpin_snapshot_resume",
    // rdi: what writes the snapshot; it gets the stack pointer and rsi.
    "superpin_snapshot_take:",
    machine::keep_registers!(),
    "sub rsp, 8",
    "mov rax, rdi",
    "mov rdi, rsp",
    "call rax",
    "2:",
    "add rsp, 8",
    machine::return_with_kept_registers!(),
    // From the loader, with that stack pointer.
    "superpin_snapshot_resume:",
    "mov eax, {arch_prctl}",
    "mov edi, {set_fs}",
    "mov rsi, qword ptr [rip + {fs}]",
    "syscall",
    "jmp 2b",
    ".popsection",
    arch_prctl = const libc::SYS_arch_prctl,
    set_fs = const ARCH_SET_FS,
    fs = sym SUPERPIN_SNAPSHOT_FS,
);

/// Takes a snapshot if the boot block asks for one. Returns in this process, and in others that go on from it.
///
/// # Safety
/// This is a taken-over process whose boot block is at `boot` and whose bubble is mapped as that says; this is the only thread, on STACK.
pub unsafe fn take(boot: *const BootBlock) {
    unsafe extern "C" {
        fn superpin_snapshot_take(write: unsafe extern "C" fn(u64, *const BootBlock), boot: *const BootBlock);
    }
    // SAFETY: a volatile read of what is there in this process; nobody is to remember it in the next.
    let (mode, data) = unsafe {
        ((&raw const (*boot).site.mode).read_volatile(), (&raw const (*boot).site.image_data).read_volatile())
    };
    if mode == RunMode::Slice && data != [0; 2] {
        isa::prepare();
        machine::Layout::own();
        // SAFETY: as `take` itself.
        unsafe { superpin_snapshot_take(write, boot) };
    }
}

/// Writes the snapshot of a process whose stack is in use from `stack` upwards.
unsafe extern "C" fn write(stack: u64, boot: *const BootBlock) {
    unsafe extern "C" {
        static superpin_snapshot_resume: u8;
    }
    // SAFETY: `take` promises a boot block.
    let [start, end] = unsafe { (&raw const (*boot).site.image_data).read_volatile() };
    SUPERPIN_SNAPSHOT_FS.store(fs_base(), Ordering::Relaxed);
    let used = heap::used();
    let filled = filled(HEAP.start, used);
    let stack_from = stack & !(PAGE - 1);
    let piece = |start, len: u64, zeroes| Piece { start, len: len.next_multiple_of(PAGE), zeroes };
    let pieces = [
        piece(start, end - start, 0),
        piece(LIBC_HEAP.start, libc_shims::taken(), 0),
        piece(HEAP.start, filled, used - filled),
        piece(stack_from, STACK.end() - stack_from, 0),
    ];
    let contents = Contents { pieces, resume: &raw const superpin_snapshot_resume as u64, stack };
    let header = (CONTROL.start as usize + HEADER_AT) as *mut SnapshotHeader;
    // SAFETY: CONTROL is mapped, and so is SNAPSHOT, because the boot block asks for a snapshot; the pieces are this process's own memory, of which
    // nothing but this function's own frame changes meanwhile.
    unsafe {
        SnapshotHeader::make(header, contents, |contents| {
            let mut to = SNAPSHOT.start as *mut u8;
            for piece in contents.pieces {
                std::ptr::copy_nonoverlapping(piece.start as *const u8, to, piece.len as usize);
                to = to.add(piece.len as usize);
            }
        });
        // The reservation again, for the app of a fork of this process too.
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        libc::mmap(SNAPSHOT.start as *mut _, SNAPSHOT.size as usize, libc::PROT_NONE, flags, -1, 0);
    }
}

/// Bytes from `start` to the end of the last page that isn't zero.
fn filled(start: u64, len: u64) -> u64 {
    // SAFETY: the heap's accessible part, whole pages, of this process alone.
    let words = unsafe { std::slice::from_raw_parts(start as *const u64, len as usize / 8) };
    let last = words.iter().rposition(|&word| word != 0).map_or(0, |at| at as u64 * 8 + 8);
    last.next_multiple_of(PAGE)
}

fn fs_base() -> u64 {
    const ARCH_GET_FS: i32 = 0x1003;
    let mut base = 0_u64;
    // SAFETY: the place for the answer is valid.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_GET_FS, &raw mut base) };
    base
}
