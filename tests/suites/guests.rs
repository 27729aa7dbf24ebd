//! Every guest in every mode: output, files and exit status as natively, totals as serially.
//!
//! `cargo test -p suites --test guests -- 5ms/` runs one mode, `-- /loops` one guest. Without a filter each guest comes serially, which the others are compared with, and
//! in some of the other modes, others with each commit (see [`suites::selection`]).

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use suites::guest::{self, Guest};
use suites::run::Outcome;
use suites::selection::{Selection, changed_guests};
use suites::superpin::{
    Counted, EACH_CALL, FOLLOWED, MODES, Mode, SERIAL, SHARES, count, count_with, parse_total, total_of,
};
use suites::switches;
use suites::trials::{self, Stop, Test};

fn main() -> ExitCode {
    let modes = MODES.iter().enumerate();
    trials::run(modes.flat_map(|(n, mode)| guest::all().iter().map(move |guest| test(n, mode, guest))).collect(), true)
}

fn test(number: usize, mode: &'static Mode, guest: &'static Guest) -> Test {
    let is_selected = Selection::asked().has(&guest.name, number, SHARES)
        || mode.name == SERIAL.name
        || changed_guests().contains(guest.source_name());
    Test::new(format!("{}/{}", mode.name, guest.name), move || check(mode, guest)).only_if(is_selected)
}

fn check(mode: &Mode, guest: &'static Guest) -> Result<(), Stop> {
    guest.runs_here()?;
    let slow = mode.slow || !switches::options().is_empty();
    let rounds = if slow { guest.large.div_ceil(10) } else { guest.large };
    let native = native(guest, rounds)?;
    let options = options(mode, guest);
    let mut counted = run_in(mode, &options, guest, rounds).map_err(|e| e.to_string())?;
    if guest.by_chance && counted.total.is_some() {
        return Ok(());
    }
    if let Some(worth) = guest.warned.as_ref().filter(|_| mode.sliced)
        && !(guest.warned_by_chance && counted.printed.ends_with("\nResult: exact\n"))
    {
        take_warning(&mut counted, worth, &native)?;
    }
    // A mode may happen to be able to count it after all: the total must then be the right one.
    let is_right = guest.repeats && counted.total.is_some();
    if let Some(why) = guest.refused[usize::from(mode.sliced)].as_ref().filter(|_| !is_right) {
        return Ok(refused(why, &counted.outcome, &native, counted.total)?);
    }
    let total = total_of(&counted, &native)?;
    // exit is a call of its own, so a run that is cut at each call has at least two slices.
    if mode.name == EACH_CALL.name && !guest.bare && counted.statistic("slices") < Some(2.0) {
        return Err(format!("cut at each call, but\n{}", counted.report).into());
    }
    if guest.repeats && (guest.order_repeats || mode.counts()) {
        let same_total = guest.whole_blocks && ["icount1", "opcodes"].contains(&mode.tool);
        let tool = if same_total { SERIAL.tool } else { mode.tool };
        let serial = serial(guest, rounds, tool)?;
        if total != serial {
            let difference = total.wrapping_sub(serial) as i64;
            return Err(format!("total {total}, serially {serial}: {difference:+}").into());
        }
        let follows = options.chunks(2).any(|pair| pair == ["-follow", "1"]);
        let followed = if follows { children(guest, rounds)? } else { Vec::new() };
        let differ =
            if guest.children_repeat { counted.children != followed } else { counted.children.len() != followed.len() };
        if differ {
            return Err(format!("children {:?}, serially {followed:?}", counted.children).into());
        }
    }
    Ok(())
}

/// The mode's options, pairs of a name and a value, but those that the guest says, and these.
fn options<'a>(mode: &'a Mode, guest: &'a Guest) -> Vec<&'a str> {
    let own = || guest.options.iter().map(String::as_str);
    let others = mode.options.chunks(2).filter(|pair| own().all(|word| word != pair[0]));
    others.flatten().copied().chain(own()).collect()
}

