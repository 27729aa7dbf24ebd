//! What a tool prints to.

use std::fmt;
use std::io::{self, Write};

use supervisor::Worth;

/// Where a tool prints: standard error, or the file of `-o FILE`.
pub struct Out<'a> {
    to: &'a mut Vec<u8>,
    worth: Worth,
}

impl<'a> Out<'a> {
    pub(crate) fn new(to: &'a mut Vec<u8>, worth: Worth) -> Self {
        Self { to, worth }
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
        Total { number, worth: self.worth }
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
            Worth::Exact => write!(f, "{}", self.number),
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
            let mut out = Out::new(&mut text, worth);
            writeln!(out, "N: {}", out.total(7)).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!([Worth::Exact, Worth::AtLeast].map(print), ["N: 7\n", "N: at least 7\n"]);
    }
}
