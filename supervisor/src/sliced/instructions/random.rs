//! Instructions whose result is one that nobody can find out again and that can't be made to trap: `rdrand`, `rdseed`, `rdpid`.
//!
//! Executable file mappings are searched for them when they come into being. A hardware breakpoint stops the master before
//! each one that was found; it is executed by a single step and what it gave is recorded. Breakpoints change no byte of the app's
//! memory and don't fire in the middle of other instructions, so a place that was found wrongly does no harm. The processor has few
//! of them: further places get breakpoint instructions ([`Traps`]).
//!
//! Calls of the vsyscall page are found and stopped at in the same way.
//!
//! The search can't be complete: code that the app generates isn't searched. A slice that
//! comes to such an instruction without a record says so and the run fails: it never goes on with another value.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use isa::Instruction;
use machine::mapping::{self, Answer, Mapping};
use machine::{AppPc, Gpr, Memory, PAGE, cpuid};
use memchr::memmem;
use syscall_replay::RandomRecord;
use tracee::{Stopped, TraceError};

use super::barren::Barren;
use super::breakpoints::{AWAITED, Breakpoints};
use super::traps::Traps;
use super::vsyscall;

/// Bytes of a file that are searched at a time.
const CHUNK: usize = 1 << 20;

/// The breakpoints.
pub struct RandomInstructions {
    set: [Option<u64>; AWAITED],
    /// For further places.
    traps: Traps,
    /// Where there are none.
    barren: Barren,
}

impl RandomInstructions {
    /// None yet.
    pub fn new() -> Self {
        Self { set: [None; AWAITED], traps: Traps::default(), barren: Barren::default() }
    }

    /// A program was loaded, and the breakpoints of the one before are gone with it.
    ///
    /// # Errors
    /// If it was killed.
    pub fn new_image(&mut self, process: &mut Stopped) -> Result<(), TraceError> {
        *self = Self::new();
        self.search(process, 0, u64::MAX)
    }

    /// The process is a copy of another, in which these pages of files held bytes of ours.
    ///
    /// # Errors
    /// If it was killed.
    pub fn inherit(&mut self, process: &mut Stopped, pages: Vec<u64>) -> Result<(), TraceError> {
        *self = Self { traps: Traps::inherited(pages), ..Self::new() };
        self.search(process, 0, u64::MAX)
    }

    /// Pages of files that hold bytes of ours, or once did.
    pub fn pages(&self) -> &[u64] {
        self.traps.pages()
    }

    /// Of calls that change the protection of these pages: whether none of them needs to be known here, as long as they make nothing executable; and
    /// whether that doesn't matter either.
    pub fn ignores(&self, pages: &Range<u64>) -> (bool, bool) {
        let is_apart = !self.pages().iter().any(|page| *page < pages.end && pages.start < page + PAGE);
        (is_apart, is_apart && self.barren.is_known(pages.start, pages.end))
    }

    /// Other data are about to be mapped in these pages, again and again, without a word. Whether that doesn't matter here.
    pub fn maps_unseen(&mut self, pages: &Range<u64>) -> bool {
        self.barren.forget(pages.start, pages.end);
        self.ignores(pages).0
    }

    /// Takes the breakpoint instructions away for a while.
    pub fn lift(&mut self, process: &mut Stopped) {
        self.traps.lift(process);
    }

    /// Puts them in place again.
    pub fn set(&mut self, process: &mut Stopped) {
        self.traps.set(process);
    }

    /// Sets the breakpoints in a thread that is to go on, which has these.
    ///
    /// # Errors
    /// If it was killed.
    pub fn set_for(&self, thread: &mut Stopped, has: &mut Breakpoints) -> Result<(), TraceError> {
        has.become_those(&self.set, thread)
    }

    /// Whether the process has executed one and its trap is still to come.
    pub fn is_behind(&self, rip: u64) -> bool {
        self.traps.is_behind(rip)
    }

