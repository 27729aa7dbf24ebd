//! What is to be run is found, or it is told why not: apps, tools, options.

use suites::guest;
use suites::run::Scratch;

use super::{elf_header, executable, fails, superpin, text};

#[test]
fn an_app_is_found_by_the_search_path_and_as_a_script() {
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "--", "echo", "found"]);
        assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (0, "found\n"));
    }
    let scratch = Scratch::new().unwrap();
    let script = executable(&scratch.beside("script"), b"#!/bin/sh\necho \"script $1\"\n");
    let outcome = superpin(&["-sp", "1", "-t", "icount2", "--", &script, "x"]);
    assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (0, "script x\n"));
}

#[test]
fn an_app_has_as_many_processors_as_it_is_given() {
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-cpus", "1", "-t", "icount2", "--", "nproc"]);
        assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (0, "1\n"));
    }
}

#[test]
fn no_such_app() {
    fails(&["-t", "icount2", "--", "/nonexistent/app"], &[127], &["/nonexistent/app"]);
    fails(&["-sp", "1", "-t", "icount2", "--", "no-such-app-anywhere"], &[127], &["no-such-app-anywhere"]);
}

#[test]
fn not_an_executable() {
    fails(&["-t", "icount2", "--", "/etc/passwd"], &[126], &["/etc/passwd"]);
    fails(&["-sp", "1", "-t", "icount2", "--", "/tmp"], &[126], &["/tmp"]);
}

#[test]
fn an_executable_for_another_machine() {
    let scratch = Scratch::new().unwrap();
    // e_machine 3: i386; 183: aarch64
    for (class, machine, words) in [(1, 3, "32-bit"), (2, 183, "another processor")] {
        let file = executable(&scratch.beside(&format!("foreign{machine}")), &elf_header(class, machine));
        fails(&["-t", "icount2", "--", &file], &[126], &[&file, words]);
        fails(&["-sp", "1", "-t", "icount2", "--", &file], &[126], &[&file, words]);
    }
}

#[test]
fn no_such_tool() {
    fails(&["-t", "icount9", "--", "/bin/true"], &[125], &["icount9", "icount2"]);
    fails(&["-t", "/nonexistent/tool", "--", "/bin/true"], &[125], &["/nonexistent/tool"]);
}

#[test]
fn a_tool_image_that_is_not_one() {
    fails(&["-t", "/bin/ls", "--", "/bin/true"], &[125], &["/bin/ls", "tool image"]);
    fails(&["-sp", "1", "-t", "/etc/passwd", "--", "/bin/true"], &[125], &["/etc/passwd"]);
    let static_program = guest::named("kinds_of_executable.static-pie").executable().to_str().unwrap();
    fails(&["-t", static_program, "--", "/bin/true"], &[125], &["tool image"]);
}

#[test]
fn bad_option_values() {
    fails(&["-sp", "2", "-t", "icount2", "--", "/bin/true"], &[125], &["-sp"]);
    fails(&["-spmsec", "soon", "-t", "icount2", "--", "/bin/true"], &[125], &["-spmsec"]);
    fails(&["-spmsec", "0", "-t", "icount2", "--", "/bin/true"], &[125], &["-spmsec"]);
    fails(&["-spmp", "0", "-t", "icount2", "--", "/bin/true"], &[125], &["-spmp"]);
    fails(&["-nonsense", "-t", "icount2", "--", "/bin/true"], &[125], &["-nonsense"]);
    for sliced in ["0", "1"] {
        fails(&["-sp", sliced, "-t", "icount2", "--nonsense", "--", "/bin/true"], &[125], &["--nonsense"]);
    }
    fails(&["-t", "icount2", "-o", "/nonexistent/file", "--", "/bin/true"], &[125], &["/nonexistent/file"]);
}

#[test]
fn missing_arguments() {
    fails(&[], &[125], &["-t"]);
    fails(&["-t", "icount2"], &[125], &["--"]);
    fails(&["--", "/bin/true"], &[125], &["-t"]);
}
