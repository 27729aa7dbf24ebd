//! Whose the words of the command line are, and how long names are written.

use std::ffi::OsString;

use crate::command::misspelt::did_you_mean;

/// Arguments, by whose they are.
pub struct Split {
    /// For clap, program name first.
    pub own: Vec<OsString>,
    /// Those of the tools, in the order in which these were named.
    pub tool_options: Vec<Vec<OsString>>,
}

/// Long names, and whether a value follows.
fn long_options(command: &clap::Command) -> Vec<(String, bool)> {
    let with_long =
        command.get_arguments().filter_map(|a| Some((a.get_long()?.to_owned(), a.get_action().takes_values())));
    with_long.collect()
}

/// Separates superpin's own arguments from the tool's, and gives long names their second dash.
///
/// # Errors
/// If an option is nobody's.
pub fn split(command: &clap::Command, args: &[OsString]) -> Result<Split, String> {
    let known = long_options(command);
    let mut split = Split { own: vec!["superpin".into()], tool_options: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        if text == "--" {
            split.own.push(arg.clone());
            split.own.extend(args.cloned());
            break;
        }
        let bare = text.trim_start_matches('-');
        let name = bare.split_once('=').map_or(bare, |(name, _)| name);
        let dashes = text.len() - bare.len();
        let is_tool = text == "-t" || (dashes > 0 && name == "tool");
        let option = known.iter().find(|(long, _)| dashes > 0 && long == name);
        let is_ours = text == "-t" || option.is_some_and(|(long, _)| long != "help");
        if !is_ours && let Some(options) = split.tool_options.last_mut() {
            options.push(arg.clone());
            continue;
        }
        match option {
            _ if text == "-t" => split.own.push(arg.clone()),
            Some(_) => split.own.push(format!("--{bare}").into()),
            None if dashes > 0 && !["h", "V", "q"].contains(&name) => {
                let names: Vec<&str> = known.iter().map(|(long, _)| long.as_str()).collect();
                let meant = did_you_mean(name, &names).replacen('`', "`-", 1);
                return Err(format!(
                    "error: there is no option `{text}`{meant} (superpin --help lists them); those of the tool come after -t TOOL\n"
                ));
            }
            None => {
                split.own.push(arg.clone());
                continue;
            }
        }
        let takes_value = is_tool || option.is_some_and(|(_, takes_value)| *takes_value);
        if takes_value && !bare.contains('=') {
            split.own.extend(args.next().cloned());
        }
        if is_tool {
            split.tool_options.push(Vec::new());
        }
    }
    Ok(split)
}

/// Writes long names as they are to be typed.
pub fn single_dashes(command: &clap::Command, text: &str) -> String {
    let mut text = text.to_owned();
    for (name, _) in long_options(command).iter().filter(|(n, _)| n != "help" && n != "version" && n != "tool") {
        text = text.replace(&format!("--{name}"), &format!("-{name}"));
    }
    text.replace("-t, --tool", "-t").replace("--tool", "-t")
}
