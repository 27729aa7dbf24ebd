//! The region of a run that the tool looks at, by what has been executed before.
//!
//! A *spec* is a chain of events: so many instructions, or so many executions of a place. Each is waited for when the one before has come, and says whether
//! the tool looks on from there. It comes *before* an instruction, which is the first for which the new state holds:
//!
//! ```text
//!   -start-icount 3 -stop-icount 5        0   1   2 │ 3   4 │ 5   6 …        instructions by their numbers; between the bars the tool looks
//! ```
//!
//! Before a part that counts the tool may look already, to warm up what it simulates ([`Looks::WarmsUp`]).
//!
//! [`Progress`] is all that has to be known of the run before a place: what was executed (the *prefix*), and which event comes next. What a slice executes is counted
//! before anything is known of the slices before it, and adds up; [`Spec::over`] tells from there whether an event comes in the slice.

/// Events in a chain at most.
pub const EVENTS: usize = 4;
/// Bytes of a symbol's name.
pub const NAME_BYTES: usize = 256;
/// Counters: of instructions, then of each event's place.
pub const COUNTERS: usize = 1 + EVENTS;
/// The counter of instructions.
pub const INSTRUCTIONS: usize = 0;

/// What is waited for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As many instructions were executed since the program began.
    Executed = 0,
    /// As many since the event before.
    Later = 1,
    /// The instruction at an address is executed for the so-manieth time since the event before.
    Address = 2,
    /// The first instruction of the routine with a name.
    Symbol = 3,
    /// A marker with a number: `mov ebx, NUMBER`, and behind it the bytes 64 67 90.
    Marker = 4,
}

/// Whether the tool looks.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// It doesn't.
    Not = 0,
    /// It does.
    Looks = 1,
    /// It does, and what it counts is dropped where [`Self::Looks`] follows: what it has learnt isn't.
    WarmsUp = 2,
}

/// An event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What is waited for.
    pub kind: Kind,
    /// Whether the tool looks from there on.
    pub looks: Looks,
    /// How many, or how often; the latter at least once.
    pub count: u64,
    /// Address, or a marker's number.
    pub place: u64,
    /// Bytes of `name`.
    pub name_len: u64,
    /// A symbol's name.
    pub name: [u8; NAME_BYTES],
}

impl Event {
    /// One that counts instructions.
    pub const fn instructions(kind: Kind, count: u64, looks: Looks) -> Self {
        Self { kind, looks, count, place: 0, name_len: 0, name: [0; NAME_BYTES] }
    }

    /// The `count`-th execution of a place.
    pub const fn at(kind: Kind, place: u64, count: u64, looks: Looks) -> Self {
        Self { place, ..Self::instructions(kind, count, looks) }
    }

    /// The `count`-th execution of a routine's first instruction. `None` if the name is too long.
    pub fn symbol(name: &str, count: u64, looks: Looks) -> Option<Self> {
        let mut event = Self::at(Kind::Symbol, 0, count, looks);
        event.name.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        event.name_len = name.len() as u64;
        Some(event)
    }

    /// The symbol's name.
    pub fn name(&self) -> &[u8] {
        &self.name[..(self.name_len as usize).min(NAME_BYTES)]
    }

    /// Whether it waits for a place.
    pub const fn is_place(&self) -> bool {
        !matches!(self.kind, Kind::Executed | Kind::Later)
    }
}

/// What a user asks for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Events that there are.
    len: u32,
    /// Whether the tool looks from the program's first instruction on.
    looks: Looks,
    /// 1 if the tool is told what was executed before; 2 if it counts things of its own for that, in first passes.
    counted: u32,
    events: [Event; EVENTS],
}

/// What was executed before a place, and what comes next.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions, and executions of each event's place.
    pub counts: [u64; COUNTERS],
    /// The same when the last event came. An execution of a place that was the last event is counted.
    pub base: [u64; COUNTERS],
    /// The event that is waited for.
    pub event: u64,
    /// Events whose place the instruction behind it is, a bit for each. Known of the end of a slice that counts.
    pub at: u64,
}

impl Progress {
    /// Whether the instruction behind it is the place of this event.
    pub fn is_at(&self, number: usize) -> bool {
        self.at >> number & 1 != 0
    }
}

/// What comes in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Whether the tool looks at any of it.
    pub looks: bool,
    /// Whether an event may come in it.
    pub watches: bool,
    /// How it is behind the slice; `None`: that depends on where in the slice an event comes.
    pub end: Option<Progress>,
}

impl Spec {
    /// All of the run.
    pub const ALL: Spec = Spec {
        len: 0,
        looks: Looks::Looks,
        counted: 0,
        events: [Event::instructions(Kind::Executed, 0, Looks::Looks); EVENTS],
    };

