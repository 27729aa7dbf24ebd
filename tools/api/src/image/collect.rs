//! A tool that collects: it folds results in slice order, and prints the total.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use bubble::values::WARMED_UP;
use supervisor::{Output, Worth};

use super::cut::Cut;
use super::locals::fold;
use super::parts::split;
use super::streams::Streams;
use crate::tool::{Configured, Out, SliceInfo, Told, Tool, configure, packed};

/// A tool that collects, without its types.
pub trait Collect {
    /// Takes what slices write from now on, out of the run memory. Errors that are found meanwhile are written to `answers`.
    fn begin(&mut self, memory: &OwnedFd, answers: &File) -> Result<(), String>;
    /// The next slice has counted this in its first pass. Gives what was counted before it; both are encoded.
    fn before(&mut self, counted: &[u8]) -> Result<Vec<u8>, String>;
    /// Folds one encoded result, and what the slice in that slot has written.
    fn fold(&mut self, slice: SliceInfo, slot: usize, result: &[u8]) -> Result<(), String>;
    /// Notes how a routine was called, as [`super::collector`] says.
    fn routine(&mut self, line: &str);
    /// Prints the total and what it is worth, under a heading if that isn't empty and there is no file for it alone.
    fn fini(&mut self, told: Told<'_>, heading: &str) -> Result<(), Unprinted>;
}

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

/// Why a total isn't where it should be.
pub enum Unprinted {
    /// It is on standard error.
    Misplaced(String),
    /// It is nowhere.
    Lost(String),
}

impl From<String> for Unprinted {
    fn from(why: String) -> Self {
        Self::Lost(why)
    }
}

struct Collector<T: Tool> {
    tool: T,
    total: T::Total,
    /// What first passes have counted, encoded.
    counted: Vec<u8>,
    json: bool,
    /// `-o FILE` and its name; without one results go to standard error.
    output: Option<(PathBuf, Output)>,
    process: u32,
    /// What was folded so far was seen to warm up.
    warms_up: bool,
    compress: bool,
    streams: Option<Streams>,
    /// If the tool is checked.
    cut: Option<Cut<T>>,
    /// How routines were called, for JSON.
    routines: Vec<serde_json::Value>,
}

/// Makes a collecting tool from its options.
pub fn collect<T: Tool>(options: &[&OsStr], asked: Asked) -> Result<Box<dyn Collect>, String> {
    let Asked { process, checks, warms_up } = asked;
    let Configured { tool, output, json, compress } = configure::<T>(options)?;
    if warms_up && T::STREAM {
        return Err(format!(
            "tool {} writes what it sees, and simulates nothing that -warm-up could warm up: leave it out, or begin earlier",
            T::NAME
        ));
    }
    let open = |path: PathBuf| match Output::check(&path).and_then(|()| Output::open(&path, process)) {
        Ok(output) => Ok((path, output)),
        Err(error) => Err(format!("cannot write {}: {error}", path.display())),
    };
    let output = output.map(open).transpose()?;
    let (total, streams, cut) = (T::Total::default(), None, checks.then(Cut::new));
    let (counted, routines) = (Vec::new(), Vec::new());
    Ok(Box::new(Collector { tool, total, counted, json, output, process, warms_up, compress, streams, cut, routines }))
}

impl<T: Tool> Collect for Collector<T> {
    fn begin(&mut self, memory: &OwnedFd, answers: &File) -> Result<(), String> {
        let Some(output) = self.output.take_if(|_| T::STREAM) else { return Ok(()) };
        let begin = || Streams::begin(output, memory.try_clone()?, answers.try_clone()?);
        self.streams = Some(begin().map_err(|error| format!("cannot take what slices write: {error}"))?);
        Ok(())
    }

    fn before(&mut self, counted: &[u8]) -> Result<Vec<u8>, String> {
        let before = self.counted.clone();
        T::FIRST_PASS.map_or(Ok(()), |pass| pass.fold(&mut self.counted, counted))?;
        Ok(before)
    }

