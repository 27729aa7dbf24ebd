//! What the kernel's manual says of dispositions and alternate stacks.

use super::*;
use crate::serial::signals::action::SA_RESTORER;
use machine::Here;

/// State with default dispositions that installs nothing.
fn fresh() -> Signals {
    Signals {
        actions: [Action::default(); 65],
        mask: 0,
        altstack: AltStack::NONE,
        arrivals: &NOBODYS,
        throttle: Throttle::default(),
        waited: None,
    }
}

#[test]
fn dispositions_are_read_back_as_they_were_set() {
    let mut signals = fresh();
    let mut memory = Here::new();
    // An ignored signal needs no handler of the engine's.
    let new = [IGNORE, SA_RESTORER | 0x400, 0x77, u64::MAX];
    let mut old = [9_u64; 4];
    let call = |signal: u64, new: u64, old: u64| [signal, new, old, 8, 0, 0];
    let usr1 = libc::SIGUSR1 as u64;
    assert_eq!(signals.sigaction(call(usr1, new.as_ptr() as u64, old.as_mut_ptr() as u64), &mut memory), 0);
    assert_eq!(old, [0; 4]);
    assert_eq!(signals.sigaction(call(usr1, 0, old.as_mut_ptr() as u64), &mut memory), 0);
    assert_eq!(old, [IGNORE, SA_RESTORER, 0x77, !UNBLOCKABLE]);
    assert_eq!(signals.consequence(libc::SIGUSR1), Consequence::Nothing);
    assert_eq!(signals.sigaction(call(libc::SIGKILL as u64, new.as_ptr() as u64, 0), &mut memory), EINVAL);
    assert_eq!(signals.sigaction(call(65, 0, 0), &mut memory), EINVAL);
    assert_eq!(signals.sigaction(call(usr1, 8, 0), &mut memory), EFAULT);
    set_real_action(libc::SIGUSR1, &Action::default());
}

#[test]
fn default_actions_kill_unless_they_ignore_or_stop() {
    let mut signals = fresh();
    assert_eq!(signals.consequence(libc::SIGTERM), Consequence::Death);
    assert_eq!(signals.consequence(libc::SIGRTMIN()), Consequence::Death);
    assert_eq!(signals.consequence(libc::SIGCHLD), Consequence::Nothing);
    assert!([libc::SIGTERM, libc::SIGKILL, 64].into_iter().all(|signal| signals.ends_at_once(signal)));
    assert!([0, libc::SIGCHLD, libc::SIGABRT, 65].into_iter().all(|signal| !signals.ends_at_once(signal)));
    assert!(signals.fault_kills(libc::SIGSEGV));
    signals.actions[libc::SIGSEGV as usize].handler = 0x1000;
    assert!(!signals.fault_kills(libc::SIGSEGV));
    signals.mask = bit(libc::SIGSEGV);
    assert!(signals.fault_kills(libc::SIGSEGV));
}

#[test]
fn the_alternate_stack_obeys_the_manual() {
    let mut signals = fresh();
    let set = |signals: &mut Signals, flags: u64, size: u64, rsp: u64| {
        let new = [0x10_0000_u64, flags, size];
        signals.sigaltstack([new.as_ptr() as u64, 0, 0, 0, 0, 0], rsp, &mut Here::new())
    };
    let get = |signals: &mut Signals, rsp: u64| {
        let mut old = [0_u64; 3];
        signals.sigaltstack([0, old.as_mut_ptr() as u64, 0, 0, 0, 0], rsp, &mut Here::new());
        old
    };
    assert_eq!(get(&mut signals, 0x500), [0, libc::SS_DISABLE as u64, 0]);
    assert_eq!(set(&mut signals, 0, 100, 0x500), error(libc::ENOMEM));
    assert_eq!(set(&mut signals, 77, 8192, 0x500), EINVAL);
    assert_eq!(set(&mut signals, 0, 8192, 0x500), 0);
    assert_eq!(get(&mut signals, 0x500), [0x10_0000, 0, 8192]);
    assert_eq!(get(&mut signals, 0x10_0008), [0x10_0000, libc::SS_ONSTACK as u64, 8192]);
    assert_eq!(set(&mut signals, 0, 8192, 0x10_0008), error(libc::EPERM));
    assert_eq!(signals.alternate_for(SA_ONSTACK, 0x500), Some(0x10_2000));
    assert_eq!(signals.alternate_for(SA_ONSTACK, 0x10_0008), None);
    assert_eq!(signals.alternate_for(0, 0x500), None);
    assert_eq!(set(&mut signals, SS_AUTODISARM.into(), 8192, 0x500), 0);
    assert_eq!(signals.keep_altstack().size, 8192);
    assert_eq!(signals.altstack, AltStack::NONE);
}
