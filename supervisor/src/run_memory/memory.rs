//! The run memory: one memfd that the control process and all slices map, as [`bubble::shared`] draws it.
//!
//! A memfd and no name in /dev/shm: it disappears with the last process that has it, however that ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use bubble::app_images::{APP_IMAGES_AT, AppImages};
use bubble::boot::BOOT_MAGIC;
use bubble::events::Reader;
use bubble::files::FILES_END;
use bubble::map::{APP_IMAGES, CONTROL, RECORDS, RESULT, file};
use bubble::region::{Progress, pass};
use bubble::shared::{MAX_SLOTS, NO_SLOT, NOWHERE, RunHeader, Slot, TOOL_ARGS_BYTES, held, slot_at, state};
use bubble::snapshot::{Contents, HEADER_AT, SnapshotHeader};
use bubble::switches::{Off, Optimisation, TARGETS_FROM};
use machine::cpuid;
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

use super::slot::ClaimedSlot;
use super::step_names::StepNames;
use super::view::{OpenFiles, View};
use crate::base::{Doing, Failure, above_standard, comparisons_keep_flags, cpuid_table, null_selector_clears_base};
use crate::command::{Addresses, Settings};
use crate::report::log;

/// What is left of a result to a slot's next user instead of being given back to the kernel at once.
const KEPT_BYTES: u64 = 256 << 10;
/// The same of logs, of all slots together: a part of the machine's memory, within limits. New pages cost several times what writing to them does.
const KEPT_IN_LOGS: (u64, std::ops::RangeInclusive<u64>) = (16, 64 << 20..=768 << 20);

/// The control process's view of the run memory.
pub struct RunMemory {
    file: Rc<File>,
    control: View,
    /// Those that were used last come last, and are used first.
    free: Vec<usize>,
    /// Bytes of each slot's log that have memory.
    kept: Vec<u64>,
    most_kept: u64,
    /// Whether slices go on from a snapshot.
    has_snapshots: bool,
}

/// Optimisations that are off in the run.
fn off(settings: &Settings) -> Off {
    let off = settings.off.on_this_processor();
    // Each process fills a target map for itself. Tables of IBL stubs are kept for the next slice, or the next run.
    let is_short =
        if settings.sliced { settings.slice_length.most() < TARGETS_FROM } else { settings.persist.is_some() };
    let off = if is_short { off.and(Optimisation::TargetMap) } else { off };
    // Who counts things of its own makes calls, before which the runtime's count of instructions would have to be added up each time.
    let off = if settings.region.has_values() { off.and(Optimisation::Shards) } else { off };
    if !settings.check_tool {
        return off;
    }
    // Each call is the runtime's then.
    [Optimisation::Inline, Optimisation::Merge, Optimisation::Call].into_iter().fold(off, Off::and)
}