    /// Whether there is a breakpoint before the instruction at `address`.
    pub fn stops_at(&self, address: u64) -> bool {
        self.set.contains(&Some(address)) || self.traps.contains(address)
    }

    /// Whether this signal is such a trap, see [`Traps::has_hit`].
    ///
    /// # Errors
    /// If the process was killed.
    pub fn has_hit(&self, process: &mut Stopped, signal: &libc::siginfo_t) -> Result<bool, TraceError> {
        self.traps.has_hit(process, signal)
    }

    /// A system call is about to be made: it may change the mapping of code.
    pub fn before_call(&mut self, process: &mut Stopped, number: u64, args: &[u64; 6]) {
        let [first, second, third, fourth, fifth, _] = *args;
        let ranges = match number as i64 {
            libc::SYS_munmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect | libc::SYS_madvise => {
                [(first, second), (0, 0)]
            }
            libc::SYS_mmap if fourth as i32 & libc::MAP_FIXED != 0 => [(first, second), (0, 0)],
            libc::SYS_mremap => [(first, second), (fifth, third)],
            libc::SYS_shmat => [(0, u64::MAX), (0, 0)],
            // From the page in which it starts.
            libc::SYS_remap_file_pages => [(first & !0xfff, second.saturating_add(0xfff)), (0, 0)],
            _ => return,
        };
        let is_mapped_anew =
            ![libc::SYS_mprotect, libc::SYS_pkey_mprotect, libc::SYS_madvise].contains(&(number as i64));
        for (start, len) in ranges.into_iter().filter(|(_, len)| *len != 0) {
            let end = start.saturating_add(len);
            self.traps.forget(process, start, end);
            if is_mapped_anew {
                self.barren.forget(start, end);
            }
        }
    }

    /// A system call has succeeded: it may have mapped or unmapped code.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn after_call(
        &mut self,
        process: &mut Stopped,
        number: u64,
        args: &[u64; 6],
        result: u64,
    ) -> Result<(), TraceError> {
        let [address, len, protection, ..] = *args;
        let executable = protection as i32 & libc::PROT_EXEC != 0;
        match number as i64 {
            libc::SYS_mmap => self.barren.forget(result, result.saturating_add(len)),
            libc::SYS_mremap => self.barren.forget(result, result.saturating_add(protection)),
            _ => {}
        }
        match number as i64 {
            libc::SYS_mmap if executable => self.search(process, result, result.saturating_add(len)),
            libc::SYS_mprotect | libc::SYS_pkey_mprotect if executable => {
                self.search(process, address, address.saturating_add(len))
            }
            libc::SYS_munmap => self.forget(process, address, address.saturating_add(len)),
            _ => Ok(()),
        }
    }

    /// Sets breakpoints in the executable file mappings that lie in `start .. end`.
    fn search(&mut self, process: &mut Stopped, start: u64, end: u64) -> Result<(), TraceError> {
        let is_known = self.barren.is_known(start, end);
        let all = if is_known { Vec::new() } else { code_in(process.pid(), start, end) };
        let mut is_barren = !is_known;
        for code in &all {
            // A file that can't be read any more isn't searched: see above.
            for address in find(code).unwrap_or_default() {
                is_barren = false;
                if self.set.contains(&Some(address)) || self.traps.contains(address) {
                    continue;
                }
                let Some(n) = self.set.iter().position(Option::is_none) else {
                    if code.is_constant {
                        self.traps.add(process, address);
                    }
                    continue;
                };
                process.set_breakpoint(n, address)?;
                self.set[n] = Some(address);
            }
        }
        if is_barren {
            self.barren.add(start, end, all.into_iter().map(|code| code.path));
        }
        self.traps.set(process);
        Ok(())
    }

    fn forget(&mut self, process: &mut Stopped, start: u64, end: u64) -> Result<(), TraceError> {
        for (n, place) in self.set.iter_mut().enumerate() {
            if place.is_some_and(|address| (start..end).contains(&address)) {
                process.clear_breakpoint(n)?;
                *place = None;
            }
        }
        Ok(())
    }
}

