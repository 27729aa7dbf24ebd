//! What /proc/PID/status tells of a process.

use std::fmt::Display;
use std::io;
use std::str::FromStr;

use super::files;

/// The fields, as they were at one moment.
pub struct Status(String);

impl Status {
    /// Of a process by its number, or of `self`.
    ///
    /// # Errors
    /// If it is gone.
    pub fn of(process: impl Display) -> io::Result<Self> {
        files::read_to_string(format!("{process}/status")).map(Self)
    }

    /// From the file's text.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// A field, without blanks around it.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    /// One that is a number.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.field(name)?.parse().ok()
    }

    /// One that is a set, as of signals or capabilities.
    pub fn bits(&self, name: &str) -> Option<u64> {
        u64::from_str_radix(self.field(name)?, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let status = Status::from_text("Name:\tan app\nPid:\t12\nPPid:\t7\nSigPnd:\t0000000040000000\n");
        assert_eq!((status.field("Name"), status.field("Na")), (Some("an app"), None));
        assert_eq!((status.number("Pid"), status.number("PPid")), (Some(12), Some(7)));
        assert_eq!((status.number::<u32>("Name"), status.bits("SigPnd")), (None, Some(1 << 30)));
        assert_eq!(Status::of("self").unwrap().number("Pid"), Some(std::process::id()));
    }
}
