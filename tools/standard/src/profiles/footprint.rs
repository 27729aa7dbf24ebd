//! `footprint`: how many pages and lines of memory were touched, by what.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Or};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{
    AddressHasher, AppPc, BlockCounts, Code, CountsBlocks, Images, Out, Repeat, SliceInfo, Tool, Trace, clap,
};

use crate::accesses::{self, Access, LOADS, STORES};
use crate::repeat;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t footprint --by-image -- ls")]
pub struct Options {
    /// Whether a string instruction that repeats (REP) touches memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    repeat: Repeat,
    /// Tell lines of each program and library, too, and of memory that is of none (heap, stacks)
    #[arg(long)]
    by_image: bool,
}

const PAGE_BITS: u32 = 12;
/// There are 64 in a page.
const LINE_BITS: u32 = 6;

/// Kinds of accesses.
const FETCH: usize = 0;
const LOAD: usize = 1;
const STORE: usize = 2;
/// What is printed: a name, and which kinds.
const ROWS: [(&str, &[usize]); 5] = [
    ("fetched", &[FETCH]),
    ("loaded", &[LOAD]),
    ("stored", &[STORE]),
    ("data", &[LOAD, STORE]),
    ("all", &[FETCH, LOAD, STORE]),
];

/// By a page's number, for each kind: its lines that were touched, a bit for each.
type Pages = HashMap<u64, [Or; 3], BuildHasherDefault<AddressHasher>>;

/// Pages that are noted beside the table, each at a place of its own, until another one wants it.
const PLACES: usize = 1 << 9;

/// What a slice has.
pub struct Local {
    blocks: BlockCounts,
    recent: Vec<(u64, [u64; 3])>,
    pages: Pages,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

/// What was touched by data accesses, and the code.
#[derive(Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Touched {
    pages: Pages,
    code: Code,
}

fn note(pages: &mut Pages, page: u64, lines: &[u64; 3]) {
    let noted = pages.entry(page).or_default();
    noted.iter_mut().zip(lines).for_each(|(noted, lines)| noted.0 |= lines);
}

/// Calls `line` with the page and the bit of each line of an access.
fn lines(address: u64, size: u64, mut line: impl FnMut(u64, u64)) {
    let last = address.saturating_add(size - 1) >> LINE_BITS;
    for number in address >> LINE_BITS..=last {
        line(number >> (PAGE_BITS - LINE_BITS), 1 << (number % 64));
    }
}

/// The tool.
pub struct Footprint {
    options: Options,
}

impl Tool for Footprint {
    const NAME: &'static str = "footprint";
    const ABOUT: &'static str = "Count pages and lines of memory that were fetched, loaded and stored";
    type Options = Options;
    type Local = Local;
    type Result = Touched;
    type Total = Touched;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        trace.instructions().for_each(|instruction| accesses::buffer(&instruction));
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { blocks: BlockCounts::new(), recent: vec![Default::default(); PLACES], pages: Pages::default() }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        for Access { address, size, kinds } in accesses::of(words) {
            lines(address, size, |page, line| {
                let (of, touched) = &mut local.recent[(page ^ page >> 9) as usize % PLACES];
                if *of != page {
                    if *touched != [0; 3] {
                        note(&mut local.pages, *of, touched);
                    }
                    (*of, *touched) = (page, [0; 3]);
                }
                touched[LOAD] |= line * u64::from(kinds & LOADS != 0);
                touched[STORE] |= line * u64::from(kinds & STORES != 0);
            });
        }
    }

    fn finish(&self, local: &Local) -> Touched {
        let mut pages = local.pages.clone();
        let recent = local.recent.iter().filter(|(_, touched)| *touched != [0; 3]);
        recent.for_each(|(page, touched)| note(&mut pages, *page, touched));
        Touched { pages, code: local.blocks.executed() }
    }

    fn fold(&self, total: &mut Touched, _: SliceInfo, part: Touched) {
        Merge::merge(&mut total.pages, part.pages);
        total.code.merge(part.code);
    }

    fn fini(&self, total: Touched, out: &mut Out<'_>) -> std::io::Result<()> {
        let pages = all_pages(total);
        writeln!(out, "{:<8} {:>12} {:>12} {:>14}", "", "pages", "lines", "bytes of lines")?;
        for (name, kinds) in ROWS {
            let (of_pages, lines) = count(&pages, kinds);
            writeln!(out, "{name:<8} {of_pages:>12} {lines:>12} {:>14}", lines << LINE_BITS)?;
        }
        if self.options.by_image {
            writeln!(out, "{:>12} {:>12} {:>12}  lines of", "fetched", "loaded", "stored")?;
            for (image, [fetched, loaded, stored]) in by_image(&pages, out.images()) {
                writeln!(out, "{fetched:>12} {loaded:>12} {stored:>12}  {image}")?;
            }
        }
        repeat::say(self.options.repeat, out)?;
        let (_, all) = count(&pages, &[FETCH, LOAD, STORE]);
        writeln!(out, "Lines: {}", out.total(all))
    }

    fn values_with(&self, total: &Touched, images: &Images) -> Option<Value> {
        let pages = all_pages(Touched { pages: total.pages.clone(), code: total.code.clone() });
        let row = |(name, kinds): (&str, &[usize])| {
            let (of_pages, lines) = count(&pages, kinds);
            (name.to_owned(), json!({ "pages": of_pages, "lines": lines }))
        };
        let mut values: BTreeMap<String, Value> = ROWS.into_iter().map(row).collect();
        if self.options.by_image {
            let of = |(image, [fetched, loaded, stored]): (String, [u64; 3])| json!({ "image": image, "fetched": fetched, "loaded": loaded, "stored": stored });
            let images = by_image(&pages, images).into_iter().map(of);
            values.insert("images".into(), images.collect());
        }
        values.insert("repetitions".into(), self.options.repeat.to_string().into());
        Some(json!(values))
    }
}

/// With the lines that instructions were fetched from.
fn all_pages(mut touched: Touched) -> Pages {
    for block in touched.code.blocks().filter(|block| block.executions() != 0) {
        let (from, bytes) = (block.address().0, block.bytes().len() as u64);
        lines(from, bytes, |page, line| note(&mut touched.pages, page, &[line, 0, 0]));
    }
    touched.pages
}

/// How many pages, and lines.
fn count(pages: &Pages, kinds: &[usize]) -> (u64, u64) {
    let touched = pages.values().map(|lines| kinds.iter().fold(0, |sum, kind| sum | lines[*kind].0));
    touched
        .filter(|lines| *lines != 0)
        .fold((0, 0), |(pages, sum), lines| (pages + 1, sum + u64::from(lines.count_ones())))
}

/// Lines of each kind, by the image's name.
fn by_image(pages: &Pages, images: &Images) -> BTreeMap<String, [u64; 3]> {
    let mut sums: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (page, kinds) in pages {
        let name = images.at(AppPc(page << PAGE_BITS)).map_or("(no file)".into(), |image| image.name().to_owned());
        let sum = sums.entry(name).or_default();
        sum.iter_mut().zip(kinds).for_each(|(sum, lines)| *sum += u64::from(lines.0.count_ones()));
    }
    sums
}
