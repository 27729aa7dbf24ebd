//! A routine whose registers are still open, and its machine code once they are chosen.

use std::ops::Range;

use iced_x86::{Code as Opcode, Encoder, Instruction as Iced, OpAccess, OpKind, Register};
use machine::{CachePc, Gpr};

use super::branch;
use super::fold::set_memory;
use super::state::{ARGUMENT_REGISTERS, ARGUMENTS, for_each_register};
use crate::decode::gpr;
use crate::facts::{rflags, with_iced_info};
use crate::write::{Code, Fixup, register_64};

/// Where a register of the routine lives when it is inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    /// The routine doesn't use it.
    Nowhere,
    /// In the scratch register with this index.
    Scratch(u8),
    /// In the register that holds this argument, which the routine only reads.
    Argument(u8),
}

/// An analysis routine that can be written into translated code.
#[derive(Clone, Debug)]
pub struct Inlined {
    templates: Vec<Iced>,
    /// Indexed by the register that the compiler chose.
    places: [Location; 16],
    scratch: u8,
    /// Arguments that the routine reads at run time (one bit for each).
    arguments: u8,
    /// Those that it also writes: copied to a scratch register first.
    copied: u8,
    flags: u64,
    /// Whether the routine's result is wanted.
    result: bool,
}

impl Inlined {
    pub(super) fn new(mut templates: Vec<Iced>, known: &[Option<u64>; ARGUMENTS], result: bool) -> Option<Inlined> {
        let read_first = loop {
            let live = u16::from(result) << Gpr::Rax as u16;
            let (read_first, keep) = needed(&templates, live);
            if !branch::retain(&mut templates, keep) {
                break read_first;
            }
        };
        let (mut used, mut written, mut flags) = (0_u16, 0_u16, 0);
        for template in &templates {
            for_each_register(template, |r, access, _| {
                used |= 1 << r as u16;
                if !is_read_only(access) {
                    written |= 1 << r as u16;
                }
            });
            flags |= rflags(template.rflags_modified());
        }
        let mut inlined =
            Inlined { templates, places: [Location::Nowhere; 16], scratch: 0, arguments: 0, copied: 0, flags, result };
        for r in Gpr::ALL.into_iter().filter(|&r| used & (1 << r as u16) != 0) {
            // A register that is written before it is read holds no argument.
            let is_read = read_first & (1 << r as u16) != 0;
            let argument = ARGUMENT_REGISTERS.iter().position(|&a| a == r).filter(|&a| is_read && known[a].is_none());
            let written = written & (1 << r as u16) != 0;
            inlined.places[r as usize] = match argument {
                Some(a) if !written => Location::Argument(a as u8),
                _ => {
                    inlined.scratch += 1;
                    Location::Scratch(inlined.scratch - 1)
                }
            };
            if let Some(a) = argument {
                inlined.arguments |= 1 << a;
                inlined.copied |= u8::from(written) << a;
            }
        }
        inlined.can_be_encoded().then_some(inlined)
    }

    /// How many scratch registers [`Inlined::emit`] needs.
    pub fn scratch_count(&self) -> usize {
        usize::from(self.scratch)
    }

    /// Which scratch register holds the routine's result behind it; `None` if that isn't wanted.
    pub fn result(&self) -> Option<usize> {
        match self.places[Gpr::Rax as usize] {
            Location::Scratch(s) if self.result => Some(usize::from(s)),
            _ => None,
        }
    }

    /// Flags that it changes; 0 if none.
    pub fn flags_written(&self) -> u64 {
        self.flags
    }

    /// Whether it reads or writes memory.
    pub fn uses_memory(&self) -> bool {
        let uses =
            |t: &Iced| with_iced_info(t, |info| info.used_memory().iter().any(|m| m.access() != OpAccess::NoMemAccess));
        self.templates.iter().any(uses)
    }

    /// Whether it writes memory.
    pub fn writes_memory(&self) -> bool {
        self.templates.iter().any(writes_memory)
    }

    /// Whether there is no place in it where a part of its work is done: at most its last instruction writes memory.
    pub fn works_at_once(&self) -> bool {
        let first = self.templates.iter().position(writes_memory);
        first.is_none_or(|first| first + 1 == self.templates.len())
    }

