//! What a routine that is called changes, found from its machine code.

use iced_x86::{Code as Opcode, CpuidFeature, FlowControl, OpAccess};
use machine::{AppPc, Gpr};

use crate::decode::Kind;
use crate::decode::gpr;
use crate::decode::{Instruction, MAX_LEN};
use crate::facts::with_info;

/// Instructions that are looked at, in the routine and all that it calls.
const MOST: usize = 400;

/// What only general registers and flags are needed for. For the x87 unit iced doesn't name the registers.
const GENERAL: [CpuidFeature; 17] = [
    CpuidFeature::ADX,
    CpuidFeature::BMI1,
    CpuidFeature::BMI2,
    CpuidFeature::CET_IBT,
    CpuidFeature::CMOV,
    CpuidFeature::CX8,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::INTEL8086,
    CpuidFeature::LZCNT,
    CpuidFeature::MOVBE,
    CpuidFeature::MULTIBYTENOP,
    CpuidFeature::PAUSE,
    CpuidFeature::POPCNT,
    CpuidFeature::X64,
];

/// Registers that a routine gives back as it got them (C convention).
const PRESERVED: u16 = 1 << Gpr::Rbx as u16
    | 1 << Gpr::Rbp as u16
    | 1 << Gpr::Rsp as u16
    | 1 << Gpr::R12 as u16
    | 1 << Gpr::R13 as u16
    | 1 << Gpr::R14 as u16
    | 1 << Gpr::R15 as u16;

/// Registers that any routine may change.
pub const SCRATCH: u16 = !PRESERVED;

/// Why a routine isn't followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It has more instructions than are looked at.
    Length,
    /// It comes to an instruction that does more, or goes where its code doesn't tell.
    Instruction {
        /// Where that lies.
        pc: u64,
        /// As a disassembler prints it.
        text: String,
    },
}

/// The general registers that the routine at `routine_pc` may change, one bit for each, if it changes nothing else but
/// flags and memory and uses no thread-local storage. `None`: it does, or it goes where its code doesn't tell. `code_at` reads
/// machine code: [`MAX_LEN`] bytes at an address.
pub fn clobbers(routine_pc: u64, code_at: impl Fn(u64) -> [u8; MAX_LEN]) -> Option<u16> {
    followed(routine_pc, code_at).ok()
}

/// The same.
///
/// # Errors
/// The first obstacle.
pub fn followed(routine_pc: u64, code_at: impl Fn(u64) -> [u8; MAX_LEN]) -> Result<u16, Obstacle> {
    let mut changed = 0;
    let mut seen = Vec::new();
    let mut open = vec![routine_pc];
    while let Some(pc) = open.pop() {
        if seen.contains(&pc) {
            continue;
        }
        if seen.len() == MOST {
            return Err(Obstacle::Length);
        }
        seen.push(pc);
        let Ok(instruction) = Instruction::decode(&code_at(pc), AppPc(pc)) else {
            return Err(Obstacle::Instruction { pc, text: "(unknown)".into() });
        };
        let obstacle = || Obstacle::Instruction { pc, text: instruction.to_string() };
        changed |= changed_by(&instruction).ok_or_else(obstacle)?;
        let next = instruction.next_pc().0;
        match instruction.kind() {
            Kind::Plain => open.push(next),
            Kind::Jump { target } => open.push(target.0),
            Kind::Branch { target, .. } | Kind::CountBranch { target } | Kind::Call { target } => {
                open.extend([next, target.0]);
            }
            Kind::Return { .. } => {}
            // What the compiler knows to be out of reach.
            Kind::Trap if instruction.iced.flow_control() != FlowControl::Next => {}
            _ => return Err(obstacle()),
        }
    }
    Ok(changed & !PRESERVED)
}

/// The general registers that an instruction changes; `None` if it touches something that isn't followed.
fn changed_by(instruction: &Instruction) -> Option<u16> {
    let sets_direction = matches!(instruction.iced.code(), Opcode::Std | Opcode::Popfq | Opcode::Popfw);
    let general = instruction.iced.cpuid_features().iter().all(|feature| GENERAL.contains(feature));
    if !general || sets_direction || instruction.unrepeatable().is_some() || instruction.segment().is_some() {
        return None;
    }
    with_info(instruction, |info| {
        let mut changed = 0;
        for used in info.used_registers() {
            let reads = matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            match gpr(used.register()) {
                Some(r) if !reads => changed |= 1 << r as u16,
                Some(_) => {}
                // Segment registers stand for flat segments.
                None if used.register().is_segment_register() && reads => {}
                None => return None,
            }
        }
        Some(changed)
    })
}
