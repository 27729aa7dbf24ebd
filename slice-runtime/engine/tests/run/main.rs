//! Code run natively and under translation in the same process must give the same results.

mod optimised;
mod points;
mod whole_blocks;

use std::sync::{Mutex, MutexGuard};

use bubble::map::{self, Region};
use bubble::shared::EngineStats;
use bubble::switches::Off;
use engine::{Control, Fault, Flow, Host, Nondeterministic, Runner, Settings};
use machine::Gpr;
use translator::abi::Cpu;
use translator::trace::{self, Instrument};

suites::watch_tests!();

/// The bubble has one owner at a time in a process.
static BUBBLE: Mutex<()> = Mutex::new(());

fn map_region(region: Region, protection: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: nothing else lies in the bubble of a test process.
    let p = unsafe { libc::mmap(region.start as *mut _, region.size as usize, protection, flags, -1, 0) };
    assert_eq!(p as u64, region.start);
}

/// A run's memory, which processes share.
fn run_memory() -> i32 {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"run".as_ptr(), 0) };
    // SAFETY: a new file.
    assert_eq!(unsafe { libc::ftruncate(fd, map::file::size(1) as i64) }, 0);
    fd
}

/// Maps what a process has of it.
fn map_run_memory(fd: i32) {
    let data = libc::PROT_READ | libc::PROT_WRITE;
    for (region, access, kind, offset) in [
        (map::TABLES, data, libc::MAP_SHARED, map::file::TABLES_AT),
        (map::CACHE_ALIAS, data, libc::MAP_SHARED, map::file::CACHE_AT),
        (map::CACHE_SHARED, libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE, map::file::CACHE_AT),
    ] {
        let flags = kind | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let (start, size) = (region.start as *mut libc::c_void, region.size as usize);
        // SAFETY: nothing else lies in the bubble of a test process.
        assert_eq!(unsafe { libc::mmap(start, size, access, flags, fd, offset as i64) }, start);
    }
}

fn map_bubble() {
    let data = libc::PROT_READ | libc::PROT_WRITE;
    for region in [map::THREADS, map::TABLES_OWN, map::LOCAL, map::COUNTS, map::BUFFER] {
        map_region(region, data);
    }
    map_region(map::CACHE_OWN, data | libc::PROT_EXEC);
}

const DONE: u64 = 0x5050;

std::arch::global_asm!(
    ".globl superpin_test_done",
    "superpin_test_done:",
    "mov r15, rax",
    "mov eax, {done}",
    "syscall",
    done = const DONE,
);

unsafe extern "C" {
    fn superpin_test_done();
}

struct Counting {
    calls: fn(&mut trace::Trace),
    /// How many words were handed over each time.
    drained: Vec<usize>,
}

impl Instrument for Counting {
    fn instrument(&self, trace: &mut trace::Trace) {
        (self.calls)(trace);
    }
}

impl Host for Counting {
    fn drain(&mut self, words: &[u64]) {
        self.drained.push(words.len());
    }

    fn syscall(&mut self, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        assert_eq!(cpu.registers.get(Gpr::Rax), DONE);
        Flow::Leave
    }

    fn nondeterministic(&mut self, what: Nondeterministic, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{what:?}")
    }

    fn end_reached(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("no end was armed")
    }

    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("signal {} at {:#x}", fault.signal, cpu.registers.rip)
    }

    fn unsupported(&mut self, reason: &str, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{reason}")
    }

    fn interrupted(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        Flow::Continue
    }
}

const SETTINGS: Settings = Settings {
    max_blocks: 3,
    max_instructions: 64,
    linking: true,
    sharing: false,
    outlives_run: false,
    cache_bytes: 64 << 20,
    off: Off(0),
    slot: 0,
    exact_faults: true,
    replays: false,
    each_repetition: false,
    xcr0: 0,
    null_selector_clears_base: true,
    comparisons_keep_flags: true,
    run_memory: None,
    watched: engine::Watched::NOTHING,
};

/// Runs `function(argument)` under translation and returns its result and the counter.
fn translated(
    settings: Settings,
    function: extern "C" fn(u64) -> u64,
    argument: u64,
    calls: fn(&mut trace::Trace),
) -> (u64, u64) {
    let (result, local) = translated_with_state(settings, function, argument, calls);
    (result, local[0])
}

/// The same with two words of the local state.
fn translated_with_state(
    settings: Settings,
    function: extern "C" fn(u64) -> u64,
    argument: u64,
    calls: fn(&mut trace::Trace),
) -> (u64, [u64; 2]) {
    let run = run(settings, function, argument, calls);
    (run.result, run.local)
}

