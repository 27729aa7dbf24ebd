//! Which part of the run the tool looks at: `-start-icount`, `-skip`, `-trace` and the like.

use std::time::Duration;

use bubble::region::{Event, Kind, Looks, NAME_BYTES, Spec};

/// Counts at most: sums of some stay far from where numbers wrap round.
const MOST: u64 = 1 << 60;

/// Options of every tool.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Region (which part of the run the tool looks at)")]
pub struct RegionOptions {
    /// From the instruction with this number on (the first has 0)
    #[arg(long = "start-icount", value_name = "N", value_parser = number)]
    start_icount: Option<u64>,
    /// Up to this instruction, which isn't looked at any more
    #[arg(long = "stop-icount", value_name = "N", value_parser = number)]
    stop_icount: Option<u64>,
    /// From the n-th execution of the instruction at this address on (the first if no number follows)
    #[arg(long = "start-address", value_name = "ADDRESS[:n]", value_parser = Place::address)]
    start_address: Option<Place>,
    /// Up to the n-th execution of the instruction at this address after the start
    #[arg(long = "stop-address", value_name = "ADDRESS[:n]", value_parser = Place::address)]
    stop_address: Option<Place>,
    /// From where the app enters this function for the n-th time on (its name as the linker has it, in any program or library)
    #[arg(long = "start-symbol", value_name = "NAME[:n]", value_parser = Place::symbol)]
    start_symbol: Option<Place>,
    /// Up to where the app enters this function for the n-th time after the start
    #[arg(long = "stop-symbol", value_name = "NAME[:n]", value_parser = Place::symbol)]
    stop_symbol: Option<Place>,
    /// From the n-th execution of the marker with this number on: `mov ebx, NUMBER`, then the bytes 64 67 90 (Intel's SSC marks)
    #[arg(long = "start-marker", value_name = "NUMBER[:n]", value_parser = Place::marker)]
    start_marker: Option<Place>,
    /// Up to the n-th execution of the marker with this number after the start
    #[arg(long = "stop-marker", value_name = "NUMBER[:n]", value_parser = Place::marker)]
    stop_marker: Option<Place>,
    /// Begin so many instructions later: than the program, or than what a start names
    #[arg(long = "skip", value_name = "N", value_parser = number)]
    skip: Option<u64>,
    /// Look at so many instructions before that already, to warm up what the tool simulates: what it counts there is dropped
    #[arg(long = "warm-up", value_name = "N", value_parser = number)]
    warm_up: Option<u64>,
    /// What becomes of the app when the tool has looked its last: behind the region, or where the tool itself stops
    #[arg(long = "then", value_name = "WHAT", default_value = "go-on")]
    then: Then,
    /// Look at so many instructions
    #[arg(long = "trace", value_name = "N", value_parser = number)]
    trace: Option<u64>,
    /// Let the app go on natively after so many seconds (as `superpin detach PID` does at any time): the result is what was until then
    #[arg(long = "detach-after", value_name = "SECONDS", value_parser = seconds)]
    pub detach_after: Option<Duration>,
}

/// What becomes of the app behind all that is looked at.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Then {
    /// It goes on, as without a tool
    #[default]
    GoOn,
    /// It is killed, and superpin's status is 0
    End,
}

/// A place and how often it is executed.
#[derive(Clone, Debug)]
enum Place {
    Address(u64, u64),
    Symbol(String, u64),
    Marker(u64, u64),
}

impl Place {
    fn address(text: &str) -> Result<Self, String> {
        let (place, times) = with_times(text)?;
        let number = u64::from_str_radix(place.strip_prefix("0x").unwrap_or(place), 16);
        let wrong =
            |_| "must be an address in hexadecimal, as 0x401000, and how often may follow: 0x401000:3".to_owned();
        Ok(Self::Address(number.map_err(wrong)?, times))
    }

    fn symbol(text: &str) -> Result<Self, String> {
        let (name, times) = with_times(text)?;
        match name.len() {
            0 => Err("must be a function's name, and how often may follow: main, or malloc:100".into()),
            1..=NAME_BYTES => Ok(Self::Symbol(name.into(), times)),
            _ => Err(format!("a name may have {NAME_BYTES} bytes at most")),
        }
    }

