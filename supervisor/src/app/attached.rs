//! A process that was running by itself: whether it can be followed, and what is done to it so that it runs as a program that superpin has started.
//!
//! * A call that it waits in is made anew: it stands before it.
//! * The functions of its vDSO make system calls, as those programs do from which the vDSO is hidden: they jump to stubs in the zeroes behind it. Their bytes are given
//!   back; the stubs stay, since a handler may return there.
//! * Its restartable sequences aren't watched by the kernel: their code would be looked for at addresses where it doesn't run. It finds itself unregistered, as on a kernel that
//!   doesn't know them, and is registered again at the end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;

use machine::{Gpr, Memory, Status, mapping};
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, Sym};
use syscall_replay::{is_restart, restarted_by};
use tracee::{
    AttachError, Attached, Remote, Rseq, Stopped, TraceError, attach, attach_others, find_syscall_instruction,
};

use super::actions::Setting;
use super::entry::{Prepared, gadget_of, reserve};
use crate::base::Failure;
use crate::command::{program, surroundings};

/// Functions of the vDSO, and the calls in whose place they are.
const FUNCTIONS: [(&[u8], i64); 6] = [
    (b"__vdso_clock_gettime", libc::SYS_clock_gettime),
    (b"__vdso_gettimeofday", libc::SYS_gettimeofday),
    (b"__vdso_time", libc::SYS_time),
    (b"__vdso_getcpu", libc::SYS_getcpu),
    (b"__vdso_clock_getres", libc::SYS_clock_getres),
    (b"__vdso_getrandom", libc::SYS_getrandom),
];
/// `mov eax, NUMBER; syscall; ret`, and room.
const STUB: usize = 16;
/// A jump to it, which stands in a function's first bytes.
const JUMP: usize = 5;
/// Instructions after which a process has come out of its vDSO.
const MOST_STEPS: u32 = 100_000;
/// For a word that the kernel writes: below what a function may use without moving its stack pointer.
const BELOW_RED_ZONE: u64 = 256;

/// What a process is to be given back.
#[derive(Default)]
pub struct Borrowed {
    /// Its vDSO's bytes.
    bytes: Vec<(u64, [u8; JUMP])>,
    /// By thread.
    rseq: BTreeMap<i32, Rseq>,
}

/// A process that was running by itself: its threads stand still.
pub struct Standing {
    /// The first one.
    pub process: Stopped,
    /// Whether it was stopped by a stopping signal before.
    pub is_stopped: bool,
    /// The others.
    pub others: Vec<Stopped>,
}

/// The same, made what a program is that was started.
pub struct Taken {
    /// Its first thread.
    pub process: Stopped,
    /// The others.
    pub others: Vec<Stopped>,
    /// Its `syscall` instruction and program break.
    pub prepared: Prepared,
    /// What it is to be given back.
    pub borrowed: Borrowed,
}

/// Looks whether a process can be attached to.
///
/// # Errors
/// If not: why.
pub fn check_attachable(pid: i32) -> Result<(), Failure> {
    let not = |why: String| Err(Failure::Unsupported(format!("process {pid} {why}")));
    let Ok(status) = Status::of(pid) else {
        return Err(Failure::Unsupported(format!("there is no process {pid}")));
    };
    if pid == std::process::id() as i32 {
        return not("is superpin itself".into());
    }
    let leader = status.number::<i32>("Tgid").unwrap_or(pid);
    if leader != pid {
        return not(format!("is a thread: attach to its process, {leader}"));
    }
    if status.field("State").is_some_and(|state| state.starts_with(['Z', 'X'])) {
        return not("has ended (a zombie: its parent hasn't asked for its status)".into());
    }
    if let Some(tracer) = status.number::<i32>("TracerPid").filter(|tracer| *tracer != 0) {
        let name = fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
        return not(format!("is traced by process {tracer} ({}), and a process has one tracer", name.trim()));
    }
    let exe = fs::read_link(format!("/proc/{pid}/exe"));
    if exe.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return not("is a thread of the kernel".into());
    }
    if exe.is_ok() {
        program::check_running(pid)?;
    }
    let own = Status::of("self").ok();
    let same = |name: &str| own.as_ref().and_then(|own| own.field(name)) == status.field(name);
    let depth = |status: &Status| status.field("NSpid").map_or(1, |pids| pids.split_ascii_whitespace().count());
    if own.as_ref().map(depth) != Some(depth(&status)) {
        return not("is in another PID namespace: start superpin there".into());
    }
    if !same("Seccomp") || !same("Seccomp_filters") {
        return not("has restricted its system calls (seccomp): it may not make those that superpin needs".into());
    }
    if status.field("x86_Thread_features").is_some_and(|features| features.contains("shstk")) {
        return not("has a shadow stack (CET), which isn't followed".into());
    }
    for (resource, name) in [(libc::RLIMIT_AS, "-v"), (libc::RLIMIT_DATA, "-d")] {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a valid place for the limit.
        let known = unsafe { libc::prlimit(pid, resource, std::ptr::null(), &raw mut limit) == 0 };
        if known && limit.rlim_cur != libc::RLIM_INFINITY {
            return not(format!("may have little memory only (`ulimit {name}`), which the tool's would count against"));
        }
    }
    Ok(())
}

