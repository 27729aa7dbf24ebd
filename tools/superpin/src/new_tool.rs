//! `superpin new-tool NAME`: a project for a tool of one's own, outside of superpin's repository.
//!
//! The tool is compiled with superpin's sources, so the project names them: where they lay when this superpin was built, or where `-superpin` says. A path and no address in the net,
//! since what is there is the version that the author has in hand, and builds without the net; what was compiled there is used again.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where superpin's sources were when this was compiled.
const BUILT_FROM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const TOOL: &str = include_str!("../new-tool/tool.rs");
const TEST: &str = include_str!("../new-tool/test.rs");

/// Names that the tool's own file has already.
const TAKEN: [&str; 7] = ["Tool", "Trace", "Out", "At", "Arg", "SliceInfo", "NoOptions"];

const USAGE: &str = "usage: superpin new-tool FOLDER [-superpin SOURCES]\n\
    Makes a project for a tool in a new folder, whose name is the tool's. SOURCES is a checkout of superpin's repository; without it, the one from which this superpin was built.\n";

/// Status of a failure of superpin's own.
const FAILED: i32 = 125;

/// The whole command, without its name. Returns the exit status.
pub fn run(arguments: &[OsString]) -> i32 {
    if arguments.iter().any(|argument| ["-h", "-help", "--help"].contains(&&*argument.to_string_lossy())) {
        print!("{USAGE}");
        return 0;
    }
    match make(arguments) {
        Ok(told) => {
            println!("{told}");
            0
        }
        Err(why) => {
            // Nobody is left to be told of an error here.
            let _ = writeln!(io::stderr(), "superpin: new-tool: {}", why.trim_end());
            FAILED
        }
    }
}

fn make(arguments: &[OsString]) -> Result<String, String> {
    let (mut folder, mut sources) = (None, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-superpin" | "--superpin") => {
                sources = Some(arguments.next().ok_or(format!("-superpin needs a folder\n{USAGE}"))?);
            }
            Some(option) if option.starts_with('-') => return Err(format!("there is no option `{option}`\n{USAGE}")),
            _ if folder.is_some() => return Err(format!("one folder at a time\n{USAGE}")),
            _ => folder = Some(PathBuf::from(argument)),
        }
    }
    let folder = folder.ok_or(format!("name the folder to make\n{USAGE}"))?;
    let name = name(&folder)?;
    let sources = sources_at(sources.map(OsString::as_os_str))?;
    let parent = folder.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    if parent.starts_with(&sources) {
        let (parent, sources) = (parent.display(), sources.display());
        return Err(format!("{parent} lies in superpin's own repository, {sources}: choose a place outside"));
    }
    fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let written = write_all(&folder, &name, &sources);
    if let Err(why) = written {
        // It is of no use, and in the way of another attempt.
        let _ = fs::remove_dir_all(&folder);
        return Err(why);
    }
    Ok(format!(
        "made {0}: src/main.rs is the tool, tests/slices.rs its test. To build it and run it, and to test it:\n  \
         cd {0}\n  cargo run --release -- -sp 1 -t {name} -- ls\n  cargo test --release",
        folder.display()
    ))
}

/// The tool's name.
fn name(folder: &Path) -> Result<String, String> {
    let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_letter = |c: char| c.is_ascii_lowercase();
    let is_name = name.starts_with(is_letter)
        && name.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '-')
        && !name.ends_with('-')
        && !name.contains("--");
    if !is_name {
        return Err(format!(
            "`{name}` can't be a tool's name: small letters, digits and single dashes, a letter first"
        ));
    }
    if ["help", "superpin", "superpin-tool", "test", "core", "std", "alloc"].contains(&name) {
        return Err(format!("a tool can't be called `{name}`: something else is"));
    }
    Ok(name.to_owned())
}

/// The repository with superpin's sources.
fn sources_at(named: Option<&OsStr>) -> Result<PathBuf, String> {
    let path = named.map_or(PathBuf::from(BUILT_FROM), PathBuf::from);
    let found = fs::canonicalize(&path).ok().filter(|path| path.join("tools/api/Cargo.toml").is_file());
    found.ok_or_else(|| match named {
        Some(_) => format!("{} isn't a checkout of superpin's repository: it has no tools/api", path.display()),
        None => format!(
            "a tool is compiled with superpin's sources, and those that this superpin was built from aren't at {} any more: name a checkout, as in\n  \
             superpin new-tool FOLDER -superpin ~/superpin",
            path.display()
        ),
    })
}

fn write_all(folder: &Path, name: &str, sources: &Path) -> Result<(), String> {
    let put = |path: &str, text: String| {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).map_err(|e| format!("{}: {e}", path.display()))
    };
    let read = |path: &str| {
        fs::read_to_string(sources.join(path)).map_err(|error| format!("{}: {error}", sources.join(path).display()))
    };
    put("Cargo.toml", manifest(name, sources, &read("Cargo.toml")?))?;
    put("Cargo.lock", read("Cargo.lock")?)?;
    put(".cargo/config.toml", config(sources))?;
    put(".gitignore", "target/\n".into())?;
    put("src/main.rs", TOOL.replace("new-tool", name).replace("NewTool", &type_name(name)))?;
    put("tests/slices.rs", TEST.replace("new-tool", name))
}

/// `my-tool` as `MyTool`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    let name: String = name.split('-').map(capital).collect();
    if TAKEN.contains(&name.as_str()) { format!("My{name}") } else { name }
}

/// As a string in TOML.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

/// Packages of superpin's workspace that are no part of a tool: cargo would warn of profiles for them.
const OTHERS: [&str; 3] = ["suites", "superpin", "syn"];

fn manifest(name: &str, sources: &Path, workspace: &str) -> String {
    // Up to the next table of another sort.
    let is_others =
        |table: &str| OTHERS.iter().any(|name| table.starts_with(&format!("profile.release.package.{name}]")));
    let tables = workspace.split("\n[").filter(|table| table.starts_with("profile.") && !table.contains("inherits"));
    let tables = tables.filter(|table| !is_others(table));
    let profiles: Vec<String> = tables.map(|table| format!("[{}", table.trim_end())).collect();
    let profiles: Vec<&str> = profiles.iter().flat_map(|table| table.lines()).filter(|l| !l.starts_with('#')).collect();
    let profiles = profiles.join("\n").replace("\n[", "\n\n[");
    format!(
        "[workspace]    # of its own, wherever it lies\n\n\
         [package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [[bin]]\nname = \"{name}\"\npath = \"src/main.rs\"\ntest = false    # a tool image has no `main` of Rust's: tests are programs of their own, in tests/\n\n\
         [dependencies]\nsuperpin-tool = {{ path = {} }}\n\n\
         # As in superpin's own workspace, so that what was compiled there fits.\n{profiles}\n",
        quoted(&sources.join("tools/api"))
    )
}

fn config(sources: &Path) -> String {
    format!(
        "# A tool image is static-PIE: the same file is started by a person, and mapped into other processes.\n\
         [build]\ntarget = \"x86_64-unknown-linux-gnu\"\n\
         build-dir = {}    # what is compiled on the way, in common with superpin (cargo 1.91 or later); without this line, all of it here\n\n\
         [target.x86_64-unknown-linux-gnu]\nrustflags = [\"-C\", \"target-feature=+crt-static\", \"-C\", \"relocation-model=pie\"]\n",
        quoted(&sources.join("target"))
    )
}
