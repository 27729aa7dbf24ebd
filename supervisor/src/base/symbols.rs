//! Names of what lies in the tool image, which is this program's file as well: functions by their symbols, analysis routines by the
//! names that slices know for them, and why a routine can't be called from translated code.

use std::collections::BTreeMap;

use bubble::routines::{way, why};
use isa::routine::{Obstacle, Own, Plan, Way, followed};
use machine::mapping::{self, Mapping};
use object::{Object, ObjectSymbol};

/// How addresses of the image are written in reports of slices.
const MARK: &str = "image+0x";
/// Bytes of the longest name.
const LONGEST: u64 = 4096;

unsafe extern "C" {
    /// Where this program starts in memory (the linker defines it).
    #[link_name = "__ehdr_start"]
    static START: u8;
}

/// The symbols of this program.
struct Symbols(Vec<u8>);

impl Symbols {
    fn read() -> Option<Self> {
        std::fs::read("/proc/self/exe").ok().map(Self)
    }

    /// The function at this offset of the image.
    fn function(&self, offset: u64) -> Option<String> {
        let file = object::File::parse(self.0.as_slice()).ok()?;
        let is_there = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == object::SymbolKind::Text
                && (symbol.address()..symbol.address() + symbol.size()).contains(&offset)
        };
        let symbol = file.symbols().find(is_there)?;
        // The hash at the end tells nobody anything.
        Some(format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?)))
    }
}

/// A slice's report with functions' names behind addresses of the image.
pub fn named(report: &str) -> String {
    let Some(symbols) = report.contains(MARK).then(Symbols::read).flatten() else { return report.to_owned() };
    let mut parts = report.split(MARK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        let (offset, rest) = part.split_at(digits);
        let name = u64::from_str_radix(offset, 16).ok().and_then(|offset| symbols.function(offset));
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        text += &format!("{MARK}{offset}{name}{rest}");
    }
    text
}

