//! A thread of the app's, as a tool is told of it.

use translator::abi::Cpu;

/// A thread of the app's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppThread {
    /// In the order in which they were started in this process: 0 of the first one.
    pub number: u64,
    /// The kernel's number of it.
    pub tid: i32,
    /// Which child each was of the one before, from the first thread on, counted from 1. Empty: it is the first.
    pub path: Vec<u32>,
    /// Number of the thread that has started it.
    pub parent: Option<u64>,
    /// Threads that it has started.
    children: u32,
}

impl AppThread {
    /// The first thread of a process.
    pub fn first(tid: i32) -> Self {
        Self { number: 0, tid, path: Vec::new(), parent: None, children: 0 }
    }

    /// One that is there already.
    pub fn known(number: u64, tid: i32, path: Vec<u32>, parent: Option<u64>, children: u32) -> Self {
        Self { number, tid, path, parent, children }
    }

    /// The next thread that this one starts, if it does: see [`Self::has_started`].
    pub fn child(&self, number: u64) -> Self {
        let path = self.path.iter().copied().chain([self.children + 1]).collect();
        Self { number, tid: 0, path, parent: Some(self.number), children: 0 }
    }

    /// It has started that thread.
    pub fn has_started(&mut self) {
        self.children += 1;
    }
}

/// What became of a thread.
#[derive(Clone, Copy)]
pub enum ThreadChange<'a> {
    /// It is there, and has been since before the slice, or the part of the run that is looked at.
    Present,
    /// It is about to execute its first instruction, in this state.
    Begins(&'a Cpu),
    /// Another thread was executed before; now it is this one.
    Turn,
    /// It has executed its last one.
    Ends {
        /// What it has given to `exit`.
        code: i32,
        /// The state in which it did.
        cpu: &'a Cpu,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_who_has_started_it() {
        let mut first = AppThread::first(7);
        let one = first.child(1);
        assert_eq!(first.child(2).path, [1], "the other was never started");
        first.has_started();
        let mut two = first.child(2);
        two.has_started();
        let of_two = two.child(9);
        assert_eq!((one.path, &two.path[..], &of_two.path[..]), (vec![1], &[2][..], &[2, 2][..]));
        assert_eq!((one.parent, of_two.parent, first.parent), (Some(0), Some(2), None));
    }
}
