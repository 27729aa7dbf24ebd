//! What was measured, as Markdown.

use std::fmt::Write as _;

use crate::measure::{Measured, Times};
use crate::ways::{BEFORE, SERIAL, SLICED, Way};

/// One time of a run.
type Which = fn(&Times) -> f64;

/// Multiples of the first way's time, which is given in seconds; at last the geometric mean of each column.
pub fn ratios(ways: &[Way], rows: &[(&str, Measured)], which: Which) -> String {
    let names: Vec<_> = ways.iter().skip(1).map(|way| way.name.as_str()).collect();
    let mut text = format!("| program | instructions | native s | {} |\n", names.join(" | "));
    text += &format!("|---|--:|--:|{}\n", "--:|".repeat(names.len()));
    for (name, m) in rows {
        writeln!(text, "{}", row(name, m, which)).expect("a String takes all");
    }
    let means: Vec<_> = (1..ways.len()).map(|way| cell(mean(rows.iter().map(|(_, m)| ratio(m, way, which))))).collect();
    writeln!(text, "| geometric mean | | | {} |", means.join(" | ")).expect("a String takes all");
    text
}

/// A program's row of [`ratios`].
pub fn row(name: &str, measured: &Measured, which: Which) -> String {
    let total = measured.total.map_or(String::new(), |n| format!("{:.0} M", n as f64 / 1e6));
    let native = measured.times[0].as_ref().map_or(f64::NAN, which);
    let cells: Vec<_> = (1..measured.times.len()).map(|way| cell(ratio(measured, way, which))).collect();
    format!("| {name} | {total} | {native:.2} | {} |", cells.join(" | "))
}

fn ratio(measured: &Measured, way: usize, which: Which) -> Option<f64> {
    let time = |way: usize| measured.times[way].as_ref().ok().map(which);
    Some(time(way)? / time(0)?.max(1e-6))
}

/// What slices cost: the CPU time of sliced runs over that of the native and the serial run together, if there are both.
pub fn beyond_serial(ways: &[Way], rows: &[(&str, Measured)]) -> Option<String> {
    let serial = ways.iter().position(|way| way.name == SERIAL)?;
    let sliced: Vec<usize> = (0..ways.len()).filter(|&way| ways[way].name.starts_with(SLICED)).collect();
    if sliced.is_empty() {
        return None;
    }
    let names: Vec<_> = sliced.iter().map(|&way| ways[way].name.as_str()).collect();
    let mut text = format!("| program | {} |\n|---|{}\n", names.join(" | "), "--:|".repeat(names.len()));
    for (name, m) in rows {
        let over = |&way: &usize| Some(ratio(m, way, |t| t.cpu)? / (1.0 + ratio(m, serial, |t| t.cpu)?));
        let cells: Vec<_> = sliced.iter().map(over).map(cell).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | ")).expect("a String takes all");
    }
    Some(text)
}

/// CPU times of this build over those of the build before, for each way that both ran; at last the geometric mean of each column. Three digits, since a
/// hundredth counts.
pub fn over_before(ways: &[Way], rows: &[(&str, Measured)]) -> String {
    let named = |name: &str| ways.iter().position(|way| way.name == name);
    let pairs: Vec<(&str, usize, usize)> = ways
        .iter()
        .filter_map(|way| Some((&*way.name, named(&way.name)?, named(&format!("{}{BEFORE}", way.name))?)))
        .collect();
    let names: Vec<_> = pairs.iter().map(|(name, ..)| *name).collect();
    let mut text = format!("| program | {} |\n|---|{}\n", names.join(" | "), "--:|".repeat(names.len()));
    let over = |m: &Measured, new, old| Some(ratio(m, new, |t| t.cpu)? / ratio(m, old, |t| t.cpu)?);
    let three = |ratio: Option<f64>| ratio.map_or("failed".to_owned(), |ratio| format!("{ratio:.3}"));
    for (name, m) in rows {
        let cells: Vec<_> = pairs.iter().map(|&(_, new, old)| three(over(m, new, old))).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | ")).expect("a String takes all");
    }
    let means: Vec<_> =
        pairs.iter().map(|&(_, new, old)| three(mean(rows.iter().map(|(_, m)| over(m, new, old))))).collect();
    writeln!(text, "| geometric mean | {} |", means.join(" | ")).expect("a String takes all");
    text
}

