//! What is handed out: a page of the manual, completions, packages.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use suites::deadline::output;
use suites::run::Scratch;
use suites::selection::Selection;
use suites::superpin::{artifacts, binary, example};

use super::{superpin, text};

/// What the manual's program makes of the list of tools.
fn made(kind: &str) -> String {
    let mut command = Command::new(example("manual"));
    let mut child = command.arg(kind).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&superpin(&["-t", "help"]).stdout).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{kind}");
    text(&done.stdout)
}

#[test]
fn the_manual_has_all_options_and_tools() {
    let page = made("man").replace("\\-", "-");
    let help = text(&superpin(&["--help"]).stdout);
    let options: Vec<&str> = help.lines().filter_map(|line| line.trim_start().strip_prefix('-')).collect();
    let names = options.iter().map(|row| row.split([' ', ',']).next().unwrap());
    let missing: Vec<&str> = names.filter(|name| !page.contains(&format!("-{name}"))).collect();
    assert!(options.len() > 30 && missing.is_empty() && !page.contains("--spmsec"), "{missing:?}");
    for part in [".SH TOOLS", "icount2", "a tool\\*(Aqs options", "Exit status"] {
        assert!(page.contains(part) || page.contains(&part.replace("\\*(Aq", "'")), "{part}: {page}");
    }
}

#[test]
fn a_shell_completes_options_and_tools() {
    let scratch = Scratch::new().unwrap();
    let script = scratch.beside("completions");
    fs::write(&script, made("bash")).unwrap();
    let complete = |words: &[&str]| {
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let all = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; _superpin superpin {last} {before}; echo ${{COMPREPLY[@]}}",
            script.display(),
            words.join(" "),
            words.len() - 1,
        );
        text(&output(Command::new("bash").args(["-c", &all])).unwrap().stdout)
    };
    assert_eq!(complete(&["superpin", "-spm"]), "-spmsec -spmp\n");
    assert_eq!(complete(&["superpin", "-t", "icount"]), "icount1 icount2\n");
}

/// The archive and the package of Debian, made by the script, hold a program that runs.
#[test]
fn packages_hold_what_is_needed() {
    if !Selection::asked().has("packages", 0, 2) {
        return eprintln!("left out in this round");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // What it packs is built for release.
    if artifacts().ends_with("debug") || binary().parent() != Some(&artifacts()) {
        return eprintln!("skipped: the tests weren't built for release");
    }
    let scratch = Scratch::new().unwrap();
    let to = scratch.beside("out");
    let made = output(Command::new(root.join("scripts/package.sh")).arg(&to).current_dir(root)).unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    let mut found: Vec<String> =
        fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let version = env!("CARGO_PKG_VERSION");
    let [archive, package] = [format!("superpin-{version}-x86_64-linux"), format!("superpin_{version}_amd64.deb")];
    assert_eq!(found, [format!("{archive}.tar.gz"), package.clone()]);
    let unpacked = [scratch.beside("archive"), scratch.beside("package")];
    unpacked.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let unpack = [
        Command::new("tar").arg("-xzf").arg(to.join(format!("{archive}.tar.gz"))).arg("-C").arg(&unpacked[0]).status(),
        Command::new("dpkg-deb").arg("-x").arg(to.join(package)).arg(&unpacked[1]).status(),
    ];
    assert!(unpack.into_iter().all(|status| status.unwrap().success()));
    for usr in [unpacked[0].join(archive), unpacked[1].join("usr")] {
        let run = output(Command::new(usr.join("bin/superpin")).args(["-sp", "1", "-t", "icount2", "--", "/bin/true"]));
        assert!(text(&run.unwrap().stderr).starts_with("Total Count: "));
        for file in [
            "share/man/man1/superpin.1.gz",
            "share/bash-completion/completions/superpin",
            "share/zsh/vendor-completions/_superpin",
            "share/fish/vendor_completions.d/superpin.fish",
            "share/doc/superpin/docs/options.md",
            "share/doc/superpin/copyright",
        ] {
            assert!(fs::metadata(usr.join(file)).unwrap().len() > 100, "{file}");
        }
    }
}
