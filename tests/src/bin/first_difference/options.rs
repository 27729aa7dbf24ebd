//! The command line.

use std::path::PathBuf;

/// What is printed if it isn't right.
pub const USAGE: &str = "usage: first-difference --image PATH [OPTIONS] -- APP [ARGUMENTS]
  --first 'WORDS'       superpin's options of the first run   (-sp 1 -spmsec 20)
  --second 'WORDS'      those of the second run               (-sp 0)
  --first-env N=VALUE   a variable of the first run alone; may be repeated
  --second-env N=VALUE  one of the second run alone
  --stdin FILE          what both read                        (/dev/null)
  --registers           compare general registers too, where the app goes elsewhere (slower)
  --context N           how many stretches of code before it are listed (5)
Status: 0 nothing differs, 1 something does, 2 that couldn't be found out.";

/// What the two runs are called.
pub const NAMES: [&str; 2] = ["first", "second"];

/// One of the two runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Options of superpin.
    pub options: Vec<String>,
    /// Variables beside those that both have.
    pub variables: Vec<(String, String)>,
}

/// All that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The tool image with the tool `path`.
    pub image: PathBuf,
    /// The two runs.
    pub runs: [Run; 2],
    /// Standard input of both.
    pub stdin: PathBuf,
    /// Whether registers are compared.
    pub registers: bool,
    /// How many stretches are listed.
    pub context: usize,
    /// The app and its arguments.
    pub app: Vec<String>,
}

impl Options {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let run = |text| Run { options: words(text), variables: Vec::new() };
        let mut image = None;
        let mut options = Self {
            image: PathBuf::new(),
            runs: [run("-sp 1 -spmsec 20"), run("-sp 0")],
            stdin: "/dev/null".into(),
            registers: false,
            context: 5,
            app: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            if name == "--" {
                options.app = rest.cloned().collect();
                break;
            }
            if name == "--registers" {
                options.registers = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("{name} isn't known, or needs a value"))?;
            let variable = || {
                let (name, value) = value.split_once('=').ok_or_else(|| format!("{value} isn't N=VALUE"))?;
                Ok::<_, String>((name.to_owned(), value.to_owned()))
            };
            match name.as_str() {
                "--image" => image = Some(value.into()),
                "--first" => options.runs[0].options = words(value),
                "--second" => options.runs[1].options = words(value),
                "--first-env" => options.runs[0].variables.push(variable()?),
                "--second-env" => options.runs[1].variables.push(variable()?),
                "--stdin" => options.stdin = value.into(),
                "--context" => options.context = value.parse().map_err(|_| format!("{value} is no number"))?,
                _ => return Err(format!("{name} isn't known")),
            }
        }
        options.image = image.ok_or("--image is missing")?;
        if options.app.is_empty() { Err("no app after --".into()) } else { Ok(options) }
    }
}
