//! Totals against an independent count: single-stepped = serial = sliced, by instruction and by block.
//!
//! Single-stepping takes about ten microseconds an instruction, so guests do little here, and a slice ends at each system call
//! so that there are many all the same. One in [`SHARES`] comes in each round.

use std::process::ExitCode;

use suites::guest::{self, Guest};
use suites::oracle;
use suites::run::{Job, Scratch};
use suites::selection::{Selection, changed_guests};
use suites::superpin::{EACH_CALL, Mode, SERIAL, count_with};
use suites::trials::{self, Stop, Test};

/// In how many successive rounds each guest comes once.
const SHARES: usize = 24;

/// In how many each program does.
const PROGRAM_SHARES: usize = 2;

/// Programs of the system besides the guests.
const PROGRAMS: &[&[&str]] = &[
    &["/bin/true"],
    &["/bin/echo", "hello"],
    &["/bin/cat", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
    &["/usr/bin/expr", "6", "*", "7"],
];

/// Serial, which comes first, and sliced.
const BOTH: [Mode; 2] = [SERIAL, EACH_CALL];

fn main() -> ExitCode {
    let guests = guest::all().iter().filter(|guest| guest.repeats);
    let guests = guests.filter_map(|guest| Some(guest_test(guest, guest.small?)));
    let programs = PROGRAMS.iter().map(|argv| {
        let is_selected = Selection::asked().has(argv[0], 0, PROGRAM_SHARES);
        Test::new(argv.join(" "), move || check(&Job::new(*argv), &BOTH, true)).only_if(is_selected)
    });
    let signals = ["icount1", "icount2", "opcodes"]
        .map(|tool| Test::new(format!("calls under signals, {tool}"), move || calls_under_signals(tool)));
    trials::run(guests.chain(programs).chain(signals).collect(), false)
}

/// A signal that comes right before a system call makes no instruction count twice: the guest itself tells how many it has executed. Its signals
/// come at other moments in each run.
fn calls_under_signals(tool: &str) -> Result<(), String> {
    let mut job = guest::named("calls_under_signals").job(1);
    job.argv.push("tell".into());
    for _ in 0..5 {
        let counted = count_with(tool, SERIAL.options, &job).map_err(|e| e.to_string())?;
        let digits = counted.outcome.stdout.iter().filter(|byte| byte.is_ascii_lowercase());
        let told = digits.fold(0, |told: u64, digit| told << 4 | u64::from(digit - b'a'));
        if counted.total != Some(told) {
            return Err(format!("told {told}\n{counted:?}"));
        }
    }
    Ok(())
}

/// What each thread has executed.
fn by_thread(tool: &str, mode: &Mode, job: &Job, expected: &oracle::Count) -> Result<(), String> {
    let told = count_with(&format!("{tool} -threads 1"), mode.options, job).map_err(|e| e.to_string())?;
    let path = |path: &[u32]| path.iter().fold("0".to_owned(), |text, step| format!("{text}.{step}"));
    let lines = expected.threads.iter().map(|(steps, count)| format!("{count:>16} thread {}", path(steps)));
    let (lines, printed): (Vec<String>, _) =
        (lines.collect(), told.printed.lines().filter(|line| line.contains(" thread ")));
    if lines.iter().eq(printed) {
        Ok(())
    } else {
        Err(format!("{tool} by thread, {}: {lines:#?}\n{told:?}", mode.name))
    }
}

fn guest_test(guest: &'static Guest, rounds: u64) -> Test {
    let modes = if guest.refused[1].is_some() { &BOTH[..1] } else { &BOTH };
    let check = move || {
        guest.runs_here()?;
        guest.natively(rounds)?;
        Ok::<_, Stop>(check(&guest.job(rounds), modes, guest.whole_blocks)?)
    };
    let is_in_turn = match Selection::asked() {
        Selection::All => true,
        share => share.has(&guest.name, 0, SHARES) && !guest.has_many_steps,
    };
    let is_selected = is_in_turn || changed_guests().contains(guest.source_name());
    Test::new(guest.name.clone(), check).only_if(is_selected)
}

fn check(job: &Job, modes: &[Mode], whole_blocks: bool) -> Result<(), String> {
    let folder = Scratch::new().map_err(|e| e.to_string())?;
    let expected = oracle::count(job, &folder).map_err(|e| e.to_string())?;
    let mut wrong = String::new();
    for mode in modes {
        for tool in ["icount1", "icount2"] {
            if tool == "icount2" && !whole_blocks {
                continue;
            }
            let counted = count_with(tool, mode.options, job).map_err(|e| e.to_string())?;
            let total = counted
                .total
                .map_or("no total".to_owned(), |n| format!("{n} ({:+})", n as i64 - expected.instructions as i64));
            if counted.total != Some(expected.instructions) || counted.outcome.status != expected.status {
                wrong +=
                    &format!("{tool} {}: {total}, status {}\n{:?}", mode.name, counted.outcome.status, counted.outcome);
            }
        }
    }
    if expected.threads.len() > 1 {
        let tools = if whole_blocks { &["icount1", "icount2", "opcodes"][..] } else { &["icount1"] };
        for mode in modes {
            wrong += &tools.iter().filter_map(|tool| by_thread(tool, mode, job, &expected).err()).collect::<String>();
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("single-stepped: {expected:?}\n{wrong}")) }
}
