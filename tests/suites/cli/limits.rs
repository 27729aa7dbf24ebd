//! What little an app and superpin may be allowed: limits, and an ordinary user's rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::guest;
use suites::run::{Job, Scratch, run};
use suites::superpin::{binary, parse_total};
use suites::switches;

use super::{copy, in_script, text};

/// Soft limits are the app's, and superpin has as much as it needs.
#[test]
fn an_app_starts_with_the_limits_that_superpin_was_given() {
    let limits = [("v", "3000000"), ("f", "10"), ("n", "9"), ("i", "0"), ("t", "1000")];
    let set: String = limits.map(|(option, value)| format!("ulimit -S -{option} {value}; ")).concat();
    let show: String = limits.map(|(option, _)| format!("ulimit -S -{option}; ")).concat();
    let expected: String = limits.map(|(_, value)| format!("{value}\n")).concat();
    for sliced in ["0", "1"] {
        let run_it = format!("{set} {} -sp {sliced} -t icount2 -- /bin/bash -c '{show}'", in_script());
        let outcome = run(&Job::new(["/bin/bash", "-c", &run_it]).with(binary())).unwrap();
        let told = text(&outcome.stderr);
        assert_eq!((outcome.status, text(&outcome.stdout)), (0, expected.clone()), "{told}");
        assert!(parse_total(&told).is_some(), "{told}");
    }
}

#[test]
fn hard_limits_that_are_too_low_are_named() {
    let limited = |option: &str, value: &str, sliced: &str| {
        let script = format!("ulimit -{option} {value}; {} -sp {sliced} -t icount2 -- echo ran", in_script());
        output(Command::new("/bin/bash").args(["-c", &script]).arg(binary())).unwrap()
    };
    for sliced in ["0", "1"] {
        for (option, value) in
            [("v", "80000000"), ("v", "1397751808"), ("d", "10000"), ("d", "1300000"), ("n", "8"), ("n", "10")]
        {
            let run = limited(option, value, sliced);
            let told = text(&run.stderr);
            let expected = format!("`ulimit -H{option}` is too low here: superpin needs ");
            assert!(run.status.code() == Some(125) && told.contains(&expected), "{option} {value}: {told}");
            assert!(run.stdout.is_empty(), "the app ran");
        }
        // What docs/limits.md says is enough.
        for (option, value) in [("v", "1398800384"), ("d", "1468006")] {
            let run = limited(option, value, sliced);
            assert_eq!(run.status.code(), Some(0), "{option} {value}: {}", text(&run.stderr));
        }
    }
    let run = limited("f", "10", "1");
    let told = text(&run.stderr);
    assert!(run.status.code() == Some(125) && told.contains("`ulimit -f`"), "{told}");
}

/// What shared memory holds is found out in another way where its object can't be opened by the name that /proc has for it.
#[test]
fn shared_memory_is_copied_for_ordinary_users_as_well() {
    /// Nobody's.
    const USER: u32 = 54322;
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        // The guests are run by an ordinary user then.
        return;
    }
    let folder = Scratch::new().unwrap();
    let guest = guest::named("shared_partly_written");
    let copies = [binary(), guest.executable()].map(|from| {
        let to = folder.cwd().join(from.file_name().unwrap());
        copy(from, &to);
        to
    });
    let open_to_all = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    folder.cwd().ancestors().take(2).for_each(open_to_all);
    let printed = ["-sp 0", "-sp 1 -spmsec 5 -spverify 1"].map(|options| {
        let mut command = Command::new(&copies[0]);
        command
            .args(switches::options())
            .args(options.split(' '))
            .args(["-t", "icount2", "--"])
            .arg(&copies[1])
            .arg(guest.large.to_string());
        let output = output(command.uid(USER).gid(USER).current_dir(folder.cwd()).env_clear()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (text(&output.stdout), text(&output.stderr))
    });
    assert_eq!(printed[0], printed[1]);
}
