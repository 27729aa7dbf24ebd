//! For whom the engine runs, and what happens when it stops.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use bubble::boot::{BootBlock, RunMode};
use bubble::events::{self, SERIAL};
use bubble::map::CACHE_OWN;
use bubble::shared::{NOWHERE, RunHeader, SliceStats};
use bubble::switches::Optimisation;
use engine::{Control, Flow, Runner, Settings, Watched};
use translator::abi::Cpu;

use super::log;
use crate::ports::{OwnSlot, RunningTool, cpu_time, exit_now, header, processor, requests, stream, time_of};
use crate::region;
use crate::serial::{self, Signals, open_at_start};
use crate::slice::SliceHost;
use crate::slice::start::{aliases, checkpoint};

/// Why a state can't be gone on from here.
const NO_PLACE: &str = "the app has registers in use that this processor doesn't have";

/// Runs the app as the boot block says, hands in the result and ends the process.
///
/// # Safety
/// This is a taken-over process, whose bubble is mapped as the boot block's mode wants it; called once.
pub unsafe fn run(boot: &BootBlock, slot: OwnSlot, tool: Box<dyn RunningTool>) -> ! {
    let Some(xstate) = boot.state.xstate.load() else { slot.fail(&NO_PLACE) };
    let signals = (boot.site.mode == RunMode::Serial).then(|| Signals::inherited(boot.state.signal_mask));
    if signals.is_none() {
        if boot.site.proc >= 0 {
            machine::proc::look_in(boot.site.proc);
        }
        // From here on it may be another process, which does other things.
        let parent = (boot.site.is_traced == 0).then_some(boot.site.supervisor);
        checkpoint::keep(slot, parent);
    }
    // SAFETY: the bubble is mapped.
    let tool = unsafe { region::around(tool, slot) };
    // SAFETY: the bubble is mapped, this is the first engine, and FS hasn't been touched since libc set it.
    let mut engine = unsafe { Runner::new(settings(header(), boot, slot.pass(), tool.as_ref())) };
    *engine.cpu() = Cpu::new(boot.state.registers, xstate);
    requests::begin();
    match signals {
        None => run_slice(boot, slot, tool, engine),
        Some(signals) => {
            serial::use_area(boot.site.signal_area);
            run_serial(boot, signals, slot, tool, engine)
        }
    }
}

fn run_slice(boot: &BootBlock, slot: OwnSlot, tool: Box<dyn RunningTool>, mut engine: Box<Runner>) -> ! {
    if boot.state.shares_memory != 0
        && let Err(error) = aliases::make_own()
    {
        slot.fail(&format_args!("cannot copy the app's shared memory: {error}"));
    }
    // SAFETY: CONTROL is mapped, for as long as this process lives.
    unsafe { events::start(header().told.load(Relaxed), boot.state.slice) };
    let boot_times = boot_times(boot, slot);
    slot.wait_released();
    let begins_on = processor();
    log::begins(boot, slot);
    let mut host = SliceHost::new(boot.site.supervisor, slot, boot.state.brk, tool);
    if host.start(&mut engine, &boot.state) == Flow::Continue {
        engine.run(&mut host);
    }
    if !requests::is_left() {
        host.verify_last_call(engine.as_mut());
    }
    host.tell_of_death();
    let may_recur = host.may_recur();
    let stats = SliceStats {
        engine: engine.stats(),
        boot_ns: boot_times.0,
        boot_cpu_ns: boot_times.1,
        away: engine.routines(),
        processors: [begins_on; 2],
        points: host.finish_points(),
        ..SliceStats::default()
    };
    if let Err(error) = host.finish(stats) {
        slot.fail(&error);
    }
    log::has_finished(slot);
    if host.watch_for_recurrence(may_recur) {
        stream::close();
        engine.run(&mut host);
    }
    exit_now(0)
}

/// Nanoseconds from the fork until now, when the slice could begin, and its CPU time in them. Not known of one that was
/// begun again: it is a fork of the first.
fn boot_times(boot: &BootBlock, slot: OwnSlot) -> (u64, u64) {
    if slot.attempt() > 0 {
        return (0, 0);
    }
    let now = time_of(libc::CLOCK_MONOTONIC).as_nanos() as u64;
    (now.saturating_sub(boot.site.forked_at), cpu_time().as_nanos() as u64)
}

fn run_serial(
    boot: &BootBlock,
    signals: Signals,
    slot: OwnSlot,
    tool: Box<dyn RunningTool>,
    mut engine: Box<Runner>,
) -> ! {
    // SAFETY: CONTROL is mapped, for as long as this process lives.
    unsafe { events::start(header().told.load(Relaxed), SERIAL) };
    let mut control = engine.control();
    if signals.handles_faults() || tool.changes_signals() {
        control.expect_faults();
    }
    open_at_start().into_iter().for_each(|inode| control.file_may_change(inode));
    control.shared_memory_may_change();
    drop(control);
    let host = serial::host(signals, slot, tool, &boot.state, engine.cpu());
    serial::limit_open_files(boot.site.open_files);
    serial::run(engine, host, boot.site.others)
}

fn settings(header: &RunHeader, boot: &BootBlock, pass: u32, tool: &dyn RunningTool) -> Settings {
    let watched = watched(header, boot);
    let run_memory = (boot.site.run_memory >= 0).then_some((boot.site.supervisor, boot.site.run_memory));
    // SAFETY: this is a taken-over process whose engine hasn't been made.
    let cache = unsafe { region::shared_cache(pass, run_memory) };
    Settings {
        max_blocks: header.max_blocks as usize,
        max_instructions: header.max_instructions as usize,
        linking: header.linking != 0,
        // A serial run has nobody to share with but other runs.
        sharing: header.sharing != 0
            && (boot.site.mode == RunMode::Slice || header.keeps_code != 0)
            && watched.stops_at.is_none()
            && cache.is_some(),
        outlives_run: header.keeps_code != 0,
        // Copies of routines that are checked have the other half.
        cache_bytes: if header.checks_tool != 0 {
            header.cache_bytes.min(CACHE_OWN.size / 2)
        } else {
            header.cache_bytes
        },
        // Who looks at flags across traces doesn't see what the tool does there.
        off: if tool.reads_flags() { header.off.and(Optimisation::FlagLookahead) } else { header.off },
        slot: boot.site.slot as usize,
        // In a slice no fault reaches the app; in a serial run the host says when one can, unless the translations are there already.
        exact_faults: boot.site.mode == RunMode::Serial && header.keeps_code != 0,
        replays: boot.site.mode == RunMode::Slice,
        each_repetition: tool.wants_each_repetition(),
        xcr0: header.xcr0,
        null_selector_clears_base: header.null_selector_clears_base != 0,
        comparisons_keep_flags: header.comparisons_keep_flags != 0,
        run_memory: run_memory.zip(cache).map(|((process, descriptor), at)| (process, descriptor, at)),
        watched,
    }
}

/// What those who work on superpin have asked for in this process.
fn watched(header: &RunHeader, boot: &BootBlock) -> Watched {
    let place = |word: &AtomicU64| Some(word.load(Relaxed)).filter(|place| *place != NOWHERE);
    let stops = boot.site.mode == RunMode::Slice && place(&header.stops) == Some(boot.state.slice);
    Watched {
        written_out: place(&header.written_out),
        stops_at: stops.then(|| place(&header.stops_at).unwrap_or(boot.state.registers.rip)),
    }
}
