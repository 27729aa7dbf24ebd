//! The `main` of a tool image: which of its roles this process plays.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;

use bubble::boot::{BootBlock, COLLECTOR, INJECTED};

use slice_runtime::AppThread;

use super::collector;
use super::entry::{Entry, find, inject_all};
use crate::tool::SliceInfo;

/// Makes this program a tool image with the given tools.
///
/// The crate's root must say `#![no_main]`: an image runs where Rust's own start-up would change the app's signal
/// handlers, so it has a C `main`, which this macro defines.
///
/// ```ignore
/// #![no_main]
/// superpin_tool::image!(MyTool, MyOtherTool);
/// ```
#[macro_export]
macro_rules! image {
    ($($tool:ty),+ $(,)?) => {
        $crate::image!(@main |_| None; $($tool),+);
    };
    // With commands of the image's own: `image!("name": function; MyTool)` calls the function with the words behind `name`, and ends with its status.
    ($($name:literal: $command:path),+; $($tool:ty),+ $(,)?) => {
        $crate::image!(@main |words: &[::std::ffi::OsString]| match words {
            $([_, first, rest @ ..] if first == $name => Some($command(rest)),)+
            _ => None,
        }; $($tool),+);
    };
    (@main $command:expr; $($tool:ty),+) => {
        /// Called by libc's start-up code in each of the image's roles.
        #[unsafe(no_mangle)]
        extern "C" fn main(
            argc: ::std::ffi::c_int,
            argv: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: libc calls this once, in the process's only thread, with the process's arguments.
            unsafe {
                use $crate::listed::{Listed, ListedSerialTool as _, ListedTool as _};
                $crate::main(argc, argv, &[$((&Listed::<$tool>::new()).entry()),+], $command)
            }
        }
    };
}

/// Tells a tool image from any other program: the control process looks for this section in the file.
#[used]
#[unsafe(link_section = ".superpin")]
static MARK: [u8; 8] = *b"SuperPin";

/// Plays the role that `argv[0]` names, or does what a command of the image's own does, if that says so. [`image!`] calls it.
///
/// # Safety
/// `argv` must be the process's arguments, as libc passes them to `main`, and this must be its only thread.
pub unsafe fn main(
    argc: c_int,
    argv: *const *const c_char,
    tools: &[Entry],
    command: impl FnOnce(&[OsString]) -> Option<c_int>,
) -> c_int {
    // The linker keeps what is used.
    std::hint::black_box(&raw const MARK);
    // SAFETY: the caller's promise.
    let args: Vec<OsString> = unsafe { copy_arguments(argc, argv) };
    let (first, rest) = match args.split_first() {
        Some((first, rest)) => (first.as_os_str(), rest),
        None => (OsStr::new(""), &args[..]),
    };
    if first == INJECTED && slice_runtime::injected() {
        // SAFETY: whoever loaded this image into the bubble has prepared the process as `start` wants it.
        unsafe { run_injected(rest, tools) }
    }
    end_at_panics();
    if first == COLLECTOR {
        collector::run(tools, rest)
    } else if let Some(status) = command(&args) {
        status
    } else {
        let bundled: Vec<supervisor::ToolInfo> = tools.iter().map(info).collect();
        supervisor::main(&bundled, args)
    }
}

/// A panic ends the process when it has been told of. Nothing can unwind through translated code, and what is torn in a control process isn't to be cleaned up by it: the
/// kernel does that when it ends. Not by `panic = "abort"` in the profile: cargo builds for tests what unwinds, so that everything would be compiled twice.
fn end_at_panics() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        tell(info);
        std::process::abort();
    }));
}

/// What the control process wants to know of a tool in its own image.
fn info(tool: &Entry) -> supervisor::ToolInfo {
    supervisor::ToolInfo {
        name: tool.name,
        about: tool.about,
        check: tool.check,
        identity: tool.identity,
        help: tool.help,
        wants_prefix: tool.wants_prefix,
        has_first_pass: tool.has_first_pass,
        changes_app: tool.changes_app,
        writes_stream: tool.writes_stream,
        samples: tool.samples,
        sees: tool.sees,
    }
}

/// # Safety
/// See [`main`].
unsafe fn copy_arguments(argc: c_int, argv: *const *const c_char) -> Vec<OsString> {
    (0..argc.max(0) as usize)
        // SAFETY: `argv` has `argc` pointers to C strings.
        .map(|index| unsafe { CStr::from_ptr(*argv.add(index)) })
        .map(|arg| OsString::from_vec(arg.to_bytes().to_vec()))
        .collect()
}

/// # Safety
/// See [`slice_runtime::start`]; the first of `args` is the boot block's address in hexadecimal.
unsafe fn run_injected(args: &[OsString], tools: &[Entry]) -> ! {
    let address = args.first().and_then(|arg| arg.to_str()).and_then(|text| u64::from_str_radix(text, 16).ok());
    let address = address.expect("the control process passes the boot block's address");
    let make_tool = |arguments: &[&OsStr], boot: &BootBlock| {
        let tools = find(tools, arguments)?;
        let first = AppThread::first(boot.state.tid as i32);
        // SAFETY: this is a taken-over process, and the runtime calls this once.
        unsafe { inject_all(&tools, SliceInfo { number: boot.state.slice }, &first) }
    };
    // SAFETY: the caller's promise.
    unsafe { slice_runtime::start(address, make_tool) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn arguments_may_be_any_bytes() {
        let argv = [c"a".as_ptr(), c"\xff".as_ptr()];
        // SAFETY: two C strings.
        let args = unsafe { copy_arguments(2, argv.as_ptr()) };
        assert_eq!(args, [OsStr::new("a"), OsStr::from_bytes(b"\xff")]);
    }
}
