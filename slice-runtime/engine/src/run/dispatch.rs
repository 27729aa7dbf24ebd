//! To the next trace.

use machine::AppPc;
use translator::abi::SpaceId;
use translator::trace::FetchFault;

use super::changing::RETURNED;
use super::next::Next;
use super::runner::Runner;
use crate::cache::Found;
use crate::interface::{Fault, Flow, Host, TRAP_PAGE_FAULT};
use crate::translations::{Failed, Want};

/// `si_code` of faults.
const ILL_ILLOPN: i32 = 2;
const SEGV_MAPERR: i32 = 1;
const SEGV_ACCERR: i32 = 2;
/// Number of the trap that an invalid opcode is.
const TRAP_INVALID_OPCODE: u64 = 6;

impl Runner {
    /// The trace for the app's `rip`, which is made if there is none. `behind`: where an IBL stub ends that leads there without a jump.
    ///
    /// # Errors
    /// The host wants to leave, or there is no room as long as other threads are in the cache: what is done instead.
    pub(super) fn dispatch(&mut self, host: &mut dyn Host, behind: Option<(SpaceId, u32)>) -> Result<Found, Next> {
        self.engine.leave_failed_map();
        loop {
            let pc = AppPc(self.cpu().registers.rip);
            if pc == RETURNED && self.has_returned() {
                continue;
            }
            let buffer = (self.thread().buffer, self.thread().room());
            let is_once = self.begun.is_next();
            let rest = if is_once { None } else { self.begun.take_rest() };
            let code = &mut self.engine.code;
            let rest = rest.filter(|rest| rest.goes_on(pc, code.bytes(pc)));
            if !is_once
                && rest.is_none()
                && let Some(found) = self.engine.find(pc)
            {
                self.engine.stats.shared_hits += u64::from(found.0 == SpaceId::Shared);
                return Ok(found);
            }
            let part = || rest.as_ref().map(|rest| Want::Rest { block: rest.block.code() });
            let want = self.begun.want(buffer).or_else(part).unwrap_or(Want::Trace { behind });
            let failed = match self.engine.make(pc, want, host) {
                Ok(made) => {
                    if let Some(check) = made.check {
                        self.thread().note_end(check.conditions.iter().map(|condition| condition.value()));
                    }
                    if is_once {
                        self.begun.is_made(&self.engine.cache, made.found);
                    }
                    if let Some(rest) = rest {
                        self.begun.part_is_made(&self.engine.cache, made.found, rest.block);
                    }
                    return Ok(made.found);
                }
                Err(failed) => failed,
            };
            let flow = match failed {
                Failed::Full => {
                    self.engine.flush();
                    if !is_once {
                        self.begun.put_back(rest);
                    }
                    if self.engine.awaits_others() {
                        return Err(Next::Dispatch);
                    }
                    continue;
                }
                Failed::Fetch(fault) => {
                    let fault = self.fetch_fault(fault, pc);
                    let (cpu, mut control) = self.ask();
                    host.fault(&fault, cpu, &mut control)
                }
                Failed::Untranslatable(reason) => {
                    let (cpu, mut control) = self.ask();
                    host.unsupported(&reason, cpu, &mut control)
                }
            };
            if flow == Flow::Leave {
                return Err(Next::Leave);
            }
        }
    }

    /// The fault that the app gets when it executes at `pc`. What can't be fetched is the first byte of the instruction that
    /// can't be, which may lie on the next page.
    fn fetch_fault(&mut self, fault: FetchFault, pc: AppPc) -> Fault {
        let code = &mut self.engine.code;
        let invalid = (libc::SIGILL, ILL_ILLOPN, TRAP_INVALID_OPCODE, 0, pc.0);
        let unreachable = pc.0.saturating_add(code.bytes(pc).len() as u64);
        let (signal, code, trap, error_code, address) = match fault {
            FetchFault::Invalid => invalid,
            FetchFault::Unreachable if code.find(unreachable).is_some() => {
                (libc::SIGSEGV, SEGV_ACCERR, TRAP_PAGE_FAULT, 0x15, unreachable)
            }
            FetchFault::Unreachable => (libc::SIGSEGV, SEGV_MAPERR, TRAP_PAGE_FAULT, 0x14, unreachable),
        };
        // SAFETY: siginfo_t is plain data for which zero is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        info.si_signo = signal;
        info.si_code = code;
        // SAFETY: the address of a fault lies after the three leading integers and their padding (kernel ABI).
        unsafe { (&raw mut info).cast::<u64>().add(2).write(address) };
        Fault { signal, info, error_code, trap, address: if signal == libc::SIGSEGV { address } else { 0 } }
    }
}
