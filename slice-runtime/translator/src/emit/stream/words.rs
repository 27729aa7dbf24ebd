//! Writing words into the buffer, see [`ThreadState::buffer`].
//!
//! The buffer pointer is held in a register, from a trace's first instruction that writes words to the last; so is a scratch register, in which addresses
//! are computed. Both are chosen so that none of these instructions uses them, if there are such. The registers of `registers::home` come first: they needn't
//! be stored. If words are made of nearly all registers, two of these are held nevertheless, and the app's values of them are taken from their slots.
//!
//! The pointer is moved on once for each block. Loading it is what a trace waits for of the trace before. So two kinds of branches keep both registers:
//! * a conditional branch that is probably not taken: who takes it gives the registers back on the way out;
//! * a branch back to the trace's own head: it goes to where they are held already.
//!
//! Usually r11 is reserved for the pointer, see `registers::r11`. Then it stays there from trace to trace, and only the other register is held.

use bubble::switches::Optimisation;
use isa::{Condition, Instruction, Kind, MemoryOperand, Segment};
use machine::{AppPc, Gpr};

use crate::abi::{BufferMark, R11, SLOT_HELD, SLOT_R11, ThreadState, taken};
use crate::emit::emitter::{Borrowed, Emitter, Field, Fields, Held, bit};
use crate::trace::{AnalysisCall, Arg, Buffered, Point};

