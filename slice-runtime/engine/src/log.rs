//! What the engine tells those who work on it, and where it waits for them: all of its events, by name.
//!
//! An event is formatted only where it is wanted ([`bubble::events`]). All of this is asked on slow paths: translated code knows nothing of it.

use std::sync::atomic::{AtomicU64, Ordering};

use bubble::events::{EventKind, tell, wants};
use machine::{AppPc, CachePc, Gpr, Registers};
use translator::abi::{SpaceId, TraceExit, TraceId};
use translator::emit::{Site, Translation, listing};
use translator::trace::Trace;

use crate::interface::{Fault, Flow, Watched};

fn name(space: SpaceId) -> &'static str {
    match space {
        SpaceId::Own => "own",
        SpaceId::Shared => "shared",
    }
}

/// A trace was translated. `place`: tells where in which file its first instruction is.
pub(crate) fn translated(
    watched: &Watched,
    id: TraceId,
    trace: &Trace,
    made: &Translation,
    site: &Site,
    place: impl FnOnce() -> Option<String>,
) {
    let pc = trace.head().0;
    let end = trace.instructions.last().map_or(pc, |last| last.next_pc().0);
    tell(
        EventKind::Translation,
        format_args!(
            "{pc:#x} to {end:#x}, {} instructions: {} trace {} at {:#x}, {} bytes",
            trace.instructions.len(),
            name(site.space),
            id.0,
            site.pc.0,
            made.code.len()
        ),
    );
    if watched.written_out.is_some_and(|pc| trace.instructions.iter().any(|instruction| instruction.pc().0 == pc)) {
        let place = place().unwrap_or_else(|| "memory without a file".into());
        tell(EventKind::Trace, format_args!("{} the code at {pc:#x} is {place}", listing(trace, made, site)));
    }
}

/// This process's own trace isn't valid any more.
pub(crate) fn dropped(id: TraceId, pc: AppPc) {
    tell(EventKind::Translation, format_args!("own trace {} of {:#x} is dropped", id.0, pc.0));
}

/// This process's own cache is emptied.
pub(crate) fn flushed() {
    tell(EventKind::Translation, format_args!("the own cache is emptied"));
}

/// An exit leads to a trace from now on.
pub(crate) fn linked(from: SpaceId, exit: &TraceExit, to: SpaceId, id: TraceId, entry: CachePc) {
    tell(
        EventKind::Link,
        format_args!(
            "exit to {:#x} of {} trace {} leads to {} trace {} at {:#x}",
            exit.pc.0,
            name(from),
            exit.from.0,
            name(to),
            id.0,
            entry.0
        ),
    );
}

/// Translated code has faulted.
pub(crate) fn faulted(fault: &Fault, pc: u64) {
    tell(
        EventKind::Fault,
        format_args!(
            "signal {} at {pc:#x}, address {:#x}, error code {:#x}",
            fault.signal, fault.address, fault.error_code
        ),
    );
}

/// The host is asked what follows from a signal that came.
pub(crate) fn interrupted(pc: u64) {
    tell(EventKind::Fault, format_args!("an interruption at {pc:#x}"));
}

/// The quick check has passed at a slice's end, and the host has looked at all of the state.
pub(crate) fn end_looked_at(pc: u64, flow: Flow) {
    let found = if flow == Flow::Leave { "this is the end" } else { "this isn't the end" };
    tell(EventKind::Boundary, format_args!("the quick check has passed at {pc:#x}: {found}"));
}

/// Where the app's registers are while the process waits: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15, rip, rflags, FS base, GS base.
/// For `scripts/gdb.sh`, which finds it by this name.
#[used]
#[unsafe(no_mangle)]
static SUPERPIN_APP_REGISTERS: AtomicU64 = AtomicU64::new(0);

/// Stops this process until somebody continues it (SIGCONT, or a debugger).
#[cold]
pub(crate) fn stop(registers: &Registers) {
    SUPERPIN_APP_REGISTERS.store(std::ptr::from_ref(registers) as u64, Ordering::Release);
    if wants(EventKind::Stop) {
        let named = Gpr::ALL.into_iter().map(|r| format!("{r:?}={:#x}", registers.get(r)).to_lowercase());
        let named: Vec<String> = named.collect();
        tell(
            EventKind::Stop,
            format_args!("{:#x}\n  {}\n  rflags={:#x}", registers.rip, named.join(" "), registers.rflags),
        );
    }
    // SAFETY: neither call has preconditions.
    unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
}
