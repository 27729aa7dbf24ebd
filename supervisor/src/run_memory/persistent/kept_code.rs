//! Translations that outlive a run (`-persist FOLDER`).
//!
//! Short runs spend most of their time on translation. The shared code cache and its tables (see the engine's `tables`) name nothing
//! but addresses that are the same in each run: so what one run has made the next one of the same program can begin with, if nothing
//! has changed that a translation depends on:
//! * what made it: this image, the tool and its options, the engine's settings, the processor ([`key`]);
//! * what it was made from: each mapped file is the one that it was ([`origins`]). A process of the new run uses the code
//!   of a mapping only if that is the registered one, as each slice does, and its file still is what it was; nor is code shared of files that were changed so
//!   shortly before that another change might not show (the engine's `regions`).
//!
//! ```text
//!   run 1:  translates into TABLES and CACHE of the run memory  --save-->  FOLDER/PROGRAM-KEY.code
//!   run 2:  TABLES and CACHE of its run memory  <--load--  the same; goes on from there, and saves if much was added
//! ```
//! A run has its own copy: what other runs do meanwhile doesn't concern it, and the file is replaced as a whole.

use std::path::PathBuf;

use bubble::code_files::{CodeFiles, OF_ONE_RUN};
use bubble::map::file::TABLES_AT;

use super::file::{self, KEPT};
use super::folder::Folder;
use super::{key, origins};
use crate::base::Failure;
use crate::command::{Settings, ToolImage};
use crate::report::Statistics;
use crate::run_memory::memory::RunMemory;

/// Saved again if it has grown by more than one in so many.
const GROWTH: u64 = 50;

/// The kept translations of one process's run.
pub struct KeptCode {
    /// `None`: nothing is kept.
    folder: Option<Folder>,
    /// What is common to all programs.
    common: String,
    program: Option<Program>,
}

/// What the process executes.
struct Program {
    key: String,
    file: PathBuf,
    /// Bytes that were there.
    loaded: u64,
}

impl KeptCode {
    /// For a run with these settings.
    ///
    /// # Errors
    /// If the folder can't be used.
    pub fn new(settings: &Settings, image: &ToolImage, memory: &RunMemory) -> Result<Self, Failure> {
        let folder = settings.persist.as_deref().map(Folder::open).transpose()?;
        let common = if folder.is_some() { key::common(settings, image, memory)? } else { String::new() };
        Ok(Self { folder, common, program: None })
    }

    /// Process `pid` is about to execute another program, and no other process uses the shared code: what was kept of that program takes the
    /// place of what is there, which is saved.
    pub fn begin(&mut self, pid: i32, memory: &RunMemory, statistics: &mut Statistics) {
        if self.program.is_some() {
            self.save(memory, statistics);
            memory.forget(&KEPT);
            self.program = None;
        }
        let Some(folder) = &self.folder else { return };
        let Some((name, key)) = key::of_program(&self.common, pid) else { return };
        let file = folder.file(&name, &key);
        let loaded = file::load(&file, &key, memory);
        if loaded == 0 {
            memory.forget(&KEPT);
        }
        statistics.kept_loaded += loaded;
        self.program = Some(Program { key, file, loaded });
    }

    /// Saves what is there if that is much more than what was. Whatever prevents it is no failure of the run.
    pub fn save(&self, memory: &RunMemory, statistics: &mut Statistics) {
        let (Some(folder), Some(program)) = (&self.folder, &self.program) else { return };
        // Names may be others in the next run: files with them that aren't the app's own may come and go.
        if memory.files().is_ok_and(|files| files.app_images().names_wanted()) {
            return statistics.kept_not = Some("the tool asks for names of the app's code".into());
        }
        let extents = match memory.extents(&KEPT) {
            Ok(extents) => extents,
            Err(error) => return statistics.kept_not = Some(error.to_string()),
        };
        let len = extents.iter().map(|[_, len]| len).sum::<u64>();
        if len <= program.loaded + program.loaded / GROWTH {
            return;
        }
        let saved = memory
            .with_view(TABLES_AT + OF_ONE_RUN, size_of::<CodeFiles>(), |view| {
                // SAFETY: the files start this part of the tables; whoever adds to them publishes by their count.
                origins::of(unsafe { &*view.cast::<CodeFiles>() })
            })
            .map_err(|error| error.to_string())
            .and_then(|origins| origins)
            .and_then(|origins| {
                file::save(folder, &program.file, &program.key, origins, extents, memory).map_err(|e| e.to_string())
            });
        match saved {
            Ok(()) => statistics.kept_saved += len,
            Err(why) => statistics.kept_not = Some(why),
        }
    }
}