    /// Whether it reads argument `index` (0 is rdi) at run time.
    pub fn reads_argument(&self, index: usize) -> bool {
        self.arguments & (1 << index) != 0
    }

    /// Whether it makes an address in this range in a register: one that isn't the same wherever it is executed can't be folded in.
    pub fn makes_address_in(&self, range: &Range<u64>) -> bool {
        self.templates.iter().any(|t| t.op_kind(1) == OpKind::Immediate64 && range.contains(&t.immediate64()))
    }

    /// How many instructions it has, copies of arguments not counted.
    pub fn instructions(&self) -> usize {
        self.templates.len()
    }

    /// If all that the routine does is to add a constant to the 64-bit word at a constant address: both.
    pub fn as_counter_add(&self) -> Option<(u64, i32)> {
        let [only] = self.templates.as_slice() else { return None };
        if !only.is_ip_rel_memory_operand() || only.has_lock_prefix() {
            return None;
        }
        let immediate = || only.try_immediate(1).ok().and_then(|value| i32::try_from(value as i64).ok());
        let added = match only.code() {
            Opcode::Add_rm64_imm8 | Opcode::Add_rm64_imm32 => immediate()?,
            Opcode::Sub_rm64_imm8 | Opcode::Sub_rm64_imm32 => immediate()?.checked_neg()?,
            Opcode::Inc_rm64 => 1,
            Opcode::Dec_rm64 => -1,
            _ => return None,
        };
        Some((only.ip_rel_memory_address(), added))
    }

    /// Writes the routine. `scratch` are registers that it may change, none of them in `arguments`; `arguments` are
    /// those that hold the arguments it reads, and keep their values. Writes nothing and returns false if an
    /// address is out of reach or a register is missing: call the routine instead.
    #[must_use]
    pub fn emit(&self, code: &mut Code, scratch: &[Gpr], arguments: &[Option<Gpr>; ARGUMENTS]) -> bool {
        let start = code.bytes.len();
        let done = self.try_emit(code, scratch, arguments).is_some();
        if !done {
            code.bytes.truncate(start);
        }
        done
    }

    fn try_emit(&self, code: &mut Code, scratch: &[Gpr], arguments: &[Option<Gpr>; ARGUMENTS]) -> Option<()> {
        for (index, register) in ARGUMENT_REGISTERS.into_iter().enumerate() {
            if self.copied & (1 << index) != 0 {
                let Location::Scratch(s) = self.places[register as usize] else { return None };
                code.mov(*scratch.get(usize::from(s))?, arguments[index]?);
            }
        }
        let mut encoder = Encoder::new(64);
        let mut branches: Vec<(usize, Fixup)> = Vec::new();
        for (index, template) in self.templates.iter().enumerate() {
            bind(code, &branches, index)?;
            if let Some((to, condition)) = branch::target(template) {
                branches.push((
                    to,
                    match condition {
                        Some(condition) => code.jcc_short(condition),
                        None => code.jmp_short(),
                    },
                ));
                continue;
            }
            let mut chosen = self.with_registers(template, scratch, arguments)?;
            name_through_gs(&mut chosen, code)?;
            let start = code.bytes.len();
            encoder.set_buffer(std::mem::take(&mut code.bytes));
            let encoded = encoder.encode(&chosen, code.base.0 + start as u64);
            code.bytes = encoder.take_buffer();
            encoded.ok()?;
        }
        bind(code, &branches, self.templates.len())
    }

    /// A template with every register replaced by the one chosen for it.
    fn with_registers(&self, template: &Iced, scratch: &[Gpr], arguments: &[Option<Gpr>; ARGUMENTS]) -> Option<Iced> {
        let place = |register: Register| -> Option<Register> {
            let Some(r) = gpr(register) else { return Some(register) };
            let chosen = match self.places[r as usize] {
                Location::Nowhere => return None,
                Location::Scratch(s) => *scratch.get(usize::from(s))?,
                Location::Argument(a) => arguments[usize::from(a)]?,
            };
            Some(sized(chosen, register.size()))
        };
        let mut chosen = *template;
        for i in 0..template.op_count() {
            match template.op_kind(i) {
                OpKind::Register => chosen.set_op_register(i, place(template.op_register(i))?),
                OpKind::Memory => {
                    chosen.set_memory_base(place(template.memory_base())?);
                    chosen.set_memory_index(place(template.memory_index())?);
                }
                _ => {}
            }
        }
        Some(chosen)
    }