/// A name that lies in the image, at this offset.
pub fn text_at(offset: u64, len: u64) -> Option<String> {
    let is_ours = len > 0 && len <= LONGEST && offset < len_of_image() && offset + len <= len_of_image();
    // SAFETY: this program has these bytes where the image has them, and reads them only: names are constants.
    let bytes = is_ours.then(|| unsafe { std::slice::from_raw_parts(at(offset), len as usize) })?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// Why the routine at this offset can't be called from translated code as it is; `None` if that isn't its machine code's fault.
pub fn obstacle(offset: u64) -> Option<String> {
    let base = at(0) as u64;
    match followed(base + offset, &own_code(offset)?).err()? {
        Obstacle::Length => Some("it is too long".into()),
        Obstacle::Instruction { pc, text } => {
            let function = Symbols::read().and_then(|symbols| symbols.function(pc - base));
            let function = function.map(|name| format!(" in {name}")).unwrap_or_default();
            Some(format!("it has `{text}`{function}"))
        }
    }
}

/// What is put aside for the routine at this offset, which doesn't change much.
fn put_aside(offset: u64) -> Option<String> {
    let routine = at(0) as u64 + offset;
    let touched = match Plan::new(own_code(offset)?).way(routine) {
        Way::Itself(touched) => touched,
        _ => return Some(format!("all is put aside where {}", obstacle(offset)?)),
    };
    let vectors = touched.vectors.count_ones();
    let parts = [
        (vectors > 0, format!("{vectors} vector register{}", if vectors == 1 { "" } else { "s" })),
        (touched.mxcsr, "MXCSR".to_owned()),
        (touched.fs, "FS".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(is_it, _)| *is_it).map(|(_, text)| text).collect();
    Some(format!("it uses {}", parts.join(", ")))
}

/// The code of this program, as long as that is asked for a place inside.
fn own_code(offset: u64) -> Option<Own> {
    // SAFETY: routines are functions of the image, which is this program.
    (offset < len_of_image()).then(|| unsafe { Own::new() })
}

fn at(offset: u64) -> *const u8 {
    (&raw const START).wrapping_add(offset as usize)
}

/// Bytes of this program in memory, without what is written to. Between two of its segments there may be a page that is nobody's.
fn len_of_image() -> u64 {
    let maps = mapping::all("self").unwrap_or_default();
    let start = at(0) as u64;
    image_end(&maps, start).map_or(0, |end| end - start)
}

/// Where the file's last mapping ends whose first one begins at `start`.
fn image_end(maps: &[Mapping], start: u64) -> Option<u64> {
    let file = |map: &Mapping| (map.device, map.inode);
    let first = maps.iter().position(|map| map.start == start)?;
    let image = maps[first..].iter().take_while(|map| file(map) == file(&maps[first]));
    image.last().map(|map| map.end)
}

/// What is known of routines whose calls cost much, by their offsets and ways, of all slices together.
#[derive(Default)]
pub struct Routines(BTreeMap<(u64, u64), Used>);

#[derive(Default)]
struct Used {
    name: Option<String>,
    calls: u64,
    ns: u64,
    places: u64,
    why: u64,
}

impl Used {
    /// Why a routine that translated code is left for isn't called in a better way.
    fn reasons(&self) -> Vec<&'static str> {
        let all = [
            (why::TOLD, "what it is told the runtime alone finds"),
            (why::COUNTERS, "counters that are added to before it have to be added up first"),
            (why::TESTED, "its test isn't in place"),
            (why::IS_TEST, "a test is put in place or called by the runtime, and here it can't be in place"),
            (why::OFF, "`-engine` says so"),
        ];
        all.into_iter().filter(|(bit, _)| self.why & bit != 0).map(|(_, text)| text).collect()
    }
}

impl Routines {
    /// Adds how a slice called them. Their addresses are in the bubble.
    pub fn add(&mut self, slice: &[bubble::routines::Away]) {
        let image = bubble::map::IMAGE.start;
        for away in slice.iter().filter(|away| away.routine != 0) {
            let used = self.0.entry((away.routine.wrapping_sub(image), away.way)).or_default();
            used.calls += away.calls;
            used.ns += away.ns;
            used.places += away.places;
            used.why |= away.why;
            if used.name.is_none() && away.name_len > 0 {
                used.name = text_at(away.name.wrapping_sub(image), away.name_len);
            }
        }
    }

    /// For each, those first whose calls take most, what is to be said. `cpu_ns`: all time of the slices.
    pub fn described(&self, cpu_ns: u64) -> Vec<Described> {
        let mut all: Vec<_> = self.0.iter().collect();
        let taken = |way: u64, used: &Used| used.ns + used.calls * way::detour_ns(way);
        all.sort_by_key(|((_, way), used)| std::cmp::Reverse((taken(*way, used), used.calls, used.places)));
        let one = |(&(offset, way), used): (&(u64, u64), &Used)| {
            let name = used.name.clone().unwrap_or_else(|| named(&format!("{MARK}{offset:x}")));
            let name = if way == way::TAKES_WORDS { of_type(&name) } else { name };
            let obstacle = || obstacle(offset).unwrap_or_else(|| "it changes more than general registers".into());
            let taken = taken(way, used);
            let (way, why) = match way {
                way::LEAVES if used.why == 0 => ("leaves_the_cache", obstacle()),
                way::LEAVES => ("leaves_the_cache", used.reasons().join(", ")),
                way::ASIDE if used.why != 0 => ("is_called_aside", used.reasons().join(", ")),
                way::ASIDE => ("is_called_aside", obstacle()),
                way::PARTLY => {
                    let aside = put_aside(offset).unwrap_or_else(|| "it uses vector registers".into());
                    ("is_called_partly_aside", aside)
                }
                way::TAKES_WORDS => ("takes_words", String::new()),
                way::CALLED => ("is_called", "it is too long to be in place, calls, loops or uses the stack".into()),
                _ => ("is_in_place", String::new()),
            };
            let is_counted = !["is_called", "is_in_place"].contains(&way);
            let share = (100.0 * taken as f64 / cpu_ns.max(1) as f64).min(100.0);
            Described { name, way, counted: is_counted.then_some((used.calls, share)), places: used.places, why }
        };
        all.into_iter().map(one).collect()
    }
}

/// The name of a trait's function, without the trait: `Tool::drain` of `my::Tool` is `my::Tool::drain`.
fn of_type(name: &str) -> String {
    let parts = name.split_once('<').and_then(|(_, rest)| rest.split_once(" as "));
    let parts = parts.and_then(|(own, rest)| Some((own, rest.rsplit_once(">::")?.1.trim_end_matches(')'))));
    parts.map_or_else(|| name.to_owned(), |(own, function)| format!("{own}::{function}"))
}

/// What people are told of a routine.
pub struct Described {
    name: String,
    /// How it is called: the end of a line's name.
    pub way: &'static str,
    /// Its calls, and the share of the time in it and on the way there, in percent, where they are counted.
    counted: Option<(u64, f64)>,
    places: u64,
    why: String,
}

impl Described {
    /// The share of the time in it and on the way there, in percent; 0 if its calls aren't counted.
    pub fn share(&self) -> f64 {
        self.counted.map_or(0.0, |(_, share)| share)
    }

    /// For the report.
    pub fn text(&self) -> String {
        let Self { name, places, why, .. } = self;
        let numbers = match self.counted {
            Some((calls, share)) => format!("{name}, {calls} calls, {share:.1} % of the time"),
            None => format!("{name}, at {places} places"),
        };
        if why.is_empty() { numbers } else { format!("{numbers}: {why}") }
    }

    /// For the collector: with tabs between. What isn't known is empty.
    pub fn line(&self) -> String {
        let Self { name, way, places, why, .. } = self;
        let (calls, share) =
            self.counted.map(|(calls, share)| (calls.to_string(), format!("{share:.1}"))).unwrap_or_default();
        let places = if self.counted.is_some() { String::new() } else { places.to_string() };
        format!("{way}\t{name}\t{calls}\t{share}\t{places}\t{why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_traits_are_called_by_their_types() {
        let told = "image+0x4cf3d0 (<my::caches::All as superpin_tool::tool::Tool>::drain)";
        assert_eq!(of_type(told), "my::caches::All::drain");
        assert_eq!(of_type("image+0x4cf3d0"), "image+0x4cf3d0");
    }

    #[test]
    fn functions_of_this_program_have_names() {
        let offset = named as *const () as u64 - at(0) as u64;
        let text = named(&format!("signal 11 at {MARK}{offset:x}, and {MARK}1"));
        assert!(text.contains("supervisor::base::symbols::named), and image+0x1"), "{text}");
        assert_eq!(named("nothing"), "nothing");
    }

    #[test]
    fn constants_of_this_program_can_be_read() {
        let offset = MARK.as_ptr() as u64 - at(0) as u64;
        assert_eq!(text_at(offset, MARK.len() as u64).as_deref(), Some(MARK));
        assert_eq!(text_at(1 << 40, 8), None);
        assert_eq!(text_at(u64::MAX, 8), None);
    }

    #[test]
    fn a_page_between_segments_belongs_to_the_image() {
        let maps = "\
1000-2000 r--p 00000000 fe:00 8 /bin/other
4000-6000 r--p 00000000 fe:00 7 /bin/a
7000-9000 r-xp 00002000 fe:00 7 /bin/a
9000-a000 r--p 00004000 fe:00 7 /bin/a
a000-b000 rw-p 00000000 00:00 0 [heap]
";
        let maps: Vec<Mapping> = maps.lines().filter_map(Mapping::parse).collect();
        assert_eq!((image_end(&maps, 0x4000), image_end(&maps, 0x5000)), (Some(0xa000), None));
    }

    #[test]
    fn what_keeps_a_routine_from_being_called_is_found() {
        fn prints() {
            println!("a word");
        }
        let offset = prints as *const () as u64 - at(0) as u64;
        assert!(obstacle(offset).is_some_and(|why| why.starts_with("it has `")), "{:?}", obstacle(offset));
    }
}
