//! How arguments, results and signals are printed: much as strace(1) does, with numbers where that has the names of constants.

use std::fmt::Write;

use superpin_tool::{
    AppRange, Signal, Syscall, SyscallArgument, SyscallArgumentKind, error_name, memory, signal_name, syscall_name,
};

/// Paths are shown whole.
const LONGEST_PATH: usize = 4096;
/// The current folder, instead of a descriptor.
const AT_FDCWD: i32 = -100;

/// The arguments of a call at its entry, without what it will write.
pub fn at_entry(call: &Syscall<'_>, most: usize, named: bool) -> Vec<String> {
    let reads: Vec<AppRange> = call.reads().collect();
    let print = |argument: SyscallArgument| {
        let value = print(call, &argument, &reads, most);
        if named && !argument.name().is_empty() { format!("{}={value}", argument.name()) } else { value }
    };
    call.arguments().map(print).collect()
}

fn print(call: &Syscall<'_>, argument: &SyscallArgument, reads: &[AppRange], most: usize) -> String {
    let number = || match (argument.name(), argument.kind()) {
        ("sig" | "signr", _) => {
            signal_name(argument.value() as i32).map_or_else(|| argument.to_string(), str::to_owned)
        }
        ("dfd" | "olddfd" | "newdfd", _) if argument.value() as i32 == AT_FDCWD => "AT_FDCWD".to_owned(),
        ("cmd", _) => call.command().map_or_else(|| argument.to_string(), str::to_owned),
        (_, SyscallArgumentKind::Text | SyscallArgumentKind::Pointer) if argument.value() == 0 => "NULL".to_owned(),
        _ => argument.to_string(),
    };
    match argument.kind() {
        SyscallArgumentKind::Text if argument.value() != 0 => {
            memory::read_c_string(argument.value(), LONGEST_PATH).map_or_else(number, |text| quoted(&text, text.len()))
        }
        SyscallArgumentKind::Pointer if holds_bytes(argument) => {
            let range = reads.iter().find(|range| range.address == argument.value());
            range.map_or_else(number, |range| whole_or_part(range, most))
        }
        _ => number(),
    }
}

/// What a call has written to arguments that are no structures: their positions, and what is there.
pub fn at_exit(call: &Syscall<'_>, most: usize) -> Vec<(u8, String)> {
    let written: Vec<AppRange> = call.written().collect();
    let shown = |(position, argument): (usize, SyscallArgument)| {
        let range =
            written.iter().find(|range| range.address == argument.value()).filter(|_| holds_bytes(&argument))?;
        let name = if argument.c_type().starts_with("const") { None } else { Some(whole_or_part(range, most)) };
        name.map(|text| (position as u8, text))
    };
    call.arguments().enumerate().filter_map(shown).collect()
}

/// Whether what the argument points to is bytes, and not a structure.
fn holds_bytes(argument: &SyscallArgument) -> bool {
    matches!(argument.c_type().strip_prefix("const ").unwrap_or(argument.c_type()), "char *" | "void *")
}

fn whole_or_part(range: &AppRange, most: usize) -> String {
    quoted(&range.bytes(most), range.len as usize)
}

/// Bytes as C writes them; dots say that there are more.
fn quoted(bytes: &[u8], len: usize) -> String {
    let mut text = String::from('"');
    for (at, &byte) in bytes.iter().enumerate() {
        // Writing to a text doesn't fail.
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", byte as char),
            b'\n' => write!(text, "\\n"),
            b'\r' => write!(text, "\\r"),
            b'\t' => write!(text, "\\t"),
            0x20..0x7f => write!(text, "{}", byte as char),
            // A digit behind it would belong to it.
            _ if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => write!(text, "\\{byte:03o}"),
            _ => write!(text, "\\{byte:o}"),
        };
    }
    text.push('"');
    if bytes.len() < len {
        text.push_str("...");
    }
    text
}

/// A result: a number, an address, or an error.
pub fn result(call: &Syscall<'_>) -> String {
    let Some(result) = call.result() else { return "?".to_owned() };
    match call.error() {
        Some(error) => match error_name(error) {
            Some(name) => format!("-1 {name}"),
            None => format!("-1 (error {error})"),
        },
        None if ["mmap", "mremap", "brk", "shmat"].contains(&syscall_name(call.number())) => format!("{result:#x}"),
        None => result.to_string(),
    }
}

/// What a signal is called.
pub fn signal_of(number: i32) -> String {
    signal_name(number).map_or_else(|| format!("signal {number}"), str::to_owned)
}

/// A signal that is delivered to a handler.
pub fn signal(signal: &Signal) -> String {
    let mut text = format!("--- {} {{si_code={}", signal_of(signal.number()), signal.code());
    if let Some(sender) = signal.sender() {
        let _ = write!(text, ", si_pid={sender}");
    }
    if let Some(address) = signal.address() {
        let _ = write!(text, ", si_addr={address:#x}");
    }
    text + "} ---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_in_c() {
        assert_eq!(quoted(b"\x7fELF\x02\x001\"\n", 9), r#""\177ELF\2\0001\"\n""#);
        assert_eq!(quoted(b"ab", 3), r#""ab"..."#);
    }
}
