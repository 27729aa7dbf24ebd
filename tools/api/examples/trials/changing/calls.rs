//! System calls.

use superpin_tool::merge::Sum;
use superpin_tool::{
    ChangeSyscall, NoOptions, OnSyscall, Out, SerialTool, SyscallEvent, SyscallMut, Tool, Trace, clap, memory,
};

superpin_tool::areas! {
    /// Calls that were changed, and what observers are told.
    pub struct Seen {
        asked: Sum,
        skipped: Sum,
        told: Sum,
    }
}

/// The tool.
pub struct ChangesCalls;

impl ChangesCalls {
    fn tells(&self, seen: &mut Seen, event: SyscallEvent<'_>) {
        // What is made, and what the app gets.
        let SyscallEvent::Exit(call) = event else { return };
        let told = match call.name() {
            "getpid" => call.result() == Some(4711),
            "clock_nanosleep" => call.result() == Some(0),
            "read" => call.error() == Some(5),
            _ => false,
        };
        seen.told.0 += u64::from(told);
    }

    fn changes(&self, seen: &mut Seen, call: &mut SyscallMut<'_, '_>) {
        seen.asked.0 += 1;
        match (call.name(), call.is_entry()) {
            ("getpid", false) => call.set_result(4711),
            ("getppid", true) => call.set_number(39),
            ("uname", false) => {
                call.write(call.arg(0) + 65, b"elsewhere\0");
            }
            ("clock_nanosleep", true) => {
                seen.skipped.0 += 1;
                call.skip(0);
            }
            ("openat", true) => {
                let path = memory::read_c_string(call.arg(1), 100);
                if path.as_deref() == Some(b"/dev/null") {
                    call.write(call.arg(1) + 5, b"zero");
                }
            }
            ("read", true) if memory::read_word(call.arg(1)).is_some() && call.arg(2) == 4096 => call.skip(-5),
            ("write", true) if call.arg(2) == 4 => call.set_arg(2, 2),
            ("write", false) if call.arg(2) == 2 => call.set_result(4),
            _ => {}
        }
    }
}

impl Tool for ChangesCalls {
    const NAME: &'static str = "changes-calls";
    const ABOUT: &'static str = "Change system calls of a program";
    const ON_SYSCALL: Option<OnSyscall<Self>> = Some(Self::tells);
    type Options = NoOptions;
    superpin_tool::auto_merge!(Seen);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, _: &Trace<'_, Seen>) {}

    fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "asked {} skipped {} told {}", seen.asked.0 > 10, seen.skipped.0, seen.told.0)
    }
}

impl SerialTool for ChangesCalls {
    const CHANGE_SYSCALL: Option<ChangeSyscall<Self>> = Some(Self::changes);
}

/// A tool that injects faults: the n-th call of a name fails.
pub struct Faults {
    options: FaultOptions,
}

/// Which.
#[derive(clap::Args)]
pub struct FaultOptions {
    /// Calls of this name
    #[arg(long)]
    call: String,
    /// The number of the error
    #[arg(long)]
    error: i64,
    /// From this one on
    #[arg(long, default_value = "1")]
    from: u64,
}

impl Faults {
    fn inject(&self, seen: &mut Sum, call: &mut SyscallMut<'_, '_>) {
        if call.is_entry() && call.name() == self.options.call {
            seen.0 += 1;
            if seen.0 >= self.options.from {
                call.skip(-self.options.error);
            }
        }
    }
}

impl Tool for Faults {
    const NAME: &'static str = "faults";
    const ABOUT: &'static str = "Have system calls fail";
    type Options = FaultOptions;
    superpin_tool::auto_merge!(Sum);

    fn new(options: FaultOptions) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, _: &Trace<'_, Sum>) {}

    fn fini(&self, seen: Sum, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "calls {}", seen.0)
    }
}

impl SerialTool for Faults {
    const CHANGE_SYSCALL: Option<ChangeSyscall<Self>> = Some(Self::inject);
}
