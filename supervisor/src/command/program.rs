//! The app's file: found as a shell finds it, and looked at before anything is started, for errors that say what
//! is wrong.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{FileHeader64, PT_LOAD};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use tracee::LaunchError;

use super::image;
use super::surroundings::tracer;
use crate::base::Failure;

/// Its slices would have to be slices' slices.
const OWN_KIND: &str = "is superpin itself or a tool image, which doesn't run under superpin: start it alone";
const UNREADABLE: &str = "can't be read, and superpin must read what it is to follow";

/// Finds the app as execvp(3) does: through PATH unless the name has a slash.
///
/// # Errors
/// If there is no such file, or none that may be executed.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.is_empty() {
        return Err(Failure::AppUnnamed);
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return if path.exists() { Ok(path) } else { Err(Failure::AppNotFound(path)) };
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found = std::env::split_paths(&search).map(|dir| dir.join(name)).find(|path| is_executable_file(path));
    found.ok_or_else(|| Failure::AppNotFound(name.into()))
}

fn is_executable_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Looks at the app's file.
///
/// # Errors
/// If it can't be executed on this machine, or not by superpin.
pub fn check(path: &Path) -> Result<(), Failure> {
    let not = |why: &str| Err(Failure::AppNotExecutable { app: path.into(), why: why.into() });
    let Ok(metadata) = path.metadata() else { return Err(Failure::AppNotFound(path.into())) };
    if metadata.is_dir() {
        return not("is a directory");
    }
    if !is_executable_file(path) {
        return not("is not executable (see chmod(1))");
    }
    let mut head = [0; 20];
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return not(&format!("{UNREADABLE} ({error})")),
    };
    let mut len = 0;
    while let Ok(n @ 1..) = file.read(&mut head[len..]) {
        len += n;
    }
    match kind(&head[..len]) {
        ProgramKind::Elf64 if image::is_image(path) => not(OWN_KIND),
        ProgramKind::Elf64 | ProgramKind::Script => Ok(()),
        ProgramKind::Foreign(why) => not(why),
    }
}

/// Looks at the file that a process executes by now, which for a script is its interpreter.
///
/// # Errors
/// If superpin can't follow it.
pub fn check_running(pid: i32) -> Result<(), Failure> {
    let link = PathBuf::from(format!("/proc/{pid}/exe"));
    let mut head = [0; 20];
    let why = match (File::open(&link).and_then(|mut file| file.read_exact(&mut head)), kind(&head)) {
        (Ok(()), ProgramKind::Foreign(why)) => why.to_owned(),
        (Err(error), _) if error.kind() == ErrorKind::PermissionDenied => format!("{UNREADABLE} ({error})"),
        (Ok(()), ProgramKind::Elf64) if image::is_image(&link) => OWN_KIND.to_owned(),
        _ => return Ok(()),
    };
    Err(Failure::AppNotExecutable { app: std::fs::read_link(&link).unwrap_or(link), why })
}

/// Why the app could not be started, as far as its file and this process's tracer tell it.
pub fn not_started(app: PathBuf, source: LaunchError) -> Failure {
    let why = match &source {
        LaunchError::Trace(_) => {
            return match tracer() {
                Some(tracer) => Failure::Unsupported(format!(
                    "{tracer} traces superpin and all that it starts, and a process has one tracer: start superpin without it, \
                     or let it follow no processes (`strace` without -f)"
                )),
                None => Failure::Launch { app, source },
            };
        }
        LaunchError::Exec(error) => interpreter_is_missing(&app, error),
        LaunchError::Lost(_) => is_truncated(&app),
        LaunchError::Fork(_) => None,
    };
    match why {
        Some(why) => Failure::AppNotExecutable { app, why },
        None => Failure::Launch { app, source },
    }
}

/// The program that executes another: the last of a chain of scripts' interpreters, or the dynamic loader.
fn interpreter_is_missing(app: &Path, error: &io::Error) -> Option<String> {
    /// As many as the kernel follows.
    const MOST: usize = 5;
    let mut path = app.to_owned();
    for _ in 0..MOST {
        let interpreter = interpreter(&path)?;
        match interpreter.metadata() {
            Err(why) => return Some(format!("its interpreter {} can't be executed: {why}", interpreter.display())),
            Ok(_) if !is_executable_file(&interpreter) => {
                return Some(format!("its interpreter {} can't be executed: {error}", interpreter.display()));
            }
            Ok(_) => path = interpreter,
        }
    }
    None
}

