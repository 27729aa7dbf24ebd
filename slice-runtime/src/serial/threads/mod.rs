//! The app's threads. Each is a thread of the kernel's, whose code runs translated; they run in turns, or in parallel.
//!
//! With turns one engine, one host and one tool serve all of them, one after the other, so that tools see one stream of events and need no locks, and
//! generated code can name its scratch memory by address. A system call that waits is made without the turn, so the kernel does for the
//! app's threads what it always does: it wakes them, interrupts them, keeps their masks, and clears the word that tells others of a thread's end.
//!
//! ```text
//!   thread 1   ══ has the turn ══╗ waits in a call ─ ─ ─ ─ ─ ─╔═══
//!   thread 2   ─ ─ queue ─ ─ ─ ─ ╚══ has the turn ════════════╝
//! ```
//!
//! * `waiter`, `watch`, `turns`: who has the turn.
//! * `block`: what the runtime keeps for each thread. `start`: its first and its last instructions; `departure`: those before it goes on natively; `adoption`: of one that was there before.
//! * `threads`: all of them. `pause`: why one leaves the engine. `arrival`: signals arrive here.
//!
//! If the tool says that threads may have a local state each, a thread has a window with all that, and a runner of its own with the same engine (`engine::Runner::another`). Then it gives the turn up
//! while it runs translated code, see `serial/running/parallel.rs`.
//!
//! An app with one thread pays for none of this: it has the turn all the time.

pub mod adoption;
mod arrival;
mod block;
mod departure;
mod pause;
pub mod start;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod threads;
mod turns;
mod waiter;
mod watch;

pub use arrival::hook;
pub use block::{ThreadBlock, ThreadContext};
pub use departure::{Leaver, tell_place};
pub use pause::Pause;
pub use start::{Begin, NewThread};
pub use threads::{TURNS, Threads, before_exec, never_waits, of_turn};
pub use turns::request;
