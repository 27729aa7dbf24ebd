//! What the collector knows of the app's files.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::thread;

use bubble::app_images::{APP_IMAGES_AT, AppImages};
use bubble::map::{APP_IMAGES, MODULES, file};
use bubble::modules::{Modules, Writer};

use crate::files::{Images, Library, answer_questions};

/// The library of the app's files, and the thread that reads for it.
pub struct Names {
    table: &'static AppImages,
    modules: &'static Modules,
    library: &'static Mutex<Library>,
}

impl Names {
    /// Starts the thread, which sleeps until somebody asks.
    pub fn start(run_memory: &OwnedFd) -> Result<Self, String> {
        let start = map(run_memory).map_err(|error| format!("cannot map the table of the app's images: {error}"))?;
        // SAFETY: the table is the first part of what is mapped, for as long as this process lives.
        let table = unsafe { AppImages::at(start) };
        let modules = start.wrapping_add(APP_IMAGES.size as usize);
        // SAFETY: the rest is MODULES, to which nobody else writes.
        let writer = unsafe { Writer::new(modules) };
        // SAFETY: as above.
        let modules = unsafe { Modules::at(modules) };
        let library: &'static Mutex<Library> = Box::leak(Box::new(Mutex::new(Library::new(writer))));
        let reader = thread::Builder::new().name("names".into()).spawn(move || answer_questions(table, library));
        reader.map_err(|error| format!("cannot start the thread that reads the app's files: {error}"))?;
        Ok(Self { table, modules, library })
    }

    /// Whether all that was asked for could be read.
    pub fn check(&self) -> Result<(), String> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner).failure().map_or(Ok(()), Err)
    }

    /// The run is over: its images.
    pub fn images(&self) -> Images {
        Images::new(self.table, self.modules, self.library)
    }
}

fn map(run_memory: &OwnedFd) -> io::Result<*mut u8> {
    let (offset, len) = (file::CONTROL_AT + APP_IMAGES_AT as u64, APP_IMAGES.size + MODULES.size);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = run_memory.as_raw_fd();
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), len as usize, protection, libc::MAP_SHARED, descriptor, offset as libc::off_t)
    };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}
