//! What the arguments of system calls are called, and of which types they are.
//!
//! `prototypes.txt` has them as the kernel declares them: what Linux 6.18 tells under `/sys/kernel/tracing/events/syscalls`, and what its headers say of the few calls
//! that aren't there. What a call does to memory, and how many arguments the kernel looks at, the rows say.

use std::sync::OnceLock;

use super::rows::ROWS;
use super::types::Row;

/// An argument of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as in `filename`.
    pub name: &'static str,
    /// Its type in C, as in `const char *`.
    pub c_type: &'static str,
}

/// The arguments of a call, as many as the kernel looks at. Nothing for calls that no kernel of the last ten years has.
pub fn parameters(row: &Row) -> &'static [Parameter] {
    static ALL: OnceLock<Vec<Vec<Parameter>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut lines = include_str!("prototypes.txt").lines().peekable();
        let of_row = |row: &Row| lines.next_if(|line| name(line) == row.name).map_or_else(Vec::new, parse);
        ROWS.iter().map(of_row).collect()
    });
    ROWS.binary_search_by_key(&row.number, |row| row.number).map_or(&[], |at| &all[at])
}

fn name(line: &str) -> &str {
    line.split_once('(').map_or(line, |(name, _)| name)
}

fn parse(line: &'static str) -> Vec<Parameter> {
    let list = line.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or("");
    list.split(", ").filter(|text| !text.is_empty()).map(parameter).collect()
}

fn parameter(text: &'static str) -> Parameter {
    let at = text.rfind([' ', '*']).map_or(0, |at| at + 1);
    Parameter { name: &text[at..], c_type: text[..at].trim_end() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::row;

    #[test]
    fn names_and_types_are_told_apart() {
        let openat = row(libc::SYS_openat as u64).map(parameters).unwrap();
        let texts: Vec<_> = openat.iter().map(|p| (p.c_type, p.name)).collect();
        assert_eq!(texts, [("int", "dfd"), ("const char *", "filename"), ("int", "flags"), ("umode_t", "mode")]);
        assert!(row(libc::SYS_getpid as u64).map(parameters).unwrap().is_empty());
    }

    #[test]
    fn each_call_that_a_kernel_has_is_declared_with_as_many_arguments_as_its_row_says() {
        /// No kernel has them any more.
        const GONE: [&str; 8] =
            ["getpmsg", "putpmsg", "afs_syscall", "tuxcall", "security", "epoll_ctl_old", "epoll_wait_old", "vserver"];
        for row in ROWS.iter().filter(|row| !GONE.contains(&row.name)) {
            assert_eq!(parameters(row).len(), usize::from(row.arity), "{}", row.name);
            assert!(parameters(row).iter().all(|p| !p.name.is_empty() && !p.c_type.is_empty()), "{}", row.name);
        }
        assert_eq!(include_str!("prototypes.txt").lines().count() + GONE.len(), ROWS.len());
    }
}
