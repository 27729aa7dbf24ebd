//! The sections that Intel's SDE writes with `-mix`, for programs that read these: blocks with their code, and instructions by what they access (`*mem-read-8`), extension (`*isa-ext-AVX2`), category (`*category-BINARY`)
//! and mnemonic, of each thread and of all.
//!
//! Names are XED's as far as ours are made of the same letters: conditions (`JNZ`, not `JNE`), `CALL_NEAR`, `RET_NEAR`. Extensions are those of CPUID.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use superpin_tool::merge::Merge;
use superpin_tool::{Code, CodeBlock, CodeInstruction, Gpr, MemoryOperand, Out, Property, Repeat, ThreadPath};

use crate::repeat;

/// Blocks of each thread that are written where nothing is said, as SDE does.
pub const BLOCKS: usize = 20;

/// Writes the sections.
pub fn write(threads: &BTreeMap<ThreadPath, Code>, blocks: usize, repeat: Repeat, out: &mut Out<'_>) -> io::Result<()> {
    out.verbatim();
    writeln!(out, "# superpin {}: mix. {}", env!("CARGO_PKG_VERSION"), repeat::text(repeat))?;
    let mut all = Code::default();
    for (number, (path, code)) in threads.iter().enumerate() {
        writeln!(out, "# EMIT_TOP_BLOCK_STATS FOR TID {number} PATH {path} EMIT #1")?;
        write_blocks(code, blocks, out)?;
        writeln!(out, "# END_TOP_BLOCK_STATS")?;
        writeln!(out, "# EMIT_DYNAMIC_STATS FOR TID {number} PATH {path} EMIT #1\n#\n# $dynamic-counts\n#")?;
        write_counts(code, out)?;
        writeln!(out, "# END_DYNAMIC_STATS")?;
        all.merge(code.clone());
    }
    writeln!(out, "# EMIT_GLOBAL_DYNAMIC_STATS EMIT #1\n#\n# $global-dynamic-counts\n#")?;
    write_counts(&all, out)?;
    writeln!(out, "# END_GLOBAL_DYNAMIC_STATS")
}

/// The blocks in which most instructions were executed, each with its code.
fn write_blocks(code: &Code, most: usize, out: &mut Out<'_>) -> io::Result<()> {
    let executed = |block: &CodeBlock<'_>| block.executions().wrapping_mul(block.len() as u64);
    let mut blocks: Vec<CodeBlock<'_>> = code.blocks().collect();
    blocks.sort_by_key(|block| (Reverse(executed(block)), block.code_address(), block.bytes().len()));
    if most > 0 {
        blocks.truncate(most);
    }
    let (all, mut sum) = (code.total().max(1) as f64, 0);
    for (number, block) in blocks.iter().enumerate() {
        let count = executed(block);
        sum += count;
        let [share, shares] = [count, sum].map(|count| 100.0 * count as f64 / all);
        let images = out.images();
        let routine = images.routine_at(block.code_address()).map_or("?".into(), |routine| routine.demangled());
        let image = images.at(block.code_address()).map_or("?".into(), |image| image.path().display().to_string());
        let (at, executions, bytes) = (block.address().0, block.executions(), block.bytes().len());
        writeln!(
            out,
            "BLOCK: {number:5}   PC: {at:016x}   ICOUNT: {count:12}   EXECUTIONS: {executions:12}   #BYTES: {bytes:3}   \
             %: {share:6.2}   cumltv%: {shares:6.2}   FN: {routine}   IMG: {image}"
        )?;
        for instruction in block.instructions() {
            let bytes: String = instruction.bytes().iter().map(|byte| format!("{byte:02X}")).collect();
            let extension = instruction.extension().to_string();
            writeln!(out, "XDIS {:016x}: {extension:<10} {bytes:<30} {instruction}", instruction.address().0)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Groups, which begin with a star, and mnemonics.
fn write_counts(code: &Code, out: &mut Out<'_>) -> io::Result<()> {
    let [mut accesses, mut extensions, mut categories, mut mnemonics] = [const { BTreeMap::new() }; 4];
    let add = |names: &mut BTreeMap<String, u64>, name: String, count: u64| {
        let sum = names.entry(name).or_default();
        *sum = sum.wrapping_add(count);
    };
    for instruction in code.blocks().flat_map(|block| block.instructions()) {
        let count = instruction.executions();
        for name in accesses_of(&instruction) {
            add(&mut accesses, name, count);
        }
        add(&mut extensions, format!("*isa-ext-{}", instruction.extension()), count);
        add(&mut categories, format!("*category-{}", instruction.class()), count);
        add(&mut mnemonics, class_name(instruction.mnemonic()), count);
    }
    let groups = accesses.into_iter().chain(extensions).chain(categories);
    let mut rows = groups.chain([("*total".to_owned(), code.total())]).chain(mnemonics);
    rows.try_for_each(|(name, count)| writeln!(out, "{name:<30} {count:20}"))
}

/// What an instruction does to memory, each once.
fn accesses_of(instruction: &CodeInstruction) -> Vec<String> {
    let operands = instruction.memory_operands();
    let is_stack = |operand: &MemoryOperand| operand.stack || operand.base == Some(Gpr::Rsp);
    // By the instruction pointer, or at an address that stands in the instruction.
    let is_fixed = |o: &MemoryOperand| o.base.is_none() && o.index.is_none() && o.segment.is_none() && !o.inexact;
    let mut names = Vec::new();
    for (way, reads) in [("read", true), ("write", false)] {
        let does = |operand: &&MemoryOperand| if reads { operand.read } else { operand.write };
        let of: Vec<&MemoryOperand> = operands.iter().filter(does).collect();
        if of.iter().any(|operand| is_stack(operand)) {
            names.push(format!("*stack-{way}"));
        }
        if of.iter().any(|operand| !operand.stack && is_fixed(operand)) {
            names.push(format!("*iprel-{way}"));
        }
        let sizes: BTreeSet<u32> = of.iter().map(|operand| operand.size).collect();
        names.extend(sizes.into_iter().filter(|size| *size > 0).map(|size| format!("*mem-{way}-{size}")));
    }
    if instruction.is(Property::Atomic) {
        names.push("*mem-atomic".to_owned());
    }
    names
}

/// The name that XED has for a mnemonic.
fn class_name(mnemonic: &str) -> String {
    let condition = |of: &str| match of {
        "e" => Some("z"),
        "ne" => Some("nz"),
        "ae" => Some("nb"),
        "a" => Some("nbe"),
        "ge" => Some("nl"),
        "g" => Some("nle"),
        _ => None,
    };
    let renamed = ["cmov", "set", "j"].iter().find_map(|begin| {
        let condition = condition(mnemonic.strip_prefix(begin)?)?;
        Some(format!("{begin}{condition}"))
    });
    match mnemonic {
        "call" => "CALL_NEAR".to_owned(),
        "ret" => "RET_NEAR".to_owned(),
        _ => renamed.unwrap_or_else(|| mnemonic.to_owned()).to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_xed() {
        let ours = ["je", "jne", "ja", "jb", "jmp", "cmovge", "setg", "call", "ret", "vpaddd", "setb", "jrcxz"];
        let theirs = "JZ JNZ JNBE JB JMP CMOVNL SETNLE CALL_NEAR RET_NEAR VPADDD SETB JRCXZ";
        assert_eq!(ours.map(class_name).join(" "), theirs);
    }
}
