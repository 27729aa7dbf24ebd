//! State that goes on from one slice to the next: caches, branch predictors, tables, heaps, and how slices that don't know it are put together exactly.
//!
//! A slice begins in the middle: which lines were in the cache, what the predictor had learnt, which blocks were allocated, the slices before it know, and they are still
//! running. SuperPin's paper has tools *assume* a state, *compare* it with what the slice before left, and *reconcile* what differs when results are merged. What is here
//! does that, each in the way that is exact for it at the least cost, and looks alike:
//!
//! * it is made for a slice (`begin`), which knows everything if it is the first one, and nothing else;
//! * routines work on it; what becomes known is told at once, to a closure, and what depends on the slices before is kept;
//! * `append`, in `Tool::fold`, puts a slice's behind those before it, and tells what is known now;
//! * `end`, in `Tool::fini`, tells what is left: the execution began with nothing.
//!
//! It is `Local`, `Result` and `Total` at once, or a part of them. How the execution is cut doesn't matter, nor does the order in which parts are put together, as long as
//! it is neighbours: the tests of each compare with the whole.
//!
//! ```text
//!   caches    predictor    tage    last    last_table    heap    assumed
//! ```
//!
//! * `caches`: LRU caches of any size and associativity, in levels.
//! * `predictor`: two-bit counters by address and history: bimodal, gshare, gselect.
//! * `tage`: tables with tags, for ever longer histories.
//! * `last`: tables that are overwritten: last targets, last values, last writers. `last_table`: small ones, for routines that are called often.
//! * `heap`: blocks that are allocated and freed.
//! * `assumed`: any other machine: run from an assumed state, and again where that was wrong.

mod assumed;
mod caches;
mod heap;
mod last;
mod last_table;
mod predictor;
#[cfg(test)]
mod random;
mod tage;

pub use assumed::{Assumed, Machine};
pub use caches::{CacheShape, Hierarchy, HierarchyShape};
pub use heap::{Heap, HeapBlock, HeapEnd};
pub use last::LastValues;
pub use last_table::{Before, LastTable};
pub use predictor::{Predictor, PredictorKind, PredictorShape};
pub use tage::{Tage, TageShape};