/// Takes the process under control and stops it.
///
/// # Errors
/// If that isn't allowed, or it can't be followed. It goes on as before.
pub fn find_running(pid: i32) -> Result<Standing, Failure> {
    check_attachable(pid)?;
    surroundings::check()?;
    let attached = attach(pid, surroundings::PATIENCE).map_err(|error| not_attached(pid, error))?;
    let Attached { process, is_stopped } = attached;
    match attach_others(pid, surroundings::PATIENCE) {
        Ok(others) => Ok(Standing { process, is_stopped, others }),
        Err(error) => {
            process.detach(0)?;
            Err(not_attached(pid, error))
        }
    }
}

fn not_attached(pid: i32, error: AttachError) -> Failure {
    let AttachError::NotAllowed(source) = &error else {
        return Failure::Unsupported(format!("cannot attach to process {pid}: {error}"));
    };
    let user =
        |process: &str| Status::of(process).ok()?.field("Uid")?.split_ascii_whitespace().next().map(str::to_owned);
    let (own, its) = (user("self").unwrap_or_default(), user(&pid.to_string()).unwrap_or_default());
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let why = match scope.trim() {
        _ if own != its => format!("it belongs to another user ({its}): be that user, or root"),
        "1" => "this system lets processes trace their own children only: be root, or \
                `sysctl kernel.yama.ptrace_scope=0`"
            .into(),
        "2" | "3" => format!("this system forbids it (kernel.yama.ptrace_scope is {})", scope.trim()),
        _ => "it has more privileges than superpin, or ptrace(2) isn't allowed here (`--cap-add=SYS_PTRACE` in a container)"
            .into(),
    };
    Failure::Unsupported(format!("cannot attach to process {pid} ({source}): {why}"))
}

/// Makes a process that was running what a program is that was started: see the page above. If that fails it is as before. It stands outside of its vDSO, and
/// before a call that it waited in. `keeps_kernel`: its threads go on natively, so that the kernel still knows for how long a call has waited.
///
/// # Errors
/// If superpin can't follow it. Gives its threads, unless it was killed.
pub fn prepare_running(standing: Standing, keeps_kernel: bool) -> Result<Taken, (Vec<Stopped>, Failure)> {
    let Standing { process, others, .. } = standing;
    let vdso = vdso_of(process.pid());
    let mut threads = Vec::new();
    for thread in std::iter::once(process).chain(others) {
        match out_of_vdso(thread, vdso.as_ref(), keeps_kernel) {
            Ok(thread) => threads.push(thread),
            Err(error) => return Err((threads, error.into())),
        }
    }
    let process = &mut threads[0];
    let prepared = gadget_of(process).and_then(|gadget| {
        reserve(process, gadget)?;
        Ok(Prepared::of(process, gadget)?)
    });
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Err((threads, error)),
    };
    let borrowed = borrow(&mut threads, prepared.gadget).and_then(|borrowed| {
        // What was found before may lie where other bytes are now.
        Ok((Prepared { gadget: gadget_of(&threads[0])?, ..prepared }, borrowed))
    });
    match borrowed {
        Ok((prepared, borrowed)) => {
            let others = threads.split_off(1);
            let process = threads.remove(0);
            Ok(Taken { process, others, prepared, borrowed })
        }
        Err(error) => Err((Vec::new(), error)),
    }
}

