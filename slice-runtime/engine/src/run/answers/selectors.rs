//! Loads of a selector to FS or GS.
//!
//! A selector leads to a segment, whose base the processor takes. In 64-bit programs only one is of use: the null selector, which leads nowhere. What it makes of the base
//! differs between processors, so the app's base becomes what it is where the app runs. The register itself is never loaded: both hold the null selector since the program began.

use isa::{Kind, Segment, SelectorSource};
use machine::{AppPc, Gpr, Here, Memory};

use crate::interface::{Flow, Host};
use crate::run::runner::Runner;

impl Runner {
    /// The app is about to execute the instruction at `pc`, which loads a selector.
    pub(in crate::run) fn load_selector(&mut self, host: &mut dyn Host, pc: AppPc) -> Flow {
        self.engine.stats.entries[3] += 1;
        let instruction = self.decode(pc);
        let Kind::SelectorLoad { segment, from } = instruction.kind() else { return Flow::Continue };
        let clears_base = self.engine.settings.null_selector_clears_base;
        let registers = &mut self.cpu().registers;
        let (selector, popped) = match from {
            SelectorSource::Register(register) => (Some(registers.get(register) as u16), 0),
            SelectorSource::Stack(popped) => (on_stack(registers.rsp()), popped),
        };
        if selector != Some(0) {
            let what = selector.map_or("what can't be read".to_owned(), |selector| format!("{selector:#x}"));
            let reason =
                format!("at {pc}: `{instruction}` loads {what}; of selectors only 0 can be loaded to FS and GS");
            let (cpu, mut control) = self.ask();
            return host.unsupported(&reason, cpu, &mut control);
        }
        if clears_base {
            match segment {
                Segment::Fs => registers.fs_base = 0,
                Segment::Gs => registers.gs_base = 0,
            }
        }
        registers.set(Gpr::Rsp, registers.rsp().wrapping_add(popped.into()));
        registers.rip = instruction.next_pc().0;
        Flow::Continue
    }
}

/// The selector that lies on top of the stack, if there is a stack.
fn on_stack(rsp: u64) -> Option<u16> {
    let mut selector = [0; 2];
    Here::new().read(rsp, &mut selector).ok().map(|()| u16::from_le_bytes(selector))
}
