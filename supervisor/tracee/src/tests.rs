//! Real processes under control. Programs of the base system serve as tracees.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use machine::{Gpr, Memory, Status};

use crate::*;

/// Launches one program at a time: a child of another test that is forked meanwhile would have the ends of pipes that [`launch`] waits on until it executes
/// its own program, which may be waiting likewise. The control process has one thread.
fn launch_alone(program: &Program) -> Result<Stopped, LaunchError> {
    static LAUNCHING: Mutex<()> = Mutex::new(());
    let _one = LAUNCHING.lock().unwrap_or_else(PoisonError::into_inner);
    launch(program)
}

fn start(path: &str, args: &[&str]) -> Stopped {
    let c = |s: &str| CString::new(s).unwrap();
    let args = std::iter::once(path).chain(args.iter().copied()).map(c).collect();
    let environment = vec![c("PATH=/usr/bin:/bin")];
    launch_alone(&Program {
        path: c(path),
        args,
        environment,
        randomise: false,
        new_processes: Follows::None,
        signal_mask: 0,
        ignored: Vec::new(),
        limits: Vec::new(),
        inherited: Vec::new(),
    })
    .unwrap()
}

/// The vDSO's pages, from the process's map.
fn gadget(process: &Stopped) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.pid())).unwrap();
    let line = maps.lines().find(|l| l.ends_with("[vdso]")).unwrap();
    let start = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
    find_syscall_instruction(process, start, 8192).unwrap()
}

/// Lets it run to its end and returns that.
fn finish(process: Stopped) -> ExitStatus {
    let mut process = process;
    loop {
        let pid = process.pid();
        match process.resume_and_wait(Mode::Free, 0) {
            Ok((stopped, _)) => process = stopped,
            Err(error) => {
                assert!(error.is_gone(), "{error}");
                return reap(pid);
            }
        }
    }
}

fn send(pid: i32, signal: i32) {
    // SAFETY: kill has no memory preconditions; the process is ours.
    unsafe { libc::kill(pid, signal) };
}

fn reap(pid: i32) -> ExitStatus {
    let mut status = 0;
    // SAFETY: `status` is a valid place; the child is ours. (`next_report` would take other tests' children.)
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, libc::__WALL) }, pid);
    if libc::WIFEXITED(status) {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    } else {
        ExitStatus::Signal(libc::WTERMSIG(status))
    }
}

#[test]
fn a_launched_program_stands_before_its_first_instruction() {
    let process = start("/bin/true", &[]);
    let registers = process.registers().unwrap().app();
    assert_eq!(registers.get(Gpr::Rax), 0);
    // argc lies on top of the stack.
    assert_eq!(process.read_u64(registers.rsp()), Ok(1));
    assert_eq!(finish(process), ExitStatus::Code(0));
}

#[test]
fn the_end_is_told_by_status_or_signal() {
    assert_eq!(finish(start("/bin/sh", &["-c", "exit 7"])), ExitStatus::Code(7));
    assert_eq!(finish(start("/bin/sh", &["-c", "kill -9 $$"])), ExitStatus::Signal(9));
    assert_eq!(ExitStatus::Signal(9).shell_status(), 137);
}

#[test]
fn a_missing_program_is_the_kernels_error() {
    let c = |s: &str| CString::new(s).unwrap();
    let path = c("/nonexistent");
    let program = Program {
        path,
        args: vec![c("x")],
        environment: vec![],
        randomise: true,
        new_processes: Follows::None,
        signal_mask: 0,
        ignored: Vec::new(),
        limits: Vec::new(),
        inherited: Vec::new(),
    };
    match launch_alone(&program) {
        Err(LaunchError::Exec(error)) => assert_eq!(error.raw_os_error(), Some(libc::ENOENT)),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    }
}

#[test]
fn remote_calls_leave_no_trace() {
    let mut process = start("/bin/true", &[]);
    let gadget = gadget(&process);
    let before = process.registers().unwrap().app();
    let mask = process.signal_mask().unwrap();
    {
        let mut remote = Remote::new(&mut process, gadget).unwrap();
        let parent = remote.expect("ask for its parent", libc::SYS_getppid, [0; 6]).unwrap();
        assert_eq!(parent, u64::from(std::process::id()));
        assert_eq!(remote.call(libc::SYS_close, [9999, 0, 0, 0, 0, 0]).unwrap(), i64::from(-libc::EBADF));
        assert!(remote.expect("close", libc::SYS_close, [9999, 0, 0, 0, 0, 0]).is_err());
    }
    assert_eq!(process.registers().unwrap().app(), before);
    assert_eq!(process.signal_mask().unwrap(), mask);
    assert_eq!(finish(process), ExitStatus::Code(0));
}

