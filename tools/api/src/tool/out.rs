//! What a tool prints to.

use std::fmt;
use std::io::{self, Write};

use supervisor::Worth;

use crate::files::Images;

/// Where a tool prints: standard error, or the file of `-o FILE`.
pub struct Out<'a> {
    to: &'a mut Vec<u8>,
    told: Told<'a>,
    is_verbatim: bool,
}

/// What is told of a run that is over.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// What the total is worth.
    pub worth: Worth,
    /// The app's status, or minus the signal that has killed it.
    pub status: i32,
    /// The images that it has had.
    pub images: &'a Images,
}

impl<'a> Out<'a> {
    pub(crate) fn new(to: &'a mut Vec<u8>, told: Told<'a>) -> Self {
        Self { to, told, is_verbatim: false }
    }

    /// The images that the app has had: what addresses are called.
    pub fn images(&self) -> &'a Images {
        self.told.images
    }

    /// How the app has ended: its exit status, or 128 and the signal that has killed it.
    pub fn exit_status(&self) -> i32 {
        let status = self.told.status;
        if status < 0 { 128 - status } else { status }
    }

    /// The signal that has killed the app, if one has.
    pub fn killed_by(&self) -> Option<i32> {
        Some(-self.told.status).filter(|signal| *signal > 0)
    }

    /// What is printed is for another program to read: no line of superpin's is added that says what the result is worth. If it isn't exact, standard error says so.
    pub fn verbatim(&mut self) {
        self.is_verbatim = true;
    }

    pub(crate) fn is_verbatim(&self) -> bool {
        self.is_verbatim
    }

    /// What `write!` and `writeln!` call.
    ///
    /// # Errors
    /// As for [`Write::write_fmt`].
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        Write::write_fmt(self.to, text)
    }

    /// A number as it is to be printed: bare where it is exact, and else behind what it is worth, as in `at least 17`. For a tool's total;
    /// below the result `Result: at least` tells it of the others.
    pub fn total(&self, number: u64) -> Total {
        Total { number, worth: self.told.worth }
    }
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A number with its worth, see [`Out::total`].
#[derive(Clone, Copy, Debug)]
pub struct Total {
    number: u64,
    worth: Worth,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worth {
            Worth::Exact | Worth::Sample => write!(f, "{}", self.number),
            worth => write!(f, "{worth} {}", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_what_it_is_worth() {
        let print = |worth| {
            let mut text = Vec::new();
            let images = Images::none();
            let mut out = Out::new(&mut text, Told { worth, status: 0, images: &images });
            assert_eq!((out.exit_status(), out.killed_by()), (0, None));
            writeln!(out, "N: {}", out.total(7)).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!([Worth::Exact, Worth::AtLeast].map(print), ["N: 7\n", "N: at least 7\n"]);
    }

    #[test]
    fn who_was_killed_has_the_status_that_a_shell_tells() {
        let (mut text, images) = (Vec::new(), Images::none());
        let mut end = |status| {
            let out = Out::new(&mut text, Told { worth: Worth::Exact, status, images: &images });
            (out.exit_status(), out.killed_by())
        };
        assert_eq!([end(143), end(-15)], [(143, None), (143, Some(15))]);
    }
}
