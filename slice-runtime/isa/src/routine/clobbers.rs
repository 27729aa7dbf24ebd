//! What a routine that is called changes, found from its machine code.

use iced_x86::FlowControl;
use machine::{AppPc, Gpr};

use super::text::Text;
use super::touched::Touched;
use crate::decode::{Instruction, Kind};

/// Instructions that are looked at, in the routine and all that it calls.
const MOST: usize = 400;

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
/// flags and memory and uses no thread-local storage. `None`: it does, or it goes where its code doesn't tell.
pub fn clobbers(routine_pc: u64, text: impl Text) -> Option<u16> {
    followed(routine_pc, &text).ok().filter(|touched| touched.is_general()).map(|touched| touched.general)
}

/// What the routine may change, itself and by all that it calls.
///
/// # Errors
/// The first obstacle.
pub fn followed(routine_pc: u64, text: &impl Text) -> Result<Touched, Obstacle> {
    let mut changed = Touched::default();
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
        let step = step_at(pc, text).ok_or_else(|| obstacle_at(pc, text))?;
        changed = changed.and(step.touched);
        open.extend(step.next.into_iter().chain(step.target));
    }
    changed.general &= !PRESERVED;
    Ok(changed)
}

/// What is known of an instruction of a routine's that can be followed.
pub(super) struct Step {
    pub instruction: Instruction,
    pub touched: Touched,
    /// What follows it, unless that is never executed.
    pub next: Option<u64>,
    /// Where it jumps to, or what it calls.
    pub target: Option<u64>,
    pub calls: bool,
}

/// The instruction there; `None` if it does more than is followed, or goes where the code doesn't tell.
pub(super) fn step_at(pc: u64, text: &impl Text) -> Option<Step> {
    let instruction = Instruction::decode(&text.code(pc), AppPc(pc)).ok()?;
    let next = Some(instruction.next_pc().0);
    let touched = Touched::of(&instruction)?;
    let constant = || instruction.rip_target().and_then(|address| text.constant(address));
    let (next, target, calls) = match instruction.kind() {
        Kind::Plain => (next, None, false),
        Kind::Jump { target } => (None, Some(target.0), false),
        Kind::Branch { target, .. } | Kind::CountBranch { target } => (next, Some(target.0), false),
        Kind::Call { target } => (next, Some(target.0), true),
        Kind::CallIndirect => (next, Some(constant()?), true),
        Kind::JumpIndirect => (None, Some(constant()?), false),
        Kind::Return { .. } => (None, None, false),
        // What the compiler knows to be out of reach.
        Kind::Trap if instruction.iced.flow_control() != FlowControl::Next => (None, None, false),
        _ => return None,
    };
    Some(Step { instruction, touched, next, target, calls })
}

fn obstacle_at(pc: u64, text: &impl Text) -> Obstacle {
    let instruction = Instruction::decode(&text.code(pc), AppPc(pc));
    Obstacle::Instruction { pc, text: instruction.map_or("(unknown)".into(), |instruction| instruction.to_string()) }
}