#[test]
fn many_remote_calls_are_made_up_to_the_first_that_fails() {
    const ROOM: std::ops::Range<u64> = 0x5000_0000_0000..0x5000_0000_1000;
    let mut process = start("/bin/true", &[]);
    let before = process.registers().unwrap().app();
    let gadget = gadget(&process);
    let mut remote = Remote::new(&mut process, gadget).unwrap();
    // More than a page has room for.
    let open = |n: u64| (libc::SYS_dup2, [2, 100 + n, 0, 0, 0, 0]);
    let calls: Vec<_> = (0..150).map(open).collect();
    remote.expect_all("open files", ROOM, &calls).unwrap();
    let close = |n: u64| (libc::SYS_close, [n, 0, 0, 0, 0, 0]);
    let closed = remote.expect_all("close files", ROOM, &[close(100), close(100), close(101)]);
    assert!(matches!(closed, Err(TraceError::Refused { source, .. }) if source.raw_os_error() == Some(libc::EBADF)));
    drop(remote);
    let is_open = |n: u64| std::fs::exists(format!("/proc/{}/fd/{n}", process.pid())).unwrap_or(false);
    let all: Vec<u64> = (100..250).filter(|n| is_open(*n)).collect();
    assert_eq!(all, (101..250).collect::<Vec<_>>());
    assert_eq!(process.registers().unwrap().app(), before);
    assert_eq!(finish(process), ExitStatus::Code(0));
}

#[test]
fn signals_wait_while_a_remote_call_is_made() {
    let mut process = start("/bin/cat", &[]);
    let gadget = gadget(&process);
    // SAFETY: kill has no memory preconditions; the child is ours.
    unsafe { libc::kill(process.pid(), libc::SIGTERM) };
    let pid = process.pid();
    let me = Remote::new(&mut process, gadget).unwrap().expect("ask for its id", libc::SYS_getpid, [0; 6]).unwrap();
    assert_eq!(me, pid as u64);
    let (stopped, stop) = process.resume_and_wait(Mode::Free, 0).unwrap();
    match stop {
        Stop::Signal(info) => assert_eq!(info.si_signo, libc::SIGTERM),
        other => panic!("{}", other.describe()),
    }
    let error = stopped.resume_and_wait(Mode::Free, libc::SIGTERM).err().unwrap();
    assert!(error.is_gone());
    assert_eq!(reap(pid), ExitStatus::Signal(libc::SIGTERM));
}

#[test]
fn a_fault_is_told_again_after_a_remote_call() {
    let mut process = start("/bin/cat", &[]);
    let (gadget, pid) = (gadget(&process), process.pid());
    let mut registers = process.registers().unwrap();
    registers.set_rip(0x1230);
    process.set_registers(&registers).unwrap();
    let (mut process, stop) = process.resume_and_wait(Mode::Free, 0).unwrap();
    let Stop::Signal(fault) = stop else { panic!("{}", stop.describe()) };
    Remote::new(&mut process, gadget).unwrap().expect("ask for its id", libc::SYS_getpid, [0; 6]).unwrap();
    let mask = process.signal_mask().unwrap();
    let process = process.stop_again_for(pid, &fault).unwrap();
    assert_eq!(process.signal_mask().unwrap(), mask);
    let told = process.signal_info().unwrap();
    // SAFETY: a fault has an address.
    let at = unsafe { told.si_addr() } as u64;
    assert_eq!((told.si_signo, told.si_code, at), (libc::SIGSEGV, fault.si_code, 0x1230));
    assert!(process.resume_and_wait(Mode::Free, libc::SIGSEGV).err().unwrap().is_gone());
    assert_eq!(reap(pid), ExitStatus::Signal(libc::SIGSEGV));
}

