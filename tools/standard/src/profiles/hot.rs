//! `hot`: where the app's instructions are: in which routines, in which loops and source lines of these, and, on request, at which instructions.
//!
//! A loop is what is executed between a direct branch backwards and where that goes, in one routine. It has gone round as often as the instruction at its head was executed.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{
    AppPc, BlockCounts, BranchKind, Code, CodeInstruction, Images, Out, Repeat, SliceInfo, Tool, Trace,
};

use super::places::shown;
use super::sources::Sources;
use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, the three hottest functions of a program of one's own (built with -g), with the code of the first: superpin -sp 1 -t hot --top 3 --code 1 -- ./app"
)]
pub struct Options {
    /// How many routines to print, the hottest first; 0: all
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// How many loops and how many source lines of each, the hottest first
    #[arg(long, default_value_t = 3)]
    each: usize,
    /// Of how many routines to print the instructions that were executed
    #[arg(long, default_value_t = 0)]
    code: usize,
    /// Only routines whose names hold this
    #[arg(long)]
    routine: Option<String>,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// The tool.
pub struct Hot {
    options: Options,
}

/// What was executed of a routine.
struct Routine {
    name: String,
    image: String,
    total: u64,
    /// By address.
    code: Vec<CodeInstruction>,
}

/// A loop.
#[derive(Debug, PartialEq, Eq)]
struct Loop {
    /// Address of its head.
    head: u64,
    /// Address behind the last branch back to it.
    end: u64,
    /// Instructions that were executed in it.
    total: u64,
    /// Executions of its head.
    rounds: u64,
}

/// The loops in a routine's code, the hottest first.
fn loops(code: &[CodeInstruction]) -> Vec<Loop> {
    // By head: where the last branch back lies.
    let mut branches: BTreeMap<u64, u64> = BTreeMap::new();
    for instruction in code {
        let goes_round = matches!(instruction.branch(), Some(BranchKind::Conditional | BranchKind::Jump));
        let back = instruction.branch_target().filter(|target| goes_round && *target <= instruction.address());
        if let Some(head) = back {
            branches.insert(head.0, instruction.address().0);
        }
    }
    let all: BTreeMap<u64, &CodeInstruction> = code.iter().map(|i| (i.address().0, i)).collect();
    let find = |(head, back): (u64, u64)| {
        let inside = reached(&all, head, back);
        let last = inside.iter().find(|instruction| instruction.address().0 == back)?;
        let rounds = inside.first()?.executions();
        Some(Loop { head, end: last.next_address().0, total: sum(inside.iter().copied()), rounds })
    };
    let mut loops: Vec<Loop> = branches.into_iter().filter_map(find).collect();
    loops.sort_by_key(|one| (Reverse(one.total), one.head));
    loops
}

/// What is reached from an instruction without leaving the addresses from `first` to `last`, by address. A branch backwards that isn't, as one to a common end of the routine, closes no loop.
fn reached<'a>(all: &BTreeMap<u64, &'a CodeInstruction>, first: u64, last: u64) -> Vec<&'a CodeInstruction> {
    let mut found = BTreeMap::new();
    let mut to_do = vec![first];
    while let Some(at) = to_do.pop() {
        let Some(instruction) = all.get(&at).filter(|_| (first..=last).contains(&at)) else { continue };
        if found.insert(at, *instruction).is_some() {
            continue;
        }
        let next = instruction.next_address().0;
        let target = instruction.branch_target().map(|target| target.0);
        match instruction.branch() {
            Some(BranchKind::Jump) => to_do.extend(target),
            Some(BranchKind::Conditional) => to_do.extend(target.into_iter().chain([next])),
            Some(BranchKind::Return) => {}
            // Where it goes isn't known: a switch may go anywhere in the loop.
            Some(BranchKind::IndirectJump) => to_do.extend(all.range(first..=last).map(|(address, _)| *address)),
            Some(BranchKind::Call | BranchKind::IndirectCall) | None => to_do.push(next),
        }
    }
    found.into_values().collect()
}

fn sum<'a>(code: impl Iterator<Item = &'a CodeInstruction>) -> u64 {
    code.map(CodeInstruction::executions).fold(0, u64::wrapping_add)
}

/// Instructions by source line, the hottest first: file, line, and how many.
fn lines(code: &[CodeInstruction], images: &Images) -> Vec<(String, u32, u64)> {
    let mut by: BTreeMap<(String, u32), u64> = BTreeMap::new();
    for instruction in code {
        if let Some(line) = images.line_at(instruction).filter(|line| line.line != 0) {
            *by.entry((line.file, line.line)).or_default() += instruction.executions();
        }
    }
    let mut all: Vec<_> = by.into_iter().map(|((file, line), count)| (file, line, count)).collect();
    all.sort_by(|a, b| (Reverse(a.2), &a.0, a.1).cmp(&(Reverse(b.2), &b.0, b.1)));
    all
}

/// Whether it is the same instruction, of a library that two programs have at the same place.
fn is_same(one: &CodeInstruction, other: &CodeInstruction) -> bool {
    one.address() == other.address() && one.bytes() == other.bytes()
}

fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

