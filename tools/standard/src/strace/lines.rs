//! What slices hand in, and how that is put together.
//!
//! A call is printed when it is over. Where a slice ends at it, the next slice prints the end of its line: so a slice hands in the call that it has begun, and what it knows
//! of the one that it began behind.

use std::collections::BTreeMap;

use superpin_tool::merge::{Append, Merge, Sum};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{Syscall, SyscallKind};

use super::text;

/// A call that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Begun {
    number: u32,
    args: [u64; 6],
    arguments: Vec<String>,
}

/// What becomes of its line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Over {
    number: u32,
    /// `None` if it was an exec.
    args: Option<[u64; 6]>,
    written: Vec<(u8, String)>,
    result: String,
}

impl Begun {
    /// At its entry.
    pub fn new(call: &Syscall<'_>, arguments: Vec<String>) -> Self {
        Self { number: call.number(), args: std::array::from_fn(|i| call.arg(i)), arguments }
    }

    fn is(&self, over: &Over) -> bool {
        self.number == over.number && over.args.is_none_or(|args| args == self.args)
    }

    /// Its line.
    fn line(mut self, written: Vec<(u8, String)>, result: &str) -> String {
        for (position, text) in written {
            if let Some(argument) = self.arguments.get_mut(usize::from(position)) {
                let name = argument.split_once('=').filter(|(name, _)| name.bytes().all(|b| b != b'"'));
                *argument = name.map_or_else(|| text.clone(), |(name, _)| format!("{name}={text}"));
            }
        }
        format!("{}({}) = {result}", superpin_tool::syscall_name(self.number), self.arguments.join(", "))
    }
}

impl Over {
    /// At its exit.
    pub fn new(call: &Syscall<'_>, written: Vec<(u8, String)>) -> Self {
        let is_exec = call.kind() == SyscallKind::Exec && call.error().is_none();
        let args = (!is_exec).then(|| std::array::from_fn(|i| call.arg(i)));
        Self { number: call.number(), args, written, result: text::result(call) }
    }
}

/// How often a call was made, and has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Count {
    /// How often it was begun.
    pub calls: u64,
    /// How often it has failed.
    pub errors: u64,
}

impl Merge for Count {
    fn merge(&mut self, next: Self) {
        self.calls += next.calls;
        self.errors += next.errors;
    }
}

/// A part of the app's run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Lines {
    /// What it knows of a call that has begun before.
    over: Vec<Over>,
    lines: Append<String>,
    /// Calls that aren't over.
    begun: Vec<Begun>,
    /// By number.
    pub counts: BTreeMap<u32, Count>,
    /// Signals that had handlers.
    pub signals: Sum,
}

impl Lines {
    /// A call begins.
    pub fn begins(&mut self, call: Begun) {
        self.begun.push(call);
    }

    /// A call is over.
    pub fn ends(&mut self, over: Over) {
        match self.begun.iter().rposition(|begun| begun.is(&over)) {
            Some(at) => {
                let line = self.begun.remove(at).line(over.written, &over.result);
                self.lines.0.push(line);
            }
            None => self.over.push(over),
        }
    }

    /// Another line.
    pub fn push(&mut self, line: String) {
        self.lines.0.push(line);
    }

    /// All lines. Calls that aren't over come last.
    pub fn all(self) -> impl Iterator<Item = String> {
        self.lines.0.into_iter().chain(self.begun.into_iter().map(|begun| begun.line(Vec::new(), "?")))
    }
}

impl Merge for Lines {
    fn merge(&mut self, next: Self) {
        next.over.into_iter().for_each(|over| self.ends(over));
        self.lines.merge(next.lines);
        self.begun.extend(next.begun);
        Merge::merge(&mut self.counts, next.counts);
        self.signals.merge(next.signals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(number: u32, arguments: &[&str]) -> Begun {
        Begun { number, args: [1; 6], arguments: arguments.iter().map(|&text| text.to_owned()).collect() }
    }

    fn over(number: u32, result: &str) -> Over {
        Over { number, args: Some([1; 6]), written: vec![(1, "\"ab\"".to_owned())], result: result.to_owned() }
    }

    /// Where a slice ends at a call, its line is the same as where none does.
    #[test]
    fn a_line_is_put_together_from_two_slices() {
        let mut whole = Lines::default();
        whole.begins(begun(0, &["fd=3", "buf=0x10", "count=2"]));
        whole.ends(over(0, "2"));
        whole.begins(begun(231, &["0"]));
        let (mut first, mut second) = (Lines::default(), Lines::default());
        first.begins(begun(0, &["fd=3", "buf=0x10", "count=2"]));
        second.ends(over(0, "2"));
        second.begins(begun(231, &["0"]));
        first.merge(second);
        assert_eq!(first, whole);
        assert_eq!(whole.all().collect::<Vec<_>>(), ["read(fd=3, buf=\"ab\", count=2) = 2", "exit_group(0) = ?"]);
    }

    #[test]
    fn threads_calls_are_told_apart() {
        let mut lines = Lines::default();
        lines.begins(begun(0, &["3", "0x10", "2"]));
        lines.begins(begun(39, &[]));
        lines.ends(Over { written: Vec::new(), ..over(0, "2") });
        lines.ends(Over { written: Vec::new(), ..over(39, "77") });
        assert_eq!(lines.all().collect::<Vec<_>>(), ["read(3, 0x10, 2) = 2", "getpid() = 77"]);
    }

    /// Behind an exec its arguments are gone.
    #[test]
    fn an_exec_is_over_in_the_new_program() {
        let mut lines = Lines::default();
        lines.begins(begun(59, &["\"/bin/true\"", "0x10", "0x20"]));
        lines.ends(Over { number: 59, args: None, written: Vec::new(), result: "0".to_owned() });
        assert_eq!(lines.all().collect::<Vec<_>>(), ["execve(\"/bin/true\", 0x10, 0x20) = 0"]);
    }
}