impl RunMemory {
    /// Makes it and writes the run's settings to its start. `process`: the one that it is for, unless that is the app.
    ///
    /// # Errors
    /// If the kernel has no memory for it, or the tool's options are too long.
    pub fn new(settings: &Settings, process: Option<i32>) -> Result<Self, Failure> {
        let flags = libc::MFD_CLOEXEC;
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"superpin-run".as_ptr(), flags) };
        if fd < 0 {
            return Err(Failure::last("create the run memory (memfd_create)"));
        }
        // SAFETY: a new descriptor that nobody else owns.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let file = above_standard(&file).doing("place the run memory's descriptor")?;
        file.set_len(file::size(MAX_SLOTS)).doing("size the run memory")?;
        let control = View::new(&file, file::CONTROL_AT, CONTROL.size).doing("map the run memory")?;
        let (free, kept) = ((0..MAX_SLOTS).rev().collect(), vec![0; MAX_SLOTS]);
        let (part, limits) = KEPT_IN_LOGS;
        let most_kept = (physical_memory() / part).clamp(*limits.start(), *limits.end());
        let has_snapshots = settings.off.leaves(Optimisation::Snapshot);
        let mut memory = Self { file: Rc::new(file), control, free, kept, most_kept, has_snapshots };
        memory.write_header(settings, process)?;
        if log::is_open() {
            let control = View::new(&memory.file, file::CONTROL_AT, CONTROL.size).doing("map the run memory")?;
            // SAFETY: the view is all of CONTROL, and is kept beside the reader.
            let reader = unsafe { Reader::new(control.start.as_ptr()) };
            log::follow(reader, Box::new(control), process);
        }
        Ok(memory)
    }

    /// The memfd.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where slices look for files of the run.
    ///
    /// # Errors
    /// If that can't be mapped.
    pub fn files(&self) -> Result<OpenFiles, Failure> {
        let control = View::new(&self.file, file::CONTROL_AT, FILES_END as u64).doing("map the table of files")?;
        let (at, len) = (file::CONTROL_AT + APP_IMAGES_AT as u64, APP_IMAGES.size);
        let app_images = View::new(&self.file, at, len).doing("map the table of the app's images")?;
        Ok(OpenFiles { control, app_images })
    }

    /// Optimisations that are off in this run.
    pub fn off(&self) -> Off {
        // SAFETY: CONTROL starts with the header, which was written when the memory was made.
        unsafe { (*self.control.start.cast::<RunHeader>().as_ptr()).off }
    }

    /// What is used, as offset and length, of parts of the memory that are given likewise.
    ///
    /// # Errors
    /// If the kernel doesn't tell.
    pub fn extents(&self, parts: &[[u64; 2]]) -> io::Result<Vec<[u64; 2]>> {
        let seek = |from: u64, whence| match lseek(&self.file, from as i64, whence) {
            Ok(at) => Ok(Some(at as u64)),
            Err(Errno::ENXIO) => Ok(None),
            Err(error) => Err(io::Error::from(error)),
        };
        let mut extents = Vec::new();
        for &[start, len] in parts {
            let (mut at, end) = (start, start + len);
            while let Some(data) = seek(at, Whence::SeekData)?.filter(|data| *data < end) {
                at = seek(data, Whence::SeekHole)?.map_or(end, |hole| hole.min(end));
                extents.push([data, at - data]);
            }
        }
        Ok(extents)
    }

    /// Makes parts of it, given as offset and length, zeroes.
    pub fn forget(&self, parts: &[[u64; 2]]) {
        parts.iter().for_each(|&[start, len]| self.free_memory(start, len));
    }

    /// Shows a part of it.
    ///
    /// # Errors
    /// If it can't be mapped.
    pub fn with_view<T>(&self, offset: u64, len: usize, look: impl FnOnce(*const u8) -> T) -> io::Result<T> {
        let view = View::new(&self.file, offset, len as u64)?;
        Ok(look(view.start.as_ptr()))
    }

    /// Whether a slice that starts without a snapshot is to leave one behind.
    pub fn wants_snapshot(&self) -> bool {
        self.has_snapshots
    }

    /// The snapshot that a slice has left behind, if any.
    pub fn snapshot(&self) -> Option<Contents> {
        // SAFETY: the header lies within CONTROL, which is mapped.
        unsafe { SnapshotHeader::read(self.control.start.add(HEADER_AT).cast().as_ptr()) }
    }

    fn write_header(&mut self, settings: &Settings, process: Option<i32>) -> Result<(), Failure> {
        let mut args = Vec::new();
        for arg in settings.tool_words() {
            args.extend_from_slice(arg.as_bytes());
            args.push(0);
        }
        if args.len() > TOOL_ARGS_BYTES {
            return Err(Failure::Tool(format!("the tool's options are longer than {TOOL_ARGS_BYTES} bytes")));
        }
        let mut tool_args = [0; TOOL_ARGS_BYTES];
        tool_args[..args.len()].copy_from_slice(&args);
        let header = RunHeader {
            magic: BOOT_MAGIC,
            max_blocks: settings.trace_blocks,
            max_instructions: settings.trace_instructions,
            // A tool is checked where all its code is instrumented, and between all traces.
            linking: (settings.linking && !settings.check_tool).into(),
            sharing: (settings.sharing && !settings.check_tool).into(),
            cache_bytes: settings.cache_bytes,
            tool_args_len: args.len() as u32,
            off: off(settings),
            process: process.unwrap_or(0) as u32,
            keeps_code: settings.persist.is_some().into(),
            checks_tool: settings.check_tool.into(),
            told: 0.into(),
            written_out: NOWHERE.into(),
            stops: NOWHERE.into(),
            stops_at: NOWHERE.into(),
            tool_args,
            xcr0: machine::component::enabled(),
            null_selector_clears_base: null_selector_clears_base().into(),
            comparisons_keep_flags: comparisons_keep_flags().into(),
            sliced: settings.sliced.into(),
            streaming: Default::default(),
            streams: 0.into(),
            streams_lost: 0.into(),
            region: settings.region,
            // What an app has started that is followed needs it to be followed itself.
            departs: (!settings.follow).into(),
            ends_app: settings.ends_app.into(),
            cpuid: if settings.sliced { cpuid_table().clone() } else { *cpuid::Table::none() },
        };
        // SAFETY: CONTROL starts with the header, is large enough and page-aligned; no slice exists yet.
        unsafe { self.control.start.cast::<RunHeader>().write(header) };
        Ok(())
    }

    /// What the processes of this run are to tell, and where one is to stop. Before the first of them is taken over.
    pub fn watch(&self, addresses: Addresses) {
        // SAFETY: CONTROL starts with the header, whose words are atomic.
        let header = unsafe { self.control.start.cast::<RunHeader>().as_ref() };
        header.told.store(addresses.kinds, Relaxed);
        header.written_out.store(addresses.dump.unwrap_or(NOWHERE), Relaxed);
        header.stops.store(addresses.stops.unwrap_or(NOWHERE), Relaxed);
        header.stops_at.store(addresses.stops_at.unwrap_or(NOWHERE), Relaxed);
    }

    /// There is no collector any more: nobody is to wait for it.
    pub fn lose_streams(&self) {
        // SAFETY: CONTROL starts with the header, whose word is atomic.
        unsafe { self.control.start.cast::<RunHeader>().as_ref() }.streams_lost.store(1, Release);
    }

    /// Whether a slot is to be had.
    pub fn has_free_slot(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a free slot for a process that is about to be taken over.
    ///
    /// # Errors
    /// If none is free, or the log can't be mapped.
    pub fn claim(&mut self, first_state: u32) -> Result<ClaimedSlot, Failure> {
        let index = self.free.pop().ok_or_else(|| Failure::Unsupported("all slots are in use".into()))?;
        let log = View::new(&self.file, file::records_at(index), RECORDS.size).doing("map a slice's log")?;
        // SAFETY: the slot lies within CONTROL, which stays mapped as long as this memory lives, and slots are
        // dropped before it.
        let slot = unsafe { self.control.start.add(slot_at(index)) }.cast::<Slot>();
        let claimed = ClaimedSlot { index, slot, log, file: self.file.clone(), steps: StepNames::default() };
        claimed.slot().records.store(0, Relaxed);
        claimed.slot().log_len.store(0, Relaxed);
        claimed.slot().last_call_len.store(0, Relaxed);
        claimed.slot().result_len.store(0, Relaxed);
        claimed.slot().report_len.store(0, Relaxed);
        claimed.slot().checkpoint.store(0, Relaxed);
        claimed.slot().process.store(0, Relaxed);
        claimed.slot().attempt.store(0, Relaxed);
        claimed.slot().end_recurs.store(0, Relaxed);
        claimed.slot().successor.store(NO_SLOT, Relaxed);
        claimed.slot().gives_way.store(0, Relaxed);
        claimed.slot().child_at.store(0, Relaxed);
        // SAFETY: the table is a part of CONTROL, which is mapped whole.
        let images = unsafe { AppImages::at(self.control.start.add(APP_IMAGES_AT).as_ptr()) };
        claimed.slot().program.store(images.program(), Relaxed);
        claimed.slot().arrived.store(0, Relaxed);
        claimed.slot().delivered.store(0, Relaxed);
        claimed.slot().is_final.store(0, Relaxed);
        claimed.slot().held.store(held::NOT, Relaxed);
        claimed.slot().departs.store(0, Relaxed);
        claimed.slot().places.window.store(0, Relaxed);
        claimed.slot().adoption.stacks.store(0, Relaxed);
        claimed.slot().stopped.store(0, Relaxed);
        claimed.set_pass(pass::ONLY, &Progress::default());
        claimed.slot().state.store(first_state, Release);
        Ok(claimed)
    }

    fn free_memory(&self, offset: u64, len: u64) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: no memory is involved. A failure only means that the memory stays in use.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as i64, len as i64) };
    }

    /// Gives a slot back.
    pub fn release(&mut self, slot: ClaimedSlot) {
        let log = slot.slot().log_len.load(Relaxed) + slot.slot().last_call_len.load(Relaxed);
        let kept = &mut self.kept[slot.index];
        *kept = (*kept).max(log.min(RECORDS.size));
        if self.kept.iter().sum::<u64>() > self.most_kept {
            self.kept[slot.index] = 0;
            // Something may have been written behind the log's end.
            self.free_memory(file::records_at(slot.index), RECORDS.size);
        }
        let result = slot.slot().result_len.load(Relaxed).min(RESULT.size);
        if result > KEPT_BYTES {
            self.free_memory(file::result_at(slot.index), result);
        }
        slot.slot().state.store(state::FREE, Release);
        self.free.push(slot.index);
    }
}

