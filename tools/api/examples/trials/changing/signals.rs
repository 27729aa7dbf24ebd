//! Signals.

use superpin_tool::merge::Sum;
use superpin_tool::{At, ChangeSignal, Gpr, NoOptions, Out, SerialTool, SignalMut, StateMut, Tool, Trace, TraceMut};

/// The tool.
pub struct ChangesSignals;

fn sends(seen: &mut Sum, state: &mut StateMut<'_>) {
    seen.0 += 1;
    // As somebody else's SIGUSR2 would be, it becomes a SIGALRM, which this tool doesn't ask for itself.
    state.raise(34);
}

impl ChangesSignals {
    fn changes(&self, seen: &mut Sum, signal: &mut SignalMut<'_, '_, '_>) {
        seen.0 += 1;
        match signal.name() {
            Some("SIGUSR1") if seen.0.is_multiple_of(2) => signal.swallow(),
            Some("SIGUSR2") => signal.set_number(14),
            Some("SIGTERM") => signal.swallow(),
            Some("SIGSEGV") => {
                assert!(signal.is_fault() && signal.origin().address() == Some(8));
                // The function that has read there returns something else.
                assert!(signal.state().return_with(55));
                signal.swallow();
            }
            None => {
                signal.state().set_gpr(Gpr::Rax, 1000);
                signal.set_number(12);
            }
            _ => {}
        }
    }
}

impl Tool for ChangesSignals {
    const NAME: &'static str = "changes-signals";
    const ABOUT: &'static str = "Change signals of a program";
    type Options = NoOptions;
    superpin_tool::auto_merge!(Sum);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, _: &Trace<'_, Sum>) {}

    fn fini(&self, seen: Sum, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "signals and changes {}", seen.0)
    }
}

impl SerialTool for ChangesSignals {
    const CHANGE_SIGNAL: Option<ChangeSignal<Self>> = Some(Self::changes);

    fn instrument_mut(&self, trace: &TraceMut<'_, Sum>) {
        for instruction in trace.instructions() {
            if instruction.enters().is_some_and(|routine| routine.name() == "is_raised") {
                instruction.change(At::Before, sends, ());
            }
        }
    }
}