impl Hot {
    /// The routines that are asked for, the hottest first.
    fn routines(&self, total: &Code, images: &Images) -> Vec<Routine> {
        let mut by: BTreeMap<(&Path, u64), Routine> = BTreeMap::new();
        for instruction in total.instructions() {
            let found = images.routine_at(&instruction);
            let image = images.at(&instruction);
            // What belongs to no routine goes together by image.
            let key = found.as_ref().map(|routine| routine.address().0);
            let key = key.or_else(|| image.as_ref().map(|image| image.range().start)).unwrap_or(0);
            let key = (image.map_or(Path::new(""), |image| image.path()), key);
            let routine = by.entry(key).or_insert_with(|| Routine {
                name: found.map_or_else(|| "?".to_owned(), |routine| routine.demangled()),
                image: image.map_or_else(|| "?".to_owned(), |image| image.name().to_owned()),
                total: 0,
                code: Vec::new(),
            });
            routine.total = routine.total.wrapping_add(instruction.executions());
            match routine.code.last_mut().filter(|last| is_same(last, &instruction)) {
                Some(last) => last.add(instruction.executions()),
                None => routine.code.push(instruction),
            }
        }
        let is_asked = |routine: &Routine| self.options.routine.as_ref().is_none_or(|part| routine.name.contains(part));
        let mut all: Vec<Routine> = by.into_values().filter(is_asked).collect();
        all.sort_by(|a, b| (Reverse(a.total), &a.name).cmp(&(Reverse(b.total), &b.name)));
        if self.options.top > 0 {
            all.truncate(self.options.top);
        }
        all
    }

    /// The loops and lines of a routine, and its code if that `is_shown`.
    fn write(
        &self,
        routine: &Routine,
        is_shown: bool,
        all: u64,
        sources: &mut Sources,
        out: &mut Out<'_>,
    ) -> io::Result<()> {
        let images = out.images();
        let program = routine.code.first().map(CodeInstruction::code_address);
        let place = |address| images.line_at(program?.at(AppPc(address))).map(|line| line.to_string());
        writeln!(out, "\n{} in {}: {:.2} %", routine.name, routine.image, percent(routine.total, all))?;
        for Loop { head, end, total, rounds } in loops(&routine.code).into_iter().take(self.options.each) {
            let from = place(head).map_or(String::new(), |line| format!(", from {}", shown(&line)));
            let share = percent(total, all);
            writeln!(out, "{total:>16} {share:>8.2}  loop {head:#x} to {end:#x}{from}: {rounds} rounds")?;
        }
        for (file, line, count) in lines(&routine.code, images).into_iter().take(self.options.each) {
            let text = sources.line(&file, line).map_or(String::new(), |text| format!("  {text}"));
            writeln!(out, "{count:>16} {:>8.2}  {}:{line}{text}", percent(count, all), shown(&file))?;
        }
        if !is_shown {
            return Ok(());
        }
        let mut last = None;
        for instruction in &routine.code {
            let line = images.line_at(instruction).filter(|line| line.line != 0);
            if let Some(line) = line.filter(|line| last.as_ref() != Some(&(line.file.clone(), line.line))) {
                let text = sources.line(&line.file, line.line).unwrap_or_default();
                writeln!(out, "{:>16} {:>8}  {}:{}  {text}", "", "", shown(&line.file), line.line)?;
                last = Some((line.file, line.line));
            }
            let (count, address) = (instruction.executions(), instruction.address().0);
            writeln!(out, "{count:>16} {:>8.2}      {address:#x}  {instruction}", percent(count, all))?;
        }
        Ok(())
    }
}

impl Tool for Hot {
    const NAME: &'static str = "hot";
    const ABOUT: &'static str = "Find the routines, loops and source lines in which most instructions are executed";
    type Options = Options;
    type Local = BlockCounts;
    type Result = Code;
    type Total = Code;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, BlockCounts>) {
        trace.count_blocks();
    }

    fn begin(&self, _: SliceInfo) -> BlockCounts {
        BlockCounts::new()
    }

    fn finish(&self, blocks: &BlockCounts) -> Code {
        blocks.executed()
    }

    fn fold(&self, total: &mut Code, _: SliceInfo, executed: Code) {
        total.merge(executed);
    }

    fn fini(&self, total: Code, out: &mut Out<'_>) -> io::Result<()> {
        let routines = self.routines(&total, out.images());
        let all = total.total();
        writeln!(out, "Total Count: {}", out.total(all))?;
        writeln!(out, "{:>16} {:>8} {:>8}  routine", "instructions", "%", "sum %")?;
        let mut before = 0;
        for routine in &routines {
            before += routine.total;
            let (share, sum) = (percent(routine.total, all), percent(before, all));
            writeln!(out, "{:>16} {share:>8.2} {sum:>8.2}  {} in {}", routine.total, routine.name, routine.image)?;
        }
        let mut sources = Sources::default();
        for (n, routine) in routines.iter().enumerate() {
            self.write(routine, n < self.options.code, all, &mut sources, out)?;
        }
        self.options.repeat.say(out)
    }

    fn values_with(&self, total: &Code, images: &Images) -> Option<Value> {
        let of_loop = |Loop { head, end, total, rounds }: Loop| json!({ "head": head, "end": end, "instructions": total, "rounds": rounds });
        let of_line =
            |(file, line, count): (String, u32, u64)| json!({ "file": file, "line": line, "instructions": count });
        let each = self.options.each;
        let of_routine = |routine: &Routine| {
            json!({
                "routine": routine.name,
                "image": routine.image,
                "instructions": routine.total,
                "loops": loops(&routine.code).into_iter().take(each).map(of_loop).collect::<Vec<_>>(),
                "lines": lines(&routine.code, images).into_iter().take(each).map(of_line).collect::<Vec<_>>(),
            })
        };
        let routines: Vec<Value> = self.routines(total, images).iter().map(of_routine).collect();
        let repetitions = self.options.repeat.repeat.to_string();
        Some(json!({ "instructions": total.total(), "repetitions": repetitions, "routines": routines }))
    }
}
