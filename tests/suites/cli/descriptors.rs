//! Descriptors that the app and superpin were started with: whose they are, and how long they stay open.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use suites::deadline::{output, stretched, wait_for};
use suites::run::Scratch;
use suites::superpin::{binary, parse_total};

use super::{in_script, text};

#[test]
fn what_the_app_closes_is_closed() {
    // The app closes its input, a pipe that it has inherited and its output, and then waits.
    let script = "echo out; exec 0<&- 5>&- 1>&-; read go < \"$1\"";
    for sliced in ["0", "1"] {
        let scratch = Scratch::new().unwrap();
        let fifo = scratch.beside("go");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let (mut extra, extra_end) = std::io::pipe().unwrap();
        let superpin = format!("{} -sp {sliced} -t icount2 -- sh -c \"$1\" sh \"$2\" 5>&2 2>/dev/null", in_script());
        let mut child = Command::new("sh")
            .process_group(0)
            .args(["-c", &superpin])
            .args([binary().as_os_str(), script.as_ref(), fifo.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(extra_end)
            .spawn()
            .unwrap();
        // It waits in its script, so these ends are seen only if nobody else holds the other ends.
        let (seen, ends) = mpsc::channel();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            extra.read_to_string(&mut text).unwrap();
            seen.send((text, input.write_all(b"x").map_err(|error| error.kind()))).unwrap();
        });
        let ends = ends.recv_timeout(stretched(Duration::from_secs(60))).inspect_err(|_| child.kill().unwrap());
        assert_eq!(ends, Ok(("out\n".to_owned(), Err(ErrorKind::BrokenPipe))), "-sp {sliced}");
        fs::write(fifo, "\n").unwrap();
        assert!(wait_for(&mut child).unwrap().success());
    }
}

#[test]
fn closed_standard_descriptors_stay_closed() {
    let scratch = Scratch::new().unwrap();
    let (total, seen) = (scratch.beside("total"), scratch.beside("seen"));
    let script =
        "open=; for fd in 0 1 2; do test -e /proc/self/fd/$fd && open=\"$open $fd\"; done; echo $open > \"$1\"";
    for closed in ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"] {
        for sliced in ["0", "1"] {
            let superpin =
                format!("{} -sp {sliced} -t icount2 -o \"$2\" -- sh -c \"$1\" sh \"$3\" {closed}", in_script());
            let mut shell = Command::new("sh");
            shell.args(["-c", &superpin]);
            shell.args([binary().as_os_str(), script.as_ref(), total.as_os_str(), seen.as_os_str()]);
            let run = wait_for(&mut shell.process_group(0).spawn().unwrap()).unwrap();
            assert!(run.success(), "{closed}: {run}");
            assert!(parse_total(&fs::read_to_string(&total).unwrap()).is_some_and(|n| n > 1000));
            let open: Vec<&str> = ["0", "1", "2"]
                .into_iter()
                .filter(|fd| !closed.contains(&format!("{fd}<&-")) && !closed.contains(&format!("{fd}>&-")))
                .collect();
            let seen = fs::read_to_string(&seen).unwrap();
            assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), open, "{closed}");
        }
    }
}

#[test]
fn results_go_to_a_descriptor_that_is_named() {
    for sliced in ["0", "1"] {
        for named in ["/dev/fd/7", "/dev/stdout", "/proc/self/fd/1"] {
            let script = format!("{} -sp {sliced} -t icount2 -o {named} -- true 7>&1", in_script());
            let run = output(Command::new("sh").args(["-c", &script]).arg(binary())).unwrap();
            assert!(parse_total(&text(&run.stdout)).is_some_and(|n| n > 1000) && run.stderr.is_empty(), "{run:?}");
        }
        // What the app has written there stays, and what its processes count is told apart.
        let folder = Scratch::new().unwrap();
        let script = format!(
            "{} -sp {sliced} -follow 1 -t icount2 -o /dev/stdout -- sh -c 'echo first; /bin/true; :' >{}",
            in_script(),
            folder.beside("out").display()
        );
        let run = output(Command::new("sh").args(["-c", &script]).arg(binary())).unwrap();
        let told = fs::read_to_string(folder.beside("out")).unwrap();
        let count = |what: &str| told.matches(what).count();
        assert_eq!(
            (told.starts_with("first\n"), count("superpin: process"), count("Total")),
            (true, 2, 2),
            "{run:?} {told}"
        );
    }
}
