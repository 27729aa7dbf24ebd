//! `shadow`: in which routines the app executes its instructions, from samples: the first ones of each slice. What is left of a slice isn't executed, so a run costs little beside the app itself.
//!
//! Moseley and others, *Shadow Profiling: Hiding Instrumentation Costs with Parallelism*, CGO 2007.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::{
    At, BlockCounts, CountsBlocks, ImageEvent, LoadedImages, OnImage, Out, SliceInfo, Tool, Trace, clap, leave_slice,
};

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -spmsec 100 -t shadow -- ./app")]
pub struct Options {
    /// How many instructions of each slice to look at
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    sample: u64,
    /// How many routines to print, those with the most instructions first; 0: all
    #[arg(long, default_value_t = 20)]
    top: usize,
}

/// The tool.
pub struct Shadow {
    options: Options,
}

/// What a slice has.
pub struct Local {
    blocks: BlockCounts,
    /// Instructions that are still to be looked at.
    left: u64,
    images: LoadedImages,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

/// A routine and its image, by their names: the app may become another program, which has others at the same addresses.
type Place = (String, String);
/// Instructions by routine.
type Sample = BTreeMap<Place, u64>;

/// What the share of a routine and its error follow from, over all samples.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Instructions of the routine.
    own: u64,
    /// Their squares.
    squares: f64,
    /// Products with the samples' lengths.
    products: f64,
}

/// All samples.
#[derive(Clone, Default)]
pub struct Total {
    samples: u64,
    instructions: u64,
    /// Of the samples' lengths.
    squares: f64,
    routines: BTreeMap<Place, Sums>,
    /// That of the first slice, which begins where the program does and isn't drawn by chance: it counts if there is no other.
    first: Sample,
}

/// A routine's share of all instructions, and its standard error, in percent.
struct Share {
    place: Place,
    own: u64,
    percent: f64,
    error: f64,
}

impl Total {
    fn add(&mut self, sample: &Sample) {
        let all: u64 = sample.values().sum();
        if all == 0 {
            return;
        }
        self.samples += 1;
        self.instructions += all;
        self.squares += all as f64 * all as f64;
        for (routine, own) in sample {
            let sums = self.routines.entry(routine.clone()).or_default();
            sums.own += own;
            sums.squares += *own as f64 * *own as f64;
            sums.products += *own as f64 * all as f64;
        }
    }

    fn with_first_if_alone(mut self) -> Self {
        if self.samples == 0 {
            let first = std::mem::take(&mut self.first);
            self.add(&first);
        }
        self
    }

    /// The largest first. A share is that of all samples together; its error is that of a ratio of two sums over samples that were drawn by chance, as each slice begins anywhere.
    fn shares(&self) -> Vec<Share> {
        let (samples, all) = (self.samples as f64, self.instructions.max(1) as f64);
        let share = |(place, sums): (&Place, &Sums)| {
            let part = sums.own as f64 / all;
            let deviations = sums.squares - 2.0 * part * sums.products + part * part * self.squares;
            let error = match self.samples {
                0 | 1 => f64::NAN,
                _ => (samples / (samples - 1.0) * deviations.max(0.0)).sqrt() / all,
            };
            Share { place: place.clone(), own: sums.own, percent: 100.0 * part, error: 100.0 * error }
        };
        let mut shares: Vec<Share> = self.routines.iter().map(share).collect();
        shares.sort_by(|a, b| (Reverse(a.own), &a.place).cmp(&(Reverse(b.own), &b.place)));
        shares
    }
}

fn is_enough(local: &mut Local, executed: u64) -> bool {
    local.left = local.left.wrapping_sub(executed);
    local.left as i64 <= 0
}

fn leaves(_: &mut Local) {
    leave_slice();
}

impl Shadow {
    fn on_image(&self, local: &mut Local, event: ImageEvent<'static>) {
        local.images.note(event);
    }

