//! A file as valgrind's cachegrind writes it: accesses and misses by routine and line.

use std::collections::BTreeMap;
use std::io;

use superpin_tool::merge::Merge;
use superpin_tool::{CodeInstruction, Out, Repeat};

use super::rows::Events;
use crate::caches::shapes::Shapes;
use crate::caches::words::{FETCH, KINDS, LOAD, STORE};
use crate::profiles::places::Places;
use crate::repeat;

/// Kinds by the letters that cachegrind has for them, with the end of an event's name: misses of reads, and of writes.
const LETTERS: [(usize, &str, &str); KINDS.len()] = [(FETCH, "I", "mr"), (LOAD, "D", "mr"), (STORE, "D", "mw")];

/// Writes it.
pub fn write(all: &[(CodeInstruction, Events)], shapes: &Shapes, repeat: Repeat, out: &mut Out<'_>) -> io::Result<()> {
    out.verbatim();
    let first = ["I1", "D1"].into_iter().zip(shapes.caches.first());
    for (name, shape) in first.chain(shapes.lower.iter().map(|named| (short(named.name), &named.shape))) {
        let (size, line, ways) = (shape.size(), shape.line(), shape.ways());
        writeln!(out, "desc: {name} cache:         {size} B, {line} B, {ways}-way associative")?;
    }
    write!(out, "desc: ")?;
    repeat::say(repeat, out)?;
    let images = out.images();
    let main = images.all().into_iter().find(|image| image.is_main());
    writeln!(out, "cmd: {}", main.map_or("???".into(), |main| main.path().display().to_string()))?;
    let names: Vec<&str> = ["1"].into_iter().chain(shapes.lower.iter().map(|named| level(named.name))).collect();
    writeln!(out, "events: {}", events(&names))?;
    let mut places = Places::new(images);
    let mut sums: BTreeMap<(String, String), BTreeMap<u32, Events>> = BTreeMap::new();
    let mut sum = Events::default();
    for (instruction, events) in all {
        let place = places.of(instruction.code_address());
        let (file, line) = place.line();
        let of_routine = sums.entry((file.to_owned(), place.routine.clone())).or_default();
        of_routine.entry(line).or_default().merge(*events);
        sum.merge(*events);
    }
    let mut written = None;
    for ((file, routine), lines) in sums {
        if written.as_ref() != Some(&file) {
            writeln!(out, "fl={file}")?;
        }
        writeln!(out, "fn={routine}")?;
        for (line, events) in lines {
            writeln!(out, "{line} {}", numbers(&events, names.len()))?;
        }
        written = Some(file);
    }
    writeln!(out, "summary: {}", numbers(&sum, names.len()))
}

/// A cache's name as cachegrind has it.
fn short(name: &str) -> &str {
    if name == "LLC" { "LL" } else { name }
}

/// What stands for its level in the name of an event.
fn level(name: &str) -> &str {
    if name == "LLC" { "L" } else { name.trim_start_matches('L') }
}

/// Names of events: `Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw`.
fn events(levels: &[&str]) -> String {
    let mut names = Vec::new();
    for (_, letter, end) in LETTERS {
        names.push(format!("{letter}{}", &end[1..]));
        names.extend(levels.iter().map(|level| format!("{letter}{level}{end}")));
    }
    names.join(" ")
}

/// What was seen, in this order.
fn numbers(events: &Events, levels: usize) -> String {
    let mut numbers = Vec::new();
    for (kind, ..) in LETTERS {
        numbers.push(events.accesses[kind].to_string());
        numbers.extend(events.misses.caches[..levels].iter().map(|misses| misses[kind].to_string()));
    }
    numbers.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_those_of_cachegrind() {
        assert_eq!(events(&["1", level("LLC")]), "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw");
        assert_eq!(events(&["1", level("L2"), level("LLC")]), "Ir I1mr I2mr ILmr Dr D1mr D2mr DLmr Dw D1mw D2mw DLmw");
    }
}
