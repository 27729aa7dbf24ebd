//! Taking over a stopped process: the tool image is mapped into its bubble and started with a boot block, which holds the app's captured state. The
//! procedure is the same at the app's entry point (serial mode) and in a fork (a slice).
//!
//! ```text
//!   ENTRY   + 0        boot block
//!           + 64 KiB   loader, then its steps, strings, and the image's initial stack
//! ```
//! Some twenty system calls set the process up. Each as a remote call would cost two context switches. So only the first one is (it maps ENTRY). Then the
//! *loader*, a few instructions of position-independent code, executes a list of steps inside the process and jumps to the image's entry point. If a step
//! fails, the process exits with a status by which [`StepNames`] tells which one.

use std::os::fd::AsRawFd;

use bubble::behind::Behind;
use bubble::boot::{self, BOOT_MAGIC, BootBlock, RunMode, State};
use bubble::map::ENTRY;
use bubble::snapshot::Contents;
use machine::Memory;
use machine::signal_area::SignalArea;
use tracee::{Remote, Stopped, TraceError};

use super::start_stack::{self, in_image};
use super::{access, limits, steps};
use crate::base::Moment;
use crate::command::ToolImage;
use crate::run_memory::{RunMemory, StepNames};

const LOADER_AT: u64 = ENTRY.start + (64 << 10);
/// Nothing is pending or restarted, interrupts on: how flags look in user code that has done nothing.
const CLEAN_FLAGS: u64 = 0x202;

/// Where, and as what, the image in a taken-over process goes on. What it goes on from is a [`State`].
pub struct Site<'a> {
    /// Serial or a slice.
    pub mode: RunMode,
    /// The slot.
    pub slot: usize,
    /// When the fork was made, if this is one.
    pub forked: Option<Moment>,
    /// Pages of private file mappings that are to be the file's again.
    pub file_pages: &'a [u64],
    /// What an earlier slice has left behind for this one to go on from.
    pub snapshot: Option<Contents>,
    /// What signal frames hold of the extended state, in a serial run.
    pub signal_area: SignalArea,
    /// It is no child of ours, and stays traced.
    pub is_traced: bool,
    /// What the kernel knows of the thread, see [`boot::Site::registered`].
    pub registered: [u64; 3],
    /// Further threads that it has already, see [`boot::Site::others`].
    pub others: u64,
}

/// What only the control process knows of a boundary's state.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Number of the slice or of the program image.
    pub slice: u64,
    /// The app's signal mask.
    pub signal_mask: u64,
    /// The app's program break.
    pub brk: u64,
    /// What the app is behind.
    pub behind: Behind,
    /// What the kernel calls the app's first thread.
    pub tid: i32,
    /// Whether the app may have shared mappings.
    pub shares_memory: bool,
}

/// The state in which a process stands, which somebody else may go on from.
///
/// # Errors
/// If the process was killed.
pub fn capture(process: &Stopped, known: Known) -> Result<Box<State>, TraceError> {
    let Known { slice, signal_mask, brk, behind, tid, shares_memory } = known;
    Ok(Box::new(State {
        slice,
        signal_mask,
        brk,
        behind,
        tid: tid as u64,
        shares_memory: shares_memory.into(),
        registers: process.registers()?.app(),
        xstate: (&*process.xstate()?).into(),
    }))
}

/// A process that has room for the boot block and the loader. What is left to do needs no call of its own.
pub struct Entered {
    /// What it can't open by name, and got.
    passed: Option<access::Passed>,
    /// The app's limit of open files, if it has been changed.
    open_files: Option<[u64; 2]>,
}