fn interpreter(path: &Path) -> Option<PathBuf> {
    const LONGEST_LINE: u64 = 256;
    let file = File::open(path).ok()?;
    let mut head = Vec::new();
    (&file).take(LONGEST_LINE).read_to_end(&mut head).ok()?;
    if let Some(rest) = head.strip_prefix(b"#!") {
        let line = rest.split(|byte| *byte == b'\n').next()?;
        let name = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
        return Some(OsStr::from_bytes(name).into());
    }
    let (data, le) = (ReadCache::new(file), LittleEndian);
    let header = FileHeader64::<LittleEndian>::parse(&data).ok()?;
    let name = header.program_headers(le, &data).ok()?.iter().find_map(|part| part.interpreter(le, &data).ok()?)?;
    Some(OsStr::from_bytes(name).into())
}

/// What the kernel can't load because the file ends before.
fn is_truncated(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    let (data, le) = (ReadCache::new(file), LittleEndian);
    let header = FileHeader64::<LittleEndian>::parse(&data).ok()?;
    let parts = header.program_headers(le, &data).ok()?.iter().filter(|part| part.p_type(le) == PT_LOAD);
    let end = parts.map(|part| part.p_offset(le).saturating_add(part.p_filesz(le))).max()?;
    (end > len).then(|| format!("is truncated: its segments end at byte {end}, the file has {len}"))
}

#[derive(Debug, PartialEq, Eq)]
enum ProgramKind {
    Elf64,
    Script,
    Foreign(&'static str),
}

fn kind(head: &[u8]) -> ProgramKind {
    const MACHINE_386: u16 = 3;
    const MACHINE_X86_64: u16 = 62;
    if head.starts_with(b"#!") {
        return ProgramKind::Script;
    }
    if !head.starts_with(b"\x7fELF") || head.len() < 20 {
        return ProgramKind::Foreign("is neither an ELF program nor a script that starts with `#!`");
    }
    let machine = u16::from_le_bytes([head[18], head[19]]);
    match (head[4], machine) {
        (2, MACHINE_X86_64) => ProgramKind::Elf64,
        (_, MACHINE_386) => ProgramKind::Foreign("is a 32-bit program; superpin runs 64-bit x86 programs"),
        (1, MACHINE_X86_64) => ProgramKind::Foreign("is an x32 program; superpin runs 64-bit x86 programs"),
        _ => ProgramKind::Foreign("is a program for another processor; superpin runs 64-bit x86 programs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_does() {
        assert!(find(OsStr::new("sh")).unwrap().ends_with("sh"));
        assert_eq!(find(OsStr::new("/bin/sh")).unwrap(), Path::new("/bin/sh"));
        assert!(matches!(find(OsStr::new("no-such-program")), Err(Failure::AppNotFound(_))));
        assert_eq!(find(OsStr::new("./nothing")).unwrap_err().status(), 127);
    }

    #[test]
    fn foreign_files_are_told_apart() {
        let elf = |class: u8, machine: u8| {
            let mut head = [0; 20];
            head[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
            head[18] = machine;
            head
        };
        assert_eq!(kind(&elf(2, 62)), ProgramKind::Elf64);
        assert_eq!(kind(b"#!/bin/sh\n"), ProgramKind::Script);
        for foreign in [elf(1, 3), elf(1, 62), elf(2, 183)] {
            assert!(matches!(kind(&foreign), ProgramKind::Foreign(_)));
        }
        assert!(matches!(kind(b"hello"), ProgramKind::Foreign(_)));
        assert!(check(Path::new("/bin/sh")).is_ok());
        assert_eq!(check(Path::new("/etc/passwd")).unwrap_err().status(), 126);
        assert_eq!(check(Path::new("/etc")).unwrap_err().status(), 126);
    }
}
