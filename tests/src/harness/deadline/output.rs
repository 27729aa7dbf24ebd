//! What a command writes until its end.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use super::limit::Wait;
use super::wait::wait_for;

/// Runs a command, with nothing to read and in a process group of its own, to its end.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
    let status = wait_for(&mut child)?;
    let mut wait = Wait::begin();
    let mut all = |from: Option<mpsc::Receiver<Vec<u8>>>| {
        let Some(from) = from else { return Ok(Vec::new()) };
        loop {
            match from.recv_timeout(wait.step()) {
                Ok(bytes) => return Ok(bytes),
                Err(_) if !wait.is_over() => {}
                Err(_) => {
                    let what = format!("the end of the output of {command:?}, which has ended");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, wait.told(&what)));
                }
            }
        }
    };
    Ok(Output { status, stdout: all(stdout)?, stderr: all(stderr)? })
}

/// What comes from a pipe until its end.
fn read_all(mut from: impl io::Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (send, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_all_that_was_written() {
        let output = output(Command::new("/bin/sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
    }
}
