//! Whether anybody else has a System V segment attached.
//!
//! Anyone may attach one who knows its number. The kernel counts attachments (mappings: one that is split counts twice), and notes who has attached or detached last: somebody who has come
//! and gone since the last look shows by that, unless a member has attached or detached afterwards. A process that ends detaches at a time that isn't known: as long as nobody else has
//! attached or detached since then, the kernel's note tells whether it has begun to.

use std::collections::BTreeSet;

/// What the kernel tells of a segment.
#[derive(Clone, Copy)]
struct Told {
    attachments: u64,
    last: i32,
}

/// How often members have a segment attached.
#[derive(Clone, Copy, Default)]
pub struct Attachments {
    /// Those that go on.
    pub living: u64,
    /// Those that are on their way out.
    pub ending: u64,
}

/// What is known of a process that has attached or detached segments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A member, or one that will be.
    Ours,
    /// A member on its way out.
    Ending,
    /// Nobody who is known to have any.
    Unknown,
}

/// Who may have attached segments.
#[derive(Default)]
pub struct Segments {
    /// Members that are gone: each has detached what it had.
    gone: BTreeSet<i32>,
    /// The last copy of a member, which has detached what it had inherited, and who has made it.
    last_copy: [i32; 2],
    /// Somebody who goes on may have attached or detached since a member is on its way out.
    is_moved: bool,
}

impl Segments {
    /// A member is gone.
    pub fn leaves(&mut self, pid: i32) {
        self.gone.insert(pid);
        // It has detached, and others who end may have begun to before.
        self.is_moved = true;
    }

    /// A copy of a member, made by `forker`, is going to detach all.
    pub fn is_copied(&mut self, copy: i32, forker: i32) {
        self.last_copy = [copy, forker];
    }

    /// Somebody may be about to attach or to detach, as one does who starts a process.
    pub fn is_moved(&mut self) {
        self.is_moved = true;
    }

    /// A member is on its way out. `is_first`: no other one is.
    pub fn begins_to_end(&mut self, is_first: bool) {
        self.is_moved &= !is_first;
    }

    /// Whether nobody has attached a segment but those who make these attachments to it. `None`: as often as those have who may have it, which isn't known.
    pub fn is_closed(&self, segment: i32, attached: Option<Attachments>, who: impl Fn(i32) -> Who) -> bool {
        ask(segment).is_some_and(|told| self.is_told(told, attached, who))
    }

    fn is_told(&self, told: Told, attached: Option<Attachments>, who: impl Fn(i32) -> Who) -> bool {
        let last = match who(told.last) {
            Who::Unknown if self.gone.contains(&told.last) || self.last_copy.contains(&told.last) => Who::Ours,
            last => last,
        };
        let Some(Attachments { living, ending }) = attached else { return last != Who::Unknown };
        let have_begun = last == Who::Ending || self.is_moved;
        // What those that go on have is there; so if there is no more, nobody has any.
        let is_known = told.attachments == living || told.attachments == living + ending && !have_begun;
        is_known && last != Who::Unknown
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
            let who = |pid: i32| if pid == me { Who::Ours } else { Who::Unknown };
            let attached = |living| Some(Attachments { living, ending: 0 });
            let is_ours = |living: u64| segments.is_closed(segment, attached(living), who);
            assert!(is_ours(1) && !is_ours(2));
            let mut ends = [0; 2];
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                libc::close(ends[1]);
                libc::read(ends[0], ends.as_mut_ptr().cast(), 1);
                libc::_exit(0);
            }
            assert!(!is_ours(1) && is_ours(2) && segments.is_closed(segment, None, who));
            libc::close(ends[1]);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            // As many as before, but somebody else has been there.
            assert!(!is_ours(1) && !segments.is_closed(segment, None, who));
            let mut gone = Segments::default();
            gone.leaves(child);
            assert!(gone.is_closed(segment, attached(1), who));
            libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
        }
    }

    #[test]
    fn a_segment_that_is_not_there_is_not_ours() {
        assert!(!Segments::default().is_closed(-1, Some(Attachments::default()), |_| Who::Ours));
        assert!(has_same_numbers(std::process::id() as i32) && !has_same_numbers(-1));
    }
    /// Process 1 goes on and has attached a segment once, 2 is on its way out and has twice.
    #[test]
    fn who_is_on_its_way_out_has_detached_all_or_nothing() {
        let attached = Some(Attachments { living: 1, ending: 2 });
        let who = |pid: i32| match pid {
            1 => Who::Ours,
            2 => Who::Ending,
            _ => Who::Unknown,
        };
        let mut segments = Segments::default();
        let is_told =
            |segments: &Segments, attachments, last| segments.is_told(Told { attachments, last }, attached, who);
        // It hasn't begun; it has ended.
        assert!(is_told(&segments, 3, 1) && is_told(&segments, 1, 2));
        // It is in the midst of it; or somebody has attached it.
        assert!(!is_told(&segments, 2, 2) && !is_told(&segments, 3, 2) && !is_told(&segments, 4, 1));
        // It has, and somebody else has detached afterwards.
        assert!(is_told(&segments, 1, 1) && !is_told(&segments, 1, 3) && !is_told(&segments, 3, 3));
        segments.is_moved();
        assert!(!is_told(&segments, 3, 1) && is_told(&segments, 1, 1));
        segments.begins_to_end(false);
        assert!(!is_told(&segments, 3, 1));
        segments.begins_to_end(true);
        assert!(is_told(&segments, 3, 1));
    }
}
