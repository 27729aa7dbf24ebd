//! Rows as a table.

use std::io;

use superpin_tool::Out;
use superpin_tool::json::{Value, json};

use super::rows::{Events, Of};
use crate::caches::shapes::Shapes;
use crate::caches::words::{FETCH, KINDS, LOAD, STORE};
use crate::profiles::places::shown;
use crate::profiles::sources::Sources;

/// Writes what was seen in all, and a row for each of the first.
pub fn write(all: &Events, rows: &[(Of, Events)], shapes: &Shapes, out: &mut Out<'_>) -> io::Result<()> {
    let executed = out.total(all.accesses[FETCH]);
    writeln!(out, "Total Count: {executed}")?;
    let lower = &shapes.lower;
    writeln!(out, "Caches: {}", shapes.described())?;
    let mut header = format!("{:>14} {:>12} {:>12} {:>10}", "instructions", "loads", "stores", "TLB");
    for name in ["L1I", "L1D"].into_iter().chain(lower.iter().map(|named| named.name)) {
        header += &format!(" {name:>10}");
    }
    writeln!(out, "{header}  misses, in")?;
    writeln!(out, "{}  all", columns(all, lower.len()))?;
    let mut sources = Sources::default();
    for (of, events) in rows {
        writeln!(out, "{}  {}", columns(events, lower.len()), name(of, &mut sources))?;
    }
    Ok(())
}

fn name(of: &Of, sources: &mut Sources) -> String {
    match of {
        Of::Routine { routine, image } => format!("{routine} in {image}"),
        Of::Instruction { address, text, routine } => format!("{address:#x}  {text}  in {routine}"),
        Of::Image { image } => image.clone(),
        Of::Line { file, line } => {
            let text = sources.line(file, *line).map_or(String::new(), |text| format!("  {text}"));
            format!("{}:{line}{text}", shown(file))
        }
    }
}

fn columns(events: &Events, lower: usize) -> String {
    let accesses = events.accesses;
    let mut text =
        format!("{:>14} {:>12} {:>12} {:>10}", accesses[FETCH], accesses[LOAD], accesses[STORE], events.tlbs());
    for misses in [events.l1i(), events.l1d()].into_iter().chain((0..lower).map(|level| events.lower(level + 1))) {
        text += &format!(" {misses:>10}");
    }
    text
}

/// The same for programs, by kind of access.
pub fn values(all: &Events, rows: &[(Of, Events)], shapes: &Shapes) -> Value {
    let row = |(of, row): &(Of, Events)| {
        let mut row_of = match of {
            Of::Routine { routine, image } => json!({ "routine": routine, "image": image }),
            Of::Instruction { address, text, routine } => {
                json!({ "address": address, "instruction": text, "routine": routine })
            }
            Of::Image { image } => json!({ "image": image }),
            Of::Line { file, line } => json!({ "file": file, "line": line }),
        };
        let mut counts = events(row, shapes);
        ["accesses", "misses"].into_iter().for_each(|name| row_of[name] = counts[name].take());
        row_of
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({ "all": events(all, shapes), "rows": rows })
}

fn events(events: &Events, shapes: &Shapes) -> Value {
    let by_kind = |counts: &[u64; KINDS.len()]| -> Value {
        KINDS.into_iter().zip(counts).map(|(kind, count)| (kind.to_owned(), json!(count))).collect()
    };
    let mut misses = json!({ "TLB": by_kind(&events.misses.tlbs) });
    let names = ["L1"].into_iter().chain(shapes.lower.iter().map(|named| named.name));
    for (name, counts) in names.zip(&events.misses.caches) {
        misses[name] = by_kind(counts);
    }
    json!({ "accesses": by_kind(&events.accesses), "misses": misses })
}