/// Maps what a process needs to be taken over. `is_by_name`: whether it may open the control process's descriptors by their names.
///
/// Each call that is made in it waits until it has a processor, which, with more processes than processors, may be another
/// one's time slice of milliseconds: where somebody else is to run meanwhile, this comes first.
///
/// # Errors
/// If the process was killed, or its memory can't be set up.
pub fn enter(
    process: &mut Stopped,
    gadget: u64,
    mode: RunMode,
    is_by_name: bool,
    image: &ToolImage,
    run: &RunMemory,
) -> Result<Entered, TraceError> {
    let open_files = match mode {
        RunMode::Slice => {
            limits::lift(process.pid());
            None
        }
        RunMode::Serial => limits::lend_descriptors(process.pid()),
    };
    map_entry(process, gadget)?;
    let own = [run.file().as_raw_fd(), image.file.as_raw_fd()];
    let passed = if is_by_name { None } else { Some(access::pass(process, gadget, LOADER_AT, own)?) };
    Ok(Entered { passed, open_files })
}

/// Maps the image into a stopped process, which is to go on from `state`, and points it at the image's entry. It runs when it is resumed or detached.
/// From now on all its signals are blocked, until the image decides otherwise. Returns what it does until then.
///
/// # Errors
/// If the process was killed, or its memory can't be set up.
pub fn take_over(
    process: &mut Stopped,
    entered: Entered,
    state: &State,
    site: &Site<'_>,
    image: &ToolImage,
    run: &RunMemory,
) -> Result<StepNames, TraceError> {
    let mut registers = process.registers()?;
    let pid = process.pid();
    let memory_failed = |source| TraceError::Memory { pid, source };
    let Entered { passed, open_files } = entered;
    let mut boot = boot_block(state, site, passed, run);
    boot.site.open_files = open_files.unwrap_or_default();
    if site.mode == RunMode::Slice && run.wants_snapshot() && site.snapshot.is_none() {
        boot.site.image_data = image.data().map_or([0; 2], |data| data.map(in_image));
    }
    // SAFETY: a boot block is plain data without padding that matters; it is only looked at as bytes.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *boot).cast::<u8>(), size_of::<BootBlock>()) };
    process.write(ENTRY.start, bytes).map_err(memory_failed)?;
    let plan = steps::TakeoverPlan {
        supervisor: std::process::id(),
        own: [run.file().as_raw_fd(), image.file.as_raw_fd()],
        passed,
        slot: site.slot,
        slice: site.mode == RunMode::Slice,
        snapshot: site.snapshot,
        makes_snapshot: boot.site.image_data != [0; 2],
        file_pages: site.file_pages,
    };
    let loader = steps::assemble(LOADER_AT, &plan, image, &start_stack::build(image));
    assert!(LOADER_AT + loader.bytes.len() as u64 <= ENTRY.end(), "the loader fits into its region");
    process.write(LOADER_AT, &loader.bytes).map_err(memory_failed)?;
    registers.set_app(&loader.registers(CLEAN_FLAGS));
    registers.set_syscall_number(-1);
    process.set_signal_mask(u64::MAX)?;
    process.set_registers(&registers)?;
    Ok(loader.names)
}

fn boot_block(state: &State, site: &Site<'_>, passed: Option<access::Passed>, run: &RunMemory) -> Box<BootBlock> {
    Box::new(BootBlock {
        magic: BOOT_MAGIC,
        state: state.clone(),
        site: boot::Site {
            mode: site.mode,
            slot: site.slot as u32,
            supervisor: std::process::id() as i32,
            proc: passed.map_or(-1, |passed| passed.proc),
            run_memory: passed.map_or(run.file().as_raw_fd(), |_| -1),
            image_data: [0; 2],
            open_files: [0; 2],
            registered: site.registered,
            others: site.others,
            forked_at: site.forked.map_or(0, Moment::nanoseconds),
            signal_area: site.signal_area,
            is_traced: site.is_traced.into(),
        },
    })
}

/// The loader's region has to be executable while the loader runs in it.
fn map_entry(process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let args = [ENTRY.start, ENTRY.size, protection as u64, flags as u64, u64::MAX, 0];
    Remote::new(process, gadget)?.expect("map the loader", libc::SYS_mmap, args)?;
    Ok(())
}
