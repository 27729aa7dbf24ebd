//! The environment that the app is started with: this process's, or a fixed one.
//!
//! The dynamic loader and libc read all of it, and its length moves the stack. So an app counts differently in another shell, in
//! another folder (`PWD`), or when superpin is called by another path (`_`), unless its environment is fixed.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Which environment the app gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// That of this process.
    Inherit,
    /// [`CLEAN`] and nothing else.
    Clean,
}

/// What an app finds that is run with `-env clean`: nothing that depends on the machine, the user or the shell.
const CLEAN: [&str; 5] = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/nonexistent",
    "LANG=C",
    "TERM=dumb",
    "TZ=UTC0", // without it libc reads the machine's /etc/localtime
];

impl Environment {
    /// Reads the option's value.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "inherit" => Ok(Environment::Inherit),
            "clean" => Ok(Environment::Clean),
            _ => Err("must be inherit or clean".into()),
        }
    }

    /// As execve(2) takes it.
    pub fn strings(self) -> Vec<CString> {
        let string = |text: &[u8]| CString::new(text).expect("what the kernel passed on has no zero bytes");
        match self {
            Environment::Inherit => std::env::vars_os()
                .map(|(key, value)| string(&[key.as_bytes(), OsStr::new("=").as_bytes(), value.as_bytes()].concat()))
                .collect(),
            Environment::Clean => CLEAN.iter().map(|text| string(text.as_bytes())).collect(),
        }
    }
}
