//! Writes down system calls and signals as they are told, and looks whether they come where they belong: behind the calls and the words of the `syscall` instruction.

use superpin_tool::merge::{Append, Merge, Sum};
use superpin_tool::{
    Arg, At, NoOptions, OnSignal, OnSyscall, Out, Signal, SignalEvent, SliceInfo, Syscall, SyscallEvent, SyscallKind,
    Tool, Trace,
};

/// The tool.
pub struct Told;

/// What is known in a slice.
#[derive(Default)]
pub struct Local {
    /// The `syscall` instruction at which a routine was called last.
    called: u64,
    /// The one that the buffer named last.
    drained: u64,
    wrong: u64,
    lines: Vec<String>,
}

fn note(local: &mut Local, pc: u64) {
    local.called = pc;
}

impl Local {
    /// Nothing was executed since the instruction, and nothing before it is missing. A call that was interrupted before it was made is made from its handler's end.
    fn look(&mut self, pc: u64) {
        let is_right = [self.called, self.drained] == [pc; 2];
        self.wrong += u64::from(!is_right);
    }
}

/// What is another number in each run.
fn is_by_chance(name: &str) -> bool {
    ["set_tid_address", "getpid", "gettid", "getppid", "wait4", "getrandom", "rt_sigreturn"].contains(&name)
}

fn exit(call: &Syscall<'_>) -> String {
    let result = match (call.error(), call.result()) {
        (Some(error), _) => format!("error {error}"),
        (None, Some(_)) if is_by_chance(call.name()) || call.kind() == SyscallKind::StartsProcess => "some".to_owned(),
        (None, result) => format!("{:#x}", result.unwrap_or(-1)),
    };
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let mut written = String::new();
    for range in call.written() {
        let hash = match call.name() {
            // Times and random numbers.
            "wait4" | "getrandom" | "newfstatat" | "fstat" | "prlimit64" => 0,
            _ => range.bytes(1 << 20).iter().fold(0, step),
        };
        written += &format!(" {:#x}+{}:{hash:x}", range.address, range.len);
    }
    format!("exit {} {result}{written}", call.name())
}

impl Told {
    fn on_syscall(&self, local: &mut Local, event: SyscallEvent<'_>) {
        let line = match event {
            SyscallEvent::Entry(call) => {
                local.look(call.pc().0);
                let shown = |argument: superpin_tool::SyscallArgument| match argument.name() {
                    "pid" | "tgid" => format!("{}=…", argument.name()),
                    name => format!("{name}={argument}"),
                };
                let arguments: Vec<String> = call.arguments().map(shown).collect();
                format!("entry {:#x} {}({})", call.pc().0, call.name(), arguments.join(", "))
            }
            SyscallEvent::Exit(call) => exit(&call),
        };
        local.lines.push(line);
    }

    fn on_signal(&self, local: &mut Local, event: SignalEvent) {
        let line = match event {
            SignalEvent::Return(pc) => format!("return to {:#x}", pc.0),
            SignalEvent::Handler(signal) => format!("handler {:#x} of {}", signal.handler().0, told(&signal)),
            SignalEvent::Fatal(signal) => format!("killed by {}", told(&signal)),
        };
        local.lines.push(line);
    }
}

fn told(signal: &Signal) -> String {
    format!(
        "{}, code {}, sent {}, about {:x?}, at {:#x}",
        signal.name().unwrap_or("?"),
        signal.code(),
        signal.sender().is_some(),
        signal.address(),
        signal.pc().0
    )
}

impl Tool for Told {
    const NAME: &'static str = "told";
    const ABOUT: &'static str = "List what is told of system calls and signals";
    type Options = NoOptions;
    type Local = Local;
    type Result = (Sum, Append<String>);
    type Total = (Sum, Append<String>);

    const ON_SYSCALL: Option<OnSyscall<Self>> = Some(Self::on_syscall);
    const ON_SIGNAL: Option<OnSignal<Self>> = Some(Self::on_signal);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for call in trace.instructions().filter(|instruction| instruction.mnemonic() == "syscall") {
            call.call(At::Before, note, (Arg::Pc,));
            call.buffer((Arg::Pc,));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.drained = words.last().copied().unwrap_or(local.drained);
    }

    fn finish(&self, local: &Local) -> Self::Result {
        (Sum(local.wrong), Append(local.lines.clone()))
    }

    fn fold(&self, total: &mut Self::Total, _: SliceInfo, (wrong, lines): Self::Result) {
        total.0.merge(wrong);
        total.1.merge(lines);
    }

    fn fini(&self, (wrong, lines): Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        lines.0.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "wrong {}, status {}, killed by {:?}", wrong.0, out.exit_status(), out.killed_by())
    }
}