/// A thread stands before a call that it waited in, and has come out of its vDSO.
fn out_of_vdso(mut thread: Stopped, vdso: Option<&Range<u64>>, keeps_kernel: bool) -> Result<Stopped, TraceError> {
    before_call(&mut thread, keeps_kernel)?;
    let Some(vdso) = vdso else { return Ok(thread) };
    let gadget = find_syscall_instruction(&thread, vdso.start, (vdso.end - vdso.start) as usize);
    let (Some(gadget), true) = (gadget, vdso.contains(&thread.registers()?.rip())) else { return Ok(thread) };
    let setting = Setting::of(&mut thread, gadget, libc::SIGTRAP)?;
    for _ in 0..MOST_STEPS {
        if !vdso.contains(&thread.registers()?.rip()) {
            break;
        }
        thread = thread.step()?;
    }
    setting.put_back(&mut thread, gadget)?;
    Ok(thread)
}

/// A call that the process waits in is one that it is about to make: what is left of it, if the kernel will still know that then, else all of it.
fn before_call(process: &mut Stopped, keeps_kernel: bool) -> Result<(), TraceError> {
    let mut registers = process.registers()?;
    let rax = registers.get(Gpr::Rax);
    if registers.syscall_number() < 0 {
        return Ok(());
    }
    if is_restart(rax) {
        registers.rewind_syscall();
        let number = registers.get(Gpr::Rax);
        registers.set(Gpr::Rax, if keeps_kernel { restarted_by(rax, number) } else { number });
    } else {
        registers.set_syscall_number(-1);
    }
    process.set_registers(&registers)
}

fn borrow(threads: &mut [Stopped], gadget: u64) -> Result<Borrowed, Failure> {
    let mut borrowed = Borrowed::default();
    for thread in &mut *threads {
        let Some(rseq) = thread.rseq() else { continue };
        leave_sequence(thread, &rseq)?;
        const UNREGISTER: u64 = 1;
        let args = [rseq.address, rseq.size.into(), UNREGISTER, rseq.signature.into(), 0, 0];
        if Remote::new(thread, gadget)?.call(libc::SYS_rseq, args)? == 0 {
            borrowed.rseq.insert(thread.pid(), rseq);
        }
    }
    let process = &mut threads[0];
    let pid = process.pid();
    let failed = |source| TraceError::Memory { pid, source };
    let Some(vdso) = vdso_of(pid) else { return Ok(borrowed) };
    let mut image = vec![0; (vdso.end - vdso.start) as usize];
    process.read(vdso.start, &mut image).map_err(failed)?;
    for (number, (offset, call)) in symbols(&image).unwrap_or_default().into_iter().enumerate() {
        let mut stub = [0; STUB];
        stub[..8].copy_from_slice(&[0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3]);
        stub[1..5].copy_from_slice(&(call as u32).to_le_bytes());
        let place = image.len() - (number + 1) * STUB;
        let there = &image[place..place + STUB];
        if there != [0; STUB] && there != stub {
            continue;
        }
        let mut jump = [0xe9, 0, 0, 0, 0];
        let distance = place as i32 - (offset as i32 + JUMP as i32);
        jump[1..].copy_from_slice(&distance.to_le_bytes());
        let mut bytes = [0; JUMP];
        bytes.copy_from_slice(&image[offset as usize..offset as usize + JUMP]);
        process.write(vdso.start + place as u64, &stub).map_err(failed)?;
        process.write(vdso.start + offset, &jump).map_err(failed)?;
        borrowed.bytes.push((vdso.start + offset, bytes));
    }
    Ok(borrowed)
}

