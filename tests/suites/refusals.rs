//! What superpin can't do: it says so at once, in any place it can, and the app's work isn't lost.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use suites::run::{Job, Scratch, run};
use suites::superpin::{binary, command, parse_total};

const WAYS: &[&[&str]] = &[&["-sp", "0"], &["-sp", "1"]];

fn under(options: &[&str], job: &Job) -> Job {
    job.under(command().into_iter().chain(options.iter().chain(&["-t", "icount2", "--"]).map(Into::into)))
}

/// In all four combinations, as the app and as what the app becomes.
#[test]
fn superpin_under_superpin() {
    for outer in WAYS {
        for inner in WAYS {
            let app = under(inner, &Job::new(["/bin/echo", "hi"]));
            let outcome = run(&under(outer, &app)).unwrap();
            let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
            assert_eq!((outcome.status, outcome.stdout.as_slice()), (126, &b""[..]), "{outer:?} {inner:?} {told}");
            assert!(told.contains("under superpin"), "{told}");
            // What a program becomes that is followed goes on natively.
            let words: Vec<String> = app.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let script = Job::new(["/bin/sh".to_owned(), "-c".into(), format!("exec {}", words.join(" "))]);
            let outcome = run(&under(outer, &script)).unwrap();
            let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
            assert!(told.contains("under superpin"), "{outer:?} {inner:?} {told}");
            assert!(outcome.status == 126 || outcome.status == 125, "{outer:?} {inner:?} {outcome:?}");
        }
    }
}

/// The result is lost, and the status says so.
#[test]
fn standard_error_cannot_be_written() {
    for way in WAYS {
        for redirection in ["2>/dev/full", "2>&-"] {
            let scratch = Scratch::new().unwrap();
            let options = way.join(" ");
            let script = format!("exec {} {options} -t icount2 -- echo hi {redirection}", binary().display());
            let output = Command::new("/bin/sh").args(["-c", &script]).current_dir(scratch.cwd()).output().unwrap();
            assert_eq!(output.status.code(), Some(125), "{way:?} {redirection}");
            // With a file for the result nothing is lost.
            let script = format!("exec {} {options} -t icount2 -o total -- echo hi {redirection}", binary().display());
            let output = Command::new("/bin/sh").args(["-c", &script]).current_dir(scratch.cwd()).output().unwrap();
            assert_eq!(
                (output.status.code(), output.stdout.as_slice()),
                (Some(0), &b"hi\n"[..]),
                "{way:?} {redirection}"
            );
            assert!(parse_total(&fs::read_to_string(scratch.cwd().join("total")).unwrap()).is_some());
        }
        // Errors can't be told either.
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = Command::new(binary())
            .args(*way)
            .args(["-t", "nothing-like-that", "--", "/bin/true"])
            .stderr(full)
            .status();
        assert_eq!(status.unwrap().code(), Some(125));
    }
}

/// A program that says that it has run, and ends with 7, for 32-bit processors.
const OLD: &str = ".globl _start\n_start: movl $1, %eax\n movl $7, %ebx\n int $0x80\n";

fn old_program(scratch: &Scratch) -> Option<PathBuf> {
    let (source, program) = (scratch.beside("old.s"), scratch.beside("old"));
    fs::write(&source, OLD).unwrap();
    let mut compiler = Command::new("gcc");
    compiler.args(["-m32", "-nostdlib", "-static", "-o"]).arg(&program).arg(&source).stderr(Stdio::null());
    let is_built = compiler.status().is_ok_and(|status| status.success());
    let runs = is_built && Command::new(&program).status().is_ok_and(|status| status.code() == Some(7));
    if !runs {
        eprintln!("skipped: 32-bit programs can't be built or don't run here");
    }
    runs.then_some(program)
}

/// A 32-bit program that the app starts, or becomes, goes on natively.
#[test]
fn a_program_for_another_processor_is_started() {
    let scratch = Scratch::new().unwrap();
    let Some(program) = old_program(&scratch) else { return };
    let program = program.display();
    for way in WAYS {
        let child = Job::new(["/bin/sh".to_owned(), "-c".into(), format!("{program}; echo ended with $?")]);
        let outcome = run(&under(&[way, &["-follow", "1"][..]].concat(), &child)).unwrap();
        let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.stdout, b"ended with 7\n", "{way:?} {told}");
        assert!(told.contains("32-bit") && parse_total(&told).is_some(), "{way:?} {told}");
        assert_eq!(outcome.status, 125, "{way:?} {told}");
        let becomes = Job::new(["/bin/sh".to_owned(), "-c".into(), format!("exec {program}")]);
        let outcome = run(&under(way, &becomes)).unwrap();
        let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(told.contains("32-bit") && !told.contains("killed"), "{way:?} {outcome:?}");
        assert!([125, 126].contains(&outcome.status), "{way:?} {outcome:?}");
    }
}
