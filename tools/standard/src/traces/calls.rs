//! `calltrace`: routines that are entered, in order, with names, as Pin's example of that name.
//!
//! ```text
//!   main(0x1, 0x7fffffffe4a8) a.out
//!   printf(0x555555556004, 0x1) libc.so.6
//!   < printf 0x6
//! ```
//!
//! A routine is entered however the app comes to it: by a call, by a jump from another one, by a loop to its beginning. Stubs (`printf@plt`) aren't told. What no symbol names isn't either.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use superpin_tool::{
    AddressHasher, AppPc, Arg, ImageEvent, Instruction, LoadedImages, OnImage, Out, RoutineKind, SliceInfo, Stream,
    Tool, Trace, clap,
};

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, calls of the program's own functions: superpin -sp 1 -t calltrace --image app --returns -o calls.txt -- ./app"
)]
pub struct Options {
    /// How many of the first six arguments in registers to tell
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=6))]
    arguments: u8,
    /// Tell returns, too, with what is returned
    #[arg(long)]
    returns: bool,
    /// Only routines of the image with this name, as libc.so.6
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
}

/// The tool.
pub struct CallTrace {
    options: Options,
}

/// What a slice has.
#[derive(Default)]
pub struct Local {
    stream: Stream,
    images: LoadedImages,
    /// The text of a routine: name and image, by its address, as long as no image comes or goes.
    names: HashMap<u64, (String, String), BuildHasherDefault<AddressHasher>>,
}

/// In place of a number of arguments: it returns, and one word is what.
const RETURNS: u64 = 7;
/// Bytes that are put together before they are appended.
const TOGETHER: usize = 1 << 15;

impl CallTrace {
    fn is_asked(&self, instruction: &Instruction<'_, Local>) -> bool {
        let name = self.options.image.as_deref();
        name.is_none_or(|name| instruction.image().is_some_and(|image| image.name() == name))
    }

    fn instrument_instruction(&self, instruction: &Instruction<'_, Local>) {
        let is_function = |routine: &superpin_tool::Routine<'_>| routine.kind() == RoutineKind::Function;
        if let Some(routine) = instruction.enters().filter(is_function) {
            instruction.buffer((u64::from(self.options.arguments), routine.address()));
            (0..usize::from(self.options.arguments)).for_each(|n| instruction.buffer((Arg::Argument(n as u8),)));
        }
        if self.options.returns
            && let Some(routine) = instruction.returns_from().filter(is_function)
        {
            instruction.buffer((RETURNS, routine.address(), Arg::ReturnValue));
        }
    }

    fn on_image(&self, local: &mut Local, event: ImageEvent<'static>) {
        local.images.note(event);
        local.names.clear();
    }
}

impl Tool for CallTrace {
    const NAME: &'static str = "calltrace";
    const ABOUT: &'static str = "Write the routines that are entered, in order";
    const STREAM: bool = true;
    const ON_IMAGE: Option<OnImage<Self>> = Some(Self::on_image);
    type Options = Options;
    type Local = Local;
    type Result = ();
    type Total = ();

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions().filter(|instruction| self.is_asked(instruction)) {
            self.instrument_instruction(&instruction);
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, mut words: &[u64]) {
        let mut text = String::with_capacity(TOGETHER + 1024);
        while let [what, address, rest @ ..] = words {
            let (values, behind) = rest.split_at(if *what == RETURNS { 1 } else { *what as usize });
            let images = &local.images;
            let (name, image) = local.names.entry(*address).or_insert_with(|| names(images, *address));
            if *what == RETURNS {
                text += "< ";
            }
            text += name;
            if *what == RETURNS {
                text += " ";
                push_hex(&mut text, values[0]);
            } else {
                text += "(";
                for (n, value) in values.iter().enumerate() {
                    text += if n == 0 { "" } else { ", " };
                    push_hex(&mut text, *value);
                }
                text += ") ";
                text += image;
            }
            text += "\n";
            if text.len() > TOGETHER {
                local.stream.write(text.as_bytes());
                text.clear();
            }
            words = behind;
        }
        local.stream.write(text.as_bytes());
    }

    fn finish(&self, _: &Local) {}

    fn fold(&self, _: &mut (), _: SliceInfo, (): ()) {}

    fn fini(&self, (): (), out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "#eof")
    }
}

fn names(images: &LoadedImages, address: u64) -> (String, String) {
    let routine = images.routine_at(AppPc(address));
    let name = routine.map_or_else(|| format!("{address:#x}"), |routine| routine.demangled());
    (name, routine.map_or(String::new(), |routine| routine.image().name().to_owned()))
}

fn push_hex(text: &mut String, number: u64) {
    let digits = (64 - (number | 1).leading_zeros()).div_ceil(4);
    *text += "0x";
    text.extend((0..digits).rev().filter_map(|n| char::from_digit((number >> (4 * n)) as u32 & 15, 16)));
}
