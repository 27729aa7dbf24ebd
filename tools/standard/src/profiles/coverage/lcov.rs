//! How often source lines and functions were executed, as lcov writes it: genhtml makes pages of it, editors show it beside the source.
//!
//! ```text
//!   SF:/home/me/app.c
//!   FN:12,main                 a function and its line
//!   FNDA:1,main                how often it was entered
//!   DA:14,1000                 a line and how often it was executed, 0 if it wasn't
//!   end_of_record
//! ```
//!
//! A line was executed as often as the one of its instructions that was executed most; if it is in several functions (inlined ones), as often as in all of these together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;

use superpin_tool::{AppPc, Code, Out};

/// What is known of a source file.
#[derive(Default)]
struct Source {
    /// Executions, by line and by the function that the code is in.
    lines: BTreeMap<u32, BTreeMap<u64, u64>>,
    /// Lines and executions, by name.
    functions: BTreeMap<String, (u32, u64)>,
}

/// Writes what was executed of the source files that are there.
pub fn write(total: &Code, out: &mut Out<'_>) -> io::Result<()> {
    let images = out.images();
    let all = images.all();
    let mut by_image: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); all.len()];
    for instruction in total.instructions() {
        // Another program may have had other code at the same address.
        let image = images.at(&instruction).and_then(|image| all.iter().position(|one| *one == image));
        if let Some(executed) = image.map(|number| &mut by_image[number]) {
            *executed.entry(instruction.address().0).or_default() += instruction.executions();
        }
    }
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    let mut is_there: HashMap<String, bool> = HashMap::new();
    for (image, executed) in all.into_iter().zip(by_image) {
        let mut entered = BTreeSet::new();
        for (code, line) in images.lines_of(image) {
            let exists = is_there.entry(line.file.clone()).or_insert_with(|| Path::new(&line.file).is_file());
            if line.line == 0 || !*exists {
                continue;
            }
            let source = sources.entry(line.file).or_default();
            let most = executed.range(code.clone()).map(|(_, times)| *times).max().unwrap_or(0);
            let routine = image.routine_at(AppPc(code.start));
            let function = routine.as_ref().map_or(0, |routine| routine.address().0);
            let in_function = source.lines.entry(line.line).or_default().entry(function).or_default();
            *in_function = most.max(*in_function);
            if let Some(routine) =
                routine.filter(|routine| routine.address().0 == code.start && entered.insert(code.start))
            {
                let times = executed.get(&code.start).copied().unwrap_or(0);
                source.functions.entry(routine.demangled()).or_insert((line.line, 0)).1 += times;
            }
        }
    }
    for (file, Source { lines, functions }) in sources {
        writeln!(out, "TN:\nSF:{file}")?;
        for (name, (line, _)) in &functions {
            writeln!(out, "FN:{line},{name}")?;
        }
        for (name, (_, times)) in &functions {
            writeln!(out, "FNDA:{times},{name}")?;
        }
        let hit = functions.values().filter(|(_, times)| *times > 0).count();
        writeln!(out, "FNF:{}\nFNH:{hit}", functions.len())?;
        let lines: Vec<(u32, u64)> = lines.into_iter().map(|(line, by)| (line, by.into_values().sum())).collect();
        for (line, times) in &lines {
            writeln!(out, "DA:{line},{times}")?;
        }
        let hit = lines.iter().filter(|(_, times)| *times > 0).count();
        writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len())?;
    }
    Ok(())
}