    /// A chain of events. The tool looks from the start on if no event is one that has it look. `None` if there are too many.
    pub fn new(chain: &[Event]) -> Option<Spec> {
        let looks = |event: &Event| event.looks != Looks::Not;
        let from_start = if chain.iter().any(looks) { Looks::Not } else { Looks::Looks };
        let mut spec = Spec { len: chain.len() as u32, looks: from_start, ..Spec::ALL };
        spec.events.get_mut(..chain.len())?.copy_from_slice(chain);
        Some(spec)
    }

    /// The same with a tool that warms up from the start on, until the first event that has it look.
    pub fn warms_up_at_once(self) -> Spec {
        Spec { looks: Looks::WarmsUp, ..self }
    }

    /// The same for a tool that is told what was executed before.
    pub fn counted(self) -> Spec {
        Spec { counted: 1, ..self }
    }

    /// The same for a tool that counts things of its own besides.
    pub fn with_values(self) -> Spec {
        Spec { counted: 2, ..self }
    }

    /// Whether it does.
    pub fn has_values(&self) -> bool {
        self.counted == 2
    }

    /// Whether it is told.
    pub fn is_counted(&self) -> bool {
        self.counted != 0
    }

    /// Whether the tool looks at all of the run, and needn't know what was executed before.
    pub fn is_all(&self) -> bool {
        self.len == 0 && self.counted == 0
    }

    /// Its events.
    pub fn events(&self) -> &[Event] {
        &self.events[..(self.len as usize).min(EVENTS)]
    }

    /// The event that is waited for, and its number.
    pub fn next(&self, progress: &Progress) -> Option<(usize, &Event)> {
        let number = progress.event as usize;
        self.events().get(number).map(|event| (number, event))
    }

    /// Whether the tool looks, or warms up.
    pub fn is_inside(&self, progress: &Progress) -> bool {
        self.looks(progress) != Looks::Not
    }

    /// Whether the tool looks.
    pub fn looks(&self, progress: &Progress) -> Looks {
        match progress.event.checked_sub(1) {
            None => self.looks,
            Some(last) => self.events[last as usize].looks,
        }
    }

    /// Whether there is a part in which the tool warms up.
    pub fn has_warm_up(&self) -> bool {
        self.looks == Looks::WarmsUp || self.events().iter().any(|event| event.looks == Looks::WarmsUp)
    }

    /// Whether the tool looks at nothing any more.
    pub fn is_over(&self, progress: &Progress) -> bool {
        self.next(progress).is_none() && !self.is_inside(progress)
    }

    /// The counter by which the next event comes, and what it has to have reached before an instruction (of a place: the instruction there) for that.
    pub fn target(&self, progress: &Progress) -> Option<(usize, u64)> {
        let (number, event) = self.next(progress)?;
        Some(match event.kind {
            Kind::Executed => (INSTRUCTIONS, event.count.max(progress.base[INSTRUCTIONS])),
            Kind::Later => (INSTRUCTIONS, progress.base[INSTRUCTIONS].saturating_add(event.count)),
            Kind::Address | Kind::Symbol | Kind::Marker => {
                (counter_of(number), progress.base[counter_of(number)].saturating_add(event.count - 1))
            }
        })
    }

    /// The next event comes here. `is_at`: whether the instruction behind it is an event's place.
    ///
    /// # Panics
    /// If there is none.
    pub fn comes(&self, progress: &Progress, is_at: impl Fn(usize) -> bool) -> Progress {
        assert!(self.next(progress).is_some(), "an event comes that isn't waited for");
        let mut base = progress.counts;
        for number in (0..self.events().len()).filter(|number| is_at(*number)) {
            base[counter_of(number)] += 1;
        }
        Progress { base, event: progress.event + 1, ..*progress }
    }

    /// What comes in a slice that begins at `progress` and executes `counts`.
    pub fn over(&self, progress: &Progress, counts: &[u64; COUNTERS]) -> Outlook {
        let mut now = *progress;
        let mut end = *progress;
        for (sum, count) in end.counts.iter_mut().zip(counts) {
            *sum += count;
        }
        // Also where nothing is executed, of an app that has died in a call: the call's exit is told at the slice's begin.
        let mut outlook = Outlook { looks: self.is_inside(progress), watches: false, end: None };
        while let Some((counter, target)) = self.target(&now)
            && target < end.counts[counter]
        {
            outlook.watches = true;
            let is_last_known = counter != INSTRUCTIONS;
            now.counts[INSTRUCTIONS] = target;
            now = self.comes(&now, |_| false);
            outlook.looks |= self.is_inside(&now);
            let needs_place =
                self.next(&now).is_some_and(|(number, event)| event.is_place() && counts[counter_of(number)] > 0);
            if is_last_known && self.next(&now).is_some() || needs_place {
                // What was executed since that event, the slice finds out.
                return Outlook { looks: true, ..outlook };
            }
        }
        outlook.end = Some(Progress { base: now.base, event: now.event, ..end });
        outlook
    }
}