/// If the process stands before such an instruction: executes it and gives what it gave.
///
/// # Errors
/// If the process was killed.
pub fn execute(process: Stopped) -> Result<(Stopped, Option<RandomRecord>), TraceError> {
    let pc = process.registers()?.rip();
    let mut code = [0; isa::MAX_LEN];
    let len = process.read_prefix(pc, &mut code);
    let Some((len, register)) = decode(&code[..len], pc) else { return Ok((process, None)) };
    let process = process.step()?;
    let after = process.registers()?.app();
    let record = RandomRecord { pc, len, register, value: after.get(register), flags: after.rflags };
    Ok((process, Some(record)))
}

/// Length and result register, if `code` starts with such an instruction that this processor has.
fn decode(code: &[u8], pc: u64) -> Option<(u64, Gpr)> {
    let instruction = Instruction::decode(code, AppPc(pc)).ok()?;
    let is_there = match instruction.unrepeatable()? {
        "rdrand" => cpuid::ask(1, 0)[2] >> 30 & 1,
        "rdseed" => cpuid::ask(7, 0)[1] >> 18 & 1,
        "rdpid" => cpuid::ask(7, 0)[2] >> 22 & 1,
        _ => 0,
    };
    let written = instruction.usage().gpr_written;
    let register = Gpr::ALL.into_iter().find(|&r| written == 1 << r as u16)?;
    (is_there != 0).then_some((instruction.len() as u64, register))
}

/// An executable mapping of a file.
#[derive(Debug, PartialEq, Eq)]
struct Code {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
    /// It is private and can't be written.
    is_constant: bool,
}

/// Such mappings of a process in `start .. end`.
fn code_in(pid: i32, start: u64, end: u64) -> Vec<Code> {
    let Ok(maps) = File::open(format!("/proc/{pid}/maps")) else { return Vec::new() };
    if let Some(asked) = ask(&maps, start, end) {
        return asked;
    }
    let all = mapping::all(pid).unwrap_or_default().into_iter();
    all.filter(|mapping| mapping.start < end && start < mapping.end).filter_map(Code::of).collect()
}

/// The same, if the kernel can be asked and they are few.
fn ask(maps: &File, start: u64, end: u64) -> Option<Vec<Code>> {
    const FEW: usize = 8;
    let (mut found, mut at) = (Vec::new(), start);
    for _ in 0..FEW {
        let mapping = match mapping::at_or_after(maps, at) {
            Answer::Is(mapping) if mapping.start < end => mapping,
            Answer::Is(_) | Answer::Nothing => return Some(found),
            Answer::Unknown => return None,
        };
        at = mapping.end;
        found.extend(Code::of(mapping));
        if at >= end {
            return Some(found);
        }
    }
    None
}

impl Code {
    fn of(mapping: Mapping) -> Option<Self> {
        let is_constant = mapping.read && !mapping.write && !mapping.shared;
        let Mapping { start, end, offset, name, .. } = mapping;
        (mapping.execute && name.starts_with('/')).then_some(Self { start, end, offset, path: name, is_constant })
    }
}