#[test]
fn a_fork_has_the_same_state_and_memory_of_its_own() {
    let mut process = start("/bin/true", &[]);
    let gadget = gadget(&process);
    let before = process.registers().unwrap().app();
    let (mut copy, _) = process.fork(gadget, Parent::Tracer).unwrap();
    assert_ne!(copy.pid(), process.pid());
    assert_eq!(copy.read_u64(before.rsp()), Ok(1));
    assert_eq!(copy.registers().unwrap().app(), before);
    copy.write(before.rsp(), &2_u64.to_le_bytes()).unwrap();
    assert_eq!(process.read_u64(before.rsp()), Ok(1));
    assert_eq!(process.registers().unwrap().app(), before);
    let copy_pid = copy.pid();
    // SAFETY: kill has no memory preconditions; the child is ours.
    unsafe { libc::kill(copy_pid, libc::SIGKILL) };
    assert_eq!(reap(copy_pid), ExitStatus::Signal(libc::SIGKILL));
    assert_eq!(finish(process), ExitStatus::Code(0));
}

/// SIGSTOP, which can't be blocked, breaks forks off.
#[test]
fn a_fork_that_is_broken_off_is_made_again() {
    let mut process = start("/bin/true", &[]);
    let (gadget, pid) = (gadget(&process), process.pid());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                send(pid, libc::SIGSTOP);
                send(pid, libc::SIGCONT);
            }
        });
        let forks = (0..40).map(|_| process.fork(gadget, Parent::Tracer).map(|(copy, _)| copy.pid()));
        let forks: Vec<_> = forks.collect();
        is_done.store(true, Ordering::Relaxed);
        for copy in forks {
            let copy = copy.unwrap();
            send(copy, libc::SIGKILL);
            assert_eq!(reap(copy), ExitStatus::Signal(libc::SIGKILL));
        }
    });
    assert_eq!(finish(process), ExitStatus::Code(0));
}

#[test]
fn a_stop_that_was_held_back_does_not_undo_the_continuation_after_it() {
    let mut process = start("/bin/true", &[]);
    let (gadget, pid) = (gadget(&process), process.pid());
    let mut pending_after = |signals: [i32; 2]| {
        let mut remote = Remote::new(&mut process, gadget).unwrap();
        for signal in signals {
            send(pid, signal);
            remote.call(libc::SYS_getppid, [0; 6]).unwrap();
        }
        drop(remote);
        let status = Status::of(pid).unwrap();
        status.bits("ShdPnd").unwrap()
    };
    let bit = |signal: i32| 1 << (signal - 1);
    assert_eq!(pending_after([libc::SIGSTOP, libc::SIGCONT]), bit(libc::SIGCONT));
    assert_eq!(pending_after([libc::SIGCONT, libc::SIGSTOP]), bit(libc::SIGSTOP));
    assert_eq!(pending_after([libc::SIGCONT, libc::SIGCONT]), bit(libc::SIGCONT));
    assert_eq!(finish(process), ExitStatus::Code(0));
}

#[test]
fn a_breakpoint_stops_before_its_instruction() {
    let mut process = start("/bin/true", &[]);
    let mut auxv = process.registers().unwrap().app().rsp();
    // The dynamic loader jumps to the program's own entry, which the auxiliary vector names.
    let entry = loop {
        if process.read_u64(auxv) == Ok(libc::AT_ENTRY) {
            let value = process.read_u64(auxv + 8).unwrap();
            if value > 0x1000 {
                break value;
            }
        }
        auxv += 8;
    };
    process.set_breakpoint(2, entry).unwrap();
    let (mut stopped, stop) = process.resume_and_wait(Mode::Free, 0).unwrap();
    let Stop::Signal(mut info) = stop else { panic!("{}", stop.describe()) };
    assert!(stopped.hits_breakpoint(&info).unwrap());
    // What a virtual machine makes of it at times.
    for code in [libc::TRAP_BRKPT, libc::TRAP_TRACE] {
        info.si_code = code;
        assert!(stopped.hits_breakpoint(&info).unwrap());
        stopped.name_trap(entry, &mut info).unwrap();
        assert_eq!(info.si_code, 4);
    }
    assert_eq!(stopped.registers().unwrap().rip(), entry);
    assert!(stopped.stands_at(2).unwrap() && !stopped.stands_at(0).unwrap());
    stopped.clear_breakpoint(2).unwrap();
    let stopped = stopped.step().unwrap();
    assert_ne!(stopped.registers().unwrap().rip(), entry);
    assert_eq!(finish(stopped), ExitStatus::Code(0));
}

