//! A tool that collects: it folds results in slice order, and prints the total.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use supervisor::{Output, Worth};

use super::streams::Streams;
use super::totals::{Totals, Typed};
use crate::tool::compare::{Comparison, MOST_TOLD};
use crate::tool::{Configured, Out, SliceInfo, Told, Tool, configure, packed};

/// What is asked of a collecting tool.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The number of a process that the app has started: the name of a file gets it, too. 0: it is the app itself.
    pub process: u32,
    /// Slices hand in results of parts, too, by which the tool is checked.
    pub checks: bool,
    /// The tool looks at something before the region, to warm up.
    pub warms_up: bool,
}

/// Why a total isn't where it should be, or what.
pub enum Trouble {
    /// It is printed: on standard error, or it has grown.
    Printed(String),
    /// It is nowhere.
    Lost(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Lost(why)
    }
}

/// A tool that collects.
pub struct Collector {
    /// The tool's name.
    name: &'static str,
    /// Whether slices write a stream.
    stream: bool,
    has_first_pass: bool,
    totals: Box<dyn Totals>,
    /// What first passes have counted, encoded.
    counted: Vec<u8>,
    json: bool,
    /// `-o FILE` and its name; without one results go to standard error.
    output: Option<(PathBuf, Output)>,
    process: u32,
    /// What was folded so far was seen to warm up.
    warms_up: bool,
    compress: bool,
    /// What the stream begins with.
    stream_head: Vec<u8>,
    streams: Option<Streams>,
    /// `--compare`.
    comparison: Option<Comparison>,
    /// How routines were called, for JSON.
    routines: Vec<serde_json::Value>,
}

/// Makes a collecting tool from its options.
pub fn collect<T: Tool>(options: &[&OsStr], asked: Asked) -> Result<Collector, String> {
    let Asked { process, checks, warms_up } = asked;
    let Configured { tool, output, json, compress, compare } = configure::<T>(options)?;
    let (name, stream, has_first_pass) = (T::NAME, T::STREAM, T::FIRST_PASS.is_some());
    let comparison = compare.filter(|_| process == 0).map(|compare| Comparison::load(compare, name)).transpose()?;
    if warms_up && stream {
        return Err(format!(
            "tool {name} writes what it sees, and simulates nothing that -warm-up could warm up: leave it out, or begin earlier",
        ));
    }
    let stream_head = tool.stream_head();
    let totals = Box::new(Typed::new(tool, checks));
    let open = |path: PathBuf| match Output::check(&path).and_then(|()| Output::open(&path, process)) {
        Ok(output) => Ok((path, output)),
        Err(error) => Err(format!("cannot write {}: {error}", path.display())),
    };
    let output = output.map(open).transpose()?;
    let (counted, streams, routines) = (Vec::new(), None, Vec::new());
    Ok(Collector {
        name,
        stream,
        has_first_pass,
        totals,
        counted,
        json,
        output,
        process,
        warms_up,
        compress,
        stream_head,
        streams,
        comparison,
        routines,
    })
}

impl Collector {
    /// Takes what slices write from now on, out of the run memory. Errors that are found meanwhile are written to `answers`.
    pub fn begin(&mut self, memory: &OwnedFd, answers: &File) -> Result<(), String> {
        let Some(output) = self.output.take_if(|_| self.stream) else { return Ok(()) };
        let compress = self.compress;
        let head = std::mem::take(&mut self.stream_head);
        let head = if compress && !head.is_empty() { packed(&head) } else { head };
        let begin = || Streams::begin(output, &head, memory.try_clone()?, answers.try_clone()?, compress);
        self.streams = Some(begin().map_err(|error| format!("cannot take what slices write: {error}"))?);
        Ok(())
    }

    /// The next slice has counted this in its first pass. Gives what was counted before it; both are encoded.
    pub fn before(&mut self, counted: &[u8]) -> Result<Vec<u8>, String> {
        let before = self.counted.clone();
        self.totals.count(&mut self.counted, counted)?;
        Ok(before)
    }

    /// Takes what the slice in that slot has written, if its turn has come.
    pub fn fold_stream(&self, slot: usize) -> Result<(), String> {
        self.streams.as_ref().map_or(Ok(()), |streams| streams.fold(slot))
    }

    /// Folds one encoded result.
    pub fn fold(&mut self, slice: SliceInfo, result: &[u8]) -> Result<(), String> {
        self.totals.fold(slice, result)
    }

    /// Notes how a routine was called, as [`super::collector`] says.
    pub fn routine(&mut self, line: &str) {
        let parts: Vec<&str> = line.split('\t').collect();
        let [way, name, calls, share, places, why] = parts[..] else { return };
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.routines.push(serde_json::json!({
            "name": name, "way": way, "calls": calls.parse::<u64>().ok(), "percent_of_time": share.parse::<f64>().ok(),
            "places": places.parse::<u64>().ok(), "why": text(why),
        }));
    }

