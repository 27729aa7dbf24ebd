//! What tools print, against numbers made by hand from the sources of guests, and against other programs.

mod addresses;
mod by_thread;
mod caches;
mod heap;
mod mixes;
mod places;
