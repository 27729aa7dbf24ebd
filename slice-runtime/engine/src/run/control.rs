//! What a host may ask while it is asked itself.

use bubble::end::EndStands;
use machine::Registers;
use translator::emit::QuickCondition;

use super::changing::AppCalls;
use crate::interface::Control;
use crate::translations::Engine;

/// Where the host wants to be asked from now on.
#[derive(Clone, Copy)]
pub(super) enum Armed {
    /// Nowhere.
    Nowhere,
    /// Before the instruction at `rip`, with these registers; how it stands in its block.
    At(Registers, EndStands),
}

/// The parts of a runner that a host may change while it has the app's state.
pub(super) struct Controls<'a> {
    engine: &'a mut Engine,
    to_arm: &'a mut Option<Armed>,
    app_calls: &'a AppCalls,
}

impl<'a> Controls<'a> {
    /// Those of a runner.
    pub(super) fn new(engine: &'a mut Engine, to_arm: &'a mut Option<Armed>, app_calls: &'a AppCalls) -> Self {
        Self { engine, to_arm, app_calls }
    }

    /// Whether code there was translated whose pages are protected.
    pub(super) fn has_translations(&mut self, start: u64, len: u64) -> bool {
        !self.engine.code.protected_in(start, start.saturating_add(len)).is_empty()
    }

    fn require(&mut self, condition: QuickCondition) {
        if let Some(end) = self.engine.points.end_mut() {
            end.require(condition);
        }
    }
}

impl Control for Controls<'_> {
    fn code_changed(&mut self, start: u64, len: u64) {
        self.engine.code_changed(start, len);
    }

    fn before_write(&mut self, start: u64, len: u64) {
        self.engine.before_write(start, len);
    }

    fn call_begins(&mut self, start: u64, len: u64) {
        self.engine.code.call_begins(start, start.saturating_add(len));
    }

    fn call_ends(&mut self, start: u64, len: u64) {
        self.engine.code.call_ends(start, start.saturating_add(len));
    }

    fn look_again(&mut self) {
        self.engine.look_again();
    }

    fn file_may_change(&mut self, inode: u64) {
        self.engine.file_may_change(inode);
    }

    fn shared_memory_may_change(&mut self) {
        self.engine.shared_memory_may_change();
    }

    fn object_may_change(&mut self, address: u64) {
        self.engine.object_may_change(address);
    }

    fn arm(&mut self, registers: &Registers, stands: EndStands) {
        *self.to_arm = Some(Armed::At(*registers, stands));
    }

    fn disarm(&mut self) {
        *self.to_arm = Some(Armed::Nowhere);
    }

    fn renew(&mut self, enters: bool) {
        self.engine.renew(enters);
    }

    fn leave_shared(&mut self) {
        self.engine.leave_shared();
    }

    fn expect_faults(&mut self) {
        self.engine.expect_faults();
    }

    fn may_have_windows(&mut self) -> bool {
        self.engine.may_have_windows()
    }

    fn take_windows(&mut self) {
        self.engine.take_windows();
    }

    fn returns_to_tool(&self) -> bool {
        self.app_calls.are_underway()
    }

    fn require_word(&mut self, address: u64, value: u64) {
        self.require(QuickCondition::Word(address, value));
    }

    fn require_vector(&mut self, quadword: u8, value: u64) {
        self.require(QuickCondition::Vector(quadword, value));
    }
}
