//! A tool without its types, as a tool image lists it.

use std::ffi::OsStr;

use slice_runtime::{AppThread, RunningTool};

use super::checked;
use super::collect::{Collect, collect};
use crate::tool::{SliceInfo, Tool, check, help, identity};

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
    /// Safe to call in a taken-over process only, and once.
    pub(crate) inject: unsafe fn(&[&OsStr], SliceInfo, &AppThread) -> Made<dyn RunningTool>,
    pub(crate) collect: fn(&[&OsStr], u32, bool) -> Made<dyn Collect>,
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
            inject: checked::inject::<T>,
            collect: collect::<T>,
        }
    }
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
