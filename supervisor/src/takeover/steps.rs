//! The list of steps that the loader executes in a taken-over process.

use bubble::map::{
    BUBBLE, BUFFER, CACHE_ALIAS, CACHE_OWN, CACHE_SHARED, CONTROL, COUNTS, HEAP, IMAGE, LIBC_HEAP, LOCAL, RECORDS,
    RESULT, Region, SNAPSHOT, STACK, TABLES, TABLES_OWN, THREADS, WINDOWS, file,
};
use bubble::snapshot::Contents;
use machine::{Gpr, PAGE, Registers};

use super::access::Passed;
use super::loader::{COPIES, ENDS, MAY_FAIL, OPENS, STEP_BYTES, USES_AS_1ST, USES_AS_5TH, ZEROES, code};
use super::start_stack::{self, in_image};
use crate::command::{ImageSegment, ToolImage};
use crate::run_memory::StepNames;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const READ_EXECUTE: i32 = libc::PROT_READ | libc::PROT_EXEC;
const ANONYMOUS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;

/// What the steps depend on, other than the image.
pub struct TakeoverPlan<'a> {
    /// Process id of the control process, whose descriptors are opened through /proc.
    pub supervisor: u32,
    /// Its descriptors of the run memory and of the image.
    pub own: [i32; 2],
    /// Copies of these, if they were passed to the process.
    pub passed: Option<Passed>,
    /// The slot.
    pub slot: usize,
    /// Whether this is a slice, which gives up what it inherited, or the app itself, which keeps it.
    pub slice: bool,
    /// What a slice before has left behind for this one to go on from.
    pub snapshot: Option<Contents>,
    /// Whether this one is to leave that behind.
    pub makes_snapshot: bool,
    /// Pages of private file mappings that are to be the file's again.
    pub file_pages: &'a [u64],
}

/// The loader with all that it needs, for one address.
pub struct Loader {
    at: u64,
    steps_at: u64,
    /// To be written there.
    pub bytes: Vec<u8>,
    /// What it does.
    pub names: StepNames,
}

impl Loader {
    /// Registers to start it with.
    pub fn registers(&self, rflags: u64) -> Registers {
        let mut registers = Registers { rip: self.at, rflags, ..Registers::default() };
        registers.set(Gpr::R15, self.steps_at);
        registers
    }
}

struct Step {
    /// For messages.
    name: &'static str,
    words: [u64; 8],
}

fn step(name: &'static str, number: i64, args: [u64; 6], flags: u64) -> Step {
    let [a, b, c, d, e, f] = args;
    Step { name, words: [number as u64, a, b, c, d, e, f, flags] }
}

fn map_file(name: &'static str, place: (u64, u64), protection: i32, kind: i32, offset: u64) -> Step {
    let flags = (kind | libc::MAP_FIXED) as u64;
    step(name, libc::SYS_mmap, [place.0, place.1, protection as u64, flags, 0, offset], USES_AS_5TH)
}

fn map_run(name: &'static str, region: Region, offset: u64) -> Step {
    map_file(name, (region.start, region.size), READ_WRITE, libc::MAP_SHARED, offset)
}

fn map_anonymous(name: &'static str, start: u64, len: u64, protection: i32) -> Step {
    step(name, libc::SYS_mmap, [start, len, protection as u64, ANONYMOUS as u64, u64::MAX, 0], 0)
}

/// Where a file is to be had.
#[derive(Clone, Copy)]
enum Source {
    /// Under this name.
    Path(u64),
    /// It is open.
    Descriptor(i32),
}

fn open(name: &'static str, source: Source, flags: i32) -> Step {
    let flags = (flags | libc::O_CLOEXEC) as u64;
    match source {
        Source::Path(path) => step(name, libc::SYS_openat, [libc::AT_FDCWD as u64, path, flags, 0, 0, 0], OPENS),
        // A copy, so that it is closed in the same way.
        Source::Descriptor(fd) => step(name, libc::SYS_dup, [fd as u64, 0, 0, 0, 0, 0], OPENS),
    }
}

fn close() -> Step {
    step("close a file", libc::SYS_close, [0; 6], USES_AS_1ST)
}

