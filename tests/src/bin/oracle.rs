//! Counts a program's instructions by single-stepping: `oracle PROGRAM ARGS`. Slow; for comparing a total by hand.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(program) = args.next() else {
        eprintln!("usage: oracle PROGRAM ARGS   (counts the program's instructions one by one)");
        return ExitCode::FAILURE;
    };
    let mut command = Command::new(program);
    command.args(args);
    match suites::oracle::count_command(command) {
        Ok(count) => {
            eprintln!("Total Count: {}", count.instructions);
            ExitCode::from(count.status as u8)
        }
        Err(error) => {
            eprintln!("oracle: {error}");
            ExitCode::FAILURE
        }
    }
}