/// A process that stands in a restartable sequence goes on at the sequence's abort handler, as it does whenever it loses its processor.
fn leave_sequence(process: &mut Stopped, rseq: &Rseq) -> Result<(), TraceError> {
    const SEQUENCE: u64 = 8;
    let read = |process: &Stopped, at| process.read_u64(at).unwrap_or(0);
    let sequence = read(process, rseq.address + SEQUENCE);
    if sequence == 0 {
        return Ok(());
    }
    let [start, len, abort] = [8, 16, 24].map(|at| read(process, sequence + at));
    let mut registers = process.registers()?;
    if (start..start.saturating_add(len)).contains(&registers.rip()) {
        registers.set_rip(abort);
        process.set_registers(&registers)?;
    }
    // As the kernel leaves it.
    let _ = process.write(rseq.address + SEQUENCE, &[0; 8]);
    Ok(())
}

/// Functions that make system calls instead: where they are in the image, and which calls.
fn symbols(image: &[u8]) -> object::Result<Vec<(u64, i64)>> {
    let le = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(image)?;
    let sections = header.sections(le, image)?;
    let table = sections.symbols(le, image, object::elf::SHT_DYNSYM)?;
    let found = table.iter().filter_map(|symbol| {
        let name = symbol.name(le, table.strings()).ok()?;
        let (_, number) = FUNCTIONS.iter().find(|(function, _)| *function == name)?;
        let at = symbol.st_value(le);
        (at != 0 && at + (JUMP as u64) < image.len() as u64).then_some((at, *number))
    });
    Ok(found.collect())
}

impl Borrowed {
    /// Gives back what is a thread's, and what is its process's; another `syscall` instruction is to be looked for then.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn give_back(&mut self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        if let Some(rseq) = self.rseq.remove(&process.pid()) {
            let args = [rseq.address, rseq.size.into(), 0, rseq.signature.into(), 0, 0];
            Remote::new(process, gadget)?.call(libc::SYS_rseq, args)?;
        }
        let pid = process.pid();
        for (at, bytes) in self.bytes.drain(..) {
            process.write(at, &bytes).map_err(|source| TraceError::Memory { pid, source })?;
        }
        Ok(())
    }

    /// Nothing of it is there any more: another program is.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Where its vDSO is.
fn vdso_of(pid: i32) -> Option<Range<u64>> {
    let vdso = mapping::all(pid).ok()?.into_iter().find(|mapping| mapping.name == "[vdso]")?;
    Some(vdso.start..vdso.end)
}

/// What the kernel knows of a thread that was running, see [`bubble::boot::Site::registered`]: the word that is cleared when it ends comes first.
///
/// # Errors
/// If it was killed.
pub fn registered(process: &mut Stopped, gadget: u64) -> Result<[u64; 3], TraceError> {
    const PR_GET_TID_ADDRESS: u64 = 40;
    let pid = process.pid();
    let [list, head] = process.robust_list().unwrap_or_default();
    let at = (process.registers()?.app().rsp() - BELOW_RED_ZONE) & !7;
    let Ok(before) = process.read_u64(at) else { return Ok([0, list, head]) };
    let told = Remote::new(process, gadget)?.call(libc::SYS_prctl, [PR_GET_TID_ADDRESS, at, 0, 0, 0, 0])?;
    let clears = if told == 0 { process.read_u64(at).unwrap_or(0) } else { 0 };
    process.write(at, &before.to_le_bytes()).map_err(|source| TraceError::Memory { pid, source })?;
    Ok([clears, list, head])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_this_machines_vdso_are_found() {
        let vdso = vdso_of(std::process::id() as i32).unwrap();
        // SAFETY: it is mapped.
        let image = unsafe { std::slice::from_raw_parts(vdso.start as *const u8, (vdso.end - vdso.start) as usize) };
        let found = symbols(image).unwrap();
        assert!(found.iter().any(|(_, number)| *number == libc::SYS_clock_gettime));
        assert!(found.iter().all(|(offset, _)| *offset < image.len() as u64));
    }

    #[test]
    fn what_cannot_be_attached_to_is_told() {
        let told = |pid: i32| check_attachable(pid).unwrap_err().to_string();
        assert!(told(std::process::id() as i32).contains("superpin itself"));
        assert!(told(i32::MAX).contains("there is no process"));
    }
}