    /// The tool's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether first passes count for it.
    pub fn has_first_pass(&self) -> bool {
        self.has_first_pass
    }

    /// Prints the total and what it is worth, under a heading if that isn't empty and there is no file for it alone; then what has grown of it. `process`: of which process, if there may be several.
    pub fn fini(&mut self, told: Told<'_>, heading: &str, process: &str) -> Result<(), Trouble> {
        // Printing takes the total.
        let now = self.comparison.as_ref().and_then(|_| self.totals.values_so_far(told));
        self.print(told, heading, process)?;
        let (Some(comparison), Some(now)) = (&self.comparison, now) else { return Ok(()) };
        let grown = comparison.grown(&now).map_err(Trouble::Printed)?;
        for line in grown.iter().take(MOST_TOLD) {
            let _ = writeln!(io::stderr(), "superpin: {line}");
        }
        comparison.sum_up(&grown).map_or(Ok(()), |why| Err(Trouble::Printed(why)))
    }

    fn print(&mut self, told: Told<'_>, heading: &str, process: &str) -> Result<(), Trouble> {
        let name = self.name;
        let lost = |error: io::Error| Trouble::Lost(format!("tool {name} cannot print its result: {error}"));
        if self.warms_up {
            // The region has never begun.
            self.warmed_up();
        }
        let of_parts = match self.totals.is_checked() {
            true => self.text(true, told, process).map_err(lost)?,
            false => Vec::new(),
        };
        let text = self.text(false, told, process).map_err(lost)?;
        if let Some(why) = self.totals.difference(&of_parts, &text) {
            return Err(Trouble::Lost(why));
        }
        if let Some(streams) = &self.streams {
            if self.json {
                streams.finish(&[]).map_err(Trouble::Lost)?;
            } else {
                let text = if self.compress && !text.is_empty() { packed(&text) } else { text };
                streams.finish(&text).map_err(Trouble::Lost)?;
                if told.worth != Worth::Exact {
                    let _ = writeln!(io::stderr(), "Result: {}", told.worth);
                }
                return Ok(());
            }
        }
        // What several processes print in one place is told apart.
        let under_heading = match heading {
            "" => text.clone(),
            _ if self.json => text.clone(),
            heading => [format!("superpin: {heading}\n").as_bytes(), &text].concat(),
        };
        let to_stderr = || io::stderr().lock().write_all(&under_heading);
        let Some((path, output)) = &mut self.output else { return to_stderr().map_err(lost) };
        let written = match output {
            Output::File(_) => output.write(&text),
            Output::Stream(_) => output.write(&under_heading),
        };
        written.map_err(|error| {
            let why = format!("cannot write {}: {error}", path.display());
            match to_stderr() {
                Ok(()) => Trouble::Printed(format!("{why}; the result is on standard error instead")),
                Err(second) => Trouble::Lost(format!("{why}; nor standard error: {second}")),
            }
        })
    }

    /// What was folded until now was seen to warm up.
    pub fn warmed_up(&mut self) {
        self.warms_up = false;
        self.totals.warmed_up();
    }

    /// What is printed of the total, or of that of the parts.
    fn text(&mut self, of_parts: bool, told: Told<'_>, process: &str) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        if self.json {
            self.print_json(of_parts, told, process, &mut text)?;
            return Ok(text);
        }
        let mut out = Out::new(&mut text, told);
        self.totals.print(of_parts, &mut out)?;
        if out.is_verbatim() {
            if told.worth != Worth::Exact {
                writeln!(io::stderr(), "Result: {}", told.worth)?;
            }
            return Ok(text);
        }
        // On a terminal a number that is right needs no word; and behind a stream it would be a part of it.
        if self.streams.is_none() && (self.output.is_some() || told.worth != Worth::Exact) {
            text.extend_from_slice(format!("Result: {}\n", told.worth).as_bytes());
        }
        Ok(text)
    }

    /// One line, whatever comes to be told besides.
    fn print_json(&mut self, of_parts: bool, told: Told<'_>, process: &str, text: &mut Vec<u8>) -> io::Result<()> {
        let worth = told.worth;
        let values = self.totals.values(of_parts, told).ok_or_else(|| io::Error::other("it has no JSON form"))?;
        let mut object = serde_json::json!({ "tool": self.name, "result": worth.name(), "values": values });
        if !process.is_empty() {
            object["process"] = process.into();
        }
        if self.process != 0 {
            object["pid"] = self.process.into();
        }
        if !self.routines.is_empty() {
            object["routines"] = self.routines.clone().into();
        }
        writeln!(text, "{object}")
    }
}
