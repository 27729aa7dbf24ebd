//! The tools that a command line names, and what goes together.

use std::ffi::{OsStr, OsString};

use crate::command::settings::{ChosenTool, ToolInfo};

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
    pub fn go_with(&self, sliced: bool, is_checked: bool) -> Result<(), String> {
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
        if self.tools.len() > 1 && is_checked {
            return Err("error: -check-tool checks one tool: name one\n".into());
        }
        Ok(())
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