/// What a slice's process is to do. Where the tool looks at a part of the run, a slice is run twice: before it is known what was executed before it, and if the tool looks at it then.
pub mod pass {
    /// All of the run is looked at, or all of it in this process.
    pub const ONLY: u32 = 0;
    /// It counts what it executes.
    pub const COUNTS: u32 = 1;
    /// The tool looks at all of it.
    pub const LOOKS: u32 = 2;
    /// The tool looks at parts of it: events may come.
    pub const WATCHES: u32 = 3;
}

/// The counter of an event's place.
pub const fn counter_of(number: usize) -> usize {
    1 + number
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn executed(n: u64) -> [u64; COUNTERS] {
        [n, 0, 0, 0, 0]
    }

    #[test]
    fn a_region_by_numbers_is_known_before_it_is_looked_at() {
        let chain = [
            Event::instructions(Kind::Executed, 100, Looks::Looks),
            Event::instructions(Kind::Executed, 250, Looks::Not),
        ];
        let spec = Spec::new(&chain).unwrap();
        let mut progress = Progress::default();
        let mut seen = Vec::new();
        for n in [60, 40, 50, 100, 10] {
            let outlook = spec.over(&progress, &executed(n));
            seen.push((outlook.looks, outlook.watches));
            progress = outlook.end.unwrap();
        }
        // The second ends right before the first instruction of the region; the fourth right behind its last.
        assert_eq!(seen, [(false, false), (false, false), (true, true), (true, false), (true, true)]);
        assert_eq!((progress.counts[0], progress.event), (260, 2));
        assert!(!spec.over(&progress, &executed(5)).looks);
        let inside = Progress { counts: executed(200), event: 1, ..Progress::default() };
        assert!(spec.over(&inside, &executed(0)).looks, "what the app died of may be told there");
    }

    #[test]
    fn lengths_count_from_the_event_before() {
        let chain = [Event::at(Kind::Address, 7, 3, Looks::Not), Event::instructions(Kind::Later, 10, Looks::Looks)];
        let spec = Spec::new(&chain).unwrap();
        let begin = Progress::default();
        assert!(!spec.is_inside(&begin));
        let outlook = spec.over(&begin, &[50, 2, 0, 0, 0]);
        assert!(!outlook.watches && !outlook.looks);
        let progress = outlook.end.unwrap();
        assert_eq!(spec.target(&progress), Some((1, 2)));
        // Where in the slice the third execution comes isn't known.
        let outlook = spec.over(&progress, &[50, 4, 0, 0, 0]);
        assert_eq!((outlook.watches, outlook.end), (true, None));
        let at = Progress { counts: [61, 2, 0, 0, 0], ..progress };
        let behind = spec.comes(&at, |number| number == 0);
        assert_eq!((behind.base, spec.target(&behind)), ([61, 3, 0, 0, 0], Some((0, 71))));
        assert!(spec.is_inside(&spec.comes(&behind, |_| false)));
    }

    #[test]
    fn the_last_event_at_a_place_needs_no_second_look() {
        let spec = Spec::new(&[Event::at(Kind::Address, 7, 1, Looks::Not)]).unwrap();
        let begin = Progress::default();
        assert!(spec.is_inside(&begin));
        let outlook = spec.over(&begin, &[50, 1, 0, 0, 0]);
        assert!(outlook.looks && outlook.watches);
        let end = outlook.end.unwrap();
        assert!(!spec.is_inside(&end) && spec.next(&end).is_none());
    }

    #[test]
    fn an_end_that_has_passed_comes_at_once() {
        let chain = [Event::at(Kind::Address, 7, 1, Looks::Looks), Event::instructions(Kind::Executed, 10, Looks::Not)];
        let spec = Spec::new(&chain).unwrap();
        let at = Progress { counts: [61, 0, 0, 0, 0], ..Progress::default() };
        assert_eq!(spec.target(&spec.comes(&at, |_| false)), Some((0, 61)));
        assert!(Spec::new(&[chain[0]; EVENTS + 1]).is_none());
    }

    #[test]
    fn a_warm_up_ends_where_the_region_begins() {
        let chain = [
            Event::instructions(Kind::Executed, 70, Looks::WarmsUp),
            Event::instructions(Kind::Executed, 100, Looks::Looks),
        ];
        let spec = Spec::new(&chain).unwrap();
        let begin = Progress::default();
        assert!(spec.has_warm_up() && spec.looks(&begin) == Looks::Not);
        let outlook = spec.over(&begin, &executed(80));
        let warm = outlook.end.unwrap();
        assert!(outlook.looks && outlook.watches && spec.is_inside(&warm) && spec.looks(&warm) == Looks::WarmsUp);
        let inside = spec.over(&warm, &executed(21)).end.unwrap();
        assert_eq!(spec.looks(&inside), Looks::Looks);
        let at_once = Spec::new(&chain[1..]).unwrap().warms_up_at_once();
        assert!(at_once.has_warm_up() && at_once.looks(&begin) == Looks::WarmsUp && !at_once.is_all());
        assert!(!Spec::new(&chain[1..]).unwrap().has_warm_up());
    }
}
