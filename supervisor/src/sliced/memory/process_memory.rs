//! What the master's memory shares, with a fork of it or with other processes, and which files are behind it.
//!
//! Invariants:
//! * Only memory that is shared has company: who may write it is asked for nowhere else.
//! * [`ProcessMemory::class_of`] is the one place that makes a boundary of a system call for memory's sake.

use std::ops::Range;

use bubble::end::SharedContents;
use syscall_replay::effects::View;
use syscall_replay::table::{self, Class};
use tracee::{Stopped, TraceError};

use super::changed_pages::ChangedPages;
use super::common_memory::{CommonMemory, InheritedMemory};
use super::file_writes::{FileWrite, FileWrites};
use super::huge_pages::HugePages;
use super::self_mem::SelfMem;
use super::shared_copies::SharedCopies;
use super::whole_objects;
use super::written;
use crate::app::{
    Company, Kept, KeptFiles, Key, Mapping, MutableFiles, is_kept_for_the_ended, is_reshaped, is_shared_with_children,
    mappings, others_attach, written_by_others,
};
use crate::base::Failure;
use crate::sliced::boundaries::Then;

/// The memory of the master's process.
pub struct ProcessMemory {
    pid: i32,
    /// It may have mappings that a fork would share with it.
    is_shared: bool,
    /// Other processes may write memory that it shares with them: each call that waits for them is a boundary, so that slices see
    /// what they wrote.
    has_other_writers: bool,
    /// Where they do, as far as that is seen.
    common: CommonMemory,
    /// Files whose mappings change when the app writes them.
    mutable_files: MutableFiles,
    /// The app's calls that write these.
    file_writes: FileWrites,
    /// Whether it may write its memory by a file.
    self_mem: SelfMem,
    /// What was copied for slices of the memory that it shares.
    shared_copies: SharedCopies,
    /// Files that slices map.
    files: KeptFiles,
    huge_pages: HugePages,
    /// Pages of which slices were told.
    pub changed_pages: ChangedPages,
}

/// What is done about a call for the sake of memory.
pub struct Treatment {
    /// The call's class.
    pub class: Class,
    /// How the next slice starts, if one ends there.
    pub then: Then,
    /// What is to be known of a write to a file that is mapped, if the call is one that is recorded.
    pub file_write: Option<FileWrite>,
    /// What others have stored to memory until its end is recorded with it.
    pub brings_news: bool,
}

impl Treatment {
    fn boundary(then: Then) -> Self {
        Self { class: Class::Boundary, then, file_write: None, brings_news: false }
    }
}

impl ProcessMemory {
    /// Of process `pid`, before its first instruction. `huge_pages`: whether it is to have some. `sees_children`: all that it will start are followed.
    pub fn new(pid: i32, huge_pages: bool, sees_children: bool) -> Self {
        Self {
            pid,
            is_shared: false,
            has_other_writers: false,
            common: CommonMemory::new(pid, sees_children),
            mutable_files: MutableFiles::default(),
            file_writes: FileWrites::default(),
            self_mem: SelfMem::default(),
            shared_copies: SharedCopies::default(),
            files: KeptFiles::new(pid),
            huge_pages: HugePages::new(huge_pages),
            changed_pages: ChangedPages::default(),
        }
    }

    /// The process, which can make calls for us, is a copy of one with these.
    ///
    /// # Errors
    /// If it was killed.
    pub fn inherit(
        &mut self,
        process: &mut Stopped,
        gadget: u64,
        inherited: InheritedMemory,
    ) -> Result<(), TraceError> {
        let InheritedMemory { is_shared, company, mutable_files, kept } = inherited;
        self.is_shared = is_shared;
        self.has_other_writers = is_shared && is_shared_with_children(self.pid);
        self.mutable_files = mutable_files;
        self.files.inherit(kept);
        self.common.inherit(company);
        if self.has_other_writers { self.common.join(process, gadget) } else { Ok(()) }
    }

    /// The process, which can make calls for us, was running by itself: what it has mapped is looked at.
    ///
    /// # Errors
    /// If it was killed.
    pub fn attach(&mut self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        for map in mappings(self.pid) {
            // Whoever has opened it may have done so for writing.
            let may_change = map.is_file() && !self.files.hold_mapped(&map);
            if may_change {
                self.mutable_files.insert(&map.object);
            }
            self.is_shared |= map.is_shared || may_change;
        }
        self.has_other_writers = self.is_shared && is_shared_with_children(self.pid);
        if self.has_other_writers { self.common.join(process, gadget) } else { Ok(()) }
    }