    fn marker(text: &str) -> Result<Self, String> {
        let (place, times) = with_times(text)?;
        let number = match place.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => place.parse(),
        };
        let wrong = |_| "must be a marker's number of 32 bits, and how often may follow: 1, or 0x111:3".to_owned();
        Ok(Self::Marker(number.map_err(wrong)?.into(), times))
    }

    fn event(&self, looks: Looks) -> Option<Event> {
        match self {
            Self::Address(address, times) => Some(Event::at(Kind::Address, *address, *times, looks)),
            Self::Marker(number, times) => Some(Event::at(Kind::Marker, *number, *times, looks)),
            Self::Symbol(name, times) => Event::symbol(name, *times, looks),
        }
    }
}

/// Splits off how often.
fn with_times(text: &str) -> Result<(&str, u64), String> {
    let Some((place, times)) =
        text.rsplit_once(':').filter(|(_, times)| times.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Ok((text, 1));
    };
    match number(times)? {
        0 => Err("executions are counted from 1".into()),
        times => Ok((place, times)),
    }
}

/// Reads `100`, `20k`, `3M`, `1G`.
fn number(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number =
        digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).filter(|number| *number <= MOST);
    number.ok_or_else(|| format!("must be a whole number from 0 to {MOST}, which may end in k, M or G"))
}

/// Reads `5`, `0.25`.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "must be a number of seconds, as 5 or 0.25".into())
}

impl RegionOptions {
    /// Whether the app is to end behind all that is looked at.
    pub fn ends_app(&self) -> bool {
        self.then == Then::End
    }

    /// What they ask for. `randomised`: the app lies at other addresses each time.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn spec(&self, randomised: bool) -> Result<Spec, String> {
        let places = |all: [(&'static str, &Option<Place>); 3]| {
            Vec::from_iter(all.into_iter().filter_map(|(name, place)| Some((name, place.clone()?))))
        };
        let starts = places([
            ("-start-address", &self.start_address),
            ("-start-symbol", &self.start_symbol),
            ("-start-marker", &self.start_marker),
        ]);
        let stops = places([
            ("-stop-address", &self.stop_address),
            ("-stop-symbol", &self.stop_symbol),
            ("-stop-marker", &self.stop_marker),
        ]);
        one_of("start", starts.iter().map(|(name, _)| *name).chain(self.start_icount.map(|_| "-start-icount")))?;
        let lengths = [self.stop_icount.map(|_| "-stop-icount"), self.trace.map(|_| "-trace")];
        one_of("end", stops.iter().map(|(name, _)| *name).chain(lengths.into_iter().flatten()))?;
        if randomised && (self.start_address.is_some() || self.stop_address.is_some()) {
            return Err("-start-address and -stop-address name a place in this run: they need -aslr 0".into());
        }
        let start = self.start_icount.unwrap_or(0) + self.skip.unwrap_or(0);
        if starts.is_empty() && self.stop_icount.is_some_and(|stop| stop <= start) {
            return Err(format!("the region is empty: it begins at instruction {start} and ends before that"));
        }
        if self.trace == Some(0) {
            return Err("the region is empty: -trace 0".into());
        }
        let warm_up = self.warm_up.unwrap_or(0);
        let (kind, from_place) =
            if starts.is_empty() { (Kind::Executed, start) } else { (Kind::Later, self.skip.unwrap_or(0)) };
        if warm_up > 0 && from_place == 0 {
            return Err(
                "-warm-up has nothing before the region's start to look at: it needs -start-icount or -skip".into()
            );
        }
        if !starts.is_empty() && warm_up > from_place {
            let name = starts[0].0;
            return Err(format!(
                "-warm-up {warm_up} would begin before {name}, at a place that nobody knows then: -skip {warm_up} begins the region later"
            ));
        }
        // At a place itself, where nothing is skipped, or all that is skipped warms up.
        let at_place = match (from_place, from_place == warm_up) {
            (0, _) => Looks::Looks,
            (_, true) => Looks::WarmsUp,
            (_, false) => Looks::Not,
        };
        let mut chain: Vec<Option<Event>> = starts.iter().map(|(_, place)| place.event(at_place)).collect();
        let before = from_place.saturating_sub(warm_up);
        if warm_up > 0 && before > 0 {
            chain.push(Some(Event::instructions(kind, before, Looks::WarmsUp)));
        }
        if from_place > 0 {
            // Since the event before, or since the program began.
            let count = if kind == Kind::Later && warm_up > 0 { warm_up } else { from_place };
            chain.push(Some(Event::instructions(kind, count, Looks::Looks)));
        }
        chain.extend(stops.iter().map(|(_, place)| place.event(Looks::Not)));
        chain.extend(self.stop_icount.map(|stop| Some(Event::instructions(Kind::Executed, stop, Looks::Not))));
        chain.extend(self.trace.map(|trace| Some(Event::instructions(Kind::Later, trace, Looks::Not))));
        let chain: Option<Vec<Event>> = chain.into_iter().collect();
        let spec = chain.and_then(|chain| Spec::new(&chain)).ok_or("the region has too many parts")?;
        // From the program's first instruction on.
        Ok(if starts.is_empty() && warm_up > 0 && before == 0 { spec.warms_up_at_once() } else { spec })
    }
}

