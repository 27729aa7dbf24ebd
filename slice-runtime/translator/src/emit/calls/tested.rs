//! Calls that are made only if a test says so.
//!
//! The test is put in place, and behind it the call itself, with a jump around it: a direct one, or one by the runtime. Where the test can't be put in place both
//! are left to the runtime.
//!
//! ```text
//!          jump to `end` if the call is predicated and the instruction takes no effect
//! begun:   test, in borrowed registers
//!          jz no
//! pending: give back what is borrowed; call, and jump to `end`, or leave for the call, which goes on there
//! made:    give back what is borrowed; leave to the runtime      (if the test writes memory)
//! no:      interrupted? then leave                               (if the test writes memory)
//!          give back what is borrowed
//! end:
//! ```
//!
//! A test that changed its state can't be asked again, so an interruption between `begun` and `pending` is answered behind it.

use bubble::routines::{way, why};
use bubble::switches::Optimisation;
use isa::Condition;
use machine::AppPc;

use super::inline::choose;
use super::{InPlace, Spot};
use crate::abi::{CallDescriptor, CallMark, ExitKind};
use crate::emit::emitter::{Emitter, Field, Fields};
use crate::routines::test_of;
use crate::trace::AnalysisCall;

impl Emitter<'_> {
    /// Emits a call that has the test `test`, with their descriptors.
    pub(in crate::emit) fn tested_call(&mut self, test: &AnalysisCall, call: &AnalysisCall, spot: Spot) {
        let instruction = &self.facts.trace.instructions[spot.index];
        let pc = instruction.pc();
        let describe = |call: &AnalysisCall| CallDescriptor::new(call, instruction, 1);
        let (described_test, described_call) = (describe(test).as_test(), describe(call));
        let in_place = !self.is_at_end(spot.index) && self.test_in_place(test, call, &described_call, spot).is_some();
        let is_clean = self.may_be_clean(test) && self.may_be_clean(call);
        let otherwise = if is_clean { way::ASIDE } else { way::LEAVES };
        let (how, why_not) = if in_place { (way::IN_PLACE, 0) } else { (otherwise, why::IS_TEST) };
        self.rules.known.note(test, how, why_not);
        if !in_place {
            self.rules.known.note(call, otherwise, why::TESTED);
            let argument = self.add_descriptor(&described_test);
            self.add_descriptor(&described_call);
            let done = if is_clean {
                self.clean_call(test.routine, spot, argument).done
            } else {
                self.leave_for_call(pc, argument);
                self.offset()
            };
            self.marks.call_marks.push(CallMark {
                pc: begins(call, pc),
                block: 0,
                begun: done,
                pending: done,
                made: done,
                descriptor: argument,
            });
        }
    }

    /// Emits the test in place, and the call, which is made if it says yes. `None`, with nothing emitted, if the test must be called.
    fn test_in_place(
        &mut self,
        test: &AnalysisCall,
        call: &AnalysisCall,
        described: &CallDescriptor,
        spot: Spot,
    ) -> Option<()> {
        if !self.rules.off.leaves(Optimisation::Inline) {
            return None;
        }
        let instruction = &self.facts.trace.instructions[spot.index];
        let pc = instruction.pc();
        let routine = test_of(test, instruction, self.rules.off).filter(|routine| self.may_be_in_place(routine))?;
        // The comparison changes flags.
        let flags_live = spot.live_flags != 0;
        let chosen = choose(&routine, test, instruction, flags_live, self.registers())?;
        let result = chosen.scratch[routine.result()?];
        // All ways out of it are to find the same in r11.
        self.take_r11();
        let start = self.out.code.bytes.len();
        let mut skips = if call.predicated { self.skip_without_effect(spot) } else { Vec::new() };
        let begun = self.offset();
        let Some(borrowed) = self.put_in_place(&routine, &chosen, spot) else {
            self.out.code.bytes.truncate(start);
            return None;
        };
        self.out.code.test(result, result);
        let no = self.out.code.jcc_near(Condition::E);
        let pending = self.offset();
        self.give_back_borrowed(&chosen, &borrowed, spot);
        let descriptor = self.add_descriptor(described);
        // It was found out already.
        let then = AnalysisCall { predicated: false, test: None, ..call.clone() };
        let mut exits = Vec::new();
        let made = match self.direct_call(&then, spot, described, 1) {
            Ok(InPlace { done, .. }) => {
                skips.push(self.out.code.jmp_near());
                done
            }
            Err(why) if self.may_be_clean(call) => {
                self.rules.known.note(call, way::ASIDE, why);
                let InPlace { done, .. } = self.clean_call(call.routine, spot, descriptor);
                skips.push(self.out.code.jmp_near());
                done
            }
            Err(why) => {
                self.rules.known.note(call, way::LEAVES, why);
                exits.push(self.leave(ExitKind::Call, pc, descriptor));
                self.offset()
            }
        };
        let leaves = self.out.code.here();
        let in_parts = routine.writes_memory();
        if in_parts {
            self.mark_spot(spot, &borrowed, chosen.save_flags);
            exits.push(self.leave_interrupted(&chosen, &borrowed, spot));
        }
        self.out.code.bind(no);
        self.mark_spot(spot, &borrowed, chosen.save_flags);
        if in_parts {
            self.out.code.cmp_field_imm(Field::Interrupted, 0);
            self.out.code.jcc(Condition::Ne, leaves);
        }
        self.give_back_borrowed(&chosen, &borrowed, spot);
        for exit in exits {
            self.resume_here(exit);
        }
        for skip in skips {
            self.out.code.bind(skip);
        }
        let begun = if in_parts { begun } else { pending };
        self.marks.call_marks.push(CallMark { pc: begins(call, pc), block: 0, begun, pending, made, descriptor });
        Some(())
    }
}

/// Which instruction the app has begun with the call. Who is asked whether it goes on at all has begun nothing.
fn begins(call: &AnalysisCall, pc: AppPc) -> u64 {
    if call.asks { 0 } else { pc.0 }
}
