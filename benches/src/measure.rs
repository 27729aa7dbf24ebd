//! Timed runs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Instant;

use suites::run::{Job, Scratch};
use suites::superpin::parse_total;

use crate::ways::{Output, SLICED, Way};

/// Seconds of one run.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// On the clock.
    pub wall: f64,
    /// Of all processes together.
    pub cpu: f64,
}

impl Times {
    /// The shorter of both, each for itself.
    fn least(self, other: Times) -> Times {
        Times { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

/// A program in all ways.
#[derive(Debug)]
pub struct Measured {
    /// For each way, the least of all rounds, or why there is none.
    pub times: Vec<Result<Times, String>>,
    /// Instructions, where all runs agree as they must; none for a program whose count varies.
    pub total: Option<u64>,
    /// superpin's statistics of the last sliced run.
    pub report: BTreeMap<String, f64>,
}

/// What a run yielded.
struct Run {
    times: Times,
    total: Option<u64>,
    report: BTreeMap<String, f64>,
}

/// Runs a job in turns in all ways.
///
/// # Errors
/// If two runs counted different numbers of instructions and the program's number doesn't vary.
pub fn measure(job: &Job, ways: &[Way], rounds: usize, repeats: bool) -> Result<Measured, String> {
    let mut measured =
        Measured { times: vec![Err("not run".into()); ways.len()], total: None, report: BTreeMap::new() };
    for round in 0..rounds.max(1) {
        for (way, times) in ways.iter().zip(&mut measured.times) {
            // What can't be run is not tried again.
            if round > 0 && times.is_err() {
                continue;
            }
            let run = match run(job, way) {
                Ok(run) => run,
                Err(error) => {
                    eprintln!("  {}: {error}", way.name);
                    *times = Err(error);
                    continue;
                }
            };
            *times = Ok(times.as_ref().map_or(run.times, |before| before.least(run.times)));
            if !run.report.is_empty() && way.name == SLICED {
                measured.report = run.report;
            }
            match (run.total.filter(|_| repeats), measured.total) {
                (Some(new), Some(old)) if new != old => {
                    return Err(format!("{}: wrong total: {new}, in other runs {old}", way.name));
                }
                (Some(new), _) => measured.total = Some(new),
                (None, _) => {}
            }
        }
    }
    Ok(measured)
}

fn run(job: &Job, way: &Way) -> Result<Run, String> {
    let scratch = Scratch::new().map_err(|e| e.to_string())?;
    let (total, report) = (scratch.beside("total"), scratch.beside("report"));
    let mut prefix = way.prefix.clone();
    let is_superpin = prefix.iter().any(|part| part == "-t");
    if is_superpin {
        prefix.extend(["-report".into(), report.clone().into(), "-o".into(), total.clone().into(), "--".into()]);
    }
    let times = timed(&job.under(prefix)).map_err(|e| e.to_string())?;
    let mut run = Run { times, total: None, report: BTreeMap::new() };
    if way.output != Output::Nothing {
        run.total = Some(fs::read_to_string(total).ok().and_then(|text| parse_total(&text)).ok_or("no total")?);
    }
    if way.output == Output::InstructionsAndReport {
        let text = fs::read_to_string(report).map_err(|e| e.to_string())?;
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        run.report = lines.filter_map(|(k, v)| Some((k.into(), v.parse().ok()?))).collect();
    }
    Ok(run)
}

/// Runs a job. Its output goes to a file: grep, for one, stops at the first match if nobody reads it.
fn timed(job: &Job) -> io::Result<Times> {
    let scratch = Scratch::new()?;
    let mut command = job.command(&scratch.cwd())?;
    command.stdout(fs::File::create(scratch.beside("out"))?);
    let start = Instant::now();
    let child = command.spawn()?;
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to live variables of the right types; the child is ours and not reaped yet.
    let reaped = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
    let wall = start.elapsed().as_secs_f64();
    if reaped < 0 {
        return Err(io::Error::last_os_error());
    }
    if libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) > 1 {
        return Err(io::Error::other(format!("ended with wait status {status:#x}")));
    }
    // SAFETY: all zeros is a valid rusage, and wait4 has filled it in.
    let usage = unsafe { usage.assume_init() };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    Ok(Times { wall, cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(name: &str, prefix: &[&str]) -> Way {
        Way { name: name.into(), prefix: prefix.iter().map(Into::into).collect(), output: Output::Nothing }
    }

    #[test]
    fn a_failing_program_is_an_error() {
        assert!(timed(&Job::new(["/bin/true"])).is_ok());
        assert!(timed(&Job::new(["/bin/sh", "-c", "exit 125"])).is_err());
    }

    #[test]
    fn a_way_that_fails_does_not_keep_others_from_being_measured() {
        let ways = [way("bad", &["/nonexistent"]), way("good", &["/usr/bin/env"])];
        let measured = measure(&Job::new(["/bin/true"]), &ways, 2, true).unwrap();
        assert!(measured.times[0].is_err() && measured.times[1].is_ok());
    }

    #[test]
    fn the_least_of_each_counts() {
        let least = Times { wall: 3.0, cpu: 1.0 }.least(Times { wall: 2.0, cpu: 5.0 });
        assert_eq!((least.wall, least.cpu), (2.0, 1.0));
    }
}