/// There may be one of these.
fn one_of(what: &str, mut names: impl Iterator<Item = &'static str>) -> Result<(), String> {
    match (names.next(), names.next()) {
        (Some(first), Some(second)) => Err(format!("the region has one {what}: {first} or {second}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(options: &RegionOptions) -> Vec<(Kind, u64, u32)> {
        options
            .spec(false)
            .unwrap()
            .events()
            .iter()
            .map(|event| (event.kind, event.count, event.looks as u32))
            .collect()
    }

    #[test]
    fn lengths_follow_what_they_are_counted_from() {
        let none = RegionOptions::default();
        assert!(none.spec(true).unwrap().is_all());
        let skipped = RegionOptions { skip: Some(10), trace: Some(5), ..none.clone() };
        assert_eq!(chain(&skipped), [(Kind::Executed, 10, 1), (Kind::Later, 5, 0)]);
        let at = RegionOptions { start_symbol: Some(Place::symbol("main:2").unwrap()), ..skipped.clone() };
        assert_eq!(chain(&at), [(Kind::Symbol, 2, 0), (Kind::Later, 10, 1), (Kind::Later, 5, 0)]);
        let only_end = RegionOptions { stop_icount: Some(7), ..none };
        assert_eq!(chain(&only_end), [(Kind::Executed, 7, 0)]);
        assert!(only_end.spec(false).unwrap().is_inside(&Default::default()));
    }

    #[test]
    fn a_warm_up_lies_before_the_region() {
        let warm = RegionOptions { warm_up: Some(4), skip: Some(10), trace: Some(5), ..RegionOptions::default() };
        assert_eq!(chain(&warm), [(Kind::Executed, 6, 2), (Kind::Executed, 10, 1), (Kind::Later, 5, 0)]);
        let at = RegionOptions { start_symbol: Some(Place::symbol("main:2").unwrap()), ..warm.clone() };
        assert_eq!(chain(&at), [(Kind::Symbol, 2, 0), (Kind::Later, 6, 2), (Kind::Later, 4, 1), (Kind::Later, 5, 0)]);
        let all = RegionOptions { warm_up: Some(10), ..at.clone() };
        assert_eq!(chain(&all), [(Kind::Symbol, 2, 2), (Kind::Later, 10, 1), (Kind::Later, 5, 0)]);
        let more = RegionOptions { warm_up: Some(11), ..warm.clone() };
        assert_eq!(chain(&more), [(Kind::Executed, 10, 1), (Kind::Later, 5, 0)]);
        assert!(more.spec(false).unwrap().looks(&Default::default()) == Looks::WarmsUp);
        assert!(RegionOptions { warm_up: Some(11), ..at }.spec(false).err().unwrap().contains("before -start-symbol"));
        let at_once = RegionOptions { skip: None, ..warm };
        assert!(at_once.spec(false).err().unwrap().contains("nothing before"));
    }

    #[test]
    fn contradictions_are_told() {
        let none = RegionOptions::default;
        let address = || Some(Place::address("0x401000:3").unwrap());
        let both = RegionOptions { start_icount: Some(1), start_address: address(), ..none() };
        assert!(both.spec(false).err().unwrap().contains("-start-address or -start-icount"));
        let empty = RegionOptions { start_icount: Some(5), stop_icount: Some(5), ..none() };
        assert!(empty.spec(false).err().unwrap().contains("empty"));
        let random = RegionOptions { start_address: address(), ..none() };
        assert!(random.spec(true).err().unwrap().contains("-aslr 0"));
        for wrong in ["", "x", "5x", "-1", "99999999999999999999", "2000000000G"] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
        assert_eq!((number("20k"), number("3M")), (Ok(20_000), Ok(3_000_000)));
        assert!(Place::address("main").is_err() && Place::symbol(":3").is_err() && Place::marker("0x1:0").is_err());
    }
}
