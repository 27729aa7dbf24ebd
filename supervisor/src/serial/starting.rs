//! How a process is taken over: a program before its first instruction, a copy, or one that was running by itself.

use std::path::Path;

use bubble::behind::Behind;
use bubble::shared::state;
use tracee::{Follows, Mode, Running, Stopped};

use super::departure::Parting;
use super::serial::Serial;
use crate::app::{
    Company, Kept, MutableFiles, OwnLimits, Standing, Taken, clear_bubble, gadget_of, name_of, prepare,
    prepare_running, registered,
};
use crate::base::Failure;
use crate::follow::{InheritedState, ProcessKind, run_to};

impl Serial<'_> {
    /// A program that was just loaded.
    pub(super) fn start_image(&mut self, mut process: Stopped, behind: Behind) -> Result<(), Failure> {
        self.resources.name = name_of(self.pid);
        match prepare(&mut process) {
            Ok(prepared) => self.start(process, prepared, behind),
            Err(why @ (Failure::AppNotExecutable { .. } | Failure::Unsupported(_) | Failure::BubbleTaken { .. })) => {
                // It hasn't executed anything, and goes on natively.
                self.fail(why);
                self.app = Some(process.resume(Mode::Free, 0)?);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A copy of a process that was followed: of the image in it nothing may stay.
    pub(super) fn start_copy(&mut self, mut process: Stopped, inherited: InheritedState) -> Result<(), Failure> {
        if let Some(address) = inherited.at {
            process = run_to(process, address, inherited.gadget)?;
        }
        clear_bubble(&mut process, inherited.gadget)?;
        let prepared = inherited.prepared(&mut process)?;
        self.resources.name = inherited.name;
        self.start(process, prepared, Behind::default())
    }

    /// An app that was running by itself. If it was stopped by a stopping signal it stays so.
    pub(super) fn start_running(&mut self, standing: Standing) -> Result<(), Failure> {
        self.resources.name = name_of(self.pid);
        let is_stopped = standing.is_stopped;
        // One of several waits for its turn, by calls that the kernel keeps in the place of the one before.
        let keeps_kernel = standing.others.is_empty();
        let Taken { mut process, others, prepared, borrowed } = match prepare_running(standing, keeps_kernel) {
            Ok(taken) => taken,
            Err((threads, why)) => {
                // It goes on natively.
                threads.into_iter().try_for_each(|thread| thread.detach(0))?;
                self.parting = Parting::Done;
                self.fail(why);
                return Ok(());
            }
        };
        process.follow(Follows::Threads, false)?;
        for mut other in others {
            other.follow(Follows::Threads, false)?;
            self.joining.push(other);
        }
        let registered = registered(&mut process, prepared.gadget)?;
        self.attached = Some((borrowed, registered));
        if is_stopped {
            // Resumed, it comes to the same stop.
            self.stops_again = true;
        }
        self.start(process, prepared, Behind::default())
    }

    /// What becomes of a process or thread that the app has just started.
    pub(super) fn kind_of_child(&self, app: &Stopped, child: &Running, waits: bool) -> Result<ProcessKind, Failure> {
        if Path::new(&format!("/proc/{}/task/{}", self.pid, child.pid())).exists() {
            return Ok(ProcessKind::Thread);
        }
        let Some(slot) = self.slot.as_ref().filter(|slot| slot.state() < state::FAILED) else {
            return Ok(ProcessKind::Unfollowed);
        };
        if waits {
            return Ok(ProcessKind::VforkChild(Company::default()));
        }
        Ok(ProcessKind::Copy(Box::new(InheritedState {
            gadget: gadget_of(app)?,
            shares_memory: false,
            company: Company::default(),
            mutable_files: MutableFiles::default(),
            kept: Kept::new(),
            limits: OwnLimits::default(),
            file_pages: Vec::new(),
            at: slot.child_at(),
            name: self.resources.name.clone(),
        })))
    }
}
