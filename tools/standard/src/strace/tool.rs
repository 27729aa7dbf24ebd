//! The tool.

use std::collections::BTreeMap;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{OnSignal, OnSyscall, Out, SignalEvent, SliceInfo, SyscallEvent, Tool, Trace, syscall_name};

use super::lines::{Begun, Count, Lines, Over};
use super::text;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Examples: superpin -sp 1 -t strace -o calls.txt -- ls
  how often each call is made: superpin -sp 1 -t strace -c -- ls")]
pub struct Options {
    /// Print how often each call was made, and has failed, and no lines
    #[arg(short = 'c', long)]
    summary: bool,
    /// How many bytes of what is read and written to show
    #[arg(long, default_value_t = 32)]
    strings: usize,
    /// Say what arguments are called
    #[arg(long)]
    names: bool,
}

/// The tool.
pub struct Strace {
    options: Options,
}

impl Strace {
    fn on_syscall(&self, lines: &mut Lines, event: SyscallEvent<'_>) {
        let Options { summary, strings, names } = self.options;
        match event {
            SyscallEvent::Entry(call) => {
                lines.counts.entry(call.number()).or_default().calls += 1;
                if !summary {
                    lines.begins(Begun::new(&call, text::at_entry(&call, strings, names)));
                }
            }
            SyscallEvent::Exit(call) => {
                if call.error().is_some() {
                    lines.counts.entry(call.number()).or_default().errors += 1;
                }
                if !summary {
                    lines.ends(Over::new(&call, text::at_exit(&call, strings)));
                }
            }
        }
    }

    fn on_signal(&self, lines: &mut Lines, event: SignalEvent) {
        if let SignalEvent::Handler(signal) | SignalEvent::Fatal(signal) = event {
            lines.signals.0 += 1;
            if !self.options.summary {
                lines.push(text::signal(&signal));
            }
        }
    }
}

impl Tool for Strace {
    const NAME: &'static str = "strace";
    const ABOUT: &'static str = "List system calls and signals";
    type Options = Options;
    type Local = Lines;
    type Result = Lines;
    type Total = Lines;

    const ON_SYSCALL: Option<OnSyscall<Self>> = Some(Self::on_syscall);
    const ON_SIGNAL: Option<OnSignal<Self>> = Some(Self::on_signal);

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, _: &Trace<'_, Lines>) {}

    fn begin(&self, _: SliceInfo) -> Lines {
        Lines::default()
    }

    fn finish(&self, lines: &Lines) -> Lines {
        lines.clone()
    }

    fn fold(&self, total: &mut Lines, _: SliceInfo, lines: Lines) {
        total.merge(lines);
    }

    fn fini(&self, total: Lines, out: &mut Out<'_>) -> std::io::Result<()> {
        if self.options.summary {
            let mut sorted: Vec<(Count, &str)> =
                total.counts.iter().map(|(&number, &count)| (count, syscall_name(number))).collect();
            sorted.sort_by_key(|&(count, name)| (std::cmp::Reverse(count.calls), name));
            writeln!(out, "    calls    errors syscall")?;
            for (Count { calls, errors }, name) in &sorted {
                writeln!(out, "{calls:>9} {errors:>9} {name}")?;
            }
            let calls = sorted.iter().map(|(count, _)| count.calls).sum();
            let errors = sorted.iter().map(|(count, _)| count.errors).sum();
            writeln!(out, "{:>9} {:>9} total", out.total(calls).to_string(), out.total(errors).to_string())?;
            return writeln!(out, "Signals: {}", out.total(total.signals.0));
        }
        for line in total.all() {
            writeln!(out, "{line}")?;
        }
        match out.killed_by() {
            Some(signal) => writeln!(out, "+++ killed by {} +++", text::signal_of(signal)),
            None => writeln!(out, "+++ exited with {} +++", out.exit_status()),
        }
    }

    fn values(&self, total: &Lines) -> Option<Value> {
        let calls: BTreeMap<&str, Value> = total
            .counts
            .iter()
            .map(|(&number, count)| (syscall_name(number), json!({ "calls": count.calls, "errors": count.errors })))
            .collect();
        Some(json!({ "calls": calls, "signals": total.signals.0 }))
    }
}
