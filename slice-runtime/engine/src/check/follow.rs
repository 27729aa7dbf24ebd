//! Copies of the image's code that can be checked.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use bubble::map::{BUBBLE, CACHE_OWN, TRANSLATED_OWN};
use isa::{Code, Instruction, Kind, MAX_LEN, MemoryOperand};
use machine::{AppPc, CachePc, Gpr};

use super::thunks::{self, RED_ZONE, WORDS};

/// Copies lie in the upper half of the process's own cache, which translations of the app leave alone then.
pub const COPIES: Range<u64> = CACHE_OWN.start + CACHE_OWN.size / 2..TRANSLATED_OWN.end();

/// No copy lies at 0, which says that there is none.
const FIRST: u64 = 16;

/// What there is.
pub struct Copies {
    text: Range<u64>,
    /// Of each byte of the text, where its copy lies.
    table: &'static mut [u32],
    used: u64,
    /// Functions that are executed as they are.
    alone: Vec<u64>,
    /// Behind which place of a copy which instruction is.
    sites: Vec<(u64, u64)>,
}

/// A displacement that is filled in when its target's copy is there.
struct Jump {
    /// Behind it, in the code.
    end: usize,
    target: u64,
}

impl Copies {
    /// None yet of the code at `text`.
    pub fn new(text: Range<u64>) -> Self {
        let table = Box::leak(vec![0_u32; (text.end - text.start) as usize].into_boxed_slice());
        WORDS.text.store(text.start, Relaxed);
        WORDS.len.store(text.end - text.start, Relaxed);
        WORDS.table.store(table.as_ptr() as u64, Relaxed);
        WORDS.copies.store(COPIES.start, Relaxed);
        Self { text, table, used: FIRST, alone: Vec::new(), sites: Vec::new() }
    }

    /// The copy of the function at `pc`; itself if there can be none.
    pub fn of(&mut self, pc: u64) -> u64 {
        if self.place(pc).is_none() {
            self.follow(pc);
        }
        self.place(pc).unwrap_or(pc)
    }

    /// There is to be no copy of the function at `pc`.
    pub fn leave_alone(&mut self, pc: u64) {
        self.alone.push(pc);
    }

    /// The instruction whose copy calls a thunk that returns to `behind`.
    pub fn site(&self, behind: u64) -> Option<u64> {
        let at = self.sites.partition_point(|(place, _)| *place < behind);
        self.sites.get(at).filter(|(place, _)| *place == behind).map(|(_, pc)| *pc)
    }

    fn place(&self, pc: u64) -> Option<u64> {
        let offset = *self.table.get(pc.checked_sub(self.text.start)? as usize)?;
        (offset != 0).then(|| COPIES.start + u64::from(offset))
    }

    /// Copies the code at `start` and all that it leads to by direct branches and calls.
    fn follow(&mut self, start: u64) {
        let mut code = Code::new(CachePc(COPIES.start + self.used));
        let (mut open, mut jumps) = (vec![start], Vec::new());
        while let Some(start) = open.pop() {
            let mut pc = start;
            while let Some(next) = self.copy(pc, pc == start, &mut code, &mut open, &mut jumps) {
                pc = next;
            }
        }
        for Jump { end, target } in jumps {
            // What is outside of the text is executed as it is.
            let place = self.place(target).unwrap_or(target);
            let displacement = place.wrapping_sub(code.base.0 + end as u64) as i32;
            code.bytes[end - 4..end].copy_from_slice(&displacement.to_le_bytes());
        }
        assert!(code.here().0 <= COPIES.end, "the tool's routines don't fit into half a code cache");
        // SAFETY: this part of the cache is nobody else's, and no copy is executed meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(code.bytes.as_ptr(), code.base.0 as *mut u8, code.bytes.len()) };
        self.used += code.bytes.len() as u64;
    }