#[test]
fn a_step_tells_what_the_instruction_has_raised() {
    let process = start("/bin/true", &[]);
    let before = process.registers().unwrap();
    // SAFETY: kill has no memory preconditions. It waits meanwhile.
    unsafe { libc::kill(process.pid(), libc::SIGUSR1) };
    let (mut process, info) = process.try_step().unwrap();
    let stepped = process.registers().unwrap();
    assert!(is_step(&info) && !process.hits_breakpoint(&info).unwrap() && stepped.rip() != before.rip());
    let mut lost = info;
    lost.si_code = libc::TRAP_BRKPT;
    process.name_trap(before.rip(), &mut lost).unwrap();
    assert!(is_step(&lost));
    // Where nothing can be executed.
    let mut nowhere = stepped;
    nowhere.set_rip(0);
    process.set_registers(&nowhere).unwrap();
    let (mut process, info) = process.try_step().unwrap();
    assert!(!is_step(&info) && info.si_signo == libc::SIGSEGV);
    process.set_breakpoint(1, stepped.rip()).unwrap();
    process.set_registers(&stepped).unwrap();
    let (mut process, info) = process.try_step().unwrap();
    assert!(process.hits_breakpoint(&info).unwrap() && process.registers().unwrap().rip() == stepped.rip());
    process.clear_breakpoint(1).unwrap();
    let (_, stop) = process.resume_and_wait(Mode::Free, 0).unwrap();
    assert!(matches!(stop, Stop::Signal(info) if info.si_signo == libc::SIGUSR1));
}

#[test]
fn both_borders_of_a_system_call_are_seen() {
    let mut process = start("/bin/true", &[]);
    let mut inside = false;
    for _ in 0..10 {
        let (stopped, stop) = process.resume_and_wait(Mode::Syscalls, 0).unwrap();
        match stop {
            Stop::SyscallEntry { number, .. } => {
                assert!(!inside);
                assert_eq!(stopped.registers().unwrap().syscall_number(), number as i64);
                inside = true;
            }
            Stop::SyscallExit { result } => {
                assert!(inside);
                assert_eq!(stopped.registers().unwrap().get(Gpr::Rax) as i64, result);
                inside = false;
            }
            other => panic!("{}", other.describe()),
        }
        process = stopped;
    }
    assert_eq!(finish(process), ExitStatus::Code(0));
}

#[test]
fn an_interrupt_of_a_stopped_process_comes_before_its_next_instruction() {
    let process = start("/bin/true", &[]);
    let before = process.registers().unwrap().app();
    process.interrupt().unwrap();
    let (stopped, stop) = process.resume_and_wait(Mode::Syscalls, 0).unwrap();
    assert!(matches!(stop, Stop::Interrupted));
    assert_eq!(stopped.registers().unwrap().app(), before);
    assert_eq!(finish(stopped), ExitStatus::Code(0));
}

/// What the x87 unit of a process and of its copy know of their last instruction, by code that is written over theirs.
#[test]
fn a_process_forgets_what_its_copy_does() {
    // fldpi; fstp st(0); int3; fnstenv [rsp - 128]; int3
    const CODE: [u8; 10] = [0xd9, 0xeb, 0xdd, 0xd8, 0xcc, 0xd9, 0x74, 0x24, 0x80, 0xcc];
    const ADDRESS: u64 = 12;
    let mut process = start("/bin/true", &[]);
    let (gadget, pc) = (gadget(&process), process.registers().unwrap().rip());
    process.write(pc, &CODE).unwrap();
    let known = |process: Stopped| {
        let (process, _) = process.resume_and_wait(Mode::Free, 0).unwrap();
        let rsp = process.registers().unwrap().app().rsp();
        let known = process.read_u64(rsp - 128 + ADDRESS).unwrap() as u32;
        (process, known)
    };
    let (mut process, _) = process.resume_and_wait(Mode::Free, 0).unwrap();
    process.reload_xstate().unwrap();
    let (copy, _) = process.fork(gadget, Parent::Tracer).unwrap();
    let (process, of_process) = known(process);
    let (copy, of_copy) = known(copy);
    assert_eq!(of_process, of_copy);
    for process in [process, copy] {
        let pid = process.pid();
        // SAFETY: kill has no memory preconditions; the child hasn't been reaped.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        drop(process);
        reap(pid);
    }
}
