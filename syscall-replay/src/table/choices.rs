//! Calls that are told apart by more than one value.

use machine::Memory;

use super::types::{Class, Special};

const EINVAL: Class = Class::Refuse { result: -(libc::EINVAL as i64) };

/// `mmap`: a writable shared mapping of a file is written back to the file, so a slice that maps the
/// file later would see the master's future. Its contents belong to the next slice's fork.
pub(super) fn mmap(args: &[u64; 6]) -> Class {
    /// Memory that the kernel may drop at any time: what it holds is not determined by the app.
    const MAP_DROPPABLE: i32 = 8;
    let flags = args[3] as i32;
    let shared = matches!(flags & libc::MAP_TYPE, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE);
    let writable = args[2] as i32 & libc::PROT_WRITE != 0;
    if flags & libc::MAP_TYPE == MAP_DROPPABLE {
        EINVAL
    } else if shared && writable && flags & libc::MAP_ANONYMOUS == 0 {
        Class::Boundary
    } else {
        Class::Repeat
    }
}

/// `clone`: flags are the first argument.
pub(super) fn clone(args: &[u64; 6]) -> Class {
    by_clone_flags(args[0])
}

/// `clone3`: flags are the first word of the structure. One that can't be read makes the call fail.
pub(super) fn clone3(args: &[u64; 6], memory: &dyn Memory) -> Class {
    memory.read_u64(args[0]).map_or(Class::Replay, by_clone_flags)
}

fn by_clone_flags(flags: u64) -> Class {
    let thread = flags & libc::CLONE_THREAD as u64 != 0;
    Class::Special(if thread { Special::StartThread } else { Special::StartProcess })
}

/// `modify_ldt`: reading is a buffer, writing changes what segment registers mean.
pub(super) fn modify_ldt(args: &[u64; 6]) -> Class {
    if matches!(args[0] as i32, 0 | 2) { Class::Replay } else { Class::Boundary }
}

/// `personality`: asking (all ones) is harmless; setting changes what later mappings look like.
pub(super) fn personality(args: &[u64; 6]) -> Class {
    if args[0] as u32 == u32::MAX { Class::Replay } else { Class::Boundary }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Here;

    #[test]
    fn mappings_are_told_apart() {
        let with = |prot: i32, flags: i32| mmap(&[0, 4096, prot as u64, flags as u64, 3, 0]);
        let both = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(with(both, libc::MAP_SHARED), Class::Boundary);
        assert_eq!(with(libc::PROT_READ, libc::MAP_SHARED), Class::Repeat);
        assert_eq!(with(both, libc::MAP_SHARED | libc::MAP_ANONYMOUS), Class::Repeat);
        assert_eq!(with(both, libc::MAP_PRIVATE), Class::Repeat);
        assert_eq!(with(both, 8 | libc::MAP_ANONYMOUS), EINVAL);
    }

    #[test]
    fn threads_and_processes_are_told_apart() {
        let thread = [(libc::CLONE_THREAD | libc::CLONE_VM) as u64, 0, 0];
        let vfork = [(libc::CLONE_VFORK | libc::CLONE_VM) as u64, 0, 0];
        let here = Here::new();
        let by_pointer = |flags: &[u64; 3]| clone3(&[flags.as_ptr() as u64, 88, 0, 0, 0, 0], &here);
        assert_eq!(clone(&[thread[0], 0, 0, 0, 0, 0]), Class::Special(Special::StartThread));
        assert_eq!(by_pointer(&thread), Class::Special(Special::StartThread));
        assert_eq!(by_pointer(&vfork), Class::Special(Special::StartProcess));
        assert_eq!(clone3(&[8, 88, 0, 0, 0, 0], &here), Class::Replay);
    }
}
