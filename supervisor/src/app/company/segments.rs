//! Whether anybody else has a System V segment attached.
//!
//! Anyone may attach one who knows its number. The kernel counts attachments (mappings: one that is split counts twice), and notes who has attached or detached last: somebody who has come
//! and gone since the last look shows by that, unless a member has attached or detached afterwards.

use std::collections::BTreeSet;

/// What the kernel tells of a segment.
struct Told {
    attachments: u64,
    last: i32,
}

/// Who may have attached segments.
#[derive(Default)]
pub struct Segments {
    /// Members that are gone: each has detached what it had.
    gone: BTreeSet<i32>,
    /// The last copy of a member, which has detached what it had inherited, and who has made it.
    last_copy: [i32; 2],
}

impl Segments {
    /// A member is gone.
    pub fn leaves(&mut self, pid: i32) {
        self.gone.insert(pid);
    }

    /// A copy of a member, made by `forker`, is going to detach all.
    pub fn is_copied(&mut self, copy: i32, forker: i32) {
        self.last_copy = [copy, forker];
    }

    /// Whether nobody has attached a segment but those who make `attachments` to it. `knows`: whether a process is one of them.
    pub fn is_closed(&self, segment: i32, attachments: u64, knows: impl Fn(i32) -> bool) -> bool {
        let is_known = |pid: i32| knows(pid) || self.gone.contains(&pid) || self.last_copy.contains(&pid);
        ask(segment).is_some_and(|told| told.attachments == attachments && is_known(told.last))
    }
}

/// Whether a process counts segments as this one does.
pub fn has_same_numbers(pid: i32) -> bool {
    let numbers = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/ipc")).ok();
    let ours = numbers("self");
    ours.is_some() && numbers(&pid.to_string()) == ours
}

fn ask(segment: i32) -> Option<Told> {
    // SAFETY: the structure is plain data, which the call fills in.
    let (result, told) = unsafe {
        let mut told: libc::shmid_ds = std::mem::zeroed();
        (libc::shmctl(segment, libc::IPC_STAT, &raw mut told), told)
    };
    (result == 0).then_some(Told { attachments: told.shm_nattch, last: told.shm_lpid })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attached by this process alone, then by a child as well, then by nobody else any more.
    #[test]
    fn others_who_attach_a_segment_are_seen() {
        let (me, segments) = (std::process::id() as i32, Segments::default());
        // SAFETY: a new segment of this test's own; the child makes plain calls only.
        unsafe {
            let segment = libc::shmget(libc::IPC_PRIVATE, 4096, 0o600);
            assert!(segment >= 0 && libc::shmat(segment, std::ptr::null(), 0) as i64 != -1);
            let is_ours = |attachments: u64| segments.is_closed(segment, attachments, |pid| pid == me);
            assert!(is_ours(1) && !is_ours(2));
            let mut ends = [0; 2];
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                libc::close(ends[1]);
                libc::read(ends[0], ends.as_mut_ptr().cast(), 1);
                libc::_exit(0);
            }
            assert!(!is_ours(1) && is_ours(2));
            libc::close(ends[1]);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            // As many as before, but somebody else has been there.
            assert!(!is_ours(1));
            let mut gone = Segments::default();
            gone.leaves(child);
            assert!(gone.is_closed(segment, 1, |pid| pid == me));
            libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
        }
    }

    #[test]
    fn a_segment_that_is_not_there_is_not_ours() {
        assert!(!Segments::default().is_closed(-1, 0, |_| true));
        assert!(has_same_numbers(std::process::id() as i32) && !has_same_numbers(-1));
    }
}