/// What a run under translation leaves.
struct Run {
    result: u64,
    /// Two words of the local state.
    local: [u64; 2],
    stats: EngineStats,
    /// Words that were handed over each time.
    drained: Vec<usize>,
    /// The code cache's beginning.
    code: Vec<u8>,
}

/// Bytes of [`Run::code`].
const CODE_KEPT: usize = 1 << 20;

type Begun = (Box<Runner>, Vec<u64>, MutexGuard<'static, ()>);

/// A runner that is about to execute `function(argument)`, its stack, and what makes it the only one.
fn begun(settings: Settings, function: extern "C" fn(u64) -> u64, argument: u64) -> Begun {
    let owner = BUBBLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    map_bubble();
    if let Some((_, fd, _)) = settings.run_memory {
        map_run_memory(fd);
    }
    let mut stack = vec![0_u64; 1 << 17];
    let top = stack.len() - 16;
    let top = top - top % 2;
    stack[top] = superpin_test_done as *const () as u64;
    let mut rsp = &raw const stack[top] as u64;
    if rsp % 16 != 8 {
        stack[top + 1] = superpin_test_done as *const () as u64;
        rsp += 8;
    }
    let settings = Settings { off: settings.off.on_this_processor(), ..settings };
    // SAFETY: the regions are mapped and this test owns them.
    let mut engine = unsafe { Runner::new(settings) };
    let cpu = engine.cpu();
    cpu.xstate = machine::XState::initial();
    cpu.registers.rip = function as *const () as u64;
    cpu.registers.rflags = 0x202;
    cpu.registers.set(Gpr::Rdi, argument);
    cpu.registers.set(Gpr::Rsp, rsp);
    // SAFETY: reading the FS base has no effect.
    unsafe { std::arch::asm!("rdfsbase {}", out(reg) cpu.registers.fs_base) };
    (engine, stack, owner)
}

fn run(settings: Settings, function: extern "C" fn(u64) -> u64, argument: u64, calls: fn(&mut trace::Trace)) -> Run {
    let (mut engine, _stack, _owner) = begun(settings, function, argument);
    let mut host = Counting { calls, drained: Vec::new() };
    engine.run(&mut host);
    // SAFETY: LOCAL is mapped, and nothing runs that writes to it.
    let local = unsafe { *(map::LOCAL.start as *const [u64; 2]) };
    // SAFETY: the cache is mapped, and translated code doesn't run.
    let code = unsafe { std::slice::from_raw_parts(map::CACHE_OWN.start as *const u8, CODE_KEPT) }.to_vec();
    let result = engine.cpu().registers.get(Gpr::R15);
    Run { result, local, stats: engine.stats(), drained: host.drained, code }
}

fn same(function: extern "C" fn(u64) -> u64, argument: u64) {
    let native = function(argument);
    let variants = [
        SETTINGS,
        Settings { max_blocks: 1, ..SETTINGS },
        Settings { linking: false, ..SETTINGS },
        Settings { cache_bytes: 16 << 10, ..SETTINGS },
    ];
    for settings in variants {
        assert_eq!(translated(settings, function, argument, |_| {}).0, native, "{settings:?}");
    }
}

extern "C" fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

extern "C" fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

/// Calls through a table that the compiler can't see through. No allocation: the runtime shares this process's libc.
extern "C" fn indirect(n: u64) -> u64 {
    let steps: [extern "C" fn(u64) -> u64; 4] = std::hint::black_box([collatz, twice, fibonacci, twice]);
    (1..n).fold(0, |sum, i| sum.wrapping_mul(3) + steps[(i ^ (i >> 3)) as usize % 4](i % 11 + 1))
}

extern "C" fn twice(n: u64) -> u64 {
    n * 2
}

extern "C" fn floats(n: u64) -> u64 {
    (0..n).map(|i| ((i as f64).sqrt() * 1.5).sin()).sum::<f64>().to_bits()
}

#[test]
fn loops() {
    same(collatz, 27);
}

#[test]
fn calls_and_returns() {
    same(fibonacci, 15);
    same(indirect, 300);
    same(floats, 1000);
}

/// The XCR of this number. What is in the upper half of rcx has nothing to do with it.
extern "C" fn xcr(number: u64) -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: the processor has XSAVE, and these numbers.
    unsafe {
        std::arch::asm!("xgetbv", in("rcx") number, out("rax") low, out("rdx") high, options(nomem, nostack, preserves_flags));
    }
    high << 32 | low
}

