//! `simpoints` against what other tools see where it says that an interval begins, and, where it is installed, against SimPoint itself.

use std::process::Command;

use suites::run::Scratch;

use super::programs::{counts, is_there, succeeds, text};

/// A line of its table: interval, weight, start, length, and where it begins.
struct Point {
    interval: usize,
    weight: f64,
    start: u64,
    length: u64,
    at: String,
}

fn points(table: &str) -> Vec<Point> {
    let rows = table.lines().skip_while(|line| !line.trim_start().starts_with("cluster")).skip(1);
    let rows = rows.map(|line| line.split_whitespace().collect::<Vec<_>>()).take_while(|row| row.len() >= 6);
    let point = |row: Vec<&str>| {
        let number = |n: usize| row[n].parse().unwrap_or_else(|_| panic!("{row:?}"));
        let weight = row[2].parse().unwrap_or_else(|_| panic!("{row:?}"));
        Point { interval: number(1) as usize, weight, start: number(3), length: number(4), at: row[5].to_owned() }
    };
    rows.map(point).collect()
}

#[test]
fn a_chosen_interval_is_where_it_is_said_to_be() {
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let options = "-sp 1 -spmsec 5 -t simpoints --interval 10000 --max-k 8";
    let points = points(&text(options, &folder.cwd(), &app));
    assert!((2..=8).contains(&points.len()), "{}", points.len());
    let weights: f64 = points.iter().map(|point| point.weight).sum();
    assert!((weights - 1.0).abs() < 1e-4, "{weights}");

    let vectors = text("-t bbv --interval 10000", &folder.cwd(), &app);
    let vectors: Vec<&str> = vectors.lines().collect();
    for Point { interval, start, length, at, .. } in points {
        let executed = vectors[interval].trim_start_matches('T').split_whitespace();
        let executed = executed.map(|pair| pair.rsplit_once(':').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(executed.sum::<u64>(), length, "interval {interval}");
        let seen = |from: &str| {
            let options = format!("{from} -trace {length} -then end -t itrace");
            text(&options, &folder.cwd(), &app)
        };
        let by_number = seen(&format!("-start-icount {start}"));
        let lines = by_number.lines().filter(|line| line.starts_with("0x"));
        assert_eq!(lines.count() as u64, length, "interval {interval}");
        assert!(seen(&format!("-start-address {at}")) == by_number, "interval {interval} at {at}");
    }
}

#[test]
fn simpoint_chooses_the_same_intervals() {
    if !is_there("simpoint") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let vectors = folder.beside("vectors");
    std::fs::write(&vectors, text("-t bbv --interval 10000", &folder.cwd(), &app)).unwrap();
    let theirs = folder.beside("theirs");
    let mut simpoint = Command::new("simpoint");
    simpoint.args(["-k", "search", "-maxK", "12", "-loadFVFile"]).arg(vectors).arg("-saveSimpoints").arg(&theirs);
    succeeds(simpoint.arg("-saveSimpointWeights").arg(folder.beside("weights")));
    let options = "-sp 1 -spmsec 5 -t simpoints --interval 10000 --max-k 12 --print simpoints";
    assert_eq!(text(options, &folder.cwd(), &app), std::fs::read_to_string(theirs).unwrap());
}