/// What a slice gives up of what it inherited from the master.
fn renounce(steps: &mut Vec<Step>, passed: Option<Passed>) {
    let prctl = |name, option: i32, value: u64| step(name, libc::SYS_prctl, [option as u64, value, 0, 0, 0, 0], 0);
    steps.push(prctl("die with superpin", libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64));
    steps.push(prctl("allow rdtsc", libc::PR_SET_TSC, libc::PR_TSC_ENABLE as u64));
    if machine::cpuid::can_trap() {
        steps.push(step("allow cpuid", libc::SYS_arch_prctl, [machine::cpuid::ARCH_SET_CPUID, 1, 0, 0, 0, 0], 0));
    }
    if passed.is_some() {
        // A process that has changed its user can't be looked at by its like, as slices must be.
        steps.push(prctl("let other slices look at it", libc::PR_SET_DUMPABLE, 1));
    }
}

fn map_run_memory(steps: &mut Vec<Step>, source: Source, plan: &TakeoverPlan<'_>) {
    steps.push(open("open the run memory", source, libc::O_RDWR));
    steps.push(map_run("map CONTROL", CONTROL, file::CONTROL_AT));
    steps.push(map_run("map TABLES", TABLES, file::TABLES_AT));
    steps.push(map_run("map CACHE_ALIAS", CACHE_ALIAS, file::CACHE_AT));
    let cache = (CACHE_SHARED.start, CACHE_SHARED.size);
    steps.push(map_file("map CACHE_SHARED", cache, READ_EXECUTE, libc::MAP_PRIVATE, file::CACHE_AT));
    steps.push(map_run("map RECORDS", RECORDS, file::records_at(plan.slot)));
    steps.push(map_run("map RESULT", RESULT, file::result_at(plan.slot)));
    if plan.makes_snapshot {
        steps.push(map_run("map SNAPSHOT", SNAPSHOT, file::SNAPSHOT_AT));
    }
    for (piece, at) in plan.snapshot.iter().flat_map(Contents::placed) {
        let place = (piece.start, piece.len);
        steps.push(map_file("map a piece of the snapshot", place, READ_WRITE, libc::MAP_PRIVATE, at));
        if piece.zeroes > 0 {
            let args = [piece.start + piece.len, piece.zeroes, READ_WRITE as u64, 0, 0, 0];
            steps.push(step("open memory behind a piece of the snapshot", libc::SYS_mprotect, args, 0));
        }
    }
    steps.push(close());
}

/// A snapshot holds the image's data as well.
fn map_image(steps: &mut Vec<Step>, source: Source, segments: &[ImageSegment], with_data: bool) {
    steps.push(open("open the image", source, libc::O_RDONLY));
    for segment in segments.iter().filter(|s| with_data || s.protection & libc::PROT_WRITE == 0) {
        let start = in_image(segment.start);
        let place = (start, segment.file_len);
        steps.push(map_file("map the image", place, segment.protection, libc::MAP_PRIVATE, segment.offset));
        let file_end = start + segment.file_len;
        let end = in_image(segment.end);
        if segment.protection & libc::PROT_WRITE != 0 {
            let from = in_image(segment.zero_from);
            steps.push(step("clear the image's bss", 0, [from, file_end - from, 0, 0, 0, 0], ZEROES));
        }
        if end > file_end {
            steps.push(map_anonymous("map the image's bss", file_end, end - file_end, segment.protection));
        }
    }
    steps.push(close());
}

fn map_private(steps: &mut Vec<Step>) {
    for (name, region, protection) in [
        // Forks of a master that had logs there have holes.
        ("reserve HEAP", HEAP, libc::PROT_NONE),
        ("map LIBC_HEAP", LIBC_HEAP, READ_WRITE),
        ("map STACK", STACK, READ_WRITE),
        ("map THREADS", THREADS, READ_WRITE),
        ("map LOCAL", LOCAL, READ_WRITE),
        ("map COUNTS", COUNTS, READ_WRITE),
        ("map BUFFER", BUFFER, READ_WRITE),
        ("map CACHE_OWN", CACHE_OWN, READ_WRITE | libc::PROT_EXEC),
        ("map TABLES_OWN", TABLES_OWN, READ_WRITE),
    ] {
        steps.push(map_anonymous(name, region.start, region.size, protection));
    }
    // Core files don't need what was mapped; a kernel without this advice is as good. Before it the app may have made a part of the bubble inaccessible, which would become two mappings.
    let advice = [WINDOWS.end(), BUBBLE.end() - WINDOWS.end(), libc::MADV_DONTDUMP as u64, 0, 0, 0];
    steps.push(step("keep the bubble out of core files", libc::SYS_madvise, advice, MAY_FAIL));
}

