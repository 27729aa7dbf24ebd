//! How a source becomes an executable.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use super::sources::{folders_above, is_rust, listed};
use crate::run::libraries;
use crate::selection::hash;
use crate::superpin::artifacts;

/// Compiles a source with these flags, where that hasn't been done since it was changed: the executable.
pub fn build(name: &str, source: &Path, flags: &[String]) -> io::Result<PathBuf> {
    // Those of another way to build them lie elsewhere.
    let folder = artifacts().join(format!("guests-{:08x}", hash(libraries::path())));
    fs::create_dir_all(&folder)?;
    let program = folder.join(name);
    if newer(&program, source) && listed(&["h"]).iter().all(|header| newer(&program, header)) {
        return Ok(program);
    }
    let unfinished = folder.join(format!("{name}.{}", std::process::id()));
    let output = compiler(source, flags).arg("-o").arg(&unfinished).arg(source).args(flags).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    fs::rename(&unfinished, &program)?;
    Ok(program)
}

/// What compiles a source, with its flags for all guests beside `flags`, its own.
fn compiler(source: &Path, flags: &[String]) -> Command {
    if is_rust(source) {
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
        rustc.args(["--edition", "2021", "-D", "warnings"]);
        rustc.args(find_libraries().map(|flag| format!("-Clink-arg={flag}")));
        return rustc;
    }
    let mut gcc = Command::new(if source.extension().is_some_and(|e| e == "cc") { "g++" } else { "gcc" });
    gcc.args(["-Wall", "-Werror"]);
    for above in folders_above(source) {
        gcc.arg("-iquote").arg(above);
    }
    // glibc's start of a static program that has such a path crashes.
    if !flags.iter().any(|flag| flag.starts_with("-static")) {
        gcc.args(find_libraries());
    }
    gcc
}

/// What tells the loader where libraries are, those of libraries and of `dlopen` as well.
fn find_libraries() -> [String; 2] {
    ["-Wl,--disable-new-dtags".to_owned(), format!("-Wl,-rpath,{}", libraries::path())]
}

fn newer(product: &Path, source: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    matches!((time(product), time(source)), (Ok(p), Ok(s)) if p > s)
}
