//! `none`: looks at nothing and prints nothing. What a run with it costs is the cost of running under superpin at all;
//! `-report` tells more about it.

use superpin_tool::json::{Value, json};
use superpin_tool::{Out, SliceInfo, Threads, Tool, Trace, clap};

/// None; an example for `--help`.
#[derive(clap::Args)]
#[command(after_help = "Example, what superpin costs: time superpin -t none -- ls")]
pub struct Options {}

/// The tool.
pub struct Nothing;

impl Tool for Nothing {
    const NAME: &'static str = "none";
    const ABOUT: &'static str = "Do nothing: what is left is the cost of running under superpin";
    type Options = Options;
    type Local = ();
    type Result = ();
    type Total = ();

    fn new(_: Options) -> Result<Self, String> {
        Ok(Self)
    }

    fn threads(&self) -> Threads {
        Threads::AnyOrder
    }

    fn instrument(&self, _: &Trace<'_, ()>) {}

    fn begin(&self, _: SliceInfo) {}

    fn finish(&self, (): &()) {}

    fn fold(&self, (): &mut (), _: SliceInfo, (): ()) {}

    fn fini(&self, (): (), _: &mut Out<'_>) -> std::io::Result<()> {
        Ok(())
    }

    fn values(&self, (): &()) -> Option<Value> {
        Some(json!({}))
    }
}