    /// Another program was loaded.
    pub fn new_image(&mut self) {
        self.is_shared = false;
        self.has_other_writers = false;
        self.changed_pages = ChangedPages::default();
        self.common.is_unmapped();
        self.mutable_files.unmapped();
        self.file_writes.clear();
        self.shared_copies.clear();
    }

    /// Whether it may have mappings that a fork would share with it.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Files whose mappings change when the app writes them.
    pub fn mutable_files(&self) -> &MutableFiles {
        &self.mutable_files
    }

    /// What a copy of the process maps.
    pub fn kept(&self) -> Kept {
        self.files.copies()
    }

    /// Files that slices map.
    pub fn files(&mut self) -> &mut KeptFiles {
        &mut self.files
    }

    /// The name of a file that has changed since it was mapped.
    pub fn changed_file(&self) -> Option<String> {
        self.files.changed()
    }

    /// Whether system calls can be recorded in the process itself, which looks at no mappings: all, but if it has other writers only those that have nothing to
    /// do with what these write.
    pub fn may_record_inside(&self) -> bool {
        self.mutable_files.is_empty()
    }

    /// Whether memory is the process's own, as far as its company goes. If so, its protection may change without a stop.
    pub fn is_own(&mut self, range: &Range<u64>) -> bool {
        self.file_writes.mappings_change();
        !self.common.may_share(range)
    }

    /// Where other pages of the object that is mapped at an address can be mapped without a stop, and up to which offset slices have it.
    pub fn shows_unseen(&mut self, address: u64) -> Option<(Range<u64>, u64)> {
        let range = self.shared_copies.shown_whole(self.pid, address)?;
        (!self.has_other_writers && self.is_own(&range)).then(|| (range, whole_objects::len()))
    }

    /// The app may have opened any file without a stop.
    pub fn opens_unseen(&mut self) {
        self.self_mem.opens_unseen();
    }

    /// What is done about a call that the app is about to make, for the sake of memory. `class`: what the table says. `has_relatives`: other processes may have
    /// the app's files.
    pub fn class_of(
        &mut self,
        stopped: &Stopped,
        number: u64,
        args: &[u64; 6],
        class: Class,
        has_relatives: bool,
    ) -> Treatment {
        let pid = self.pid;
        if class != Class::Replay {
            self.file_writes.mappings_change();
        }
        self.common.before_call(stopped, class, number, args);
        let is_written = self.has_other_writers && self.common.begins_writing(number, args);
        let mut file_write = None;
        let is_boundary = match class {
            Class::Replay if self.is_shared && table::writes_elsewhere(number, args) => true,
            Class::Replay if self.has_other_writers => {
                let is_known = !is_written
                    && self.common.has_files(&self.mutable_files)
                    && self.common.is_as_known(stopped, number, args);
                !is_known || self.self_mem.is_written(pid, number, args)
            }
            Class::Replay if self.mutable_files.is_written(pid, number, args) => {
                file_write = (!has_relatives).then(|| self.file_writes.begin(pid, number, args)).flatten();
                file_write.is_none()
            }
            Class::Replay => self.self_mem.is_written(pid, number, args),
            Class::Repeat if number as i64 == libc::SYS_remap_file_pages => {
                let may_be_written = self.has_other_writers && !self.common.is_own(args[0]);
                may_be_written || !self.shared_copies.can_show_again(pid, args)
            }
            Class::Repeat => self.is_shared && is_reshaped(pid, number, args, &self.mutable_files),
            _ => false,
        };
        let class = if is_boundary { Class::Boundary } else { class };
        let brings_news = self.has_other_writers && class == Class::Replay;
        let mut outcome = Treatment { class, then: Then::Fork, file_write, brings_news };
        if self.mutable_files.lock(pid, number, args) {
            // The slices before have the file mapped, and the next one must not.
            self.is_shared = true;
            outcome = Treatment::boundary(Then::LoneFork);
        }
        if let Some(file) = written::by_path(stopped, pid, number, args) {
            self.self_mem.opens(file);
            if self.files.holds(file) || is_kept_for_the_ended(file) {
                let then = Then::Write { file, number, args: *args };
                outcome = Treatment::boundary(then);
            }
        }
        outcome
    }

    /// A call is over that writes a file which is mapped: what the mappings show of that. `None` if that can't be told.
    pub fn written(&mut self, call: &FileWrite, result: u64, stopped: &Stopped) -> Option<Vec<View>> {
        self.file_writes.end(call, result, stopped, self.pid, &self.mutable_files)
    }

