//! `coverage`: which code was executed: blocks as DynamoRIO's drcov writes them, which Lighthouse and its like show beside the code, or source lines as lcov does (see `lcov`).
//!
//! ```text
//!   DRCOV VERSION: 2
//!   DRCOV FLAVOR: drcov
//!   Module Table: version 2, count 2
//!   Columns: id, base, end, entry, path
//!    0, 0x…, 0x…, 0x…, /bin/ls
//!   BB Table: 1234 bbs
//!   … eight bytes for each: u32 how far behind the module's base, u16 bytes, u16 module
//! ```
//!
//! Blocks are by module and address. Code of no file (generated code) isn't in it. A module that was unloaded is there; of two that were at one place after another the later one has all.

use std::collections::BTreeSet;
use std::io::{self, Write};

use superpin_tool::merge::Merge;
use superpin_tool::{BlockCounts, Code, CodeBlock, Images, Out, SliceInfo, Tool, Trace};

use super::lcov;

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Examples: superpin -sp 1 -t coverage -o ls.drcov -- ls\n          superpin -sp 1 -t coverage --lcov -o app.info -- ./app"
)]
pub struct Options {
    /// Write the table of blocks as text, a line for each
    #[arg(long)]
    text: bool,
    /// Write executions of source lines and functions, for genhtml and editors, of code that was built with -g and whose source is there
    #[arg(long, conflicts_with = "text")]
    lcov: bool,
}

/// The tool.
pub struct Coverage {
    text: bool,
    lcov: bool,
}

/// A block that was executed: module, how far behind its base, bytes.
type Covered = BTreeSet<(u16, u32, u16)>;

impl Tool for Coverage {
    const NAME: &'static str = "coverage";
    const ABOUT: &'static str = "Write which code was executed, in drcov's format or lcov's";
    type Options = Options;
    type Local = BlockCounts;
    type Result = Code;
    type Total = Code;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { text: options.text, lcov: options.lcov })
    }

    fn instrument(&self, trace: &Trace<'_, BlockCounts>) {
        trace.count_blocks();
    }

    fn begin(&self, _: SliceInfo) -> BlockCounts {
        BlockCounts::new()
    }

    fn finish(&self, blocks: &BlockCounts) -> Code {
        blocks.executed()
    }

    fn fold(&self, total: &mut Code, _: SliceInfo, executed: Code) {
        total.merge(executed);
    }

    fn fini(&self, total: Code, out: &mut Out<'_>) -> io::Result<()> {
        out.verbatim();
        if self.lcov {
            return lcov::write(&total, out);
        }
        let images = out.images().all();
        writeln!(out, "DRCOV VERSION: 2")?;
        writeln!(out, "DRCOV FLAVOR: drcov")?;
        writeln!(out, "Module Table: version 2, count {}", images.len())?;
        writeln!(out, "Columns: id, base, end, entry, path")?;
        for (id, image) in images.iter().enumerate() {
            let (range, entry) = (image.range(), image.entry().map_or(0, |entry| entry.0));
            let path = image.path().display();
            writeln!(out, "{id:>3}, {:#018x}, {:#018x}, {entry:#018x}, {path}", range.start, range.end)?;
        }
        let covered = covered(&total, out.images());
        writeln!(out, "BB Table: {} bbs", covered.len())?;
        for (module, offset, bytes) in covered {
            if self.text {
                writeln!(out, "module[{module:>3}]: {offset:#018x}, {bytes:>3}")?;
                continue;
            }
            out.write_all(&offset.to_le_bytes())?;
            out.write_all(&bytes.to_le_bytes())?;
            out.write_all(&module.to_le_bytes())?;
        }
        Ok(())
    }
}

fn covered(total: &Code, images: &Images) -> Covered {
    let modules = images.all();
    let block = |executed: CodeBlock<'_>| {
        let (from, end) = (executed.address(), executed.end_address());
        let image = images.at(&executed)?;
        let module = modules.iter().position(|module| *module == image)?;
        let offset = from.0 - image.range().start;
        Some((module.try_into().ok()?, offset.try_into().ok()?, (end.0 - from.0).try_into().ok()?))
    };
    total.blocks().filter_map(block).collect()
}
