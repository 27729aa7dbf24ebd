//! Tools that are to look at one run: what they must see alike.
//!
//! ```text
//!   -t mix --repeat once -t cache --repeat each
//!      │                      └── each repetition of a string instruction by itself
//!      └── one instruction, however often it repeats: it would have counted more than alone
//! ```
//! Where options leave that open the command line has made them agree (`crate::command::cli`).
//! Named invariant *as alone*: each tool's result is the one that it has in a run of its own.

use std::path::PathBuf;

use bubble::shared::MOST_TOOLS;

use crate::command::{Sees, ToolInfo};
use crate::report::Output;

/// Whether these tools can look at one run.
///
/// # Errors
/// Why not, and what to do.
pub fn check(tools: &[(&ToolInfo, Sees)]) -> Result<(), String> {
    if tools.len() > MOST_TOOLS {
        return Err(format!("{} tools were named: {MOST_TOOLS} at most can look at one run", tools.len()));
    }
    let changes = tools.iter().find(|(info, _)| info.changes_app).filter(|_| tools.len() > 1);
    if let Some((ToolInfo { name, .. }, _)) = changes {
        return Err(format!("tool {name} changes the app, which the others would see: run it alone"));
    }
    let sees = |each: bool| tools.iter().find(|(_, sees)| sees.each_repetition == each);
    if let (Some((each, _)), Some((once, _))) = (sees(true), sees(false)) {
        return Err(format!(
            "tool {} sees each repetition of a string instruction, and tool {} one instruction: say the same for both, as with `--repeat each` (or `once`) behind each -t, or run them one by one",
            each.name, once.name
        ));
    }
    one(
        tools,
        |info| info.has_first_pass,
        |name, other| {
            format!(
                "tools {name} and {other} both look at the run twice, the first time by themselves: run them one by one"
            )
        },
    )?;
    one(
        tools,
        |info| info.writes_stream,
        |name, other| {
            format!(
                "tools {name} and {other} both write while the app runs, to one stream for a slice: run them one by one"
            )
        },
    )?;
    let outputs: Vec<&PathBuf> = tools.iter().filter_map(|(_, sees)| sees.output.as_ref()).collect();
    let is_twice = |(index, path): &(usize, &&PathBuf)| outputs[..*index].contains(path) && !Output::is_shared(path);
    match outputs.iter().enumerate().find(is_twice) {
        Some((_, path)) => Err(format!("two tools are to print to {}: name a file for each", path.display())),
        None => Ok(()),
    }
}

/// Fails if that is so of two.
fn one(
    tools: &[(&ToolInfo, Sees)],
    is_so: impl Fn(&ToolInfo) -> bool,
    why: impl Fn(&str, &str) -> String,
) -> Result<(), String> {
    let such: Vec<&str> = tools.iter().filter(|(info, _)| is_so(info)).map(|(info, _)| info.name).collect();
    match such[..] {
        [a, b, ..] => Err(why(a, b)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ToolInfo = ToolInfo {
        name: "plain",
        about: "",
        check: |_, _| Ok(()),
        identity: |_| String::new(),
        help: String::new,
        wants_prefix: false,
        has_first_pass: false,
        changes_app: false,
        writes_stream: false,
        samples: false,
        sees: |_| None,
    };

    fn refused(a: (&ToolInfo, Sees), b: (&ToolInfo, Sees)) -> String {
        check(&[a, b]).unwrap_err()
    }

    fn prints(path: &str) -> Sees {
        Sees { output: Some(path.into()), ..Sees::default() }
    }

    #[test]
    fn tools_see_alike() {
        let own = || (&PLAIN, Sees::default());
        assert_eq!(check(&[own(), own()]), Ok(()));
        let each = Sees { each_repetition: true, ..Sees::default() };
        assert_eq!(check(&[(&PLAIN, each.clone()), (&PLAIN, each.clone())]), Ok(()));
        let other = ToolInfo { name: "other", ..PLAIN };
        assert!(refused(own(), (&other, each)).starts_with("tool other sees each repetition"));
        for info in [
            ToolInfo { has_first_pass: true, ..PLAIN },
            ToolInfo { writes_stream: true, ..PLAIN },
            ToolInfo { changes_app: true, ..PLAIN },
        ] {
            assert_eq!(check(&[(&info, Sees::default())]), Ok(()));
            assert!(check(&[(&info, Sees::default()), (&info, Sees::default())]).is_err());
        }
        assert!(check(&vec![own(); MOST_TOOLS + 1]).is_err());
    }

    #[test]
    fn each_has_a_file_of_its_own() {
        assert!(refused((&PLAIN, prints("a")), (&PLAIN, prints("a"))).contains("a file for each"));
        assert_eq!(check(&[(&PLAIN, prints("a")), (&PLAIN, prints("b"))]), Ok(()));
        assert_eq!(check(&[(&PLAIN, prints("/dev/stdout")), (&PLAIN, prints("/dev/stdout"))]), Ok(()));
    }
}
