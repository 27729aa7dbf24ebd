//! Lines of the text of traces, in the form of Pin's examples `itrace` and `pinatrace`.

/// Appends a number as it is written with `{:#x}`.
pub fn append_hex(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(b"0x");
    append_digits(line, number, 1);
}

/// The same without `0x`, and with so many digits at least.
pub fn append_digits(line: &mut Vec<u8>, number: u64, least: u32) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (64 - (number | 1).leading_zeros()).div_ceil(4).max(least);
    line.extend((0..digits).rev().map(|n| DIGITS[(number >> (4 * n)) as usize % 16]));
}

/// The line of an instruction.
pub fn append_instruction(line: &mut Vec<u8>, pc: u64) {
    append_hex(line, pc);
    line.push(b'\n');
}

/// The line of an access.
pub fn append_access(line: &mut Vec<u8>, pc: u64, is_store: bool, address: u64, size: u64) {
    append_hex(line, pc);
    line.extend_from_slice(if is_store { b": W " } else { b": R " });
    append_hex(line, address);
    line.extend_from_slice(format!(" {size}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros() {
        let hex = |number| {
            let mut line = Vec::new();
            append_hex(&mut line, number);
            String::from_utf8(line).unwrap()
        };
        for number in [0, 1, 0xf, 0x10, 0x7fff_f7fe_1234, u64::MAX] {
            assert_eq!(hex(number), format!("{number:#x}"));
        }
    }
}
