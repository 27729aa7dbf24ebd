//! The tools that a command line names, and what goes together.

use std::ffi::{OsStr, OsString};

use crate::command::settings::{ChosenTool, Sees, ToolInfo};

/// Tools of a run, with what this image knows of each.
pub struct Chosen<'i> {
    tools: Vec<(ChosenTool, Option<&'i ToolInfo>)>,
}

impl<'i> Chosen<'i> {
    /// Names and options, in their order. An image that a path names isn't known here.
    pub fn new(named: impl Iterator<Item = (String, Vec<OsString>)>, known: &'i [ToolInfo]) -> Self {
        let find = |name: &str| known.iter().find(|info| info.name == name);
        let tools = named.map(|(name, options)| {
            let info = find(&name);
            (ChosenTool { name, options }, info)
        });
        Self { tools: tools.collect() }
    }

    /// Whether that is so of one that this image has.
    pub fn any(&self, is_so: impl Fn(&ToolInfo) -> bool) -> bool {
        self.tools.iter().any(|(_, info)| info.is_some_and(&is_so))
    }

    /// The help of the tool whose options ask for it.
    pub fn help(&self) -> Option<String> {
        let asks = |tool: &ChosenTool| tool.options.iter().any(|o| o == "-h" || o == "--help" || o == "-help");
        self.tools.iter().find_map(|(tool, info)| info.filter(|_| asks(tool)).map(|info| (info.help)()))
    }

    /// Whether this is a run in which they can be used.
    ///
    /// # Errors
    /// If not: why, and what to do.
    pub fn go_with(&self, sliced: bool, is_checked: bool, is_whole: bool) -> Result<(), String> {
        let changes = |(_, info): &&(ChosenTool, Option<&ToolInfo>)| info.is_some_and(|info| info.changes_app);
        if let Some((ChosenTool { name, .. }, _)) = self.tools.iter().find(changes) {
            if sliced {
                return Err(format!(
                    "error: the tool {name} changes the app, and slices repeat what the app did without it: run it with -sp 0\n"
                ));
            }
            if is_checked {
                return Err(format!(
                    "error: -check-tool checks that a tool leaves the app as it is, and the tool {name} changes it: leave -check-tool out\n"
                ));
            }
        }
        let samples = |(_, info): &&(ChosenTool, Option<&ToolInfo>)| info.is_some_and(|info| info.samples);
        if let Some((ChosenTool { name, .. }, _)) = self.tools.iter().find(samples) {
            let why = match () {
                () if !sliced => "a serial run has none: run it with -sp 1",
                () if self.tools.len() > 1 => "other tools would see no more than it does: run it alone",
                () if is_checked => "-check-tool compares whole results: leave -check-tool out",
                () if !is_whole => "where a region is isn't known then: leave the region out",
                () => return Ok(()),
            };
            return Err(format!("error: the tool {name} looks at a sample of each slice, and {why}\n"));
        }
        if self.tools.len() > 1 && is_checked {
            return Err("error: -check-tool checks one tool: name one\n".into());
        }
        Ok(())
    }

    /// Has tools whose options leave it open see repetitions of string instructions as the others do, or each one if it is open for all. Gives what is to be told of that.
    pub fn agree(&mut self) -> Vec<String> {
        let seen: Vec<Option<Sees>> =
            self.tools.iter().map(|(tool, info)| info.and_then(|info| sees(tool, info))).collect();
        let find = |each: bool| {
            seen.iter().flatten().find(|sees| sees.each_repetition == each && !sees.leaves_repetitions_open)
        };
        let each = find(false).is_none() && seen.iter().flatten().any(|sees| sees.each_repetition);
        let others = |sees: &Sees| sees.leaves_repetitions_open && sees.each_repetition != each;
        let mut told = Vec::new();
        for ((tool, _), _) in self.tools.iter_mut().zip(&seen).filter(|(_, sees)| sees.as_ref().is_some_and(others)) {
            let (word, what) = if each {
                ("each", "each repetition of a string instruction")
            } else {
                ("once", "a string instruction once, however often it repeats")
            };
            tool.options.extend(["--repeat", word].map(OsString::from));
            told.push(format!(
                "{} counts {what}, as another tool of this run does (--repeat behind -t says otherwise)",
                tool.name
            ));
        }
        told
    }

    /// What translations depend on.
    pub fn identity(&self) -> String {
        let identities = self.tools.iter().map(|(tool, info)| {
            let options: Vec<&OsStr> = tool.options.iter().map(OsString::as_os_str).collect();
            info.map(|info| (info.identity)(&options)).unwrap_or_default()
        });
        identities.collect::<Vec<_>>().join("\n-t\n")
    }

    /// The tools alone.
    pub fn into_tools(self) -> Vec<ChosenTool> {
        self.tools.into_iter().map(|(tool, _)| tool).collect()
    }
}

/// What a tool sees with its options, if they are right.
fn sees(tool: &ChosenTool, info: &ToolInfo) -> Option<Sees> {
    let options: Vec<&OsStr> = tool.options.iter().map(OsString::as_os_str).collect();
    (info.sees)(&options)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool that sees each repetition, or one, unless its options say otherwise.
    fn info(name: &'static str, sees: fn(&[&OsStr]) -> Option<Sees>) -> ToolInfo {
        ToolInfo {
            name,
            about: "",
            check: |_, _| Ok(()),
            identity: |_| String::new(),
            help: String::new,
            wants_prefix: false,
            has_first_pass: false,
            changes_app: false,
            writes_stream: false,
            samples: false,
            sees,
        }
    }

    fn seen(options: &[&OsStr], usual: bool) -> Option<Sees> {
        let said = |word: &str| options.iter().any(|option| *option == word);
        let each_repetition = said("each") || usual && !said("once");
        Some(Sees {
            each_repetition,
            leaves_repetitions_open: !said("each") && !said("once"),
            output: None,
            each_thread: false,
        })
    }

    #[test]
    fn who_leaves_it_open_sees_what_the_others_see() {
        let tools = [info("mix", |options| seen(options, false)), info("cache", |options| seen(options, true))];
        let agreed = |named: &[(&str, &[&str])]| {
            let named =
                named.iter().map(|(name, options)| (name.to_string(), options.iter().map(OsString::from).collect()));
            let mut chosen = Chosen::new(named.collect::<Vec<_>>().into_iter(), &tools);
            let told = chosen.agree().len();
            let options = |tool: ChosenTool| {
                tool.options.iter().map(|o| o.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
            };
            (told, chosen.into_tools().into_iter().map(options).collect::<Vec<_>>())
        };
        let strings = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        assert_eq!(agreed(&[("mix", &[]), ("cache", &[])]), (1, strings(["--repeat each", ""])));
        assert_eq!(agreed(&[("mix", &["once"]), ("cache", &[])]), (1, strings(["once", "--repeat once"])));
        assert_eq!(agreed(&[("mix", &["once"]), ("cache", &["each"])]), (0, strings(["once", "each"])));
        assert_eq!(agreed(&[("mix", &[]), ("mix", &[])]), (0, strings(["", ""])));
        assert_eq!(agreed(&[("mix", &[])]), (0, vec![String::new()]));
    }
}