impl Emitter<'_> {
    /// Before the words and calls of an instruction: a block's last one leaves with what r11 is reserved for, and words find the app's
    /// value if they are made of it.
    pub(in crate::emit) fn r11_before(&mut self, index: usize, block: usize) {
        if self.leaves_block(index) {
            self.take_r11();
        }
        if self.words_ask_r11(index) {
            self.give_back(index);
            self.give_r11(index, block);
        }
    }

    /// Writes the words that belong before instruction `index`; gives back what is held if that instruction could be in its way.
    pub(in crate::emit) fn buffer_before(&mut self, index: usize, block: usize) {
        let trace = self.facts.trace;
        let rest = &trace.buffered[self.words.done..];
        let here = &rest[..rest.partition_point(|buffered| buffered.index <= index)];
        if !here.is_empty() {
            self.words.done += here.len();
            self.write_words(here, index, block);
        }
        if self.words.held.is_some() && index >= self.words.until {
            self.give_back(index);
        }
    }

    /// Before the trace's first instruction.
    pub(in crate::emit) fn begin_words(&mut self) {
        if !self.facts.trace.buffered.is_empty() {
            self.hold_for_loop();
            self.drain_if_much();
        }
    }

    fn write_words(&mut self, here: &[Buffered], index: usize, block: usize) {
        if self.are_for_runtime(here) {
            return self.words_by_runtime(here, index, block);
        }
        let held = match self.words.held {
            Some(held) => held,
            None => {
                let last = self.facts.trace.buffered.last().map_or(index, |buffered| buffered.index);
                let (used, until) = self.reach(index, last, false);
                self.hold(index, block, used, until)
            }
        };
        let before = self.words.words;
        for word in here.iter().flat_map(|buffered| &buffered.words) {
            self.write_word(*word, index, held);
            self.words.words += 1;
        }
        let words = (self.words.words - before) as u32;
        self.marks.words.push(BufferMark { pc: self.facts.trace.instructions[index].pc().0, words, counted: u32::MAX });
    }

    /// If the trace is a loop in which registers can be held all the time: takes them before its first instruction.
    fn hold_for_loop(&mut self) {
        let instructions = &self.facts.trace.instructions;
        let back =
            |i: &Instruction| matches!(i.kind(), Kind::Branch { target, .. } if target == self.facts.trace.head());
        let Some(branch) = instructions.iter().position(back).filter(|_| self.shape.loops) else { return };
        let last = self.facts.trace.buffered.last().map_or(0, |buffered| buffered.index);
        let (used, until) = self.reach(0, last.max(branch + 1), true);
        if until > branch {
            self.hold(0, 0, used, until);
            self.words.top = Some(self.out.code.here());
        }
    }

    /// The instruction, at most `last`, up to which registers can be held from `index` on, and the registers that are used until then.
    fn reach(&self, index: usize, last: usize, is_loop: bool) -> (u16, usize) {
        let mut used = 1 << Gpr::Rsp as u16 | self.needed_for_words(index);
        if (!(used | self.reserved_registers())).count_ones() < 2 {
            return (1 << Gpr::Rsp as u16 | self.needed_for_addresses(index), index);
        }
        let mut until = index;
        let holds = self.rules.off.leaves(Optimisation::Hold) && self.registers.r11 != R11::App;
        while until < last && holds && !self.is_in_the_way(until, is_loop) {
            let usage = &self.facts.usages[until];
            let more = used | usage.gpr_read | usage.gpr_written | self.needed_for_words(until + 1);
            if (!(more | self.reserved_registers())).count_ones() < 2 {
                break;
            }
            used = more;
            until += 1;
        }
        (used, until)
    }

    /// Borrows registers outside `used` from here on.
    fn hold(&mut self, index: usize, block: usize, used: u16, until: usize) -> Held {
        let mut held = self.choose_held(used, index, block);
        let pointer = Some(held.pointer.0).filter(|_| !held.reserved);
        held.scratch = held.scratch.filter(|_| self.needs_scratch(index, until, pointer));
        for (r, slot) in held.registers().filter(|&(_, slot)| slot >= SLOT_HELD) {
            self.out.code.store_field(Field::Spill(slot), r);
        }
        self.words.held = Some(held);
        self.words.until = until;
        self.words.words = 0;
        self.mark(self.facts.trace.instructions[index].pc().0);
        if !held.reserved {
            self.out.code.load_field(held.pointer.0, Field::Buffer);
        }
        held
    }

    /// Whether registers can't be held while an instruction, or the calls before it, are executed.
    fn is_in_the_way(&self, index: usize, is_loop: bool) -> bool {
        let instruction = &self.facts.trace.instructions[index];
        // Two more registers than a mark can describe.
        let borrows_two = instruction.segment() == Some(Segment::Gs);
        let stays = match instruction.kind() {
            Kind::Plain => {
                let leaves = instruction.stores_x87_environment() || instruction.pops_flags();
                instruction.unrepeatable().is_none() && !leaves
            }
            Kind::Branch { target, .. } if target == self.facts.trace.head() => is_loop,
            Kind::Branch { target, .. } => is_seldom_taken(instruction, target),
            _ => false,
        };
        let is_here = |(n, call): (usize, &AnalysisCall)| match call.point {
            Point::Before(_) | Point::Anywhere(_) if self.is_tallied(call) => false,
            Point::Anywhere(_) => self.facts.placed[n] == Some(index),
            point => point.index() == Some(index),
        };
        let asks_r11 = self.needs_r11(index) || self.words_ask_r11(index);
        let all = &self.facts.trace.buffered;
        let first = all.partition_point(|buffered| buffered.index < index);
        let leaves = self.are_for_runtime(&all[first..all.partition_point(|buffered| buffered.index <= index)]);
        !stays || leaves || borrows_two || asks_r11 || self.facts.trace.calls.iter().enumerate().any(is_here)
    }

    /// Whether a word of the instructions from one to another one can't be stored as it is, with the buffer pointer in a borrowed register.
    fn needs_scratch(&self, from: usize, to: usize, pointer: Option<Gpr>) -> bool {
        let all = &self.facts.trace.buffered;
        let first = all.partition_point(|buffered| buffered.index < from);
        all[first..].iter().take_while(|buffered| buffered.index <= to).any(|buffered| {
            let instruction = &self.facts.trace.instructions[buffered.index];
            buffered.words.iter().any(|word| match *word {
                Arg::Register(r) => pointer == Some(r),
                Arg::BlockInstructions => false,
                Arg::MemoryAddress(n) => only_a_base(&instruction.memory_operands()[n]).is_none(),
                Arg::Const(value) => i32::try_from(value as i64).is_err(),
                Arg::InstructionPointer
                | Arg::BranchTaken
                | Arg::BranchTarget
                | Arg::Kept(_)
                | Arg::KeptAt(_)
                | Arg::Thread => true,
                Arg::TakesEffect => instruction.cmov_condition().is_some(),
                Arg::SegmentBase(_) | Arg::Vector { .. } | Arg::Mask(_) => true,
                // The runtime writes it.
                Arg::Flags | Arg::ElementAddress { .. } | Arg::ElementSize { .. } | Arg::FirstRepetition => false,
            })
        })
    }

    /// Two registers outside `used`.
    fn choose_held(&self, used: u16, index: usize, block: usize) -> Held {
        let used = used | self.reserved_registers();
        let free = |r: Gpr| used & (1 << r as u16) == 0;
        let homes = self.rules.off.leaves(Optimisation::HomeSlots);
        let same = |&(r, _): &Borrowed| homes && free(r) && !self.differs_from_home(r, index, block);
        let in_home_slots: Vec<Borrowed> = self.cheapest_first().into_iter().filter(same).collect();
        let others = Gpr::ALL.into_iter().filter(|&r| free(r) && in_home_slots.iter().all(|&(m, _)| m != r));
        let mut all = in_home_slots.iter().copied().chain(others.zip(SLOT_HELD..));
        let mut next = || all.next().expect("no instruction has addresses of fourteen registers");
        let reserved = self.has_position();
        let pointer = if reserved { (Gpr::R11, SLOT_R11) } else { next() };
        Held { pointer, reserved, scratch: Some(next()) }
    }

    pub(in crate::emit) fn give_back(&mut self, index: usize) {
        let Some(held) = self.words.held else { return };
        self.move_on(held);
        self.load_back(held);
        self.words.held = None;
        self.mark(self.facts.trace.instructions[index].pc().0);
    }

    /// Makes the buffer pointer count what was written.
    fn move_on(&mut self, held: Held) {
        let pointer = held.pointer.0;
        if self.words.words > 0 {
            self.out.code.lea(pointer, pointer, (self.words.words * size_of::<u64>()) as i32);
            if !held.reserved {
                self.out.code.store_field(Field::Buffer, pointer);
            }
        }
        let counted = self.offset();
        for mark in &mut self.marks.words[self.words.uncounted..] {
            mark.counted = counted;
        }
        self.words.uncounted = self.marks.words.len();
        self.words.words = 0;
    }

    pub(in crate::emit) fn load_back(&mut self, held: Held) {
        for (r, slot) in held.registers() {
            self.give_back_register(r, slot);
        }
    }

    /// A conditional branch out of the trace while registers are held. False, with no branch emitted, if none is borrowed.
    pub(in crate::emit) fn branch_while_held(&mut self, condition: Condition, target: AppPc) -> bool {
        let Some(held) = self.words.held else { return false };
        self.move_on(held);
        if let Some(top) = self.words.top.filter(|_| target == self.facts.trace.head()) {
            self.out.code.jcc(condition, top);
            return true;
        }
        let borrows = held.registers().any(|(r, _)| self.unloaded_at_ends() & bit(r) == 0);
        if borrows {
            let jump = self.out.code.jcc_near(condition);
            self.words.ways_out.push((jump, target, held));
        }
        borrows
    }

    /// Gives back what is held at the trace's end.
    pub(in crate::emit) fn give_back_at_end(&mut self) {
        if let Some(held) = self.words.held {
            self.move_on(held);
            self.registers.unloaded |= self.unloaded_at_ends();
            self.load_back(held);
            self.words.held = None;
        }
    }

    /// What is executed where such a branch is taken.
    pub(in crate::emit) fn ways_out(&mut self) {
        self.way_out_to_drain();
        for (jump, target, held) in std::mem::take(&mut self.words.ways_out) {
            self.out.code.bind(jump);
            self.words.held = Some(held);
            self.registers.unloaded = self.unloaded_at_ends();
            self.mark_left(target.0);
            self.load_back(held);
            self.words.held = None;
            self.mark_left(target.0);
            self.exit_jump(target);
        }
    }

    fn write_word(&mut self, word: Arg, index: usize, held: Held) {
        let pointer = held.pointer.0;
        let at = (self.words.words * size_of::<u64>()) as i32;
        let constant = match word {
            Arg::Register(r) => {
                let r = self.value_of(r, held);
                return self.out.code.store(pointer, at, r);
            }
            Arg::MemoryAddress(n) => {
                let operand = self.facts.trace.instructions[index].memory_operands()[n];
                let r = self.address_of(&operand, index, held);
                return self.out.code.store(pointer, at, r);
            }
            Arg::Kept(n) => {
                let scratch = held.scratch_register();
                self.out.code.load_field(scratch, Field::Kept(n));
                return self.out.code.store(pointer, at, scratch);
            }
            Arg::KeptAt(n) => {
                let scratch = held.scratch_register();
                self.out.code.own_address(scratch, ThreadState::kept_address(n.into()));
                return self.out.code.store(pointer, at, scratch);
            }
            Arg::Thread => {
                let scratch = held.scratch_register();
                self.out.code.load_field(scratch, Field::Thread);
                return self.out.code.store(pointer, at, scratch);
            }
            Arg::SegmentBase(_) | Arg::Vector { .. } | Arg::Mask(_) => {
                let scratch = held.scratch_register();
                match word {
                    Arg::SegmentBase(segment) => self.read_base(scratch, segment),
                    Arg::Vector { register, word } => self.read_vector(scratch, register, word),
                    Arg::Mask(mask) => self.read_mask(scratch, mask),
                    _ => unreachable!("one of these"),
                }
                return self.out.code.store(pointer, at, scratch);
            }
            Arg::Const(value) => value,
            Arg::BlockInstructions => 1,
            Arg::InstructionPointer => self.facts.trace.instructions[index].pc().0,
            Arg::BranchTaken => match taken(Point::Before(index), &self.facts.trace.instructions[index]) {
                Some(known) => known,
                None => {
                    let Kind::Branch { condition, .. } = self.facts.trace.instructions[index].kind() else {
                        panic!("a branch with a condition: the interface for tools sees to that")
                    };
                    return self.write_condition(condition, held, at);
                }
            },
            Arg::TakesEffect => match self.facts.trace.instructions[index].cmov_condition() {
                Some(condition) => return self.write_condition(condition, held, at),
                None => 1,
            },
            Arg::BranchTarget => {
                let target = self.facts.trace.instructions[index].kind().target();
                target.expect("a direct branch: the interface for tools sees to that").0
            }
            _ => unreachable!("the runtime writes it"),
        };
        match i32::try_from(constant as i64) {
            Ok(small) => self.out.code.store_imm32(pointer, at, small),
            Err(_) => {
                let scratch = held.scratch_register();
                self.out.code.mov_imm(scratch, constant);
                self.out.code.store(pointer, at, scratch);
            }
        }
    }

    /// The register that has the app's value of `r`: itself, or the scratch register if it is held.
    fn value_of(&mut self, r: Gpr, held: Held) -> Gpr {
        let Some((_, slot)) = held.registers().find(|&(borrowed, _)| borrowed == r) else { return r };
        let scratch = held.scratch_register();
        self.out.code.load_field(scratch, Field::Spill(slot));
        scratch
    }

    /// Writes whether a condition holds.
    fn write_condition(&mut self, condition: Condition, held: Held, at: i32) {
        let scratch = held.scratch_register();
        self.out.code.set_condition(condition, scratch);
        self.out.code.store(held.pointer.0, at, scratch);
    }

    /// The register that holds the operand's address: its base, if that is all, or the scratch register.
    fn address_of(&mut self, operand: &MemoryOperand, index: usize, held: Held) -> Gpr {
        if let Some(base) = only_a_base(operand) {
            return base;
        }
        let (pointer, scratch) = (held.pointer.0, held.scratch_register());
        let Some(segment) = operand.segment else {
            self.out.code.lea_memory(scratch, operand);
            return scratch;
        };
        let offset = i32::try_from(operand.displacement).ok().filter(|_| !operand.address_32);
        if let (Some(offset), None, None) = (offset, operand.base, operand.index) {
            self.read_base(scratch, segment);
            self.out.code.lea(scratch, scratch, offset);
            return scratch;
        }
        // The pointer's register is needed for a moment.
        let pc = self.facts.trace.instructions[index].pc().0;
        self.out.code.lea_memory(scratch, operand);
        if held.reserved {
            self.out.code.store_field(Field::Buffer, pointer);
            self.registers.r11 = R11::Nothing;
            self.mark(pc);
        }
        self.read_base(pointer, segment);
        self.out.code.lea_sum(scratch, scratch, pointer);
        self.out.code.load_field(pointer, Field::Buffer);
        if held.reserved {
            self.registers.r11 = R11::Reserved;
            self.mark(pc);
        }
        scratch
    }
}

/// The register that is the operand's whole address.
fn only_a_base(operand: &MemoryOperand) -> Option<Gpr> {
    let plain = operand.segment.is_none() && !operand.address_32 && operand.index.is_none();
    operand.base.filter(|_| plain && operand.displacement == 0)
}

/// Backward branches close loops.
fn is_seldom_taken(branch: &Instruction, target: AppPc) -> bool {
    target.0 > branch.pc().0
}