    fn fold(&mut self, slice: SliceInfo, slot: usize, result: &[u8]) -> Result<(), String> {
        if let Some(streams) = &self.streams {
            streams.fold(slot)?;
        }
        let (mut slice, mut results) = (slice, result);
        while let Some((len, rest)) = results.split_first_chunk() {
            let word = u64::from_le_bytes(*len);
            let (len, warmed_up) = (word & !WARMED_UP, word & WARMED_UP != 0);
            let (mut result, rest) = rest.split_at_checked(len as usize).ok_or("a slice's result is cut off")?;
            if let Some(cut) = &mut self.cut {
                let (whole, parts) = split(result).ok_or("a result of a checked tool isn't one")?;
                cut.fold(&self.tool, slice, parts)?;
                result = whole;
            }
            let checks = self.cut.is_some();
            fold(&self.tool, &mut self.total, slice, result, checks, false)
                .map_err(|error| format!("the result of slice {} can't be decoded: {error}", slice.number))?;
            if warmed_up {
                self.warmed_up();
            }
            (slice, results) = (slice.following(), rest);
        }
        Ok(())
    }

    fn routine(&mut self, line: &str) {
        let parts: Vec<&str> = line.split('\t').collect();
        let [way, name, calls, share, places, why] = parts[..] else { return };
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.routines.push(serde_json::json!({
            "name": name, "way": way, "calls": calls.parse::<u64>().ok(), "percent_of_time": share.parse::<f64>().ok(),
            "places": places.parse::<u64>().ok(), "why": text(why),
        }));
    }

    fn fini(&mut self, told: Told<'_>, heading: &str) -> Result<(), Unprinted> {
        let lost = |error: io::Error| Unprinted::Lost(format!("tool {} cannot print its result: {error}", T::NAME));
        if self.warms_up {
            // The region has never begun.
            self.warmed_up();
        }
        let total = std::mem::take(&mut self.total);
        let of_parts = self.cut.as_mut().map(Cut::take_total);
        let of_parts = of_parts.map(|total| self.text(total, told, heading)).transpose().map_err(lost)?;
        let text = self.text(total, told, heading).map_err(lost)?;
        if let Some(cut) = &self.cut
            && let Some(why) = cut.difference(&of_parts.unwrap_or_default(), &text)
        {
            return Err(Unprinted::Lost(why));
        }
        if let Some(streams) = &self.streams {
            if self.json {
                streams.finish(&[]).map_err(Unprinted::Lost)?;
            } else {
                let text = if self.compress && !text.is_empty() { packed(&text) } else { text };
                streams.finish(&text).map_err(Unprinted::Lost)?;
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
                Ok(()) => Unprinted::Misplaced(format!("{why}; the result is on standard error instead")),
                Err(second) => Unprinted::Lost(format!("{why}; nor standard error: {second}")),
            }
        })
    }
}

impl<T: Tool> Collector<T> {
    /// What was folded until now was seen to warm up.
    fn warmed_up(&mut self) {
        self.warms_up = false;
        self.tool.warmed_up(&mut self.total);
        if let Some(cut) = &mut self.cut {
            cut.warmed_up(&self.tool);
        }
    }

    /// What is printed of a total.
    fn text(&self, total: T::Total, told: Told<'_>, heading: &str) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        if self.json {
            self.print_json(&total, told, heading, &mut text)?;
            return Ok(text);
        }
        let mut out = Out::new(&mut text, told);
        self.tool.fini(total, &mut out)?;
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
    fn print_json(&self, total: &T::Total, told: Told<'_>, heading: &str, text: &mut Vec<u8>) -> io::Result<()> {
        let worth = told.worth;
        let values =
            self.tool.values_with(total, told.images).ok_or_else(|| io::Error::other("it has no JSON form"))?;
        let mut object = serde_json::json!({ "tool": T::NAME, "result": worth.name(), "values": values });
        if !heading.is_empty() {
            object["process"] = heading.into();
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
