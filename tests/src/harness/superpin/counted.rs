//! A run under superpin, and what it has counted.

use std::path::Path;
use std::{fs, io};

use super::built::command;
use super::modes::Mode;
use crate::run::{Job, Outcome, Scratch, run};
use crate::switches;

/// A run under superpin.
#[derive(Clone, Debug)]
pub struct Counted {
    /// What the app (and superpin, if it had to complain) left.
    pub outcome: Outcome,
    /// The total, if one was printed.
    pub total: Option<u64>,
    /// All that the tool printed.
    pub printed: String,
    /// Totals of the processes that the app has started, in the order of size.
    pub children: Vec<u64>,
    /// Statistics, as `-report` wrote them.
    pub report: String,
    /// Those of the processes that the app has started.
    pub reports_of_children: Vec<String>,
}

impl Counted {
    /// A number of the statistics.
    pub fn statistic(&self, name: &str) -> Option<f64> {
        number(&self.report, name)
    }

    /// The sum of a number of all processes' statistics. `None` if one hasn't got it.
    pub fn statistic_of_all(&self, name: &str) -> Option<f64> {
        self.reports_of_children.iter().chain([&self.report]).map(|report| number(report, name)).sum()
    }
}

fn number(report: &str, name: &str) -> Option<f64> {
    report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
}

/// Runs a job in a mode. Total and statistics go to files of their own, so that standard error is the app's alone.
pub fn count(mode: &Mode, job: &Job) -> io::Result<Counted> {
    count_with(mode.tool, mode.options, job)
}

/// What a run that counted looked like, if all is as it must be: the app's output, files and status are those of the
/// native run, and there is a total.
pub fn total_of(counted: &Counted, native: &Outcome) -> Result<u64, String> {
    if counted.outcome != *native {
        return Err(format!("not as natively\n-- native\n{native:?}-- here\n{:?}", counted.outcome));
    }
    counted.total.ok_or_else(|| "no total".to_owned())
}

/// Runs a job with these options. The tool's own may follow its name.
pub fn count_with<S: AsRef<str>>(tool: &str, options: &[S], job: &Job) -> io::Result<Counted> {
    let scratch = Scratch::new()?;
    let (total, report) = (scratch.beside("total"), scratch.beside("report"));
    let outcome = run_with(tool, options, job, &total, &report)?;
    let printed = fs::read_to_string(&total).unwrap_or_default();
    Ok(Counted {
        outcome,
        children: totals_beside(&total)?,
        reports_of_children: texts_beside(&report)?,
        total: parse_total(&printed),
        printed,
        report: fs::read_to_string(report).unwrap_or_default(),
    })
}

/// The same of a tool whose result needn't be text, nor have a total: what the run looked like, and the result.
pub fn result_with<S: AsRef<str>>(tool: &str, options: &[S], job: &Job) -> io::Result<(Outcome, Vec<u8>)> {
    let scratch = Scratch::new()?;
    let result = scratch.beside("result");
    let outcome = run_with(tool, options, job, &result, &scratch.beside("report"))?;
    Ok((outcome, fs::read(&result).unwrap_or_default()))
}

fn run_with<S: AsRef<str>>(tool: &str, options: &[S], job: &Job, total: &Path, report: &Path) -> io::Result<Outcome> {
    let mut prefix = command();
    prefix.extend(options.iter().map(|option| option.as_ref().into()));
    if !switches::options().is_empty() && options.iter().all(|option| option.as_ref() != "-spgrace") {
        // Slices may be a hundred times as slow as with everything on.
        prefix.extend(["-spgrace", "0"].map(Into::into));
    }
    prefix.extend(["-report".into(), report.into(), "-t".into()]);
    prefix.extend(tool.split(' ').map(Into::into));
    prefix.extend(["-o".into(), total.into(), "--".into()]);
    run(&job.under(prefix))
}

/// What was printed to files whose names are a path, a dot and a process's number.
fn totals_beside(path: &Path) -> io::Result<Vec<u64>> {
    let mut totals: Vec<u64> = texts_beside(path)?.iter().filter_map(|text| parse_total(text)).collect();
    totals.sort_unstable();
    Ok(totals)
}

/// What such files hold.
fn texts_beside(path: &Path) -> io::Result<Vec<String>> {
    let start = format!("{}.", path.display());
    let files = fs::read_dir(path.parent().expect("the file lies in a folder"))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let beside = paths.filter(|path| path.to_string_lossy().starts_with(&start));
    Ok(beside.filter_map(|path| fs::read_to_string(path).ok()).collect())
}

/// The number in the line `Total Count: N`, or what stands for it in the other tools' results.
pub fn parse_total(text: &str) -> Option<u64> {
    let number = |line: &str| {
        let rest = ["Total Count: ", "Checksum: ", "Misses: "].iter().find_map(|name| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    text.lines().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_among_other_lines() {
        assert_eq!(parse_total("noise\nTotal Count: 1234\n"), Some(1234));
        assert_eq!(parse_total("Total Count: \n"), None);
        assert_eq!(parse_total("Accesses: 9\nMisses: 5 (55.56 %)\n"), Some(5));
    }
}
