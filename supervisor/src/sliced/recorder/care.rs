//! Several threads in the care of the recorder: they pass the turn on among themselves, in calls that wait ([`super::code`]).
//!
//! The thread that is handed over has the turn. Another one comes in at the end of a call of that kind ([`InProcess::adopt`]), and from then on makes its calls, and waits for its
//! turn, without a stop. The first stop of one of them, whatever its reason, takes all of them back: all are stopped, who has the turn is told as
//! if there had never been a recorder, and each other one stands in its call, or behind it, without the turn ([`InProcess::comes_out`]).

use bubble::map::RECORDER;
use machine::{Gpr, Registers, flags};
use syscall_replay::is_restart;
use tracee::Stopped;

use super::install::dispatch;
use super::recorder::InProcess;
use crate::app::Dispositions;
use crate::base::Failure;
use crate::sliced::recorder::code::{
    CURRENT, MAY_BE_IGNORED, NEEDED_SIGNALS, TABLE_AT, TURN, TURNS, WANTED, areas, in_master,
};
use crate::sliced::slices::Recording;

/// Who has the turn of those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The thread that has it, or has had it last.
    pub tid: i32,
    /// Whether it has it still.
    pub has_turn: bool,
}

/// A thread that has waited in its care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The call in which it is.
    pub number: u64,
    /// Its arguments.
    pub args: [u64; 6],
    /// What the call has given, if it was made.
    pub result: Option<u64>,
}

/// Where the app's registers lie in an area, but those that a `syscall` instruction overwrites.
const GPRS: [(Gpr, u64); 14] = [
    (Gpr::Rax, areas::RAX),
    (Gpr::Rdx, areas::RDX),
    (Gpr::Rbx, areas::RBX),
    (Gpr::Rsp, areas::RSP),
    (Gpr::Rbp, areas::RBP),
    (Gpr::Rsi, areas::RSI),
    (Gpr::Rdi, areas::RDI),
    (Gpr::R8, areas::R8),
    (Gpr::R9, areas::R9),
    (Gpr::R10, areas::R10),
    (Gpr::R12, areas::R12),
    (Gpr::R13, areas::R13),
    (Gpr::R14, areas::R14),
    (Gpr::R15, areas::R15),
];

/// Whether threads can pass the turn on: the recorder reads the bases of FS and GS by instructions that the kernel must allow.
pub fn can_pass_turns() -> bool {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: it has no preconditions.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}

impl InProcess {
    /// A thread, which has this index, is handed over, and has the turn.
    pub(super) fn care_begins(&mut self, tid: i32, index: u64) {
        self.care = vec![tid];
        let Some(shared) = &self.shared else { return };
        let passes_turns = self.protection.terms().passes_turns;
        shared.set(CURRENT, if passes_turns { in_master(areas::at(0)) } else { 0 });
        [(TURN, 1), (TURNS, 0), (areas::at(0) + areas::ID, 1), (areas::at(0) + areas::INDEX, index)]
            .into_iter()
            .for_each(|(at, word)| shared.set(at, word));
    }

    /// Whether a thread is in its care, and passes the turn on, or may.
    pub fn passes_turn_on(&self, tid: i32) -> bool {
        self.are_turns_passed_on() && self.care.contains(&tid)
    }

    /// Whether those in its care do.
    pub fn are_turns_passed_on(&self) -> bool {
        self.is_armed() && self.protection.terms().passes_turns
    }

    /// Those in its care.
    pub fn in_care(&self) -> &[i32] {
        &self.care
    }

    /// How often they have passed the turn on, and whether one waits for it.
    pub fn turns(&self) -> (u64, bool) {
        let Some(shared) = &self.shared else { return (0, false) };
        (shared.get(TURNS), shared.get(TURN) as u32 & WANTED != 0)
    }

    /// Who has the turn. `None` if nobody is in its care.
    pub fn holder(&self) -> Option<Holder> {
        let shared = self.shared.as_ref()?;
        let has_turn = (shared.get(TURN) as u32 & !WANTED) as usize;
        let last = || shared.get(CURRENT).checked_sub(in_master(areas::at(0))).map(|at| (at / areas::BYTES) as usize);
        let place = has_turn.checked_sub(1).or_else(last)?;
        Some(Holder { tid: *self.care.get(place)?, has_turn: has_turn != 0 })
    }