fn run_in(mode: &Mode, options: &[&str], guest: &Guest, rounds: u64) -> io::Result<Counted> {
    if !mode.persists {
        return count_with(mode.tool, options, &guest.job(rounds));
    }
    let folder = tempfile::tempdir()?;
    let persist = ["-persist", folder.path().to_str().expect("the path is text")];
    let options: Vec<&str> = persist.iter().chain(options).copied().collect();
    let first = count_with(mode.tool, &options, &guest.job(rounds))?;
    let second = count_with(mode.tool, &options, &guest.job(rounds))?;
    let [saved, loaded] =
        [(&first, "kept_bytes_saved"), (&second, "kept_bytes_loaded")].map(|(run, name)| run.statistic(name));
    match (saved > Some(0.0), loaded > Some(0.0)) {
        // Code of a file that was changed within two seconds isn't kept. On a busy machine a run takes longer.
        (true, false) if guest.keeps => Err(io::Error::other(format!("kept, but not used\n{first:?}\n{second:?}"))),
        _ => Ok(second),
    }
}

/// Removes the warning from standard error, the word from the total, and the status: they must be there.
fn take_warning(counted: &mut Counted, worth: &str, native: &Outcome) -> Result<(), String> {
    let told = String::from_utf8_lossy(&counted.outcome.stderr).into_owned();
    let Some(at) = told.find(&format!("superpin: result: {worth}: ")) else {
        return Err(format!("no warning\n{counted:?}"));
    };
    counted.outcome.stderr.truncate(at);
    if counted.outcome.status != 125 || !counted.printed.ends_with(&format!("\nResult: {worth}\n")) {
        return Err(format!("status 125 and a result that says so expected\n{counted:?}"));
    }
    counted.outcome.status = native.status;
    // A checksum says no more than that there is one.
    counted.total = parse_total(&counted.printed.replace(&format!(": {worth} "), ": "));
    let counts =
        ["boundaries_ambiguous", "points_ambiguous", "slices_with_foreign_writes"].map(|name| counted.statistic(name));
    if counts.into_iter().flatten().sum::<f64>() >= 1.0 {
        return Ok(());
    }
    Err(format!("warned, but\n{}", counted.report))
}

/// An app that can't be followed goes on natively to its end; superpin says why it gives no total.
fn refused(why: &str, outcome: &Outcome, native: &Outcome, total: Option<u64>) -> Result<(), String> {
    let told = String::from_utf8_lossy(&outcome.stderr);
    if outcome.status == 125 && told.contains(why) && outcome.stdout == native.stdout && total.is_none() {
        return Ok(());
    }
    Err(format!("refusal that names `{why}` expected, got total {total:?}\n{outcome:?}"))
}

fn native(guest: &'static Guest, rounds: u64) -> Result<Outcome, Stop> {
    static DONE: Once<(&str, u64), Outcome, Stop> = Once::new();
    DONE.get((&guest.name, rounds), || guest.natively(rounds))
}

fn serial(guest: &'static Guest, rounds: u64, tool: &'static str) -> Result<u64, String> {
    static DONE: Once<(&str, u64, &str), u64> = Once::new();
    DONE.get((&guest.name, rounds, tool), || {
        let counted = count_with(tool, SERIAL.options, &guest.job(rounds)).map_err(|e| e.to_string())?;
        counted.total.ok_or_else(|| format!("no total serially\n{:?}", counted.outcome))
    })
}

/// Totals of the processes that it starts.
fn children(guest: &'static Guest, rounds: u64) -> Result<Vec<u64>, String> {
    static DONE: Once<(&str, u64), Vec<u64>> = Once::new();
    DONE.get((&guest.name, rounds), || {
        let counted = count(&FOLLOWED, &guest.job(rounds)).map_err(|e| e.to_string())?;
        Ok(counted.children)
    })
}

type Answer<V, E> = Arc<OnceLock<Result<V, E>>>;

/// What is asked for in many tests and computed in one.
struct Once<K, V, E = String>(Mutex<Option<HashMap<K, Answer<V, E>>>>);

impl<K: Eq + Hash, V: Clone, E: Clone> Once<K, V, E> {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn get(&self, key: K, compute: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = map.get_or_insert_default().entry(key).or_default().clone();
        drop(map);
        answer.get_or_init(compute).clone()
    }
}
