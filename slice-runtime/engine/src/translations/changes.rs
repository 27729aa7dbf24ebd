//! The app's memory changes: what was made from it is dropped.

use machine::mapping::Answer;

use super::engine::Engine;
use crate::coherence::mapping_at;

impl Engine {
    /// See [`crate::Control::code_changed`].
    pub(crate) fn code_changed(&mut self, start: u64, len: u64) {
        if len == 0 {
            return;
        }
        let end = start.saturating_add(len);
        let inherited = self.links.leave(start, end);
        let looked_at = self.code.take_looked_at(start, end);
        if looked_at || start == 0 {
            self.code.forget();
        } else {
            self.code.forget_in(start, end);
        }
        if start == 0 && self.links.look_in_map() && self.code.find(0).is_some() {
            if self.deferred.applies() {
                self.deferred.zero_is_mapped();
            } else {
                self.links.address_zero_is_mapped();
            }
        }
        self.known.forget_pages();
        self.code.forget_pages(start, end);
        self.drop_own(start, end);
        let shared_there = self.cache.shared_tables().is_some_and(|tables| {
            let mut any = false;
            tables.overlapping(start, end, |_, _| any = true);
            any
        });
        if looked_at || shared_there || inherited {
            // Code of this range is entered again only after `coherence` has judged its mapping anew.
            self.flush();
        }
    }

    /// See [`crate::Control::before_write`].
    pub(crate) fn before_write(&mut self, start: u64, len: u64) {
        if len == 0 {
            return;
        }
        for page in self.code.protected_in(start, start.saturating_add(len)) {
            self.code_is_written(page);
        }
    }

    /// See [`crate::Control::look_again`].
    pub(crate) fn look_again(&mut self) {
        if !self.code.slots_hold() {
            self.flush();
        }
    }

    /// See [`crate::Control::file_may_change`].
    pub(crate) fn file_may_change(&mut self, inode: u64) {
        for (start, end) in self.code.mark_as_changing(inode) {
            // It stays writable where it is.
            self.before_write(start, end - start);
            self.code_changed(start, end - start);
        }
    }

    /// See [`crate::Control::shared_memory_may_change`].
    pub(crate) fn shared_memory_may_change(&mut self) {
        for inode in self.code.shared_memory() {
            self.file_may_change(inode);
        }
    }

    /// See [`crate::Control::object_may_change`].
    pub(crate) fn object_may_change(&mut self, address: u64) {
        match mapping_at(address) {
            Answer::Is(mapping) if mapping.shared => self.file_may_change(mapping.inode),
            // Its other mapping will be a copy.
            Answer::Is(_) | Answer::Nothing => {}
            Answer::Unknown => self.shared_memory_may_change(),
        }
    }

    /// See [`crate::Control::leave_shared`].
    pub(crate) fn leave_shared(&mut self) {
        self.has_left_shared = true;
        self.links.leave(0, u64::MAX);
        self.flush();
    }

    /// See [`crate::Control::expect_faults`].
    pub(crate) fn expect_faults(&mut self) {
        if !self.settings.exact_faults {
            self.settings.exact_faults = true;
            self.code.forget_flags();
            self.flush();
        }
    }
}