    /// A call has succeeded that may have mapped something.
    pub fn after_call(&mut self, number: u64, args: &[u64; 6], result: u64) {
        self.common.after_call(number, args);
        match number as i64 {
            libc::SYS_mmap => {
                let kind = args[3] as i32 & libc::MAP_TYPE;
                self.is_shared |= kind == libc::MAP_SHARED || kind == libc::MAP_SHARED_VALIDATE;
                let is_file = args[3] as i32 & libc::MAP_ANONYMOUS == 0;
                let fd = args[4];
                if is_file && (self.files.may_change(fd as i32) || self.mutable_files.is_locked(self.pid, fd)) {
                    self.mutable_files.add(self.pid, result);
                    self.is_shared = true;
                }
            }
            libc::SYS_shmat => {
                self.is_shared = true;
                self.has_other_writers |= others_attach(args[0]);
            }
            _ => {}
        }
    }

    /// The app's `mmap` with these arguments has given `address`: asks for huge pages.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn advise(&self, stopped: &mut Stopped, gadget: u64, args: &[u64; 6], address: u64) -> Result<(), TraceError> {
        self.huge_pages.after_mmap(stopped, gadget, args, address)
    }

    /// A process was born that the app starts. `is_lent`: it has the app's memory, until it has a program of its own. Returns who has that in common with others.
    pub fn is_born(&mut self, child: i32, is_lent: bool) -> Company {
        let is_common = self.is_shared && is_shared_with_children(self.pid);
        if is_common { self.common.is_born(child, is_lent) } else { Company::default() }
    }

    /// The app, which can make calls for us, has started a process.
    ///
    /// # Errors
    /// If it was killed.
    pub fn starts_process(&mut self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        // It has the app's files.
        self.file_writes.clear();
        self.has_other_writers |= self.is_shared && is_shared_with_children(self.pid);
        if self.has_other_writers { self.common.join(process, gadget) } else { Ok(()) }
    }

    /// What a copy of the process has of it.
    pub fn inherited(&self) -> Company {
        self.common.inherited(self.is_shared && is_shared_with_children(self.pid))
    }

    /// Bytes of shared memory that were compared with what was copied for earlier slices.
    pub fn compared(&self) -> u64 {
        self.shared_copies.compared()
    }

    /// Memory that it has in common with others.
    pub fn common(&mut self) -> &mut CommonMemory {
        &mut self.common
    }

    /// Whether other processes may write memory that it shares with them.
    pub fn has_other_writers(&self) -> bool {
        self.has_other_writers
    }

    /// No slice is left that may look at a file to which the app is about to get write access: its mappings show what is written from now on.
    pub fn is_to_write(&mut self, file: Key) {
        self.files.let_go(file);
        self.is_shared |= self.mutable_files.add_file(self.pid, file.1);
    }

    /// What the app sees in memory that other processes may write.
    pub fn shared_contents(&self, stopped: &Stopped) -> SharedContents {
        if !self.is_shared {
            return SharedContents::default();
        }
        if let Some(ranges) = self.common.changed_and_touched() {
            return if ranges.is_empty() {
                SharedContents::default()
            } else {
                sigmatch::shared_contents(&ranges, stopped)
            };
        }
        match written_by_others(self.pid, self.has_other_writers, |map| self.file_writes.opened(map).is_some())
            .as_slice()
        {
            [] => SharedContents::default(),
            ranges => sigmatch::shared_contents(ranges, stopped),
        }
    }

    /// Gives `copy`, a fork of the stopped `master`, memory of its own in place of what it shares with it. `may_lend`: it can open this process's files by
    /// their names.
    ///
    /// # Errors
    /// If one of them was killed, or the copy has no memory for that.
    pub fn make_private(
        &mut self,
        master: &mut Stopped,
        copy: &mut Stopped,
        gadget: u64,
        may_lend: bool,
    ) -> Result<(), Failure> {
        if !self.is_shared {
            return Ok(());
        }
        self.file_writes.before_copies();
        self.common.before_copies(copy.pid());
        let opened = |map: &Mapping| self.file_writes.opened(map).cloned().or_else(|| self.common.opened(map));
        let lender = may_lend.then_some(&self.common);
        self.shared_copies.make_private(master, copy, gadget, &self.mutable_files, lender, opened)?;
        Ok(self.common.looks_at_nothing(master, gadget)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_shared_is_so_until_another_program_is_loaded() {
        let mut memory = ProcessMemory::new(std::process::id() as i32, false, true);
        let anonymous = libc::MAP_ANONYMOUS as u64;
        let mut maps = |flags: i32| {
            memory.after_call(libc::SYS_mmap as u64, &[0, 4096, 0, flags as u64 | anonymous, u64::MAX, 0], 0x1000);
            memory.is_shared()
        };
        assert!(!maps(libc::MAP_PRIVATE) && maps(libc::MAP_SHARED) && maps(libc::MAP_PRIVATE));
        assert!(memory.may_record_inside(), "nobody else has it");
        memory.new_image();
        assert!(!memory.is_shared());
    }
}
