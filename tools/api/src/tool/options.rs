//! Options of a tool: its own and those that every tool has.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::OsStringValueParser;
use clap::builder::TypedValueParser;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};
use supervisor::{Output, Sees};

use super::compare::{Compare, Comparison};
use super::tool::Tool;
use crate::files::Images;
use crate::instrument::Repeat;
use crate::threads::Threads;

/// For a tool without options of its own.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct NoOptions {}

/// The options that every tool has.
#[derive(Parser)]
#[command(no_binary_name = true, disable_version_flag = true)]
struct Common {
    /// Print the result to this file instead of standard error
    #[arg(short = 'o', long = "output", value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    output: Option<PathBuf>,
    /// Print the result as one line of JSON: the tool, its values, and whether they are exact
    #[arg(long = "json")]
    json: bool,
    /// Compare the result with this one, of an earlier run of the same tool with --json: a count that has grown makes the run fail
    #[arg(long = "compare", value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    compare: Option<PathBuf>,
    /// With --compare: by more than so many percent
    #[arg(long = "grows", value_name = "PERCENT", default_value_t = 1.0, requires = "compare")]
    grows: f64,
    /// Compress the output (zstd)
    #[arg(short = 'z', long = "compress")]
    compress: bool,
}

/// What must be known of a tool to read what stands between its name and `--`, without its types: they would make this code once more
/// for each tool.
#[derive(Clone, Copy)]
struct Untyped {
    name: &'static str,
    about: &'static str,
    stream: bool,
    /// Adds its own options.
    augment: fn(clap::Command) -> clap::Command,
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
    /// What the result is compared with.
    pub compare: Option<Compare>,
}

impl Untyped {
    const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, about: T::ABOUT, stream: T::STREAM, augment: T::Options::augment_args }
    }

    fn command(self) -> clap::Command {
        let usage = format!("superpin [RUN OPTIONS] -t {} [OPTIONS] -- APP [ARGS]", self.name);
        let command = (self.augment)(Common::command()).name(self.name).about(self.about).override_usage(usage);
        let command = command.mut_arg("compress", |arg| arg.hide(!self.stream));
        // A value may be `-5`, which is then told to be wrong, if it is.
        command.mut_args(|arg| match arg.get_action().takes_values() && !arg.is_positional() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
    }

    fn matches(self, args: &[&OsStr]) -> clap::error::Result<ArgMatches> {
        let command = self.command();
        let args = with_two_dashes(&command, args);
        command.try_get_matches_from(args)
    }

    /// What can be wrong with the options that every tool has.
    fn common(self, matches: &ArgMatches, threads: Threads) -> Result<Common, String> {
        let common = Common::from_arg_matches(matches).map_err(|error| error.to_string())?;
        let name = self.name;
        if self.stream && common.output.is_none() {
            return Err(format!("tool {name} writes while the app runs: -o FILE says where to"));
        }
        if self.stream && threads != Threads::OneStream {
            return Err(format!(
                "tool {name} writes a stream, which has one order, and so sees threads as one stream: its author is to leave out `Tool::threads`",
            ));
        }
        if common.compress && !self.stream {
            return Err(format!("tool {name} has nothing to compress: -z is for tools that write while the app runs"));
        }
        Ok(common)
    }

    fn identity(self, args: &[&OsStr]) -> String {
        let Ok(matches) = self.matches(args) else { return String::new() };
        let ids = matches.ids().filter(|id| !["output", "json", "compress", "compare", "grows"].contains(&id.as_str()));
        let mut values: Vec<String> = ids.map(|id| format!("{id} {:?}", matches.get_raw(id.as_str()))).collect();
        values.sort();
        values.join("\n")
    }

    /// Whether the result can be written there.
    fn check(self, output: &Path, follow: bool) -> Result<(), String> {
        if self.stream && follow && Output::is_shared(output) && output != Path::new("/dev/null") {
            return Err(format!(
                "with -follow 1 tool {} writes a stream for each process, which would mix in {}: -o has to name a file, to whose name other processes add their numbers",
                self.name,
                output.display()
            ));
        }
        Output::check(output).map_err(|error| format!("cannot write the result to {}: {error}", output.display()))
    }
}

/// Makes a tool from its options.
///
/// # Errors
/// A text for the user: what is wrong with the options, or their help if they ask for it.
pub fn configure<T: Tool>(args: &[&OsStr]) -> Result<Configured<T>, String> {
    let untyped = Untyped::of::<T>();
    let matches = untyped.matches(args).map_err(|error| error.to_string())?;
    let own = T::Options::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    let tool = T::new(own).map_err(|error| format!("tool {}: {error}", T::NAME))?;
    let Common { output, json, compress, compare, grows } = untyped.common(&matches, tool.threads())?;
    let compare = compare.map(|file| Compare { file, percent: grows });
    Ok(Configured { tool, output, json, compress, compare })
}

/// Checks all that can be known of the options before the app starts. `follow`: each process that it starts has a result.
///
/// # Errors
/// See [`configure`].
pub fn check<T: Tool>(args: &[&OsStr], follow: bool) -> Result<(), String> {
    let Configured { tool, output, json, compare, .. } = configure::<T>(args)?;
    if (json || compare.is_some()) && tool.values_with(&T::Total::default(), &Images::none()).is_none() {
        return Err(format!("tool {} has no result in JSON (its author can give it one: `Tool::values`)", T::NAME));
    }
    if let Some(compare) = compare {
        Comparison::load(compare, T::NAME)?;
    }
    output.map_or(Ok(()), |path| Untyped::of::<T>().check(&path, follow))
}

/// What the options say, but for where to print: runs of which this is the same instrument alike. Empty if the options are wrong.
pub fn identity<T: Tool>(args: &[&OsStr]) -> String {
    Untyped::of::<T>().identity(args)
}

/// What it sees with these options. `None`: they are wrong.
pub fn sees<T: Tool>(args: &[&OsStr]) -> Option<Sees> {
    let Configured { tool, output, .. } = configure::<T>(args).ok()?;
    let (each_repetition, each_thread) = (tool.repeat() == Repeat::Each, tool.threads() == Threads::Each);
    let matches = Untyped::of::<T>().matches(args).ok()?;
    let has_option = matches.try_contains_id("repeat").is_ok();
    let leaves_repetitions_open = has_option && matches.value_source("repeat") == Some(ValueSource::DefaultValue);
    Some(Sees { each_repetition, leaves_repetitions_open, each_thread, output })
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
    Untyped::of::<T>().command().render_help().to_string()
}
