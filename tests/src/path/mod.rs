//! The way that a run took through the app's code: written down by the tool `path` (`tools/api/examples/path`), and compared.
//!
//! ```text
//!   executed instructions    401000 401003 401007 401000 401003 401007 401000 … 40100c
//!   stretches                401000…401007,         401000…401007,         401000…40100c
//! ```
//!
//! A *stretch* is what was executed one behind the other in memory: it ends where the app goes elsewhere. So it depends on the app alone, as blocks and traces
//! don't: these begin where a slice does, too. Where a slice's end has cut a stretch, the reader puts it together.
//!
//! ```text
//!   encode ─► file ─► difference
//! ```

mod difference;
mod encode;
mod file;

pub use difference::{Difference, Parting, first};
pub use encode::{Decoder, Encoder, REGISTERS, Registers, Stretch};
pub use file::{PathFile, Step, Writer};
