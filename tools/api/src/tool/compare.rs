//! Comparing a result with an earlier one: which counts have grown.
//!
//! ```text
//!   {"rows": [{"routine": "parse", "instructions": 1000}, …]}      OLD
//!   {"rows": [{"routine": "parse", "instructions": 1200}, …]}      now
//!     ──► routine parse, instructions: 1000, now 1200 (+20.0 %)
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// Numbers that say what a count is of, as texts do.
const NAMES: [&str; 24] = [
    "address",
    "begin",
    "block",
    "cluster",
    "core",
    "distance",
    "end",
    "from",
    "from_line",
    "head",
    "interval",
    "interval_length",
    "length",
    "level",
    "line",
    "line_bytes",
    "offset",
    "process",
    "start",
    "thread",
    "to",
    "to_line",
    "ways",
    "width",
];

/// What is new, or small, may grow by so much of the bound, of the largest count.
const OF_LARGEST: f64 = 0.01;

/// Counts by what they are of.
type Counts = BTreeMap<String, f64>;

/// A count that has grown.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    of: String,
    before: f64,
    now: f64,
}

impl fmt::Display for Grown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, before, now } = self;
        match *before {
            0.0 => write!(f, "{of}: {now}, which is new"),
            before => write!(f, "{of}: {before}, now {now} (+{:.1} %)", (now - before) / before * 100.0),
        }
    }
}

/// Lines that tell what has grown, at most.
pub const MOST_TOLD: usize = 20;

/// With what a result is to be compared.
#[derive(Clone, Debug)]
pub struct Compare {
    /// A file with an earlier one.
    pub file: PathBuf,
    /// By how many percent counts may grow.
    pub percent: f64,
}

/// The same, with what is in the file.
pub struct Comparison {
    with: Compare,
    before: Value,
}

impl Comparison {
    /// # Errors
    /// A text for the user: it can't be read, or is another tool's.
    pub fn load(with: Compare, tool: &str) -> Result<Self, String> {
        if !(with.percent >= 0.0 && with.percent.is_finite()) {
            return Err(format!("--grows {}: it is a number of percent, 0 or more", with.percent));
        }
        let wrong = |why: &dyn fmt::Display| format!("--compare {}: {why}", with.file.display());
        let text = std::fs::read_to_string(&with.file).map_err(|error| wrong(&error))?;
        let result: Result<Value, _> = serde_json::from_str(&text);
        let mut result = result.map_err(|error| wrong(&format_args!("no result in JSON ({error})")))?;
        match result["tool"].as_str() {
            Some(name) if name == tool => {}
            Some(name) => return Err(wrong(&format_args!("a result of tool {name}, not of {tool}"))),
            None => return Err(wrong(&"no result of a tool (`--json -o FILE` makes one)")),
        }
        let before = result["values"].take();
        Ok(Self { with, before })
    }

    /// What has grown.
    ///
    /// # Errors
    /// A text for the user: the results say of themselves that they are of something else.
    pub fn grown(&self, now: &Value) -> Result<Vec<Grown>, String> {
        let [before, after] = [&self.before, now].map(|values| values.as_object().map(name_of).unwrap_or_default());
        if before != after {
            let [before, after] = [before, after].map(|names| names.join(", "));
            return Err(format!("--compare {}: it is of {before}, this run of {after}", self.with.file.display()));
        }
        Ok(grown(&self.before, now, self.with.percent))
    }

    /// Why the run fails, if anything has.
    pub fn sum_up(&self, grown: &[Grown]) -> Option<String> {
        let Compare { file, percent } = &self.with;
        let (has, more) =
            (if grown.len() == 1 { "count has" } else { "counts have" }, grown.len().saturating_sub(MOST_TOLD));
        let more = if more > 0 { format!(" ({more} aren't listed)") } else { String::new() };
        (!grown.is_empty())
            .then(|| format!("{} {has} grown by more than {percent} % since {}{more}", grown.len(), file.display()))
    }
}

/// The counts that are larger by more than `percent` of what they were; what is new or small, by more than a hundredth of that of the largest one. Those that have grown most come
/// first.
fn grown(before: &Value, now: &Value, percent: f64) -> Vec<Grown> {
    let [before, now] = [before, now].map(|values| {
        let mut counts = Counts::new();
        collect(values, "", &mut counts);
        counts
    });
    let largest = before.values().copied().fold(0.0, f64::max);
    let has_grown = |before: f64, now: f64| {
        let (by, bound) = (now - before, percent / 100.0);
        by > before * bound && by > largest * bound * OF_LARGEST
    };
    let mut grown: Vec<Grown> = now
        .into_iter()
        .map(|(of, now)| Grown { before: before.get(&of).copied().unwrap_or(0.0), of, now })
        .filter(|grown| has_grown(grown.before, grown.now))
        .collect();
    grown.sort_by(|a, b| (b.now - b.before).total_cmp(&(a.now - a.before)));
    grown
}