    /// Whether the signals arrive by which the recorder stops: one that is blocked or ignored would lose the app's setting.
    pub(super) fn can_stop(&mut self, stopped: &Stopped) -> Result<bool, Failure> {
        let ignored =
            *self.ignored.get_or_insert_with(|| Dispositions::of(self.pid).map_or(NEEDED_SIGNALS, |set| set.ignored));
        let is_traced_by_itself = stopped.registers()?.app().rflags & flags::TF != 0;
        let unheard = ignored & !MAY_BE_IGNORED | stopped.signal_mask()?;
        Ok(unheard & NEEDED_SIGNALS == 0 && !is_traced_by_itself)
    }

    /// Whether another thread, which stands at the end of a call, can come in.
    ///
    /// # Errors
    /// If it was killed.
    pub fn may_adopt(&mut self, stopped: &Stopped) -> Result<bool, Failure> {
        let can = self.are_turns_passed_on() && !self.protection.is_bare();
        Ok(can && self.care.len() < areas::MOST && self.can_stop(stopped)?)
    }

    /// It comes in, with the result of that call: what it executes next waits for the turn. False if that isn't possible.
    ///
    /// # Errors
    /// If it was killed.
    pub fn adopt(&mut self, stopped: &mut Stopped, gadget: u64, index: u64, number: u64) -> Result<bool, Failure> {
        if !dispatch(stopped, gadget)? {
            return Ok(false);
        }
        self.dispatched.insert(stopped.pid());
        let mut registers = stopped.registers()?;
        let app = registers.app();
        let Some(shared) = &self.shared else { return Ok(false) };
        let place = self.care.len();
        let area = areas::at(place);
        let result = app.get(Gpr::Rax);
        let mut entered = app;
        entered.set(Gpr::Rax, number);
        GPRS.into_iter().for_each(|(gpr, at)| shared.set(area + at, entered.get(gpr)));
        let others = [
            (areas::RIP, app.rip),
            (areas::FLAGS, app.rflags),
            (areas::ENTRY, in_master(TABLE_AT + number * 16)),
            (areas::INDEX, index),
            (areas::ID, place as u64 + 1),
        ];
        others.into_iter().for_each(|(at, word)| shared.set(area + at, word));
        registers.set(Gpr::Rbx, in_master(area));
        registers.set(Gpr::R12, result);
        registers.set_rip(in_master(self.labels.wants));
        registers.set_syscall_number(-1);
        stopped.set_registers(&registers)?;
        self.care.push(stopped.pid());
        Ok(true)
    }

    /// A thread that hasn't the turn leaves its care, and gets its registers as they are behind its call's instruction. The result is to be put there.
    ///
    /// # Errors
    /// If it was killed.
    pub fn comes_out(&self, stopped: &mut Stopped) -> Result<Waits, Failure> {
        let place = self.care.iter().position(|tid| *tid == stopped.pid());
        let (Some(shared), Some(place)) = (&self.shared, place) else {
            return Err(Failure::Unsupported("a thread waits for its turn that never had one".into()));
        };
        let mut registers = stopped.registers()?;
        let result = self.result(&registers.app());
        let area = |at| shared.get(areas::at(place) + at);
        let mut app = registers.app();
        GPRS.into_iter().for_each(|(gpr, at)| app.set(gpr, area(at)));
        (app.rip, app.rflags) = (area(areas::RIP), area(areas::FLAGS));
        app.set(Gpr::Rcx, app.rip);
        app.set(Gpr::R11, app.rflags);
        let number = area(areas::RAX);
        let args = app.syscall_args();
        registers.set_app(&app);
        registers.set_syscall_number(number as i64);
        stopped.set_registers(&registers)?;
        Ok(Waits { number, args, result })
    }

    /// What the call of a thread has given that waits inside the recorder, with these registers. `None`: it is to be made, or made again.
    fn result(&self, registers: &Registers) -> Option<u64> {
        let at = registers.rip.wrapping_sub(RECORDER.start);
        match at {
            _ if at == self.labels.waited => Some(registers.get(Gpr::Rax)).filter(|result| !is_restart(*result)),
            _ if (self.labels.wants..self.labels.turned).contains(&at) => Some(registers.get(Gpr::R12)),
            _ => None,
        }
    }

    /// All are stopped, and none has the turn: nothing is patched any more, and the records go to the slice.
    ///
    /// # Errors
    /// As for [`InProcess::take_back`].
    pub fn take_all_back(&mut self, slice: Option<&mut Recording>) -> Result<(), Failure> {
        self.is_taken_back(slice)
    }
}
