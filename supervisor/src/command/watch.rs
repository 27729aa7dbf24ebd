//! What those who work on superpin ask for: `-log`, `-dump-trace`, `-stop-slice`.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bubble::events::EventKind;
use object::{Object, ObjectSymbol};

use crate::base::{Doing, Failure};

/// A place in the app's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppPlace {
    /// At this address.
    Address(u64),
    /// So many bytes behind the start of a function of the app's own file.
    Symbol(String, u64),
}

impl AppPlace {
    /// Reads `0x401000`, `401000`, `main` or `main+0x10`.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let wrong = || "must be an address in hexadecimal, as 0x401000, or a function, as main or main+0x10".to_owned();
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return number(text).map(Self::Address).ok_or_else(wrong);
        }
        let (name, offset) = match text.rsplit_once('+') {
            Some((name, offset)) => (name, number(offset).ok_or_else(wrong)?),
            None => (text, 0),
        };
        if name.is_empty() { Err(wrong()) } else { Ok(Self::Symbol(name.into(), offset)) }
    }
}

/// `-log`: where to, and which kinds of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// The file; `-` for standard error.
    pub path: PathBuf,
    /// As [`EventKind::bit`]s.
    pub kinds: u32,
}

/// Kinds of events by the words for them.
const WORDS: [(&str, EventKind); 5] = [
    ("boundaries", EventKind::Boundary),
    ("records", EventKind::Record),
    ("translations", EventKind::Translation),
    ("links", EventKind::Link),
    ("faults", EventKind::Fault),
];

impl LogTarget {
    /// Reads `FILE` or `FILE:WHAT,…`. What stands behind the last colon belongs to the name, unless it is a list.
    pub fn parse(text: &str) -> Result<Self, String> {
        let kind = |word: &str| WORDS.iter().find(|(name, _)| *name == word).map(|(_, kind)| kind.bit());
        let listed = text.rsplit_once(':').filter(|(_, list)| !list.contains('/'));
        let (path, kinds) = match listed {
            Some((path, list)) => match list.split(',').map(kind).collect::<Option<Vec<u32>>>() {
                Some(kinds) => (path, kinds.into_iter().fold(0, |all, kind| all | kind)),
                None => {
                    let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
                    return Err(format!("after the file's name and a colon: some of {}", names.join(",")));
                }
            },
            None => (text, WORDS.iter().fold(0, |all, (_, kind)| all | kind.bit())),
        };
        if path.is_empty() {
            return Err("the name of a file is missing".into());
        }
        Ok(Self { path: path.into(), kinds })
    }
}

/// `-stop-slice`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopTarget {
    /// The slice's number.
    pub slice: u64,
    /// Where; before its first instruction if nothing is said.
    pub place: Option<AppPlace>,
}

impl StopTarget {
    /// Reads `N` or `N:PLACE`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (number, place) = text.split_once(':').map_or((text, None), |(number, place)| (number, Some(place)));
        let slice = number.parse().map_err(|_| "must be a slice's number, and may have a place behind a colon")?;
        Ok(Self { slice, place: place.map(AppPlace::parse).transpose()? })
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Events that are written down.
    pub log: Option<LogTarget>,
    /// Traces with the instruction at this place are written out.
    pub dump: Option<AppPlace>,
    /// A slice that waits for a debugger.
    pub stop: Option<StopTarget>,
}

/// The same, in addresses of a process. `None`: not asked for, or not known yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Kinds of events that the processes tell.
    pub kinds: u32,
    /// Whose traces are written out.
    pub dump: Option<u64>,
    /// The slice that stops.
    pub stops: Option<u64>,
    /// Before which instruction.
    pub stops_at: Option<u64>,
}

impl Watch {
    /// Looks whether the app's file has the symbols. Has no effect.
    ///
    /// # Errors
    /// If one isn't there.
    pub fn check(&self, app: &Path) -> Result<(), Failure> {
        self.symbols().try_for_each(|name| symbol(app, name).map(|_| ()))
    }

    fn places(&self) -> impl Iterator<Item = &AppPlace> {
        self.dump.iter().chain(self.stop.iter().filter_map(|stop| stop.place.as_ref()))
    }

    fn symbols(&self) -> impl Iterator<Item = &str> {
        self.places().filter_map(|place| match place {
            AppPlace::Symbol(name, _) => Some(name.as_str()),
            AppPlace::Address(_) => None,
        })
    }