    /// Copies the instruction at `pc`, and says where its copy falls through to. `is_first`: nothing falls into it.
    fn copy(
        &mut self,
        pc: u64,
        is_first: bool,
        code: &mut Code,
        open: &mut Vec<u64>,
        jumps: &mut Vec<Jump>,
    ) -> Option<u64> {
        if let Some(place) = self.place(pc) {
            if !is_first {
                code.jmp(CachePc(place));
            }
            return None;
        }
        if !self.text.contains(&pc) || self.alone.contains(&pc) {
            if !is_first {
                code.jmp(CachePc(pc));
            }
            return None;
        }
        self.table[(pc - self.text.start) as usize] = (code.here().0 - COPIES.start) as u32;
        // SAFETY: the image's code, or what is linked behind it.
        let bytes = unsafe { *(pc as *const [u8; MAX_LEN]) };
        let Ok(instruction) = Instruction::decode(&bytes, AppPc(pc)) else {
            code.jmp(CachePc(pc));
            return None;
        };
        let next = instruction.next_pc().0;
        let mut branch = |code: &Code, target: u64| {
            jumps.push(Jump { end: code.bytes.len(), target });
            open.push(target);
        };
        match instruction.kind() {
            Kind::Plain | Kind::Nondeterministic(_) if self.copy_plain(&instruction, code) => Some(next),
            Kind::Jump { target } => {
                code.jmp(code.here());
                branch(code, target.0);
                None
            }
            Kind::Branch { target, condition } => {
                code.jcc(condition, code.here());
                branch(code, target.0);
                Some(next)
            }
            Kind::Call { target } => {
                code.call(code.here());
                branch(code, target.0);
                Some(next)
            }
            Kind::JumpIndirect => {
                put_target(&instruction, code);
                code.jmp(CachePc(thunks::branch()));
                None
            }
            Kind::CallIndirect => {
                put_target(&instruction, code);
                code.call(CachePc(thunks::branch()));
                Some(next)
            }
            Kind::Return { .. } => {
                code.copy(&instruction);
                None
            }
            Kind::Syscall => {
                self.call_thunk(thunks::syscall(), pc, code);
                Some(next)
            }
            _ => {
                code.jmp(CachePc(pc));
                None
            }
        }
    }

    fn copy_plain(&mut self, instruction: &Instruction, code: &mut Code) -> bool {
        let reached = instruction.rip_target().is_none_or(|target| code.reaches(target));
        if !reached {
            return false;
        }
        for operand in instruction.memory_operands().iter().filter(|operand| is_checked(operand)) {
            code.store_mem(thunks::address(&WORDS.rax), Gpr::Rax);
            code.lea_memory(Gpr::Rax, operand);
            self.call_thunk(thunks::store(), instruction.pc().0, code);
            code.load_mem(Gpr::Rax, thunks::address(&WORDS.rax));
        }
        if instruction.rip_target().is_some() {
            return code.copy_rip_relative(instruction);
        }
        code.copy(instruction);
        true
    }

    fn call_thunk(&mut self, thunk: u64, pc: u64, code: &mut Code) {
        code.lea(Gpr::Rsp, Gpr::Rsp, -RED_ZONE);
        code.call(CachePc(thunk));
        self.sites.push((code.here().0, pc));
        code.lea(Gpr::Rsp, Gpr::Rsp, RED_ZONE);
    }
}

/// Whether it must be asked where a store goes: not if it is to the stack, to thread-local storage, or to what the image has in a fixed place.
fn is_checked(operand: &MemoryOperand) -> bool {
    let on_stack = operand.stack || operand.base == Some(Gpr::Rsp) && operand.index.is_none();
    let is_fixed = operand.base.is_none() && operand.index.is_none() && BUBBLE.contains(operand.displacement as u64);
    operand.write && !on_stack && !is_fixed && operand.segment.is_none()
}

/// Has a branch's target in [`thunks::Words::target`].
fn put_target(instruction: &Instruction, code: &mut Code) {
    code.store_mem(thunks::address(&WORDS.rax), Gpr::Rax);
    code.load_branch_target(Gpr::Rax, instruction);
    code.store_mem(thunks::address(&WORDS.target), Gpr::Rax);
    code.load_mem(Gpr::Rax, thunks::address(&WORDS.rax));
}
