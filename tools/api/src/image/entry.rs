//! A tool without its types, as a tool image lists it.

use std::ffi::OsStr;
use std::marker::PhantomData;

use bubble::shared::NEXT_TOOL;
use slice_runtime::{AppThread, RunningTool};
use supervisor::Sees;

use super::collect::{Asked, Collector, collect};
use super::running::{Member, Share, inject, inject_unchecked, together};
use crate::tool::{SerialTool, SliceInfo, Tool, check, help, identity, sees};

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
    pub(crate) writes_stream: bool,
    pub(crate) samples: bool,
    /// What it sees with these options, if they are right.
    pub(crate) sees: fn(&[&OsStr]) -> Option<Sees>,
    /// Bytes of its local state.
    local_size: usize,
    /// Safe to call in a taken-over process only, and once for a share.
    inject: unsafe fn(&[&OsStr], SliceInfo, &AppThread, Share) -> Made<dyn RunningTool>,
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
            writes_stream: T::STREAM,
            samples: T::SAMPLES,
            sees: sees::<T>,
            local_size: size_of::<T::Local>(),
            inject: inject::<T>,
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
/// As for [`inject_unchecked`].
unsafe fn inject_serial<T: SerialTool>(
    options: &[&OsStr],
    slice: SliceInfo,
    first: &AppThread,
    share: Share,
) -> Made<dyn RunningTool> {
    // SAFETY: the caller's promise.
    let tool = unsafe { inject_unchecked::<T>(options, slice, first, share) }?;
    Ok(Box::new(tool.changing()))
}

/// A tool of a run, with its options.
pub type Found<'a, 'o> = (&'a Entry, &'o [&'o OsStr]);

/// Splits a run's tool arguments into entries and their options.
///
/// # Errors
/// If there is no such tool.
pub fn find<'a, 'o>(tools: &'a [Entry], args: &'o [&'o OsStr]) -> Result<Vec<Found<'a, 'o>>, String> {
    let find = |args: &'o [&'o OsStr]| {
        let (name, options) = args.split_first().ok_or("no tool was named")?;
        let entry = tools.iter().find(|tool| *name == tool.name).ok_or_else(|| {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            format!("this image has no tool {}: it has {}", name.display(), names.join(", "))
        })?;
        Ok((entry, options))
    };
    args.split(|word| *word == NEXT_TOOL).map(find).collect()
}

/// Makes the tools of a run, and their local states for this slice.
///
/// # Errors
/// If options are wrong, or there is no room.
///
/// # Safety
/// This is a taken-over process: LOCAL is mapped and unused. Called once.
pub unsafe fn inject_all(tools: &[Found<'_, '_>], slice: SliceInfo, first: &AppThread) -> Made<dyn RunningTool> {
    if let [(entry, options)] = tools {
        // SAFETY: the caller's promise.
        return unsafe { (entry.inject)(options, slice, first, Share::ALONE) };
    }
    let sees_each = |(entry, options): &Found<'_, '_>| (entry.sees)(options).is_some_and(|sees| sees.each_thread);
    let asked: Vec<(usize, bool)> = tools.iter().map(|tool| (tool.0.local_size, sees_each(tool))).collect();
    let shares = Share::of(&asked)?;
    let members = tools.iter().zip(asked).zip(shares).map(|(((entry, options), (_, each_thread)), share)| {
        // SAFETY: the caller's promise; shares have nothing in common.
        let tool = unsafe { (entry.inject)(options, slice, first, share) }?;
        Ok(Member { tool, share, each_thread })
    });
    Ok(together(members.collect::<Result<_, String>>()?))
}