fn physical_memory() -> u64 {
    // SAFETY: sysconf takes no pointers. An error is negative.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) }.max(0));
    pages as u64 * size as u64
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::command::CallLimit;
    use crate::command::Settings;
    use crate::command::{ChosenTool, SliceLength};

    /// Of a short run.
    pub fn settings() -> Settings {
        Settings {
            sliced: true,
            slice_length: SliceLength::Fixed(std::time::Duration::from_millis(1)),
            max_running: 1,
            call_limit: CallLimit::Calls(1),
            verify_calls: false,
            timeline: None,
            huge_pages: false,
            processors: None,
            record_in_process: false,
            check_calls: false,
            check_tool: false,
            grace_ms: 0,
            follow: false,
            randomise: false,
            environment: crate::command::Environment::Inherit,
            changes_app: false,
            samples: false,
            quiet: false,
            hints: false,
            trace_blocks: 3,
            trace_instructions: 64,
            linking: true,
            sharing: true,
            cache_bytes: 1 << 20,
            off: Off::default(),
            accepts_ambiguous: false,
            region: bubble::region::Spec::ALL,
            detach_after: None,
            attach: None,
            ends_app: false,
            report: None,
            persist: None,
            notices: Vec::new(),
            tools: vec![tool("count", "x"), tool("again", "y")],
            tool_identity: String::new(),
            watch: crate::command::Watch::default(),
            app: vec![],
        }
    }

    fn tool(name: &str, file: &str) -> ChosenTool {
        ChosenTool { name: name.into(), options: vec!["-o".into(), file.into()] }
    }

    #[test]
    fn the_header_holds_tools_and_options() {
        let memory = RunMemory::new(&settings(), None).unwrap();
        // SAFETY: the header was just written there.
        let header = unsafe { memory.control.start.cast::<RunHeader>().as_ref() };
        assert_eq!(&header.tool_args[..header.tool_args_len as usize], b"count\0-o\0x\0-t\0again\0-o\0y\0");
        assert_eq!((header.linking, header.max_blocks), (1, 3));
        let long = Settings { tools: vec![tool("long", &"x".repeat(TOOL_ARGS_BYTES))], ..settings() };
        assert!(RunMemory::new(&long, None).is_err());
    }

    #[test]
    fn slots_are_used_again() {
        let mut memory = RunMemory::new(&settings(), None).unwrap();
        let mut slots: Vec<_> = (0..MAX_SLOTS).map(|_| memory.claim(state::BOOTING).unwrap()).collect();
        assert!(!memory.has_free_slot() && memory.claim(state::BOOTING).is_err());
        let mut slot = slots.pop().unwrap();
        assert_eq!(slot.state(), state::BOOTING);
        slot.log()[..3].copy_from_slice(b"abc");
        let index = slot.index();
        memory.release(slot);
        let slot = memory.claim(state::RELEASED).unwrap();
        assert_eq!((slot.index(), slot.state(), slot.report()), (index, state::RELEASED, String::new()));
    }
}