fn cell(ratio: Option<f64>) -> String {
    ratio.map_or("failed".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// Geometric mean; none if a value is missing.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// A column: its heading, and the statistics that are added up in it.
type Column = (&'static str, &'static [&'static str]);

const COLUMNS: &[Column] = &[
    ("slices", &["slices"]),
    ("forks", &["forks"]),
    ("timeout", &["boundaries_timeout"]),
    ("syscall", &["boundaries_syscall"]),
    ("records full", &["boundaries_records", "boundaries_log"]),
    ("signal", &["boundaries_signal"]),
    ("process, exec", &["boundaries_process", "boundaries_exec"]),
    ("records", &["records"]),
    ("log bytes", &["log_bytes"]),
    ("stopped ms", &["master_stopped_ms"]),
    ("longest boundary us", &["boundary_longest_us"]),
    ("asleep ms", &["master_asleep_ms"]),
    ("pipeline delay ms", &["pipeline_delay_ms"]),
    ("translate ms", &["translate_ms"]),
    ("cache bytes", &["cache_bytes"]),
];

/// superpin's statistics of the sliced runs.
pub fn statistics(rows: &[(&str, Measured)]) -> String {
    let headings: Vec<_> = COLUMNS.iter().map(|(heading, _)| *heading).collect();
    let mut text = format!("| program | {} |\n|---|{}\n", headings.join(" | "), "--:|".repeat(COLUMNS.len()));
    for (name, m) in rows {
        let cell = |(_, names): &Column| {
            let known: Vec<f64> = names.iter().filter_map(|n| m.report.get(*n).copied()).collect();
            if known.is_empty() { "?".to_owned() } else { format!("{:.0}", known.iter().sum::<f64>()) }
        };
        let cells: Vec<_> = COLUMNS.iter().map(cell).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | ")).expect("a String takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::Output;

    fn measured(factor: f64) -> Measured {
        let times = |wall| Ok(Times { wall, cpu: 2.0 * wall });
        let report = [("boundaries_process", 3.0), ("boundaries_exec", 4.0)].map(|(k, v)| (k.to_owned(), v));
        Measured {
            times: vec![times(2.0), times(2.0 * factor), Err("broken".to_owned())],
            total: Some(7_000_000),
            report: report.into(),
        }
    }

    fn ways() -> [Way; 3] {
        ["native", "slow", "broken"].map(|name| Way { name: name.into(), prefix: Vec::new(), output: Output::Nothing })
    }

    #[test]
    fn times_are_ratios_to_native_with_their_geometric_mean() {
        let text = ratios(&ways(), &[("it", measured(2.0)), ("other", measured(8.0))], |times| times.cpu);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "| program | instructions | native s | slow | broken |");
        assert_eq!(lines[2], "| it | 7 M | 4.00 | 2.00 | failed |");
        assert_eq!(lines[4], "| geometric mean | | | 4.00 | failed |");
    }

    #[test]
    fn sliced_runs_are_compared_with_native_and_serial_together() {
        let ways = ["native", SERIAL, SLICED].map(|name| Way { name: name.into(), ..ways()[0].clone() });
        let mut measured = measured(2.0);
        measured.times[2] = Ok(Times { wall: 9.0, cpu: 18.0 });
        let text = beyond_serial(&ways, &[("it", measured)]).unwrap();
        assert_eq!(text.lines().last(), Some("| it | 1.50 |"));
        assert!(beyond_serial(&ways[..2], &[]).is_none() && beyond_serial(&ways[2..], &[]).is_none());
    }

    #[test]
    fn a_build_is_compared_with_the_one_before() {
        let names = ["native".to_owned(), SERIAL.to_owned(), format!("{SERIAL}{BEFORE}")];
        let ways = names.map(|name| Way { name, ..ways()[0].clone() });
        let mut measured = measured(2.0);
        measured.times[2] = Ok(Times { wall: 1.0, cpu: 10.0 });
        let text = over_before(&ways, &[("it", measured)]);
        assert_eq!(text, "| program | icount2 |\n|---|--:|\n| it | 0.800 |\n| geometric mean | 0.800 |\n");
    }

    #[test]
    fn statistics_are_added_up_and_missing_ones_are_seen() {
        let text = statistics(&[("it", measured(1.0))]);
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("| it | ? | ? ") && last.contains("| 7 |"), "{last}");
    }
}
