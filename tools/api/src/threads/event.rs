//! What becomes of threads.

use translator::abi::State;

use super::thread::ThreadInfo;

/// What [`crate::Tool::ON_THREAD`] is told. Of each thread [`Self::Begin`] or [`Self::Present`] comes first, once in each slice in which it is executed.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum ThreadEvent<'a> {
    /// The thread has begun in an earlier slice, or before the part of the run that is looked at.
    Present(&'a ThreadInfo),
    /// The thread is about to execute its first instruction.
    Begin {
        /// Who.
        thread: &'a ThreadInfo,
        /// In this state: with the C library's threads, the function that they are to execute is in memory that a register points to.
        state: &'a State<'a>,
    },
    /// What comes from now on is of this thread, until the next event of this kind. Only for tools that see [`crate::Threads::OneStream`].
    Turn(&'a ThreadInfo),
    /// The thread has executed its last instruction, `exit`, or `exit_group`, by which the process ends. One that is still there then, that is killed, or at whose place a program is executed, has none.
    End {
        /// Who.
        thread: &'a ThreadInfo,
        /// What it has given to the kernel. Of threads of C's library that is 0, whatever they return; of the process it is its exit status.
        code: i32,
        /// In this state: behind that call's instruction.
        state: &'a State<'a>,
    },
}

impl<'a> ThreadEvent<'a> {
    /// Whom it is about.
    pub fn thread(&self) -> &'a ThreadInfo {
        match *self {
            Self::Present(thread) | Self::Turn(thread) | Self::Begin { thread, .. } | Self::End { thread, .. } => {
                thread
            }
        }
    }
}
