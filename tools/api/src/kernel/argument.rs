//! What a system call was given.

use std::fmt;

use syscall_replay::table::Parameter;

/// What an argument of a system call is, see [`SyscallArgument::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallArgumentKind {
    /// A file descriptor.
    Descriptor,
    /// The address of a text that ends with a zero byte, as a path.
    Text,
    /// Another address, or 0.
    Pointer,
    /// A number that may be negative.
    Signed,
    /// A number.
    Unsigned,
    /// Bits that mean something each, or a command.
    Bits,
    /// Permissions of a file.
    Mode,
}

/// An argument of a system call, by the name and the type with which the kernel declares it.
///
/// Printed, it is a number in the way that its kind asks for: `-100`, `0x7ffff7dd5000`, `0644`.
#[derive(Clone, Copy, Debug)]
pub struct SyscallArgument {
    parameter: Parameter,
    value: u64,
}

impl SyscallArgument {
    pub(super) fn new(parameter: Parameter, value: u64) -> Self {
        Self { parameter, value }
    }

    /// Its name: `filename`. Empty for a call that the table of system calls doesn't know.
    pub fn name(&self) -> &'static str {
        self.parameter.name
    }

    /// Its type in C: `const char *`. Empty if its name is.
    pub fn c_type(&self) -> &'static str {
        self.parameter.c_type
    }

    /// What the register holds. The kernel looks at as many bits of it as the type has.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// What it is.
    pub fn kind(&self) -> SyscallArgumentKind {
        use SyscallArgumentKind::{Bits, Descriptor, Mode, Pointer, Signed, Text, Unsigned};
        let Parameter { name, c_type } = self.parameter;
        let bare = c_type.strip_prefix("const ").unwrap_or(c_type);
        match bare {
            "" => Pointer,
            "umode_t" => Mode,
            "char *" if c_type != bare && !["buf", "u_msg_ptr"].contains(&name) => Text,
            "cap_user_header_t" | "cap_user_data_t" | "const cap_user_data_t" => Pointer,
            _ if bare.ends_with('*') || bare.ends_with("*const") => Pointer,
            "unsigned long" if is_address(name) => Pointer,
            _ if is_descriptor(name) => Descriptor,
            "unsigned long" if name.starts_with("arg") => Bits,
            _ if ["flag", "flg", "prot", "cmd", "mask"].iter().any(|part| name.contains(part)) => Bits,
            "int" | "long" | "pid_t" | "off_t" | "loff_t" | "key_t" | "clockid_t" | "mqd_t" | "timer_t"
            | "key_serial_t" | "rwf_t" => Signed,
            _ => Unsigned,
        }
    }

    /// The number that the kernel takes it for.
    fn number(&self) -> i128 {
        let c_type = self.parameter.c_type;
        match c_type.strip_prefix("const ").unwrap_or(c_type) {
            "int" | "pid_t" | "key_t" | "clockid_t" | "mqd_t" | "timer_t" | "key_serial_t" | "rwf_t" => {
                (self.value as i32).into()
            }
            "long" | "off_t" | "loff_t" => (self.value as i64).into(),
            "unsigned int" | "unsigned" | "u32" | "__u32" | "uid_t" | "gid_t" | "qid_t" => (self.value as u32).into(),
            _ => self.value.into(),
        }
    }
}

/// Where the kernel declares a number that is one.
fn is_address(name: &str) -> bool {
    ["addr", "start", "new_addr", "brk", "newsp", "tls"].contains(&name)
}

fn is_descriptor(name: &str) -> bool {
    let is_one = name.ends_with("fd") && name != "max_fd";
    is_one || ["fildes", "fd_in", "fd_out", "fdin", "fdout"].contains(&name)
}

impl fmt::Display for SyscallArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SyscallArgumentKind::{Bits, Descriptor, Mode, Pointer, Signed, Text, Unsigned};
        match self.kind() {
            Text | Pointer => write!(f, "{:#x}", self.value),
            Descriptor => write!(f, "{}", self.value as i32),
            Signed | Unsigned => write!(f, "{}", self.number()),
            Bits => write!(f, "{:#x}", self.number() & i128::from(u64::MAX)),
            Mode if self.value as u16 == 0 => write!(f, "0"),
            Mode => write!(f, "0{:o}", self.value as u16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SyscallArgumentKind::{Bits, Descriptor, Mode, Pointer, Signed, Text, Unsigned};

    fn of(c_type: &'static str, name: &'static str, value: i64) -> SyscallArgument {
        SyscallArgument::new(Parameter { name, c_type }, value as u64)
    }

    #[test]
    fn arguments_are_what_their_declaration_says() {
        for (c_type, name, value, kind, text) in [
            ("int", "dfd", -100, Descriptor, "-100"),
            ("unsigned long", "fd", -1, Descriptor, "-1"),
            ("unsigned int", "max_fd", 7, Unsigned, "7"),
            ("const char *", "filename", 0x10, Text, "0x10"),
            ("const char *", "buf", 0x10, Pointer, "0x10"),
            ("char *", "buf", 0, Pointer, "0x0"),
            ("const char *const *", "argv", 1, Pointer, "0x1"),
            ("int", "sig", -1, Signed, "-1"),
            ("pid_t", "pid", 0xffff_fffe, Signed, "-2"),
            ("loff_t", "pos", -1, Signed, "-1"),
            ("size_t", "count", -1, Unsigned, "18446744073709551615"),
            ("unsigned int", "seconds", -1, Unsigned, "4294967295"),
            ("unsigned int", "flags", 0x1_0000_0042, Bits, "0x42"),
            ("unsigned long", "prot", 5, Bits, "0x5"),
            ("unsigned long", "addr", 0x7000, Pointer, "0x7000"),
            ("unsigned long", "arg2", 0x7000, Bits, "0x7000"),
            ("umode_t", "mode", 0o644, Mode, "0644"),
            ("umode_t", "mode", 0, Mode, "0"),
        ] {
            let argument = of(c_type, name, value);
            assert_eq!((argument.kind(), argument.to_string().as_str()), (kind, text), "{c_type} {name}");
        }
    }
}
