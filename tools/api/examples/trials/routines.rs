//! How many instructions each routine of each image has executed, and which images came and went.
//!
//! The routines are those that were told at instrumentation time: a number stands for each name, and in the end all images tell which name that is.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use superpin_tool::merge::{Append, Merge, Sum};
use superpin_tool::{Arg, At, Image, ImageEvent, NoOptions, OnImage, Out, Routine, SliceInfo, Tool, Trace};

/// Instructions by the number of the routine, and what became of images.
type Found = (BTreeMap<u64, Sum>, Append<String>);

/// The tool.
pub struct Routines;

/// Code that is of no image.
const NOWHERE: u64 = 0;

fn add(found: &mut Found, routine: u64, instructions: u64) {
    let count = &mut found.0.entry(routine).or_default().0;
    *count = count.wrapping_add(instructions);
}

fn number(image: &Image<'_>, routine: Option<&Routine<'_>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (image.path(), image.build_id(), image.bias()).hash(&mut hasher);
    routine.map(|routine| (routine.demangled(), routine.address().0, routine.size(), routine.kind())).hash(&mut hasher);
    hasher.finish()
}

impl Routines {
    fn on_image(&self, found: &mut Found, event: ImageEvent<'_>) {
        let (what, image) = match event {
            ImageEvent::Present(_) => return,
            ImageEvent::Loaded(image) => ("loaded", image),
            ImageEvent::Unloaded(image) => ("unloaded", image),
        };
        // How much was executed before.
        let executed: u64 = found.0.values().fold(0, |sum, count| sum.wrapping_add(count.0));
        let text = format!("{what} {} at {:x} {}", image.name(), image.range().start, image.sections().count());
        found.1.0.push(format!("{executed} {text}"));
    }
}

impl Tool for Routines {
    const NAME: &'static str = "routines";
    const ABOUT: &'static str = "Count instructions by routine";
    const ON_IMAGE: Option<OnImage<Self>> = Some(Self::on_image);
    type Options = NoOptions;
    type Local = Found;
    type Result = Found;
    type Total = Found;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Found>) {
        for block in trace.blocks() {
            let image = block.image();
            let number = image.map_or(NOWHERE, |image| number(&image, image.routine_at(block.address()).as_ref()));
            assert!(block.routine() == block.first().routine() && block.image() == block.first().image());
            block.call(At::Anywhere, add, (number, Arg::BlockInstructions));
        }
    }

    fn begin(&self, _: SliceInfo) -> Found {
        Found::default()
    }

    fn finish(&self, local: &Found) -> Found {
        local.clone()
    }

    fn fold(&self, total: &mut Found, _: SliceInfo, mut result: Found) {
        let before: u64 = total.0.values().fold(0, |sum, count| sum.wrapping_add(count.0));
        for line in &mut result.1.0 {
            let (executed, what) = line.split_once(' ').expect("it was written so");
            *line = format!("{} {what}", before + executed.parse::<u64>().expect("a number"));
        }
        total.merge(result);
    }

    fn fini(&self, (counts, events): Found, out: &mut Out<'_>) -> std::io::Result<()> {
        let mut names = BTreeMap::from([(NOWHERE, "- -".to_owned())]);
        for image in out.images().all() {
            names.insert(number(&image, None), format!("{} -", image.name()));
            for routine in image.routines() {
                names.insert(number(&image, Some(&routine)), format!("{} {}", image.name(), routine.demangled()));
            }
        }
        events.0.iter().try_for_each(|event| writeln!(out, "{event}"))?;
        let mut by_name = BTreeMap::<_, u64>::new();
        for (number, count) in counts.into_iter().filter(|(_, count)| count.0 > 0) {
            let name = names.get(&number).cloned().unwrap_or_else(|| format!("unknown {number:x}"));
            *by_name.entry(name).or_default() += count.0;
        }
        by_name.iter().try_for_each(|(name, count)| writeln!(out, "{count} {name}"))?;
        writeln!(out, "status {}", out.exit_status())
    }
}
