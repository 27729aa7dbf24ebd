//! Makes of the command line what a package has besides the program.
//!
//! ```sh
//! superpin -t help | cargo run --release -p supervisor --example manual -- man > superpin.1
//! superpin -t help | cargo run --release -p supervisor --example manual -- bash > superpin.bash
//! ```
//! What is read is the list of tools.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

fn main() -> ExitCode {
    let kind = std::env::args().nth(1).unwrap_or_default();
    match write(&kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("manual: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(kind: &str) -> io::Result<()> {
    let mut listed = String::new();
    io::stdin().read_to_string(&mut listed)?;
    // clap keeps names for ever.
    let listed: &'static str = listed.leak();
    let tools: Vec<(&'static str, &'static str)> = listed.lines().filter_map(tool).collect();
    if tools.is_empty() {
        return Err(io::Error::other("standard input has no list of tools: give it what `superpin -t help` prints"));
    }
    if kind == "man" {
        return io::stdout().write_all(man(&tools)?.as_bytes());
    }
    let shell: Shell = kind.parse().map_err(|_| {
        io::Error::other(format!("`{kind}` is neither `man` nor a shell (bash, zsh, fish, elvish, powershell)"))
    })?;
    let names = PossibleValuesParser::new(tools.iter().map(|(name, _)| *name));
    let mut command = supervisor::command_line().mut_arg("tool", |arg| arg.value_parser(names));
    let mut script = Vec::new();
    generate(shell, &mut command, "superpin", &mut script);
    let script = String::from_utf8(script).map_err(io::Error::other)?;
    let script = with_one_dash(script, |name| match shell {
        // What fish calls an old-style option.
        Shell::Fish => (format!("-l {name} "), format!("-o {name} ")),
        _ => (format!("--{name}"), format!("-{name}")),
    });
    io::stdout().write_all(script.as_bytes())
}

/// Name and description, if the line is about a tool.
fn tool(line: &'static str) -> Option<(&'static str, &'static str)> {
    let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
    Some((name, about.trim()))
}

/// The page.
fn man(tools: &[(&str, &str)]) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(supervisor::command_line()).render(&mut page)?;
    let mut of_tools = Roff::new();
    of_tools.control("SH", ["TOOLS"]);
    for (name, about) in tools {
        of_tools.control("TP", []);
        of_tools.text([bold(*name)]);
        of_tools.text([roman(*about)]);
    }
    of_tools.text([roman("superpin -t NAME --help tells a tool's options.")]);
    of_tools.to_writer(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    Ok(with_one_dash(page, |name| {
        let name = name.replace('-', "\\-");
        (format!("\\-\\-{name}"), format!("\\-{name}"))
    }))
}

/// With names of options as they are typed. `change`: how a name is written, and how it is to be.
fn with_one_dash(text: String, change: impl Fn(&str) -> (String, String)) -> String {
    let command = supervisor::command_line();
    let names = command.get_arguments().filter_map(clap::Arg::get_long);
    let ours = names.filter(|name| !["help", "version", "tool"].contains(name));
    ours.fold(text, |text, name| {
        let (written, typed) = change(name);
        text.replace(&written, &typed)
    })
}
