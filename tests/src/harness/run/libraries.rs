//! Where the programs under test find their shared libraries: in the folders of the C and C++ libraries themselves.
//!
//! Otherwise the loader looks into `/etc/ld.so.cache`, which is another file with each package that is installed: it then executes another number of instructions in the
//! next run. Guests have the folders written into them, since some start others with an environment of their own; real programs are told by
//! LD_LIBRARY_PATH.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The folders, as LD_LIBRARY_PATH has them.
pub fn path() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let mut folders: Vec<String> = Vec::new();
        for library in ["libc.so.6", "libstdc++.so.6"] {
            let folder = folder_of(library).filter(|folder| !folders.contains(folder));
            folders.extend(folder);
        }
        folders.join(":")
    })
}

/// Asks the compiler.
fn folder_of(library: &str) -> Option<String> {
    let output = Command::new("gcc").arg(format!("-print-file-name={library}")).output().ok()?;
    let found = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    // A name alone is what it says of a library that it doesn't find.
    let folder = fs::canonicalize(found.parent().filter(|folder| folder.is_absolute())?).ok()?;
    folder.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::guest;
    use crate::run::{Job, Scratch};
    use crate::workload::{EVERYDAY, WORKLOADS};

    /// What the loader tells about how it looks for libraries.
    fn searches(mut command: Command) -> String {
        let folder = Scratch::new().unwrap();
        command.env("LD_DEBUG", "libs").env("LD_DEBUG_OUTPUT", folder.beside("told"));
        crate::deadline::output(&mut command).unwrap();
        let files = fs::read_dir(folder.beside("")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    #[test]
    fn no_program_asks_the_cache() {
        let mut asking = Vec::new();
        let mut is_seen = false;
        for workload in WORKLOADS.iter().chain(EVERYDAY).filter(|w| w.program().is_some()) {
            let program = workload.job(1).argv.remove(0);
            let (folder, job) = (Scratch::new().unwrap(), Job::new([program]).with("--version"));
            let told = searches(job.command(&folder.cwd()).unwrap());
            is_seen |= told.contains("find library=");
            if told.contains("search cache=") {
                asking.push(workload.name);
            }
        }
        assert!(is_seen, "the loader tells nothing");
        assert!(asking.is_empty(), "{asking:?}");
    }

    #[test]
    fn no_guest_asks_the_cache_even_without_environment() {
        for name in ["loops", "exceptions.dynamic", "dlopen", "threads_scoped"] {
            let mut command = Command::new(guest::named(name).executable());
            let folder = Scratch::new().unwrap();
            command.arg("1").env_clear().current_dir(folder.cwd());
            let told = searches(command);
            assert!(told.contains("find library=libc.so.6") && !told.contains("search cache="), "{name}: {told}");
        }
    }

    #[test]
    fn the_folders_have_the_libraries() {
        let has = |library: &str| path().split(':').any(|folder| Path::new(folder).join(library).exists());
        assert!(has("libc.so.6") && has("libstdc++.so.6"), "{}", path());
    }
}
