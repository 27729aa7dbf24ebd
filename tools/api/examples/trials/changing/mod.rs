//! Tools that change the app, and one that only wraps its routines: `tests/trials/changing.rs` looks at what it sees.

pub mod calls;
pub mod leaves;
pub mod replaced;
pub mod signals;
pub mod state;
pub mod wraps;
