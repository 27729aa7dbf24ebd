//! The master's threads run one at a time: which one has the turn.
//!
//! ```text
//!   thread 0   ══ has the turn ══╗ waits in a call ─ ─ ─ comes to its exit, is queued ─ ╔═══
//!   thread 1   ─ ─ queue ─ ─ ─ ─ ╚══ has the turn ══════════════════════ waits in a call ╝
//!   log                          turn: 1 goes on                           turn: 0 goes on
//! ```
//! So the interleaving is the sequence of turns, and shared memory needs no record. A turn ends at a call that waits or has lasted, at the thread's end, and, if
//! others want it, behind a call or at a point after a quantum (`time`), or at the end of a slice. What a thread that hasn't the turn comes to is looked at when it has.
//!
//! A turn is given to another thread only when there is one: who waits alone and goes on has had it all the time.
//!
//! * `care`: threads pass it on among themselves, in the care of the recorder inside the app.
//! * `next`: who has it next. `ends`: where it ends. `births`: threads that come and go.

mod births;
mod care;
mod ends;
mod next;

pub(super) use next::Begins;
