//! Instructions and their accesses in the form of valgrind's lackey (`--trace-mem=yes`).
//!
//! ```text
//!   I  00401020,4          an instruction, and how long it is
//!    L 1ffefff6b8,8        what it loads,
//!    S 04215058,8          stores,
//!    M 04215060,4          or loads and stores back
//! ```

use super::lines::append_digits;
use crate::accesses::{Access, LOADS, STORES};

/// Appends an instruction's lines: what it loads first, and what it only stores last.
pub fn append(lines: &mut Vec<u8>, pc: u64, len: u64, accesses: &mut [Access]) {
    append_line(lines, b"I  ", pc, len);
    accesses.sort_by_key(|access| match access.kinds {
        LOADS => 0,
        STORES => 2,
        _ => 1,
    });
    for Access { address, size, kinds } in accesses {
        let kind = match *kinds {
            LOADS => b" L ",
            STORES => b" S ",
            _ => b" M ",
        };
        append_line(lines, kind, *address, *size);
    }
}

fn append_line(lines: &mut Vec<u8>, kind: &[u8], address: u64, size: u64) {
    lines.extend_from_slice(kind);
    append_digits(lines, address, 8);
    lines.extend_from_slice(format!(",{size}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_lackeys() {
        let access = |address, size, kinds| Access { address, size, kinds };
        let mut accesses =
            [access(0x10, 8, STORES), access(0x7fff_1234_5678, 16, LOADS), access(0x40_2000, 4, LOADS | STORES)];
        let mut lines = Vec::new();
        append(&mut lines, 0x40_1020, 4, &mut accesses);
        let expected = "I  00401020,4\n L 7fff12345678,16\n M 00402000,4\n S 00000010,8\n";
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
    }
}
