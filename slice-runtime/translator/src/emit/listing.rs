//! A translation as text, for those who work on it: app code, emitted code and state map side by side.
//!
//! ```text
//!  0x401000  mov 8(%rdi),%rax                      app code: what the trace is made from
//!            call of routine 0x5554e0012340 before it
//!     0x555520000400  lea 2(%r11),%r11             emitted code: what is executed
//!          -- at 0x401000; r11 reserved            the state map: where the app is from here on, and where its registers are
//! ```
//! An app instruction stands before the first code that the state map says is its. The emitter itself knows nothing of this.

use std::fmt;

use isa::{Instruction, Reader};
use machine::AppPc;

use super::{Site, Translation};
use crate::abi::{ExitKind, MapEntry};
use crate::trace::{Point, Trace};

/// A translation that can be written out.
pub struct Listing<'a> {
    trace: &'a Trace,
    made: &'a Translation,
    site: &'a Site,
}

/// The text of a translation: a line that says what it is, and indented ones.
pub fn listing<'a>(trace: &'a Trace, made: &'a Translation, site: &'a Site) -> Listing<'a> {
    Listing { trace, made, site }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, made, site } = self;
        let last = trace.instructions.last().expect("a trace has an instruction");
        writeln!(
            f,
            "of {:#x} to {:#x}: {} instructions in {} blocks, in the {} cache at {:#x}, {} bytes, {} in stubs, {} exits",
            trace.head().0,
            last.next_pc().0,
            trace.instructions.len(),
            trace.block_ends.len(),
            if site.space as usize == 0 { "own" } else { "shared" },
            site.pc.0,
            made.code.len(),
            made.stubs.len(),
            made.exits.len(),
        )?;
        self.code(f)?;
        self.stubs(f)
    }
}

