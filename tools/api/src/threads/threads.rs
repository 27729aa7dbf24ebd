//! What a tool wants to see of threads.

/// What a tool wants to see of the app's threads: what [`crate::Tool::threads`] says.
///
/// In slices threads take turns, and these differ in what results are put together from. Serially threads run at the same time if the tool says [`Self::AnyOrder`] or [`Self::Each`]: then its routines do, too, each
/// with the [`crate::Tool::Local`] of its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One stream of events, in the order in which they happen: one thread is executed at a time, and all have one [`crate::Tool::Local`]. For whatever depends on the order between threads: a trace, a
    /// cache that they share, locks, allocations.
    #[default]
    OneStream,
    /// The tool doesn't care which thread executes what, nor in which order threads do: how many [`crate::Tool::Local`]s there are, and which of them a thread works on, is the runtime's affair. For sums.
    ///
    /// *Law*: if the execution's events are given to several local states, those of each thread in their order, what is folded doesn't depend on which thread's are given to which, nor on the order in
    /// which they are folded. `-check-tool 1` looks whether it does.
    AnyOrder,
    /// Each thread has a [`crate::Tool::Local`] of its own, made by [`crate::Tool::begin_thread`], which sees what that thread does and nothing else. Its results are folded by [`crate::Tool::fold_thread`].
    ///
    /// *Law*: results of different threads may be folded in any order, those of one thread are folded in that of its execution. What depends on the order between threads can't be known.
    Each,
}
