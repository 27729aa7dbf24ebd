//! `hot`: where most instructions are executed. The `tool` finds it, and shows what the `source` files have there.

mod source;
mod tool;

pub use tool::Hot;
