//! Messages on standard error.

/// Prints a line on standard error. Where that can't be written nobody can be told: whether something is lost by that the exit status says.
macro_rules! tell {
    ($($arguments:tt)*) => {{
        use std::io::Write;
        $crate::base::status_line::erase();
        let _ = writeln!(std::io::stderr(), $($arguments)*);
    }};
}
