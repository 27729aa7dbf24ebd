//! A tool without its types, as a tool image lists it.

use std::ffi::OsStr;
use std::marker::PhantomData;

use slice_runtime::{AppThread, RunningTool};

use super::checked;
use super::collect::{Asked, Collector, collect};
use super::injected::{self, Changes, Injected};
use crate::tool::{SerialTool, SliceInfo, Tool, check, help, identity};

/// A tool in one of its roles, or what is wrong with its options.
pub type Made<R> = Result<Box<R>, String>;

/// One tool of a tool image. [`crate::image!`] makes the list.
#[derive(Clone, Copy)]
pub struct Entry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Checks options, and whether the output can be written, without any other effect.
    pub(crate) check: fn(&[&OsStr], bool) -> Result<(), String>,
    pub(crate) identity: fn(&[&OsStr]) -> String,
    pub(crate) help: fn() -> String,
    pub(crate) wants_prefix: bool,
    pub(crate) has_first_pass: bool,
    /// Whether it is a [`SerialTool`].
    pub(crate) changes_app: bool,
    /// Safe to call in a taken-over process only, and once.
    pub(crate) inject: unsafe fn(&[&OsStr], SliceInfo, &AppThread) -> Made<dyn RunningTool>,
    pub(crate) collect: fn(&[&OsStr], Asked) -> Result<Collector, String>,
}

impl Entry {
    /// The entry of tool `T`.
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            about: T::ABOUT,
            check: check::<T>,
            identity: identity::<T>,
            help: help::<T>,
            wants_prefix: T::PREFIX.is_some() || T::FIRST_PASS.is_some(),
            has_first_pass: T::FIRST_PASS.is_some(),
            changes_app: false,
            inject: checked::inject::<T>,
            collect: collect::<T>,
        }
    }
}

/// Which trait a tool of an image has: `(&Listed::<T>::new()).entry()` is that of a [`SerialTool`] if `T` is one, since what needs fewer references is looked for first.
#[doc(hidden)]
pub struct Listed<T>(PhantomData<T>);

impl<T> Listed<T> {
    /// Of this tool.
    #[expect(clippy::new_without_default, reason = "it is for the macro alone")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

#[doc(hidden)]
pub trait ListedSerialTool {
    /// The entry.
    fn entry(&self) -> Entry;
}

#[doc(hidden)]
pub trait ListedTool {
    /// The entry.
    fn entry(&self) -> Entry;
}

impl<T: SerialTool> ListedSerialTool for Listed<T> {
    fn entry(&self) -> Entry {
        Entry { changes_app: true, inject: inject_serial::<T>, ..Entry::of::<T>() }
    }
}

impl<T: Tool> ListedTool for &Listed<T> {
    fn entry(&self) -> Entry {
        Entry::of::<T>()
    }
}

/// # Safety
/// As for [`injected::inject`].
unsafe fn inject_serial<T: SerialTool>(
    options: &[&OsStr],
    slice: SliceInfo,
    first: &AppThread,
) -> Made<dyn RunningTool> {
    // SAFETY: the caller's promise.
    let tool = unsafe { injected::inject::<T>(options, slice, first) }?;
    Ok(Box::new(Injected { changes: Some(Changes::of()), ..tool }))
}

/// Splits a run's tool arguments into the entry and its options.
pub fn find<'a, 'o>(tools: &'a [Entry], args: &'o [&'o OsStr]) -> Result<(&'a Entry, &'o [&'o OsStr]), String> {
    let (name, options) = args.split_first().ok_or("no tool was named")?;
    let entry = tools.iter().find(|tool| *name == tool.name).ok_or_else(|| {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        format!("this image has no tool {}: it has {}", name.display(), names.join(", "))
    })?;
    Ok((entry, options))
}
