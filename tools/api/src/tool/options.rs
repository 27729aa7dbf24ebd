//! Options of a tool: its own and those that every tool has.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::OsStringValueParser;
use clap::builder::TypedValueParser;

use clap::{Args, CommandFactory, FromArgMatches, Parser};
use supervisor::Output;

use super::tool::Tool;
use crate::files::Images;
use crate::threads::Threads;

/// For a tool without options of its own.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct NoOptions {}

/// What stands between the tool's name and `--`.
#[derive(Parser)]
#[command(no_binary_name = true, disable_version_flag = true)]
struct CommandLine<O: Args> {
    /// Print the result to this file instead of standard error
    #[arg(short = 'o', long = "output", value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    output: Option<PathBuf>,
    /// Print the result as one line of JSON: the tool, its values, and whether they are exact
    #[arg(long = "json")]
    json: bool,
    /// Compress the output (zstd)
    #[arg(short = 'z', long = "compress")]
    compress: bool,
    #[command(flatten)]
    own: O,
}

/// A tool with the options that every tool has.
pub struct Configured<T> {
    /// The tool.
    pub tool: T,
    /// Where to print.
    pub output: Option<PathBuf>,
    /// Whether it is printed for programs.
    pub json: bool,
    /// Whether the stream is compressed.
    pub compress: bool,
}

/// Makes a tool from its options.
///
/// # Errors
/// A text for the user: what is wrong with the options, or their help if they ask for it.
pub fn configure<T: Tool>(args: &[&OsStr]) -> Result<Configured<T>, String> {
    let command = command::<T>();
    let args = with_two_dashes(&command, args);
    let matches = command.try_get_matches_from(args).map_err(|error| error.to_string())?;
    let line = CommandLine::<T::Options>::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    let tool = T::new(line.own).map_err(|error| format!("tool {}: {error}", T::NAME))?;
    if T::STREAM && line.output.is_none() {
        return Err(format!("tool {} writes while the app runs: -o FILE says where to", T::NAME));
    }
    if T::STREAM && tool.threads() != Threads::OneStream {
        return Err(format!(
            "tool {} writes a stream, which has one order, and so sees threads as one stream: its author is to leave out `Tool::threads`",
            T::NAME
        ));
    }
    if line.compress && !T::STREAM {
        return Err(format!("tool {} has nothing to compress: -z is for tools that write while the app runs", T::NAME));
    }
    Ok(Configured { tool, output: line.output, json: line.json, compress: line.compress })
}

/// Checks all that can be known of the options before the app starts. `follow`: each process that it starts has a result.
///
/// # Errors
/// See [`configure`].
pub fn check<T: Tool>(args: &[&OsStr], follow: bool) -> Result<(), String> {
    let Configured { tool, output, json, .. } = configure::<T>(args)?;
    if json && tool.values_with(&T::Total::default(), &Images::none()).is_none() {
        return Err(format!("tool {} has no result in JSON (its author can give it one: `Tool::values`)", T::NAME));
    }
    let Some(path) = output else { return Ok(()) };
    if T::STREAM && follow && Output::is_shared(&path) && path != Path::new("/dev/null") {
        return Err(format!(
            "with -follow 1 tool {} writes a stream for each process, which would mix in {}: -o has to name a file, to whose name other processes add their numbers",
            T::NAME,
            path.display()
        ));
    }
    Output::check(&path).map_err(|error| format!("cannot write the result to {}: {error}", path.display()))
}

/// What the options say, but for where to print: runs of which this is the same instrument alike. Empty if the options are wrong.
pub fn identity<T: Tool>(args: &[&OsStr]) -> String {
    let command = command::<T>();
    let args = with_two_dashes(&command, args);
    let Ok(matches) = command.try_get_matches_from(args) else { return String::new() };
    let ids = matches.ids().filter(|id| !["output", "json", "compress"].contains(&id.as_str()));
    let mut values: Vec<String> = ids.map(|id| format!("{id} {:?}", matches.get_raw(id.as_str()))).collect();
    values.sort();
    values.join("\n")
}

/// Long options may be written with one dash, as everywhere in superpin.
fn with_two_dashes(command: &clap::Command, args: &[&OsStr]) -> Vec<OsString> {
    let is_short = |c: char| command.get_arguments().any(|arg| arg.get_short() == Some(c));
    let long = |arg: &OsStr| {
        let name = arg.to_str()?.strip_prefix('-')?;
        let first = name.chars().next()?;
        (name.len() > 1 && first.is_ascii_alphabetic() && !is_short(first)).then(|| OsString::from(format!("--{name}")))
    };
    args.iter().map(|arg| long(arg).unwrap_or_else(|| arg.into())).collect()
}

/// Help on a tool's options.
pub fn help<T: Tool>() -> String {
    command::<T>().render_help().to_string()
}

fn command<T: Tool>() -> clap::Command {
    let usage = format!("superpin [RUN OPTIONS] -t {} [OPTIONS] -- APP [ARGS]", T::NAME);
    let command = CommandLine::<T::Options>::command().name(T::NAME).about(T::ABOUT).override_usage(usage);
    let command = command.mut_arg("compress", |arg| arg.hide(!T::STREAM));
    // A value may be `-5`, which is then told to be wrong, if it is.
    command.mut_args(|arg| match arg.get_action().takes_values() && !arg.is_positional() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    })
}