impl Listing<'_> {
    /// The state map's entries. They lie in the arena, aligned for nobody.
    fn marks(&self) -> impl Iterator<Item = MapEntry> {
        let at = (self.made.map - self.site.arena) as usize;
        let bytes = &self.made.arena[at..at + self.made.map_len as usize * size_of::<MapEntry>()];
        bytes.chunks_exact(size_of::<MapEntry>()).map(|entry| {
            // SAFETY: the emitter wrote an entry there, which is plain data.
            unsafe { entry.as_ptr().cast::<MapEntry>().read_unaligned() }
        })
    }

    fn code(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = &self.made.code;
        let mut marks = self.marks().peekable();
        // App instructions that weren't shown yet.
        let mut shown = 0;
        let mut at = 0;
        while at < code.len() {
            while let Some(mark) = marks.next_if(|mark| mark.offset as usize <= at) {
                let index = self.trace.instructions.iter().position(|instruction| instruction.pc().0 == mark.pc);
                if let Some(index) = index.filter(|index| *index >= shown) {
                    (shown..=index).try_for_each(|index| self.app_instruction(f, index))?;
                    shown = index + 1;
                }
                writeln!(f, "         -- {mark}")?;
            }
            let end = marks.peek().map_or(code.len(), |next| (next.offset as usize).min(code.len()));
            at += self.emitted(f, &code[at..end], self.site.pc.0 + at as u64)?;
        }
        (shown..self.trace.instructions.len()).try_for_each(|index| self.app_instruction(f, index))?;
        marks.try_for_each(|mark| writeln!(f, "         -- from byte {} on: {mark}", mark.offset))
    }

    fn app_instruction(&self, f: &mut fmt::Formatter<'_>, index: usize) -> fmt::Result {
        let instruction = &self.trace.instructions[index];
        writeln!(f, " {:#x}  {instruction}", instruction.pc().0)?;
        let block = self.trace.block_ends.iter().position(|end| index < *end).unwrap_or(0);
        for call in &self.trace.calls {
            let place = match call.point {
                Point::Before(at) if at == index => "before it",
                Point::After(at) if at == index => "after it",
                Point::Taken(at) if at == index => "where it branches",
                Point::Anywhere(of) if of == block && self.trace.block(of).start == index => "anywhere in its block",
                _ => continue,
            };
            let test = call.test.as_ref().map(|test| format!(", if routine {:#x} says so", test.routine));
            writeln!(f, "         call of routine {:#x} {place}{}", call.routine, test.unwrap_or_default())?;
        }
        let words = self.trace.buffered.iter().filter(|buffered| buffered.index == index);
        words.map(|buffered| buffered.words.len()).try_for_each(|n| writeln!(f, "         {n} words to the buffer"))
    }

    /// One instruction of emitted code, or what is none: gives its bytes.
    fn emitted(&self, f: &mut fmt::Formatter<'_>, bytes: &[u8], pc: u64) -> Result<usize, fmt::Error> {
        let Ok(instruction) = Reader::new(bytes, AppPc(pc)).read() else {
            let words: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(f, "    {pc:#x}  bytes {}", words.join(" "))?;
            return Ok(bytes.len());
        };
        writeln!(f, "    {pc:#x}  {instruction}{}", self.leads(&instruction))?;
        Ok(instruction.len())
    }

    /// What leaves here.
    fn leads(&self, instruction: &Instruction) -> String {
        let inside = instruction.pc().0 - self.site.pc.0..instruction.next_pc().0 - self.site.pc.0;
        let offset = |site: u32| u64::from(site).wrapping_sub(self.site.offset.into());
        let exit = |exit: &crate::abi::TraceExit| exit.kind == ExitKind::Direct && inside.contains(&offset(exit.site));
        match self.made.exits.iter().position(exit) {
            Some(n) => format!("    exit {} to {:#x}", self.site.first_exit + n as u32, self.made.exits[n].pc.0),
            None => String::new(),
        }
    }

    fn stubs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, exit) in (self.site.first_exit..).zip(&self.made.exits) {
            writeln!(f, " exit {n}: {:?}, {:#x}", exit.kind, exit.pc.0)?;
        }
        let mut at = 0;
        let start = self.site.stubs_end.0 - self.made.stubs.len() as u64;
        while at < self.made.stubs.len() {
            at += self.emitted(f, &self.made.stubs[at..], start + at as u64)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bubble::map::{CACHE_OWN, LOCAL};
    use bubble::switches::Off;
    use machine::{CachePc, flags};

    use super::super::{Lookup, Rules, ScratchBuffers, Shape, translate};
    use super::*;
    use crate::abi::{Counters, Doors, SpaceId};
    use crate::routines::RoutineFacts;
    use crate::trace::{AnalysisCall, Arg, Border, Limits, select};

    /// mov %rax,%r10; push %r10; jmp to itself.
    const CODE: [u8; 7] = [0x49, 0x89, 0xc2, 0x41, 0x52, 0xeb, 0xf9];
    const PC: u64 = 0x40_1000;

    extern "C" fn count(total: &mut u64, instructions: u64) {
        *total = total.wrapping_add(instructions);
    }

    #[test]
    fn app_code_emitted_code_and_map_stand_together() {
        for off in [Off::ALL, Off::default()] {
            let routine = count as *const () as usize;
            let limits =
                Limits { blocks: 3, instructions: 16, single: false, stop_after_write: false, each_repetition: false };
            let mut trace = select(AppPc(PC), &CODE, limits, |_| Border::None, Vec::new()).expect("a trace").trace;
            trace.calls.push(AnalysisCall::new(Point::Anywhere(0), routine, LOCAL.start, vec![Arg::BlockInstructions]));
            let site = Site {
                space: SpaceId::Own,
                offset: 0x400,
                pc: CachePc(CACHE_OWN.start + 0x400),
                stubs_end: CachePc(CACHE_OWN.end()),
                first_exit: 7,
                arena: 64,
                first_counter: 0,
            };
            let (counters, known) = (Counters::default(), RoutineFacts::default());
            let [leave_by_stub, stub_miss, aside, partly, clean_call, clean_words] =
                [0, 1, 2, 3, 4, 5].map(|n| 0x5554_e000_1000 + n * 0x100);
            let doors = Doors { leave_by_stub, stub_miss, aside, partly, clean_call, clean_words };
            let rules = Rules {
                off,
                exact_faults: false,
                replays: false,
                each_repetition: false,
                counters: &counters,
                doors,
                known: &known,
            };
            let shape = Shape::new(Lookup::IblStubs);
            let mut spare = ScratchBuffers::default();
            let made = translate(&trace, site, rules, shape, &mut |_| flags::ARITHMETIC, &mut spare).unwrap();
            look_at(&trace, &made, &site, routine);
        }
    }

    fn look_at(trace: &Trace, made: &Translation, site: &Site, routine: usize) {
        let text = listing(trace, made, site).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let place = |start: &str| lines.iter().position(|line| line.starts_with(start)).expect(start);
        let head = "of 0x401000 to 0x401007: 3 instructions in 1 blocks, in the own cache at 0x555520000400, ";
        assert!(lines[0].starts_with(head), "{text}");
        let [mov, push, jump, exits] = [" 0x401000  mov", " 0x401003  push", " 0x401005  jmp", " exit 7: "].map(place);
        assert!(mov < push && push < jump && jump < exits, "{text}");
        assert_eq!(lines[mov + 1], format!("         call of routine {routine:#x} anywhere in its block"), "{text}");
        assert!(lines[mov + 2].starts_with("         -- at 0x401000"), "{text}");
        let copied = |line: &&str| line.starts_with("    0x5555200") && line.ends_with("mov %rax,%r10");
        assert!(lines[mov..push].iter().any(copied), "{text}");
        let number = (7..).zip(&made.exits).find(|(_, exit)| exit.kind == ExitKind::Direct).expect("the jump").0;
        let leaves = |line: &&str| line.ends_with(&format!("    exit {number} to 0x401000"));
        assert!(lines[jump..exits].iter().any(leaves), "{text}");
        assert!(lines[exits..].contains(&format!(" exit {number}: Direct, 0x401000").as_str()), "{text}");
        // All of the code is there.
        let emitted = lines[..exits].iter().filter(|line| line.starts_with("    0x5555200")).count();
        let mut reader = Reader::new(&made.code, AppPc(site.pc.0));
        let read = std::iter::from_fn(|| reader.read().ok()).count();
        assert_eq!(emitted, read, "{text}");
    }
}