fn list(plan: &TakeoverPlan<'_>, image: &ToolImage, paths: [u64; 2], stack: (u64, u64, u64)) -> Vec<Step> {
    let mut steps = Vec::new();
    if plan.slice {
        renounce(&mut steps, plan.passed);
    }
    let [run, program] = match plan.passed {
        Some(passed) => [passed.run, passed.image].map(Source::Descriptor),
        None => paths.map(Source::Path),
    };
    map_private(&mut steps);
    map_run_memory(&mut steps, run, plan);
    map_image(&mut steps, program, &image.segments, plan.snapshot.is_none());
    for page in plan.file_pages {
        // What the slice would see otherwise has the same meaning, but isn't shared with other slices.
        let advice = [*page, PAGE, libc::MADV_DONTNEED as u64, 0, 0, 0];
        steps.push(step("put back a page of a file", libc::SYS_madvise, advice, MAY_FAIL));
    }
    if let Some(passed) = plan.passed {
        let proc = (!plan.slice).then_some(passed.proc);
        for fd in [passed.run, passed.image].into_iter().chain(proc) {
            steps.push(step("close a file", libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0], 0));
        }
    }
    if let Some(snapshot) = plan.snapshot {
        steps.push(step("go on from the snapshot", 0, [snapshot.stack, snapshot.resume, 0, 0, 0, 0], ENDS));
        return steps;
    }
    let (to, from, len) = stack;
    steps.push(step("copy the initial stack", 0, [to, from, len, 0, 0, 0], COPIES));
    steps.push(step("start the image", 0, [to, in_image(image.entry), 0, 0, 0, 0], ENDS));
    steps
}

/// Lays out code, steps, strings and the initial stack at `at`.
pub fn assemble(at: u64, plan: &TakeoverPlan<'_>, image: &ToolImage, stack: &start_stack::StartStack) -> Loader {
    let path = |fd: i32| format!("/proc/{}/fd/{fd}\0", plan.supervisor).into_bytes();
    let strings = plan.own.map(path);
    let code_len = (code().len() as u64).next_multiple_of(64);
    let first_path = at + code_len;
    let paths = [first_path, first_path + strings[0].len() as u64];
    let stack_at = (paths[1] + strings[1].len() as u64).next_multiple_of(16);
    let steps_at = stack_at + stack.bytes.len() as u64;
    let steps = list(plan, image, paths, (stack.at, stack_at, stack.bytes.len() as u64));
    let mut bytes = code().to_vec();
    bytes.resize(code_len as usize, 0);
    bytes.extend(strings.concat());
    bytes.resize((stack_at - at) as usize, 0);
    bytes.extend_from_slice(&stack.bytes);
    for step in &steps {
        bytes.extend(step.words.iter().flat_map(|word| word.to_le_bytes()));
    }
    Loader { at, steps_at, bytes, names: StepNames(steps.iter().map(|step| step.name).collect()) }
}

const _: () = assert!(STEP_BYTES == size_of::<[u64; 8]>() as u64);
const _: () = assert!(IMAGE.start.is_multiple_of(4096));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_memory::FAILURE_BASE;

    fn names(slice: bool, snapshot: Option<Contents>) -> StepNames {
        let makes_snapshot = slice && snapshot.is_none();
        let plan = TakeoverPlan {
            supervisor: 0,
            own: [0; 2],
            passed: None,
            slot: 0,
            slice,
            snapshot,
            makes_snapshot,
            file_pages: &[],
        };
        let image = ToolImage::own().unwrap();
        assemble(0, &plan, &image, &start_stack::build(&image)).names
    }

    #[test]
    fn a_failed_step_is_named_by_its_status() {
        for snapshot in [None, Some(Contents::default())] {
            let slice = names(true, snapshot);
            assert_eq!(slice.failed(FAILURE_BASE), Some("die with superpin"));
            assert_eq!([0, 125, 255].map(|status| slice.failed(status)), [None; 3]);
            let last = FAILURE_BASE + slice.0.len() as i32 - 1;
            assert_eq!(slice.failed(last).is_some_and(|name| name.contains("snapshot")), snapshot.is_some());
            assert!(slice.0.contains(&"map SNAPSHOT") != snapshot.is_some());
            assert!(slice.0.len() < 64);
        }
        let serial = names(false, None);
        assert_eq!(serial.failed(FAILURE_BASE), Some("reserve HEAP"));
        assert!(!serial.0.contains(&"map SNAPSHOT"));
    }
}