/// Adds all counts in `value`, which is of that. Those that are of the same are added up.
fn collect(value: &Value, of: &str, counts: &mut Counts) {
    match value {
        Value::Number(number) => *counts.entry(of.to_owned()).or_default() += number.as_f64().unwrap_or(0.0),
        Value::Array(all) => {
            for (place, one) in all.iter().enumerate() {
                // Numbers, and rows that don't say what they are of, are told apart by their places.
                collect(one, &behind(of, &place.to_string()), counts);
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, member)| !is_name(name, member)) {
                match rows(member) {
                    Some(rows) => rows.for_each(|(of_row, row)| collect(row, &behind(of, &of_row), counts)),
                    None => collect(member, &behind(of, name), counts),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A list of objects that say what they are of: that, and each of them.
fn rows(member: &Value) -> Option<impl Iterator<Item = (String, &Value)>> {
    let named = |row| Some((name_of(Value::as_object(row)?).join(", "), row));
    let rows: Option<Vec<_>> = member.as_array()?.iter().map(named).collect();
    rows.filter(|rows| rows.iter().all(|(of, _)| !of.is_empty())).map(Vec::into_iter)
}

fn behind(of: &str, name: &str) -> String {
    if of.is_empty() { name.to_owned() } else { format!("{of}, {name}") }
}

/// Members that say what the others are of.
fn name_of(members: &Map<String, Value>) -> Vec<String> {
    let names = members.iter().filter(|(name, member)| is_name(name, member));
    let text = |member: &Value| member.as_str().map_or(member.to_string(), str::to_owned);
    let shown = |member: &Value| match member.as_array() {
        Some(texts) => texts.iter().map(text).collect::<Vec<_>>().join(" < "),
        None => text(member),
    };
    names.map(|(name, member)| format!("{name} {}", shown(member))).collect()
}

/// Texts, a list of them (the callers of a stack), and some numbers.
fn is_name(name: &str, member: &Value) -> bool {
    let is_texts = |all: &Vec<Value>| !all.is_empty() && all.iter().all(Value::is_string);
    member.is_string() || member.as_array().is_some_and(is_texts) || member.is_number() && NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(before: &Value, now: &Value, percent: f64) -> Vec<String> {
        grown(before, now, percent).iter().map(Grown::to_string).collect()
    }

    #[test]
    fn what_has_grown_is_told_by_name() {
        let before = json!({"total": 1_000_000, "rows": [
            {"routine": "a", "line": 7, "count": 100_000}, {"routine": "a", "line": 8, "count": 100_000},
            {"routine": "b", "line": 7, "count": 10}, {"routine": "gone", "line": 1, "count": 50_000}]});
        let now = json!({"total": 1_001_000, "rows": [
            {"routine": "b", "line": 7, "count": 100}, {"routine": "a", "line": 8, "count": 120_000},
            {"routine": "a", "line": 7, "count": 100_999}, {"routine": "new", "line": 1, "count": 2_000}]});
        let expected = [
            "line 8, routine a, count: 100000, now 120000 (+20.0 %)",
            "line 1, routine new, count: 2000, which is new",
        ];
        assert_eq!(told(&before, &json!({"total": now["total"], "rows": []}), 1.0), Vec::<String>::new());
        assert_eq!(told(&before, &now, 1.0), expected);
        assert_eq!(told(&now, &now, 0.0), Vec::<String>::new());
    }

    #[test]
    fn rows_of_the_same_are_added_up_and_numbers_told_apart_by_place() {
        let before = json!({"misses": [5, 100], "rows": [{"name": "x", "count": 1}, {"name": "x", "count": 2}]});
        let now = json!({"misses": [5, 103], "rows": [{"name": "x", "count": 4}]});
        let expected = ["misses, 1: 100, now 103 (+3.0 %)", "name x, count: 3, now 4 (+33.3 %)"];
        assert_eq!(told(&before, &now, 1.0), expected);
    }

    #[test]
    fn a_stack_is_named_by_its_callers_and_a_core_by_its_number() {
        let stack = |callers: [&str; 2], blocks: u64| json!({"callers": callers, "blocks": blocks});
        let before = json!({"stacks": [stack(["f", "main"], 100), stack(["g", "main"], 50)]});
        let now = json!({"stacks": [stack(["g", "main"], 60), stack(["f", "main"], 100)]});
        assert_eq!(told(&before, &now, 1.0), ["callers g < main, blocks: 50, now 60 (+20.0 %)"]);
        let before = json!({"cores": [{"core": 1, "misses": 5}]});
        let now = json!({"cores": [{"core": 0, "misses": 1}, {"core": 1, "misses": 5}]});
        assert_eq!(told(&before, &now, 1.0), ["core 0, misses: 1, which is new"]);
    }

    #[test]
    fn only_results_of_the_same_tool_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.json");
        let load = || Comparison::load(Compare { file: path.clone(), percent: 1.0 }, "mix");
        assert!(load().err().unwrap().contains("No such file"));
        for (text, why) in [
            ("x", "no result in JSON"),
            ("{}", "no result of a tool"),
            (r#"{"tool":"hot"}"#, "of tool hot, not of mix"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = load().err().unwrap();
            assert!(error.contains(why), "{error}");
        }
        std::fs::write(&path, r#"{"tool":"mix","values":{"n":1}}"#).unwrap();
        let comparison = load().unwrap();
        assert_eq!(comparison.before, json!({"n": 1}));
        let other = comparison.grown(&json!({"n": 3, "repetitions": "each"})).unwrap_err();
        assert!(other.ends_with("this run of repetitions each"), "{other}");
        assert_eq!(comparison.sum_up(&[]), None);
        let grown = comparison.grown(&json!({"n": 3})).unwrap();
        assert_eq!(
            comparison.sum_up(&grown),
            Some(format!("1 count has grown by more than 1 % since {}", path.display()))
        );
    }
}
