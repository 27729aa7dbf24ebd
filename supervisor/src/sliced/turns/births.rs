//! Threads that are born, end, or execute a program.

use machine::Here;
use syscall_replay::CallExit;
use tracee::{Report, Stop, Stopped};

use crate::base::Failure;
use crate::sliced::cut::Run;
use crate::sliced::master::Thread;
use crate::sliced::phases::{OtherThread, Phase};
use crate::sliced::slices::Recording;

impl Run<'_> {
    /// A thread was born: it wants the turn as soon as the log knows of it.
    pub(in crate::sliced) fn adopt(&mut self, child: Stopped) -> Result<(), Failure> {
        if self.master.is_let_go() {
            return Ok(child.detach(0)?);
        }
        tracee::threads_are_traced();
        let (process, thread) = self.master.parts();
        let index = process.thread_begins();
        let thread = thread.starts(&child, index, process.pid())?;
        self.joins(thread, child)
    }

    /// A thread that the app had before it was attached to.
    pub(in crate::sliced) fn adopt_running(&mut self, mut other: Stopped) -> Result<(), Failure> {
        tracee::threads_are_traced();
        let (process, thread) = self.master.parts();
        let index = process.thread_begins();
        let thread = thread.has_started(&mut other, index, process.gadget())?;
        self.joins(thread, other)
    }

    /// There is another thread, which wants the turn.
    fn joins(&mut self, thread: Thread, stopped: Stopped) -> Result<(), Failure> {
        self.resources.statistics.threads += 1;
        self.turn.start(self.master.process().pid())?;
        let tid = stopped.pid();
        self.master.others.insert(tid, OtherThread { thread, phase: Phase::Ready(stopped) });
        self.master.queue.waits(tid);
        Ok(())
    }

    /// The log tells of a thread whose birth was recorded just now.
    pub(in crate::sliced) fn tell_of_birth(&mut self) -> Result<(), Failure> {
        let Some(tid) = self.master.process().take_born() else { return Ok(()) };
        let told = match (self.slices.recorded_mut(), self.master.others.get(&tid)) {
            (Some(slice), Some(OtherThread { thread, .. })) => {
                thread.context().map_or(Ok(()), |context| slice.log_thread(thread.identity(), context))
            }
            _ => Ok(()),
        };
        told.map_err(|_| no_room())
    }

    /// A slice begins: its log tells of all threads, if there were ever several.
    pub(in crate::sliced) fn tell_of_threads(
        &mut self,
        slice: &mut Recording,
        stopped: &Stopped,
    ) -> Result<(), Failure> {
        if self.master.process().started() == 0 {
            return Ok(());
        }
        let thread = self.master.thread();
        thread.loses_turn_here(stopped)?;
        let own = thread.context().map(|context| slice.log_thread(thread.identity(), context));
        own.transpose().map_err(|_| no_room())?;
        for OtherThread { thread, .. } in self.master.others.values() {
            if let Some(context) = thread.context() {
                slice.log_thread(thread.identity(), context).map_err(|_| no_room())?;
            }
        }
        Ok(())
    }

    /// A thread other than the first has ended.
    pub(in crate::sliced) fn thread_ended(&mut self, tid: i32) -> Result<(), Failure> {
        let master = &mut self.master;
        if tid != master.thread().tid() {
            // It was ended, by the end of all.
            master.queue.remove(tid);
            if master.others.remove(&tid).is_some() {
                master.process().thread_ends();
            }
            return Ok(());
        }
        let memory = Here::of(master.process().pid());
        let Some(slice) = self.slices.recorded_mut() else { return Ok(()) };
        match master.thread().logs_end(slice, &memory) {
            None => return Ok(()),
            Some(CallExit::Recorded) => {}
            Some(_) => return Err(no_room()),
        }
        master.process().thread_ends();
        *master.phase() = Phase::Alone;
        master.thread_is_gone = true;
        Ok(())
    }

    /// The first thread has come to its end before the others, and stays there.
    pub(in crate::sliced) fn first_ends(&mut self, stopped: Stopped) -> Result<(), Failure> {
        let Some(slice) = self.slices.recorded_mut() else { return Ok(()) };
        if self.master.thread().logs_end(slice, &stopped) != Some(CallExit::Recorded) {
            return Err(no_room());
        }
        self.master.process().thread_ends();
        self.master.first = Some(stopped);
        self.master.thread_is_gone = true;
        Ok(())
    }

    /// The app is to be let go, and has just been taken back from the recorder inside it, at this stop, if there is anything left of it: now all of it goes.
    pub(in crate::sliced) fn lets_go(&mut self, stopped: Stopped, stop: Option<Stop>) -> Result<(), Failure> {
        match stop {
            Some(stop) => self.master.leave(stopped, stop)?,
            None => self.master.resume(stopped, 0)?,
        }
        if self.master.process().is_seen() {
            self.master.let_others_go();
        }
        Ok(())
    }

    /// A thread has executed a program. If that isn't the first, it becomes the first.
    pub(in crate::sliced) fn program_is_executed(&mut self, report: &Report) {
        let (first, now) = (report.pid(), self.master.thread().tid());
        if first == now {
            return;
        }
        self.master.others.clear();
        self.master.queue.clear();
        self.master.first = None;
        self.master.thread().becomes_first(first);
        if let Phase::Running(running) = std::mem::replace(self.master.phase(), Phase::Alone) {
            *self.master.phase() = Phase::Running(running.becomes_first(report));
        }
    }
}

/// The log is full.
pub(super) fn no_room() -> Failure {
    Failure::Unsupported("the log of a slice has no room for what is to be known of the app's threads".into())
}