    /// In a process that is about to execute its first instruction.
    ///
    /// # Errors
    /// If one of the symbols isn't there, or where its file lies can't be found out.
    pub fn addresses(&self, pid: i32) -> Result<Addresses, Failure> {
        let file = PathBuf::from(format!("/proc/{pid}/exe"));
        let address = |place: &AppPlace| -> Result<u64, Failure> {
            match place {
                AppPlace::Address(address) => Ok(*address),
                AppPlace::Symbol(name, offset) => {
                    let (value, entry) = symbol(&file, name)?;
                    Ok(value.wrapping_sub(entry).wrapping_add(entry_of(pid)?).wrapping_add(*offset))
                }
            }
        };
        let kinds = self.log.as_ref().map_or(0, |log| log.kinds)
            | self.dump.as_ref().map_or(0, |_| EventKind::Trace.bit())
            | self.stop.as_ref().map_or(0, |_| EventKind::Stop.bit());
        Ok(Addresses {
            kinds,
            dump: self.dump.as_ref().map(address).transpose()?,
            stops: self.stop.as_ref().map(|stop| stop.slice),
            stops_at: self.stop.as_ref().and_then(|stop| stop.place.as_ref()).map(address).transpose()?,
        })
    }
}

/// The address of a symbol in a file, and that of the file's entry.
fn symbol(path: &Path, name: &str) -> Result<(u64, u64), Failure> {
    let bytes = fs::read(path).doing("read the app's symbols")?;
    let missing = || Failure::Unsupported(format!("{}: has no symbol `{name}`; give an address", path.display()));
    let file = object::File::parse(bytes.as_slice()).map_err(|_| missing())?;
    let mut all = file.symbols().chain(file.dynamic_symbols());
    let found = all.find(|symbol| symbol.is_definition() && symbol.name_bytes().is_ok_and(|n| n == name.as_bytes()));
    found.map(|symbol| (symbol.address(), file.entry())).ok_or_else(missing)
}

/// Where the process's program begins, as the kernel has told it.
fn entry_of(pid: i32) -> Result<u64, Failure> {
    let vector = fs::read(format!("/proc/{pid}/auxv")).doing("read the app's auxiliary vector")?;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let entry = vector.chunks_exact(16).find(|pair| word(&pair[..8]) == libc::AT_ENTRY);
    let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
    entry.map(|pair| word(&pair[8..])).ok_or(missing).doing("find where the app's program begins")
}

/// Whether a path names standard error.
pub fn is_stderr(path: &Path) -> bool {
    path.as_os_str().as_bytes() == b"-"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_addresses_or_symbols() {
        for text in ["401000", "0x401000"] {
            assert_eq!(AppPlace::parse(text), Ok(AppPlace::Address(0x40_1000)));
        }
        assert_eq!(AppPlace::parse("main"), Ok(AppPlace::Symbol("main".into(), 0)));
        assert_eq!(AppPlace::parse("add+0x1f"), Ok(AppPlace::Symbol("add".into(), 0x1f)));
        for wrong in ["", "+1", "main+x", "12g"] {
            assert!(AppPlace::parse(wrong).unwrap_err().contains("0x401000"), "{wrong}");
        }
    }

    #[test]
    fn a_log_may_be_of_some_kinds() {
        let all = LogTarget::parse("a/b.log").unwrap();
        assert_eq!((all.path, all.kinds), ("a/b.log".into(), 0b11111));
        let some = LogTarget::parse("a:b:links,records").unwrap();
        assert_eq!((some.path, some.kinds), ("a:b".into(), EventKind::Link.bit() | EventKind::Record.bit()));
        assert_eq!(LogTarget::parse("a:b/c").unwrap().path, PathBuf::from("a:b/c"));
        assert!(LogTarget::parse("a:link").unwrap_err().contains("links"));
        assert!(LogTarget::parse(":links").is_err());
    }

    #[test]
    fn a_slice_may_stop_at_a_place() {
        assert_eq!(StopTarget::parse("3"), Ok(StopTarget { slice: 3, place: None }));
        let place = Some(AppPlace::Address(0x10));
        assert_eq!(StopTarget::parse("0:10"), Ok(StopTarget { slice: 0, place }));
        assert!(StopTarget::parse("main").is_err() && StopTarget::parse("1:").is_err());
    }

    #[unsafe(no_mangle)]
    extern "C" fn superpin_is_watched_here() {}

    #[test]
    fn symbols_of_this_program_are_found_where_they_are() {
        let symbol = AppPlace::Symbol("superpin_is_watched_here".into(), 1);
        let watch = Watch { dump: Some(symbol), ..Watch::default() };
        watch.check(Path::new("/proc/self/exe")).unwrap();
        let addresses = watch.addresses(std::process::id() as i32).unwrap();
        assert_eq!(addresses.dump, Some(superpin_is_watched_here as *const () as u64 + 1));
        let none = Watch { dump: Some(AppPlace::Symbol("no_such".into(), 0)), ..Watch::default() };
        assert!(none.check(Path::new("/proc/self/exe")).unwrap_err().to_string().contains("no_such"));
    }
}