#[test]
fn who_replays_is_told_what_the_app_was() {
    let [elsewhere, garbage] = [0x1234_5678_0000_0007, 0xabcd << 32];
    let replays = Settings { replays: true, xcr0: elsewhere, ..SETTINGS };
    assert_eq!(translated(SETTINGS, xcr, 0, |_| {}).0, xcr(0));
    for number in [0, garbage] {
        assert_eq!(translated(replays, xcr, number, |_| {}).0, elsewhere);
    }
    // Which registers are in use is the app's own state. All processors with more than XCR0 can tell.
    if machine::cpuid::ask(0xd, 1)[0] & 1 << 2 != 0 {
        assert_eq!(translated(replays, xcr, 1, |_| {}).0 & !xcr(0), 0);
    }
}

/// The base of FS after a null selector was loaded.
extern "C" fn base_after_null_selector(mut base: u64) -> u64 {
    // SAFETY: FS gets back its base before anything asks for it.
    unsafe {
        std::arch::asm!(
            "rdfsbase {own}", "wrfsbase {base}", "mov fs, {null:x}", "rdfsbase {base}", "wrfsbase {own}",
            own = out(reg) _, base = inout(reg) base, null = in(reg) 0_u64, options(nomem, nostack, preserves_flags)
        );
    }
    base
}

#[test]
fn a_null_selector_does_to_the_base_what_it_does_where_the_app_runs() {
    for (null_selector_clears_base, after) in [(true, 0), (false, 0x1234)] {
        let settings = Settings { null_selector_clears_base, ..SETTINGS };
        assert_eq!(translated(settings, base_after_null_selector, 0x1234, |_| {}).0, after);
    }
}

extern "C" fn count(local: *mut u64, n: u64) {
    // SAFETY: the engine passes the address of the local state.
    unsafe { *local = (*local).wrapping_add(n) }
}

fn count_instructions(trace: &mut trace::Trace) {
    for n in 0..trace.instructions.len() {
        insert(trace, trace::Point::Before(n), trace::Arg::Const(1));
    }
}

fn count_steps(trace: &mut trace::Trace) {
    for n in 0..trace.instructions.len() {
        insert(trace, trace::Point::Before(n), trace::Arg::BlockInstructions);
    }
}

/// With a second call in between that could look at the counter: nothing may be merged.
fn count_steps_twice(trace: &mut trace::Trace) {
    count_steps(trace);
    count_steps(trace);
}

fn count_blocks(trace: &mut trace::Trace) {
    for n in 0..trace.block_ends.len() {
        insert(trace, trace::Point::Anywhere(n), trace::Arg::BlockInstructions);
    }
}

fn insert(trace: &mut trace::Trace, point: trace::Point, arg: trace::Arg) {
    trace.calls.push(trace::AnalysisCall::new(point, count as *const () as usize, map::LOCAL.start, vec![arg]));
}

#[test]
fn counts_by_instruction_and_by_block_agree() {
    for settings in [SETTINGS, Settings { max_blocks: 1, ..SETTINGS }, Settings { cache_bytes: 32 << 10, ..SETTINGS }] {
        let (result, instructions) = translated(settings, collatz, 27, count_instructions);
        assert_eq!(result, collatz(27));
        assert_eq!(translated(settings, collatz, 27, count_blocks), (result, instructions));
        assert_eq!(translated(settings, collatz, 27, count_steps), (result, instructions));
        assert_eq!(translated(settings, collatz, 27, count_steps_twice), (result, 2 * instructions));
        assert!(instructions > 111 * 3);
    }
}

extern "C" fn count_called(local: *mut u64, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        count(local, n);
    }
}

/// Looks at the counter and mixes it into the next word.
extern "C" fn look(local: *mut u64) {
    // SAFETY: as in `count`; LOCAL is larger than two words.
    unsafe { *local.add(1) = (*local.add(1)).rotate_left(1) ^ *local }
}

extern "C" fn look_called(local: *mut u64) {
    for _ in 0..std::hint::black_box(1) {
        look(local);
    }
}

fn count_and_look(trace: &mut trace::Trace, routines: [*const (); 2]) {
    for n in 0..trace.instructions.len() {
        for routine in routines {
            insert(trace, trace::Point::Before(n), trace::Arg::BlockInstructions);
            trace.calls.last_mut().expect("just inserted").routine = routine as usize;
        }
    }
}

/// Whether a routine is put in place or called, it sees what those before it made of the tool's state.
#[test]
fn routines_see_the_counter() {
    let ways: [fn(&mut trace::Trace); 4] = [
        |trace| count_and_look(trace, [count_called as *const (), look_called as *const ()]),
        |trace| count_and_look(trace, [count as *const (), look_called as *const ()]),
        |trace| count_and_look(trace, [count_called as *const (), look as *const ()]),
        |trace| count_and_look(trace, [count as *const (), look as *const ()]),
    ];
    let seen = ways.map(|way| translated_with_state(SETTINGS, collatz, 27, way).1);
    assert_eq!(seen, [seen[0]; 4]);
}