    /// Tries each instruction with registers that no encoding has as its only choice, so that one which is tied
    /// to rax or rcx is found now.
    fn can_be_encoded(&self) -> bool {
        const SCRATCH: [Gpr; 8] = [Gpr::R8, Gpr::R9, Gpr::R10, Gpr::R11, Gpr::R12, Gpr::R13, Gpr::R14, Gpr::R15];
        let near = self.templates.iter().find(|t| t.is_ip_rel_memory_operand());
        let base = near.map_or(0, Iced::ip_rel_memory_address);
        self.emit(&mut Code::new(CachePc(base)), &SCRATCH, &[Some(Gpr::Rbx); ARGUMENTS])
    }
}

/// Has an instruction name its operand through GS where the code around it does. `None`: it needs an address itself that GS is for.
fn name_through_gs(chosen: &mut Iced, code: &Code) -> Option<()> {
    if chosen.op_kind(1) == OpKind::Immediate64 && code.gs_offset(chosen.immediate64()).is_some() {
        return None;
    }
    if chosen.is_ip_rel_memory_operand()
        && let Some(offset) = code.gs_offset(chosen.ip_rel_memory_address())
    {
        chosen.set_segment_prefix(Register::GS);
        set_memory(chosen, Register::None, Register::None, offset.into(), 4);
    }
    Some(())
}

/// Has the branches to a template go to here. `None`: one doesn't reach.
fn bind(code: &mut Code, branches: &[(usize, Fixup)], template: usize) -> Option<()> {
    branches.iter().filter(|&&(to, _)| to == template).try_for_each(|&(_, branch)| {
        let reached = code.is_reached_by(branch);
        reached.then(|| code.bind(branch))
    })
}

/// Which registers are read before they are written, and which instructions are needed: not those whose results nobody uses, such as return values unless
/// they are `live`, and constants that were folded into all their users.
fn needed(templates: &[Iced], live: u16) -> (u16, Vec<bool>) {
    // Registers and flags that are live before each template, and behind the last.
    let mut before = vec![(live, 0_u32); templates.len() + 1];
    let mut keep = vec![true; templates.len()];
    for (index, template) in templates.iter().enumerate().rev() {
        let (mut live, mut live_flags) = before[index + 1];
        if let Some((to, condition)) = branch::target(template) {
            let (there, flags_there) = before[to];
            (live, live_flags) = match condition {
                Some(_) => (live | there, live_flags | flags_there | template.rflags_read()),
                None => (there, flags_there),
            };
            before[index] = (live, live_flags);
            continue;
        }
        let (mut read, mut written, mut killed) = (0_u16, 0_u16, 0_u16);
        for_each_register(template, |r, access, size| {
            let bit = 1 << r as u16;
            read |= if access == OpAccess::Write && size >= 4 { 0 } else { bit };
            written |= if is_read_only(access) { 0 } else { bit };
            killed |= if access == OpAccess::Write && size >= 4 { bit } else { 0 };
        });
        keep[index] = writes_memory(template) || written & live != 0 || template.rflags_modified() & live_flags != 0;
        if keep[index] {
            live = live & !killed | read;
            // An undefined flag may be the old one: it stays live.
            live_flags &= !(template.rflags_written() | template.rflags_cleared() | template.rflags_set());
            live_flags |= template.rflags_read();
        }
        before[index] = (live, live_flags);
    }
    (before[0].0, keep)
}

fn is_read_only(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
}

fn writes_memory(template: &Iced) -> bool {
    with_iced_info(template, |info| info.used_memory().iter().any(|m| !is_read_only(m.access())))
}

/// The part of `size` bytes of a register.
fn sized(r: Gpr, size: usize) -> Register {
    let n = r as u32;
    match (size, n) {
        (1, 0..=3) => Register::AL + n,
        (1, _) => Register::SPL + (n - 4),
        (2, _) => Register::AX + n,
        (4, _) => Register::EAX + n,
        _ => register_64(r),
    }
}