/// Addresses of the instructions in a mapping.
fn find(code: &Code) -> io::Result<Vec<u64>> {
    let file = File::open(&code.path)?;
    let mut found = Vec::new();
    let mut bytes = vec![0; CHUNK.min((code.end - code.start) as usize)];
    let mut at = 0;
    while at < code.end - code.start {
        let wanted = (code.end - code.start - at).min(CHUNK as u64) as usize;
        let len = read(&file, code.offset + at, &mut bytes[..wanted])?;
        let places = find_in(&bytes[..len]).into_iter().chain(vsyscall::find_in(&bytes[..len]));
        found.extend(places.map(|offset| code.start + at + offset as u64));
        if len < wanted || at + len as u64 >= code.end - code.start {
            break;
        }
        // What lies across the border, and what leads there, is looked at once more.
        at += (len - OVERLAP) as u64;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn read(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < bytes.len() {
        match file.read_at(&mut bytes[len..], offset + len as u64)? {
            0 => break,
            n => len += n,
        }
    }
    Ok(len)
}

/// Where instructions are decoded from that lead to a place, in bytes before it. A few instructions after an arbitrary start all
/// decodings agree.
const STARTS: Range<usize> = 24..40;
const OVERLAP: usize = 64;

/// Offsets in `code` of the instructions: places of their opcode at which most decodings of the code before arrive.
fn find_in(code: &[u8]) -> Vec<usize> {
    let opcodes =
        memmem::find_iter(code, &[0x0f, 0xc7]).filter(|at| code.get(at + 2).is_some_and(|byte| *byte >= 0xf0));
    opcodes.filter_map(|at| start_of(code, at)).collect()
}

fn start_of(code: &[u8], opcode: usize) -> Option<usize> {
    let mut votes: Vec<usize> = STARTS.map(|back| lead_to(code, opcode.saturating_sub(back), opcode)).collect();
    votes.sort_unstable();
    let most = votes[votes.len() / 2];
    let agreed = votes.iter().filter(|&&vote| vote == most).count();
    (agreed > votes.len() / 2 && decode(&code[most..], 0).is_some()).then_some(most)
}

/// Decodes from `at` on; gives the start of the instruction that contains `place`.
fn lead_to(code: &[u8], mut at: usize, place: usize) -> usize {
    loop {
        let len = Instruction::decode(&code[at..], AppPc(0)).map_or(1, |i| i.len());
        if at + len > place {
            return at;
        }
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `nop` on all sides of the given bytes.
    fn padded(code: &[u8]) -> Vec<u8> {
        [&[0x90; 48][..], code, &[0x90; 48][..]].concat()
    }

    fn has_rdrand() -> bool {
        cpuid::ask(1, 0)[2] >> 30 & 1 != 0
    }

    #[test]
    fn instructions_are_found_with_their_prefixes() {
        if has_rdrand() {
            assert_eq!(find_in(&padded(&[0x0f, 0xc7, 0xf0])), [48]);
            assert_eq!(find_in(&padded(&[0x49, 0x0f, 0xc7, 0xf2])), [48]);
            assert_eq!(find_in(&padded(&[0x66, 0x41, 0x0f, 0xc7, 0xf2])), [48]);
            assert_eq!(decode(&[0x49, 0x0f, 0xc7, 0xf2], 0), Some((4, Gpr::R10)));
        }
        assert_eq!(find_in(&padded(&[0x0f, 0xc7, 0x0f])), [0; 0]); // cmpxchg8b
    }

    #[test]
    fn bytes_inside_other_instructions_are_none() {
        // mov $0xf0c70f, %eax; call with such a displacement
        assert_eq!(find_in(&padded(&[0xb8, 0x0f, 0xc7, 0xf0, 0x00])), [0; 0]);
        assert_eq!(find_in(&padded(&[0xe8, 0x0f, 0xc7, 0xf0, 0xff])), [0; 0]);
    }

    #[test]
    fn only_executable_mappings_of_files_are_meant() {
        let parse = |line| Code::of(Mapping::parse(line).unwrap());
        let line = "7f0000000000-7f0000001000 r-xp 00001000 fe:01 1234   /usr/lib/a file.so";
        let path = "/usr/lib/a file.so".to_owned();
        let (start, end) = (0x7f00_0000_0000, 0x7f00_0000_1000);
        let expected = Code { start, end, offset: 0x1000, path, is_constant: true };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse("7f0000000000-7f0000001000 r--p 00001000 fe:01 1234   /usr/lib/libc.so.6"), None);
        assert_eq!(parse("7ffff7fc5000-7ffff7fc7000 r-xp 00000000 00:00 0     [vdso]"), None);
    }
}