    fn shown(&self, total: &Total) -> Vec<Share> {
        let mut shares = total.shares();
        shares.truncate(if self.options.top == 0 { usize::MAX } else { self.options.top });
        shares
    }
}

impl Tool for Shadow {
    const NAME: &'static str = "shadow";
    const ABOUT: &'static str = "Tell from samples in which routines the app executes its instructions";
    const SAMPLES: bool = true;
    const ON_IMAGE: Option<OnImage<Self>> = Some(Self::on_image);
    type Options = Options;
    type Local = Local;
    type Result = Sample;
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        for block in trace.blocks() {
            block.first().call_if(At::Before, is_enough, (block.len() as u64,), leaves, ());
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { blocks: BlockCounts::new(), left: self.options.sample, images: LoadedImages::default() }
    }

    fn finish(&self, local: &Local) -> Sample {
        let mut sample = Sample::new();
        for block in local.blocks.executed().blocks() {
            let name = local.images.routine_at(block.address()).map_or("?".into(), |routine| routine.demangled());
            let image = local.images.at(block.address()).map_or("?".into(), |image| image.name().to_owned());
            *sample.entry((name, image)).or_default() += block.len() as u64 * block.executions();
        }
        sample
    }

    fn fold(&self, total: &mut Total, slice: SliceInfo, sample: Sample) {
        if slice.number == 0 {
            total.first = sample;
        } else {
            total.add(&sample);
        }
    }

    fn fini(&self, total: Total, out: &mut Out<'_>) -> io::Result<()> {
        let total = total.with_first_if_alone();
        let (samples, instructions) = (total.samples, total.instructions);
        writeln!(out, "Samples: {samples}, of {instructions} instructions; ± is one standard error")?;
        writeln!(out, "{:>8} {:>7}  routine", "%", "±")?;
        self.shown(&total).iter().try_for_each(|share| writeln!(out, "{}", row(share)))
    }

    fn values(&self, total: &Total) -> Option<Value> {
        let total = &total.clone().with_first_if_alone();
        let routines = self.shown(total).into_iter().map(|share| {
            let (routine, image) = share.place;
            // Of one sample it isn't known.
            let error = share.error.is_finite().then_some(share.error);
            json!({ "routine": routine, "image": image, "percent": share.percent, "error": error })
        });
        let routines: Vec<Value> = routines.collect();
        Some(json!({ "samples": total.samples, "instructions": total.instructions, "routines": routines }))
    }
}

fn row(Share { place: (routine, image), percent, error, .. }: &Share) -> String {
    let error = if error.is_finite() { format!("{error:.2}") } else { "?".into() };
    format!("{percent:>8.2} {error:>7}  {routine} in {image}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        (name.into(), "app".into())
    }

    fn total(samples: &[[u64; 2]]) -> Total {
        let mut total = Total::default();
        samples.iter().for_each(|[a, b]| total.add(&Sample::from([(place("a"), *a), (place("b"), *b)])));
        total
    }

    #[test]
    fn a_share_has_an_error_where_samples_differ() {
        let same = total(&[[30, 70]; 5]).shares();
        assert_eq!((&same[0].place, same[0].percent.round()), (&place("b"), 70.0));
        assert!(same.iter().all(|share| share.error < 1e-6));
        // Of four samples half have all of it: 50 % with an error of sqrt(4/3 * 4 * 0.25) / 4.
        let halves = total(&[[10, 0], [0, 10], [10, 0], [0, 10]]).shares();
        assert!(
            (halves[0].percent - 50.0).abs() < 1e-9 && (halves[0].error - 28.867).abs() < 0.01,
            "{}",
            halves[0].error
        );
    }

    #[test]
    fn of_one_sample_the_error_is_not_known() {
        assert!(total(&[[1, 2]]).shares()[0].error.is_nan());
        let mut none = Total::default();
        none.add(&Sample::new());
        assert_eq!((none.samples, none.shares().len()), (0, 0));
    }
}
