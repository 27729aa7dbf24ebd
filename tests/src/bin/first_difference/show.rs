//! What is printed.

use suites::path::REGISTERS as HALF;
use suites::path::{Difference, Parting, Registers, Stretch};

use crate::code::Code;
use crate::options::{NAMES, Options};
use crate::runs::dump;

/// In the order of their halves.
const NAMES_OF_REGISTERS: [&str; 2 * HALF] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// Two runs: what differs, and what superpin has said of those that failed.
pub struct Pair {
    pub found: Difference,
    pub failures: Vec<Option<String>>,
}

/// Prints what differs. Whether something does. `pairs`: one, or one for each half of the registers.
///
/// # Errors
/// If a run has failed, so that nothing is known of the rest, or didn't repeat itself.
pub fn difference(options: &Options, pairs: &[Pair]) -> Result<bool, String> {
    let Pair { found, failures } = &pairs[0];
    for (name, told) in NAMES.iter().zip(failures) {
        if let Some(told) = told {
            println!(
                "The {name} run failed; a slice that fails leaves no path, so what is known ends before it:\n{told}\n"
            );
        }
    }
    let way = |pair: &Pair| {
        (pair.found.common, pair.found.parting.as_ref().map(|p| (p.common, p.next.map(|n| n.map(|(pc, _)| pc)))))
    };
    if pairs.iter().any(|pair| way(pair) != way(&pairs[0])) {
        return Err("the runs part elsewhere when they are repeated: leave out --registers".into());
    }
    registers_part(options, pairs);
    if let Some(parting) = &found.parting {
        paths_part(options, pairs, parting);
        if is_cut(found, parting) {
            return Err("no difference was found in what is known; shorter slices (-spmsec, -spsysrecs) take it nearer to the failure".into());
        }
        return Ok(true);
    }
    if found.are_whole.contains(&false) {
        return Err(format!("as far as the paths go, {} instructions, both are the same", found.common));
    }
    let is_same = options.registers && pairs.iter().all(|pair| pair.found.registers.is_none());
    let compared = if is_same { ", with the same registers wherever they went elsewhere" } else { "" };
    println!("Nothing differs: both runs executed the same {} instructions in the same order{compared}.", found.common);
    Ok(false)
}

/// From where on registers differ up to the parting, in either half. If the runs don't part, where they first differ: an app that reads the clock has such.
fn registers_part(options: &Options, pairs: &[Pair]) {
    let parts = pairs.iter().any(|pair| pair.found.parting.is_some());
    let all = pairs.iter().map(|pair| if parts { pair.found.since.as_ref() } else { pair.found.registers.as_ref() });
    let Some((common, start)) = all.clone().flatten().map(|(common, steps)| (*common, steps[0].stretch.start)).min()
    else {
        return;
    };
    let mut code = Code::default();
    code.add(&dump(options, &options.runs[1], start));
    let what = if parts { "Registers differ from here on" } else { "Registers differ, without consequence. First" };
    println!("{what}, after {common} instructions, before this block:");
    block(&code, start, &code.block_from(start));
    let here = all.map(|found| {
        let (_, steps) = found.filter(|(other, _)| *other == common)?;
        Some(steps.map(|step| step.registers))
    });
    registers(&here.map(|values| values.unwrap_or([None; 2])).collect::<Vec<_>>());
    println!();
}

/// Whether one of the paths ends because the run has failed.
fn is_cut(found: &Difference, parting: &Parting) -> bool {
    parting.next.iter().zip(found.are_whole).any(|(next, is_whole)| next.is_none() && !is_whole)
}

fn paths_part(options: &Options, pairs: &[Pair], parting: &Parting) {
    let found = &pairs[0].found;
    let mut code = Code::default();
    let places = [parting.common.map(|stretch| stretch.last), parting.next[1].map(|(pc, _)| pc)];
    for pc in places.into_iter().flatten() {
        code.add(&dump(options, &options.runs[1], pc));
    }
    if let Some((pc, _)) = parting.next[0] {
        code.add(&dump(options, &options.runs[0], pc));
    }
    match parting.common {
        Some(last) => {
            let then = if is_cut(found, parting) { "as far as both are known, up to" } else { "and part after" };
            println!("Both runs execute the same {} instructions, {then} this block:", found.common);
            let instructions = code.block_to(last.start, last.last);
            block(&code, instructions.first().map_or(last.last, |(pc, _)| *pc), &instructions);
        }
        None => println!("The runs part at their first instruction."),
    }
    for (n, name) in NAMES.iter().enumerate() {
        match parting.next[n] {
            Some((pc, slice)) => {
                println!("The {name} run ({}, slice {slice}) goes on with", options.runs[n].options.join(" "));
                block(&code, pc, &code.block_from(pc));
            }
            None if found.are_whole[n] => println!("The {name} run ends there."),
            None => println!("Of the {name} run nothing more is known."),
        }
    }
    let is_told = |last: &Stretch| {
        pairs.iter().any(|pair| pair.found.since.as_ref().is_some_and(|(n, _)| n + last.count == found.common))
    };
    if let (Some(last), true) = (parting.common.filter(|last| !is_told(last)), options.registers) {
        println!("Where both came to {:#x}, the last place before it that was gone to:", last.start);
        let values =
            pairs.iter().map(|pair| pair.found.parting.as_ref().map_or([None; 2], |parting| parting.registers));
        registers(&values.collect::<Vec<_>>());
    }
    if !parting.before.is_empty() {
        println!("Before it both executed, the latest last:");
        for stretch in &parting.before {
            if code.name(stretch.start).is_empty() {
                code.add(&dump(options, &options.runs[1], stretch.start));
            }
            let instructions = if stretch.count == 1 { "instruction" } else { "instructions" };
            println!("   {:#x}  {} {instructions}  {}", stretch.start, stretch.count, code.name(stretch.start));
        }
    }
}

fn block(code: &Code, pc: u64, instructions: &[(u64, &str)]) {
    println!("   {pc:#x}  {}", code.name(pc));
    for (pc, text) in instructions {
        println!("      {pc:#x}  {text}");
    }
}

/// Those that differ, of the halves that are known.
fn registers(halves: &[[Option<Registers>; 2]]) {
    let mut any = false;
    for (half, values) in halves.iter().enumerate() {
        let [Some(first), Some(second)] = values else { continue };
        for n in (0..HALF).filter(|&n| first[n] != second[n]) {
            let name = NAMES_OF_REGISTERS[half * HALF + n];
            println!("   {name:<4} {:#x} in the first run, {:#x} in the second", first[n], second[n]);
            any = true;
        }
    }
    if !any {
        println!("   all general registers are the same: what differs is memory, flags or vectors");
    }
}
